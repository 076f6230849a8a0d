#!/usr/bin/env bash
# Tests with the oldest versions of all packages that pyproject.toml allows, in an environment of their own.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
installed

here=$ROOT/build/lowest
lowest=$ROOT/.venv-lowest
mkdir -p "$here"
quietly "making $lowest" uv venv --clear --python "$VENV/bin/python" "$lowest"
# Build requirements are packages like all others here. What these need in turn is new.
python - >"$here/build.in" <<'PY'
import tomllib

print(*tomllib.load(open("pyproject.toml", "rb"))["build-system"]["requires"], sep="\n")
PY
quietly "finding the oldest packages" uv pip compile --resolution lowest-direct --python "$VENV/bin/python" \
  --extra all --extra ray --extra s3 --extra test --output-file "$here/packages.txt" pyproject.toml "$here/build.in"
export VIRTUAL_ENV=$lowest
quietly "installing them" uv pip install -r "$here/packages.txt"
quietly "compiling TruBLEU" uv pip install --no-build-isolation --no-deps --config-settings "build-dir=$here/kernels" --editable .

say "=== pytest"
# Old packages do what new ones find deprecated, and one test makes errors of that in a process of its own. Left out is what
# tests browsers, clusters, servers under load and the documentation rather than packages.
"$lowest/bin/python" -m pytest -n "$(nproc)" -W ignore::DeprecationWarning -W ignore::PendingDeprecationWarning \
  --ignore tests/rating/load \
  tests/{data,files,judge,metrics,mining,native,rating,render,scoring,stats,text,vectors} "$@"

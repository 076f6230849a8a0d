#!/usr/bin/env bash
# Build the sdist and the wheel, and use the wheel where there is neither a compiler nor this source tree.
# With a folder as argument, build the wheel from the sdist and put the checked files there, with a second wheel for Python
# 3.12 and newer (Stable ABI) if there is one of them: each that is found tries it. Without, compare the sdist with this tree
# instead, and build from the tree, where the kernels are compiled already.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
installed

here=$ROOT/build/wheel-check
rm -rf "$here"
mkdir -p "$here/elsewhere"
newer=()
if [ -n "${1:-}" ]; then
  quietly "building sdist and wheel" python -m build --outdir "$here/dist" .
  for name in python3.12 python3.13 python3.14; do
    found=$("$name" -c 'import sys; print(sys.executable)' 2>/dev/null) && newer+=("$found")
  done
  if compgen -G "$here/dist/*-abi3-*.whl" >/dev/null; then
    :
  elif [ ${#newer[@]} -gt 0 ]; then
    quietly "building the wheel for Python 3.12 and newer" \
      uv build --wheel --python "${newer[0]}" --out-dir "$here/dist" "$here"/dist/*.tar.gz
  else
    say "no Python 3.12 or newer on PATH: the wheel for them (Stable ABI) is not built"
  fi
else
  quietly "building sdist and wheel" python -m build --no-isolation --sdist --wheel --outdir "$here/dist" .
  mkdir "$here/sdist"
  tar -xzf "$here"/dist/*.tar.gz -C "$here/sdist" --strip-components=1
  for part in src CMakeLists.txt pyproject.toml README.md LICENSE; do
    diff -rq -x __pycache__ -x '*.so' "$part" "$here/sdist/$part" || fail "the sdist is not this tree: $part differs."
  done
fi

if [ "$(uname -s)" = Linux ]; then
  # The tag of the oldest glibc that the kernels can be used with.
  for wheel in "$here"/dist/*.whl; do
    quietly "checking $(basename "$wheel") with auditwheel" auditwheel repair --wheel-dir "$here/audited" "$wheel"
    rm "$wheel"
  done
  cp "$here"/audited/*.whl "$here/dist"
  for wheel in "$here"/dist/*.whl; do
    case $wheel in *manylinux*) ;; *) fail "auditwheel gave $(basename "$wheel") no manylinux tag." ;; esac
  done
fi
if [ -n "${1:-}" ]; then
  for platform in linux macos windows; do
    quietly "what cibuildwheel builds for $platform" uv tool run cibuildwheel --print-build-identifiers --platform "$platform"
  done
fi

say "looking into them"
python - "$here/dist" <<'PY'
import sys
import tarfile
import zipfile
from pathlib import Path

dist = Path(sys.argv[1])
(sdist,) = dist.glob("*.tar.gz")
with tarfile.open(sdist) as file:
    sources = [name.split("/", 1)[-1] for name in file.getnames()]


def must(condition: bool, message: str) -> None:
    if not condition:
        sys.exit(f"error: {message}")


pages = [p.relative_to("src").as_posix() for p in Path("src/trubleu").rglob("*") if p.suffix in {".html", ".css", ".js", ".svg"}]
must(bool(pages), "there are no pages in src/trubleu.")
for wheel in dist.glob("*.whl"):
    with zipfile.ZipFile(wheel) as file:
        names = file.namelist()
    must("trubleu/py.typed" in names, f"{wheel.name} has no py.typed.")
    kernels = [n for n in names if n.startswith("trubleu/native/_kernels.") and n.endswith((".so", ".pyd"))]
    must(len(kernels) == 1, f"{wheel.name} has no kernels.")
    must(("-abi3-" in wheel.name) == (".abi3." in kernels[0]), f"{wheel.name} holds {kernels[0]}.")
    lost = sorted(set(pages) - set(names))
    must(not lost, f"{wheel.name} lacks parts of pages: {', '.join(lost)}.")
    must(any(n.endswith("LICENSE") for n in names), f"{wheel.name} has no LICENSE.")
    odd = [n for n in names if n.endswith((".cpp", ".hpp", ".pyc")) or not n.startswith(("trubleu/", "trubleu-"))]
    must(not odd, f"{wheel.name} holds what it should not: {', '.join(odd)}.")
for name in ("pyproject.toml", "CMakeLists.txt", "LICENSE", "README.md", "src/trubleu/native/module.cpp", "examples/refs.jsonl"):
    must(name in sources, f"{sdist.name} lacks {name}.")
odd = [n for n in sources if n.split("/")[0] in {".ci", ".venv", "build", "dist", "out", "site"} or n.endswith((".so", ".pyc"))]
must(not odd, f"{sdist.name} holds what it should not: {', '.join(odd)}.")
PY

# From here on PATH holds an empty environment and nothing else.
alone() {
  (cd "$here/elsewhere" && env -u PYTHONPATH -u VIRTUAL_ENV CC=/nonexistent CXX=/nonexistent PATH="$here/venv/bin" "$@")
}
for python in ${newer[@]+"${newer[@]}"} python; do
  rm -rf "$here/venv"
  quietly "making an empty environment with $("$python" -V)" "$python" -m venv "$here/venv"
  tag=$("$python" -c 'import sys; print("cp%d%d" % sys.version_info[:2])')
  wheel=$(compgen -G "$here/dist/*-$tag-*.whl" || compgen -G "$here/dist/*-abi3-*.whl")
  quietly "installing $(basename "$wheel") without a compiler" \
    alone "$here/venv/bin/python" -m pip --disable-pip-version-check install --only-binary :all: --no-compile "$wheel"
  say "using it"
  alone trubleu --version
  alone trubleu score --refs "$ROOT/examples/refs.jsonl" "$ROOT"/examples/{good,dull,parrot}.txt -m bleu-2 -m dbleu-2 -m chrf --ci --seed 7
done

# A bill of materials (CycloneDX): the wheel, whose version stands elsewhere in this tree, with all that it brought along.
name=$(basename "$here"/dist/*.tar.gz .tar.gz)
sed "s/^dynamic = .*/version = \"${name#trubleu-}\"/" pyproject.toml >"$here/pyproject.toml"
alone "$here/venv/bin/python" -m pip uninstall -q -y setuptools pip
quietly "writing $name.cdx.json" cyclonedx-py environment --pyproject "$here/pyproject.toml" --output-reproducible \
  --output-file "$here/dist/$name.cdx.json" "$here/venv/bin/python"
python - "$here/dist/$name.cdx.json" <<'PY'
import json
import sys
import tomllib

from packaging.requirements import Requirement

bill = json.load(open(sys.argv[1], encoding="utf-8"))
needed = {Requirement(each).name for each in tomllib.load(open("pyproject.toml", "rb"))["project"]["dependencies"]}
lost = needed - {each["name"] for each in bill["components"]}
if lost or not bill["metadata"]["component"].get("version"):
    sys.exit(f"error: {sys.argv[1]} lacks {', '.join(sorted(lost)) or 'the version'}.")
PY

if [ -n "${1:-}" ]; then
  mkdir -p "$1"
  cp "$here"/dist/* "$1"
  (cd "$1" && echo "$PWD:" && ls) >&2
fi

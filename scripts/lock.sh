#!/usr/bin/env bash
# Pin every package of development and CI in requirements/, with hashes, for all Pythons and platforms at once.
# What is pinned stays as it is where it fits; --upgrade takes the newest of everything.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
installed

pin() {
  local name=$1
  shift
  quietly "pinning requirements/$name.txt" uv pip compile --universal --python-version 3.11 --generate-hashes \
    --no-annotate --custom-compile-command "make lock" --output-file "requirements/$name.txt" "$@"
}
# The build needs cmake and ninja, too, which its back end asks for only where the system has none.
python -c 'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["build-system"]["requires"], "cmake>=3.26", "ninja>=1.11", sep="\n")' \
  >build/build-requirements.in
pin build "$@" build/build-requirements.in
pin dev "$@" --constraint requirements/build.txt --extra dev pyproject.toml

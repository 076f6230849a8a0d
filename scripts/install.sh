#!/usr/bin/env bash
# Make the development environment: a venv with TruBLEU in it, editable, its kernels compiled.
# Edits of .py files are seen at once. Does nothing when what it depends on has not changed since the last time.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

python=${PYTHON:-python3}
if [ -z "${PYTHON:-}" ] && [ -x "$VENV/bin/python" ]; then
  python=$VENV/bin/python
fi
command -v "$python" >/dev/null || need_package python3 "$python is not there"
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' ||
  fail "TruBLEU needs Python 3.11 or newer and $python is $("$python" -V 2>&1); name another one: make PYTHON=python3.12 ..."

# One line that says which interpreter this is, whether we ask it or a venv made from it.
interpreter=$("$python" -c 'import sys; print(sys.base_prefix, sys.version.split()[0])')

# What the build depends on: the contents of the build files and C++ sources, and which Python files exist.
state() {
  echo "$interpreter"
  find pyproject.toml CMakeLists.txt scripts/install.sh requirements src -type f \
    \( -name '*.cpp' -o -name '*.hpp' -o -name '*.h' -o -name '*.toml' -o -name '*.txt' -o -name 'install.sh' \) -print0 |
    LC_ALL=C sort -z | xargs -0 sha256sum
  find src -name '*.py' | LC_ALL=C sort
  cat src/trubleu/_version.py
}
stamp=$VENV/.installed
if [ -x "$VENV/bin/python" ] && [ -f "$stamp" ] && [ "$(state)" = "$(cat "$stamp")" ]; then
  exit 0
fi
rm -f "$stamp"

# What a bare Debian lacks.
version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
from_debian() { [ "$("$python" -c 'import sys; print(sys.base_prefix)')" = /usr ]; }
if ! "$python" -c 'import venv, ensurepip' 2>/dev/null; then
  from_debian || fail "$python cannot make virtual environments: its modules venv and ensurepip are missing."
  need_package "python$version-venv" "Python's venv module is missing"
fi
if [ -z "${CXX:-}" ] && ! command -v c++ >/dev/null && ! command -v g++ >/dev/null; then
  need_package g++ "a C++ compiler is missing"
fi
header=$("$python" -c 'import sysconfig; print(sysconfig.get_path("include"))')/Python.h
if [ ! -f "$header" ]; then
  from_debian || fail "the headers of $python are missing (no $header): install its development files."
  need_package "python$version-dev" "Python's headers are missing"
fi

# A venv made from another interpreter than the one asked for is made anew.
if [ -f "$VENV/pyvenv.cfg" ]; then
  there=$("$VENV/bin/python" -c 'import sys; print(sys.base_prefix, sys.version.split()[0])' 2>/dev/null || true)
  [ "$there" = "$interpreter" ] || rm -rf "$VENV"
fi
[ -x "$VENV/bin/python" ] || quietly "making $VENV" "$python" -m venv "$VENV"

# What is installed is pinned with hashes in requirements/ (see scripts/lock.sh). Without build isolation the build directory
# stays valid, so only changed C++ files are compiled again.
pip=("$VENV/bin/python" -m pip --disable-pip-version-check)
quietly "installing what the build needs" "${pip[@]}" install --no-deps --require-hashes -r requirements/build.txt
# Compiling keeps all cores busy and installing packages hardly one, so both are done at the same time. Modules of other
# packages are compiled to bytecode when they are first imported, and most of them never are.
quietly "installing $(grep -c '^[a-z]' requirements/dev.txt) packages" \
  "${pip[@]}" install --no-compile --no-deps --require-hashes -r requirements/dev.txt &
packages_job=$!
trap 'kill "$packages_job" 2>/dev/null || true' EXIT
PATH="$VENV/bin:$PATH" quietly "compiling TruBLEU" "${pip[@]}" install --no-compile --no-build-isolation --no-deps --editable .
wait "$packages_job" || exit 1
trap - EXIT
state >"$stamp"

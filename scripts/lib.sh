# shellcheck shell=bash
# What the scripts of this folder share. They source it; it does nothing by itself.
#
#   PYTHON   the interpreter to build the environment from (default: python3)
#   VENV     where the environment lives (default: .venv)
set -euo pipefail
ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
VENV=${VENV:-$ROOT/.venv}
cd "$ROOT"
# Tests start Python hundreds of times; where the environment forbids bytecode, each compiles all that it imports again.
unset PYTHONDONTWRITEBYTECODE

say() { printf '\033[1m--> %s\033[0m\n' "$*" >&2; }

fail() {
  printf 'error: %s\n' "$*" >&2
  exit 1
}

# quietly WHAT COMMAND...: say WHAT, run the command, show its output only when it fails.
quietly() {
  local what=$1 log
  shift
  log=$(mktemp)
  say "$what"
  if ! "$@" >"$log" 2>&1; then
    cat "$log" >&2
    rm -f "$log"
    fail "this step failed: $what"
  fi
  rm -f "$log"
}

# need_package PACKAGE WHY: install a Debian package when we may, otherwise say which one is missing.
need_package() {
  local package=$1 why=$2
  command -v apt-get >/dev/null || fail "$why; install it with your system's package manager (Debian's name is $package) and try again."
  [ "$(id -u)" = 0 ] || fail "$why; run 'sudo apt-get install $package' and try again."
  quietly "refreshing the package lists" apt-get update -q
  quietly "installing $package" env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "$package"
}

# installed: bring the environment up to date (fast when nothing changed) and put it on PATH.
installed() {
  "$ROOT/scripts/install.sh"
  export PATH="$VENV/bin:$PATH"
}

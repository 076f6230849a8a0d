#!/usr/bin/env bash
# Style and types, changing nothing. With --fix: repair and format what can be repaired.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
installed

if [ "${1:-}" = --fix ]; then
  say "ruff check --fix"
  ruff check --fix
  say "ruff format"
  ruff format
  exit 0
fi

# All three run, so that one call shows everything.
status=0
say "ruff check"
ruff check || status=1
say "ruff format --check"
ruff format --check || status=1
say "mypy --strict"
mypy --strict || status=1
exit "$status"

#!/usr/bin/env bash
# The whole way in one go, with made-up data: out/demo/report.html. Arguments go to trubleu demo, such as --open.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
installed

status=0
trubleu demo out/demo "$@" || status=$?
if [ "$status" = 130 ]; then echo "make demo, with the same ARGS, does that too." >&2; fi
[ "$status" = 0 ] || exit "$status"
case " $* " in *" --quiet "* | *" --help "* | *" -h "*) exit ;; esac
cat <<'TEXT'

Open the report in a browser; everything that it was made from lies beside it. To go on:
  make demo ARGS=--keep-serving                rate some responses yourself
  rm -r out/demo; make demo ARGS='--seed 7'    see another world
  docs/demo.md                                 read what the demo does
The commands are those of .venv/bin/trubleu; source .venv/bin/activate puts them on your path.
TEXT

#!/usr/bin/env bash
# The tests of load and faults at full size: 200 simulated raters, 50 at once, 5,000 items with 5 ratings each. Takes the
# better part of an hour on two cores; figures go to out/soak.jsonl. Arguments are passed on to pytest, such as -k killed.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
installed

mkdir -p out
export TRUBLEU_SOAK=1 TRUBLEU_SOAK_OUT=$PWD/out/soak.jsonl
python -m pytest tests/rating/load -p no:cacheprovider -v -s "$@"

#!/usr/bin/env bash
# Ours and the peer in one process: ratios of CPU time, printed and written to out/bench.json.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
installed

mkdir -p out
python -m benchmarks --out out/bench.json "$@"

#!/usr/bin/env bash
# Ours and the peer in one process: ratios of CPU time, printed and written to out/bench.json.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
installed

# Peers that only benchmarks need.
python -c 'import bm25s, fastchrf, numba, tantivy' 2>/dev/null ||
  quietly "installing the peers to compare with" python -m pip --disable-pip-version-check install 'bm25s>=0.2.10' 'fastchrf>=0.2' 'numba>=0.60' 'tantivy>=0.24'

# Of what pycocoevalcap depends on, CIDEr needs NumPy only.
python -c 'import pycocoevalcap' 2>/dev/null ||
  quietly "installing pycocoevalcap" python -m pip --disable-pip-version-check install --no-deps 'pycocoevalcap>=1.2'

mkdir -p out
python -m benchmarks --out out/bench.json "$@"

#!/usr/bin/env bash
# The tests of load and faults at full size: 200 simulated raters, 50 at once, 5,000 items with 5 ratings each; 1,100
# half-open requests for a minute; commands on Ray clusters whose workers are killed and whose nodes come and go; a fault
# at every write, sync and rename, and at every allocation of the kernels; 15,000 damaged files; a million random texts
# for each of BLEU, chrF, TER, ROUGE, METEOR, NIST and CIDEr-D beside their peers (pip install pycocoevalcap for the
# last); and all property tests with new examples. Takes about four hours on two cores; figures go to out/soak.jsonl.
# Arguments are passed on to pytest, such as -k killed.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
installed

# Ray's server for jobs, which one of the tests starts; nothing else needs it.
python -c 'import aiohttp_cors' 2>/dev/null ||
  quietly "installing ray[default]" python -m pip --disable-pip-version-check install --no-compile 'ray[default]'

mkdir -p out
export TRUBLEU_SOAK=1 TRUBLEU_SOAK_OUT=$PWD/out/soak.jsonl
status=0
python -m pytest tests/rating/load tests/faults tests/execution/test_cache_key.py tests/execution/test_soak.py tests/native/test_fuzz_peers.py -p no:cacheprovider -v -s "$@" || status=$?

# `make test` takes the same examples every time; here they are new, and the seed repeats them.
unset TRUBLEU_SOAK TRUBLEU_SOAK_OUT
export TRUBLEU_EXAMPLES=new
seed=$(od -An -N4 -tu4 /dev/urandom | tr -d ' ')
say "property tests with new examples; to repeat them: TRUBLEU_EXAMPLES=new python -m pytest tests -m hypothesis --hypothesis-seed=$seed"
examples=0
python -m pytest tests -m hypothesis --hypothesis-seed="$seed" -p no:cacheprovider "$@" || examples=$?
# Where -k chooses tests, one of the two may have none of them (5).
if [ "$examples" != 0 ] && [ "$examples" != 5 ]; then exit "$examples"; fi
if [ "$status" = 5 ] && [ "$examples" = 0 ]; then status=0; fi
exit "$status"

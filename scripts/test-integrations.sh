#!/usr/bin/env bash
# Tests against the packages that TruBLEU works with: torchmetrics, Jupyter, shells, ppi-python, and
# transformers' server, on which a model rates.
# They are large, so that they are installed here and not with everything else; make test leaves these tests out.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
installed

# The versions that the tests are known to pass with; the extras of pyproject.toml say what users may have.
packages=(torch==2.13.0 torchmetrics==1.9.0 shtab==1.13.0 'ipykernel>=6.29' 'nbclient>=0.10' 'transformers[serving]==5.22.2' ppi-python==0.2.3)
missing=$(python - "${packages[@]}" <<'PY'
import sys
from importlib.metadata import PackageNotFoundError, version

from packaging.requirements import Requirement

for each in map(Requirement, sys.argv[1:]):
    try:
        # A build for CPUs alone calls itself 2.13.0+cpu, which is 2.13.0 to whoever asks for that.
        fits = each.specifier.contains(version(each.name))
    except PackageNotFoundError:
        fits = False
    if not fits:
        print(each)
PY
)
if [ -n "$missing" ]; then
  mapfile -t missing <<<"$missing"
  quietly "installing ${missing[*]}" python -m pip --disable-pip-version-check install --no-compile "${missing[@]}"
fi

say "=== pytest, with the examples in docstrings"
mkdir -p build/test
# In one process: most of the time goes into importing these packages, which every further one would do again.
python -m pytest --doctest-modules src/trubleu/integrations/torch.py tests/integrations "$@" 2>&1 |
  tee build/test/integrations.log

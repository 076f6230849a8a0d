"""What all tests share: the project on the path, and how hypothesis looks for counterexamples."""

from __future__ import annotations

import atexit
import importlib
import os
import shutil
import signal
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    from types import ModuleType

# Tests import the plain statements of the formulas by name: `from tests.oracles.statement import ...`.
sys.path.insert(0, str(Path(__file__).parent.parent))

# Whatever a shell starts in the background ignores Ctrl-C, and so would all processes that tests start and interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Keys of tests are their own, whoever runs them.
os.environ["XDG_CONFIG_HOME"] = tempfile.mkdtemp(prefix="trubleu-tests-")
atexit.register(shutil.rmtree, os.environ["XDG_CONFIG_HOME"], ignore_errors=True)

# Whoever runs the tests gets the same examples every time. TRUBLEU_EXAMPLES=new draws more, and others every time; a
# failure then prints how to repeat it, and `make soak` the seed of them all.
_PATIENT = [HealthCheck.too_slow]
settings.register_profile("same", deadline=None, suppress_health_check=_PATIENT, derandomize=True, database=None)
settings.register_profile("new", deadline=None, suppress_health_check=_PATIENT, max_examples=500, print_blob=True)
settings.load_profile("new" if os.environ.get("TRUBLEU_EXAMPLES") == "new" else "same")


@pytest.fixture(scope="session")
def real_data() -> Path:
    """Return the folder with public data, or skip: it is no part of the project."""
    folder = os.environ.get("TRUBLEU_DATA")
    if not folder:
        pytest.skip("TRUBLEU_DATA does not name the folder with real data")
    path = Path(folder)
    if not path.is_dir():
        pytest.skip(f"TRUBLEU_DATA names {path}, which is no folder")
    return path


@pytest.fixture(scope="session")
def mt_metrics_eval(real_data: Path) -> ModuleType:
    """Return Google's mt-metrics-eval, whose modules may lie beside the public data, or skip."""
    folder = real_data.parent / "peers"
    if not (folder / "mt_metrics_eval" / "stats.py").is_file():
        pytest.skip(f"{folder} does not hold mt_metrics_eval")
    sys.path.append(str(folder))
    try:
        return importlib.import_module("mt_metrics_eval.stats")
    finally:
        sys.path.remove(str(folder))

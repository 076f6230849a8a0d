"""What the contract refuses, and what threads may not change."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import trubleu
from trubleu.errors import DataError
from trubleu.metrics import Bleu, Bleu2Vec
from trubleu.metrics.registry import names

CROWDED = """
import resource
import trubleu
outputs = [f"the {i % 7} cat sat" for i in range(20_000)]
references = trubleu.References.from_lists([[f"the {i % 5} cat sat"] for i in range(20_000)])
metric = trubleu.metric("bleu-2")
expected = metric.corpus(outputs, references, threads=1)
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + 150 * 2**20,) * 2)
print(metric.corpus(outputs, references, threads=200) == expected)
"""


@pytest.mark.parametrize("name", ["bleu-2", "dbleu-2"])
@pytest.mark.parametrize("shape", [(), (3, 5), (7,), (2, 0)])
def test_statistics_of_another_width_are_refused(name: str, shape: tuple[int, ...]) -> None:
    with pytest.raises(DataError, match="not statistics of order 2"):
        trubleu.metric(name).score(np.zeros(shape))


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_threads_that_cannot_be_had_are_done_without() -> None:
    done = subprocess.run([sys.executable, "-c", CROWDED], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "True\n"), done.stderr


class OwnBleu(Bleu):
    def __init__(self, order: int = 2) -> None:
        super().__init__(order)
        self.name = "own"


class OwnBleu2Vec(Bleu2Vec):
    def __post_init__(self) -> None:
        super().__post_init__()
        self.name = f"{self.name}-of-mine"


def test_a_subclass_sets_its_name() -> None:
    own = OwnBleu()
    assert (own.name, own.with_order(1).name, own.corpus(["a"], [["a"]]).metric) == ("own", "own", "own")
    assert str(own.signature()).startswith("own|")
    assert OwnBleu2Vec(2, vectors=(["a"], [[1.0]]), recall=True).name == "bleu2vec-f-2-of-mine"


@pytest.mark.parametrize("name", names())
def test_no_rows_have_no_scores(name: str) -> None:
    metric = trubleu.metric(name)
    references = trubleu.References.from_lists([["the cat sat"], ["a dog"]]).with_messages(["a cat", "dogs"])
    width = metric.statistics(["a cat sat", "the dog"], references).shape[1]
    assert metric.score(np.zeros((0, width))).shape == (0,)
    assert metric.score(np.zeros((3, 0, width))).shape == (3, 0)

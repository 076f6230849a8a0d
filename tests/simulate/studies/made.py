"""Pools made by hand, and a metric that is a mean of given numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from trubleu.data import References
from trubleu.metrics import Metric
from trubleu.signature import Signature, make_signature
from trubleu.simulate.studies import Condition, Pool, Scored

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from trubleu.metrics.base import AnyReferences
    from trubleu.progress import Progress


class MeanOfNumbers(Metric):
    """Scores an output by the number that it is."""

    name = "mean"
    uses_weights: ClassVar[bool] = False

    def statistics(
        self,
        outputs: Sequence[str],
        references: AnyReferences,  # noqa: ARG002
        *,
        threads: int | None = None,  # noqa: ARG002
        progress: Progress | None = None,  # noqa: ARG002
    ) -> NDArray[np.float64]:
        return np.array([[float(text), 1.0] for text in outputs])

    def score(self, statistics: NDArray[np.float64]) -> NDArray[np.float64]:
        scores: NDArray[np.float64] = statistics[..., 0] / statistics[..., 1]
        return scores

    def signature(self, references: AnyReferences | None = None) -> Signature:  # noqa: ARG002
        return make_signature(self.name)


class MeanOfErrors(MeanOfNumbers):
    """The same where less is better."""

    name = "error"
    higher_is_better: ClassVar[bool] = False


def numbers_pool(systems: Mapping[str, NDArray[np.float64]], qualities: Mapping[str, float]) -> Pool:
    """Return a pool whose outputs are numbers; a system is as good as it is said to be, everywhere."""
    size = len(next(iter(systems.values())))
    return Pool(
        candidates=References.from_lists([["a reference"]] * size),
        qualities=np.full(size, 4.0),
        outputs={name: tuple(map(repr, numbers.tolist())) for name, numbers in systems.items()},
        output_qualities={name: np.full(size, qualities[name]) for name in systems},
    )


def scored_by(pool: Pool, metric: Metric) -> Scored:
    """Return the statistics of all systems by one metric."""
    condition = Condition(metric.name, metric, 1, None)
    rows = {name: metric.statistics(texts, pool.candidates) for name, texts in pool.outputs.items()}
    return Scored(condition, rows, 0.0)


class Learning(MeanOfNumbers):
    """Says of itself that it must know all references."""

    @property
    def learns(self) -> bool:
        return True

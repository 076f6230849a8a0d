"""A torchmetrics metric whose state is the sum of the statistics, which is additive over batches and processes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Final

from trubleu.data import References
from trubleu.errors import UsageError
from trubleu.integrations.inputs import listed, listed_rows
from trubleu.metrics.base import as_references, whole_references
from trubleu.metrics.defaults import DEFAULT_METRIC
from trubleu.metrics.registry import metric as make_metric
from trubleu.optional_deps import needed
from trubleu.stats import total

needed("torchmetrics", "trubleu.integrations.torch", "trubleu[torch]")
import torch  # noqa: E402
import torchmetrics  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from trubleu.metrics import Metric
    from trubleu.signature import Signature

TORCHMETRICS_OPTIONS: Final = (
    "compute_on_cpu",
    "compute_with_cache",
    "dist_sync_fn",
    "dist_sync_on_step",
    "distributed_available_fn",
    "process_group",
    "sync_on_compute",
)
"""Options of torchmetrics itself; every other option goes to the metric."""


class TrubleuMetric(torchmetrics.Metric):
    """Any TruBLEU metric as a torchmetrics metric.

    Batches may have any size, and processes may see any share of the segments: the score is that of all segments
    together. Sums stay float64 whatever dtype the model is converted to.

    Parameters
    ----------
    metric
        A metric's name, such as ``trubleu`` or ``bleu-4[tokenize=intl]``, or a metric. One that learns from the
        references of all segments (`Metric.learns`) needs them beforehand: as its option ``corpus``, or by
        `Metric.learned`.
    threads
        How many threads to use in one update; None for all cores if there is enough to do.
    options
        The metric's options as for `trubleu.metric`, and those of ``torchmetrics.Metric``.

    Examples
    --------
    >>> dbleu = TrubleuMetric("dbleu-2")
    >>> dbleu.update(["the food was great"], [["the food was great", "the food was awful"]], weights=[[1.0, -0.8]])
    >>> dbleu.update(["i do not know"], [["ask the waiter", "i do not know"]], weights=[[0.9, -0.2]])
    >>> round(dbleu.compute().item(), 2)
    42.11
    """

    is_differentiable: ClassVar[bool] = False
    full_state_update: ClassVar[bool] = False

    scorer: Metric
    statistics: torch.Tensor
    apart: torch.Tensor

    def __init__(self, metric: str | Metric = DEFAULT_METRIC, *, threads: int | None = None, **options: Any) -> None:
        super().__init__(**{name: options.pop(name) for name in TORCHMETRICS_OPTIONS if name in options})
        self.scorer = make_metric(metric, **options)
        self.threads = threads
        if self.scorer.learns:
            raise UsageError(
                f"{self.scorer.name} learns from the references of all segments, and an update brings only some; name "
                "a file of references to learn from with corpus=FILE, or pass what metric.learned(references) returns"
            )
        one = References.from_lists([["a"]]).with_messages(["a"])
        columns = self.scorer.statistics(["a"], one).shape[1]
        self.add_state("statistics", torch.zeros(columns, dtype=torch.float64), dist_reduce_fx="sum")
        # MetricCollection merges metrics whose states are equal after the first update, such as two tokenizers that
        # agree on the first texts. NaN equals nothing.
        self.add_state("apart", torch.tensor(torch.nan, dtype=torch.float64), dist_reduce_fx="sum")

    @property
    def higher_is_better(self) -> bool:
        """False for error rates."""
        return self.scorer.higher_is_better

    @property
    def signature(self) -> Signature:
        """The signature, without the number of references, which a single process does not know."""
        return self.scorer.signature()

    def update(
        self,
        outputs: Sequence[str],
        references: Sequence[Sequence[str]] | References,
        weights: Sequence[Sequence[float | None]] | None = None,
        messages: Sequence[str] | None = None,
    ) -> None:
        """Add a batch.

        Parameters
        ----------
        outputs
            One text per segment: a list, or anything that can be gone through once.
        references
            For each segment a list of its references, or a `References`.
        weights
            For each segment a list of its references' weights, from −1 to 1.
        messages
            What each output answers to, translates or shortens, for metrics that look at it.
        """
        outputs = listed("outputs", outputs)
        if not isinstance(references, References):
            references = listed_rows("references", references)
        found = as_references(references, outputs, None if weights is None else listed_rows("weights", weights))
        if messages is not None:
            found = whole_references(found).with_messages(listed("messages", messages))
        rows = self.scorer.statistics(outputs, found, threads=self.threads)
        # Not in place, so copies of the state, such as snapshots, do not change.
        self.statistics = self.statistics + torch.from_numpy(total(rows)).to(self.statistics.device)

    def compute(self) -> torch.Tensor:
        """Return the score over all batches and processes, as float64."""
        score = float(self.scorer.score(self.statistics.cpu().numpy()))
        return torch.tensor(score, dtype=torch.float64, device=self.statistics.device)

    def extra_repr(self) -> str:
        """Return the metric's name, for ``repr``."""
        return str(self.scorer.name)

    def _apply(self, fn: Callable[[torch.Tensor], torch.Tensor], *others: Any, **more: Any) -> TrubleuMetric:
        """Move to another device with the model, but keep the dtype."""

        def moved(tensor: torch.Tensor) -> torch.Tensor:
            try:
                found = fn(tensor)
            except TypeError:  # Apple's GPUs have no float64
                return tensor
            return found if found.dtype == tensor.dtype else tensor.to(found.device)

        applied: TrubleuMetric = super()._apply(moved, *others, **more)
        return applied

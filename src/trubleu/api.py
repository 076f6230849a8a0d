"""One call for people in a hurry."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from trubleu.metrics.base import as_references, warn_unweighted, whole_references
from trubleu.metrics.defaults import DEFAULT_METRIC
from trubleu.metrics.registry import metric as make_metric

if TYPE_CHECKING:
    from collections.abc import Sequence

    from trubleu.metrics.base import AnyReferences, Metric, Result


def corpus_score(
    outputs: Sequence[str],
    references: AnyReferences,
    metric: str | Metric = DEFAULT_METRIC,
    weights: Sequence[Sequence[float | None]] | None = None,
    *,
    threads: int | None = None,
    **options: Any,
) -> Result:
    """Score a system against references.

    Parameters
    ----------
    outputs
        One text per segment.
    references
        For each segment a list of its references (sacreBLEU's lists are the other way round), or a `References`.
    metric
        A metric's name, such as ``dbleu-2`` or ``bleu-4[tokenize=intl]``, or a metric.
    weights
        For each segment a list of its references' weights, from −1 to 1.
    threads
        How many threads to use; None for all cores if there is enough to do.
    options
        The metric's options, as for `trubleu.metric`.

    Warns
    -----
    TrubleuWarning
        If references have no weights and the metric is another one for that reason, as ΔBLEU is BLEU.

    Examples
    --------
    >>> outputs = ["the food was great", "i do not know"]
    >>> round(corpus_score(outputs, [["the food was excellent"], ["no idea"]]).score, 2)
    52.49
    >>> references = [["the food was great", "the food was awful"], ["ask the waiter", "i do not know"]]
    >>> round(corpus_score(outputs, references, "bleu-2").score, 2)
    100.0
    >>> round(corpus_score(outputs, references, "dbleu-2", weights=[[1.0, -0.8], [0.9, -0.2]]).score, 2)
    42.11
    """
    found = as_references(references, outputs, weights)
    made = make_metric(metric, **options)
    result = made.corpus(outputs, found, threads=threads)
    warn_unweighted({made.name: made}, weighted=whole_references(found).weighted())
    return result

"""TruBLEU's metrics as a module of Hugging Face ``evaluate``.

They score generated text with references that may carry weights from -1 (a bad answer) to 1 (a good one): trubleu,
BLEU, ΔBLEU, sBLEU, iBLEU, bleu2vec, NIST, CIDEr, LeBLEU, METEOR, chrF, TER and others, each with a signature of how
the number was made.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import datasets
import evaluate

from trubleu.data import References
from trubleu.data.reference_files import check_storable
from trubleu.errors import DataError
from trubleu.integrations.inputs import listed, listed_rows
from trubleu.metrics.base import as_references
from trubleu.metrics.defaults import DEFAULT_METRIC
from trubleu.metrics.options import check_flag
from trubleu.metrics.registry import metric as make_metric
from trubleu.stats import bootstrap_interval

if TYPE_CHECKING:
    from collections.abc import Sequence

    from trubleu.metrics import Metric

NO_CONFIG: Final = "default"
OWN_OPTIONS: Final = ("ci", "confidence", "resamples", "seed", "threads")

_HALVES: Final = "evaluate cannot keep; replace it: text.encode(errors='replace').decode()"

CITATION: Final = """\
@inproceedings{galley-etal-2015-deltableu,
  title = {delta{BLEU}: A Discriminative Metric for Generation Tasks with Intrinsically Diverse Targets},
  author = {Galley, Michel and Brockett, Chris and Sordoni, Alessandro and Ji, Yangfeng and Auli, Michael and
            Quirk, Chris and Mitchell, Margaret and Gao, Jianfeng and Dolan, Bill},
  booktitle = {Proceedings of ACL-IJCNLP 2015},
  year = {2015}
}
"""


class Trubleu(evaluate.Metric):
    """Any metric of TruBLEU, chosen with ``config_name`` or in ``compute``.

    Parameters
    ----------
    predictions
        One text per segment.
    references
        For each segment a list of its references, or one text.
    weights
        For each segment a list of its references' weights, from -1 to 1; None in a list for "not rated yet".
    messages
        What each prediction answers to, translates or shortens, for metrics that look at it.
    metric
        Such as "trubleu" or "bleu-4[tokenize=intl]"; what evaluate.load was given as config_name if left out, and
        trubleu if that was left out, too.
    ci
        Whether to add a bootstrap interval; with confidence (0.95), resamples (10000) and seed (12345).
    threads
        How many threads to use.
    options
        Any option of the metric, such as tokenize="chat".

    Returns
    -------
    dict
        score, metric, segments and signature, and what else the metric tells; with ci also low, high, confidence,
        resamples and seed.
    """

    def _info(self) -> evaluate.MetricInfo:
        if self.config_name != NO_CONFIG:
            make_metric(self.config_name)  # fail on a wrong name now, not after hours of generation
        text, number = datasets.Value("string"), datasets.Value("float64")
        return evaluate.MetricInfo(
            description=__doc__,
            citation=CITATION,
            inputs_description=type(self).__doc__,
            features=datasets.Features(
                {
                    "predictions": text,
                    "references": datasets.Sequence(text),
                    "weights": datasets.Sequence(number),
                    "messages": datasets.Sequence(text),
                }
            ),
        )

    def compute(
        self,
        *,
        predictions: Any = None,
        references: Any = None,
        weights: Any = None,
        messages: Any = None,
        metric: str | Metric | None = None,
        **options: Any,
    ) -> dict[str, Any] | None:
        """Score the given segments, or those added before."""
        named = metric or (DEFAULT_METRIC if self.config_name == NO_CONFIG else self.config_name)
        ours = {name: options.pop(name) for name in OWN_OPTIONS if name in options}
        # First, so a wrong option does not discard the added segments.
        check_flag("ci", ours.get("ci", False))
        scorer = make_metric(named, **options)
        if any(given is not None for given in (predictions, references, weights, messages)):
            self.add_batch(predictions=predictions, references=references, weights=weights, messages=messages)
        found: dict[str, Any] | None = super().compute(metric=scorer, **ours)
        return found

    def add_batch(
        self, *, predictions: Any = None, references: Any = None, weights: Any = None, messages: Any = None
    ) -> None:
        """Add a batch of segments."""
        if predictions is None or references is None:
            raise DataError(
                "both predictions and references are needed; give one prediction and its references per segment"
            )
        predictions, rows = listed("predictions", predictions), _per_segment(references)
        weights = None if weights is None else listed_rows("weights", weights)
        messages = None if messages is None else listed("messages", messages)
        _checked(predictions, rows, weights, messages)
        check_storable(predictions, "prediction", _HALVES)
        check_storable(["".join(filter(None, row)) for row in rows], "reference of segment", _HALVES)
        check_storable(messages or [], "message", _HALVES)
        count = len(predictions)
        super().add_batch(
            predictions=predictions,
            references=rows,
            # A segment with weights never has an empty list, so it marks those without.
            weights=[[]] * count if weights is None else weights,
            messages=[[]] * count if messages is None else [[text] for text in messages],
        )

    def add(self, *, prediction: Any = None, reference: Any = None, weights: Any = None, messages: Any = None) -> None:
        """Add a segment; its weights are one list, its message one text."""
        self.add_batch(
            predictions=[prediction],
            references=[reference],
            weights=None if weights is None else [weights],
            messages=None if messages is None else [messages],
        )

    def _compute(
        self,
        *,
        predictions: Sequence[str],
        references: Sequence[Sequence[str]],
        weights: Sequence[Sequence[float | None]],
        messages: Sequence[Sequence[str]],
        metric: Metric,
        ci: bool = False,
        threads: int | None = None,
        **options: Any,
    ) -> dict[str, Any]:
        """Score all added segments."""
        given = _checked(
            predictions,
            references,
            _all_or_none([row or None for row in weights], "weights"),
            _all_or_none([row[0] if row else None for row in messages], "a message"),
        )
        rows = metric.statistics(predictions, given, threads=threads)
        result = metric.result(rows, given)
        if not ci:
            return result.to_dict()
        found = bootstrap_interval(rows, metric.score, threads=threads, **options)
        signature = result.signature.extended(
            ci=found.confidence, bs=found.resamples, seed=found.seed, blocks=found.blocks or None
        )
        told = {name: getattr(found, name) for name in ("low", "high", "confidence", "resamples", "seed")}
        return result.to_dict() | {"signature": str(signature)} | told


def _per_segment(references: Any) -> list[Any]:
    """Return references as lists; a single text per segment is its only reference."""
    return [[row] if isinstance(row, str) else row for row in listed_rows("references", references)]


def _checked(predictions: Any, references: Any, weights: Any, messages: Any) -> References:
    """Validate references and convert them to an object."""
    if not all(isinstance(text, str) for text in predictions):
        raise DataError("predictions must be a list with one text for each segment")
    found = References.from_lists(references, weights, outputs_count=len(predictions))
    if messages is not None:
        found = found.with_messages(messages)
    as_references(found, predictions)
    return found


def _all_or_none(column: Sequence[Any], what: str) -> Sequence[Any] | None:
    """Return a column that every segment has, None if no segment has it."""
    without = sum(value is None for value in column)
    if without == len(column):
        return None
    if without:
        raise DataError(f"{without} of {len(column)} segments came without {what}; give it for all or for none")
    return column

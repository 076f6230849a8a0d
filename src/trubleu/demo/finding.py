"""What came out, in plain words. Nothing is taken for granted: every sentence follows from the numbers."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Final

from trubleu.judge.show.summary import some

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from trubleu.demo.results import Results

PLAIN, WEIGHTED = "bleu-2", "dbleu-2"
"""The two that the finding is about."""

NAMES: Final = {"bleu-2": "BLEU", "bleu2vec-2": "bleu2vec", "dbleu-2": "ΔBLEU", "dbleu2vec-2": "dbleu2vec"}
"""What people call the metrics."""

CLEAR: Final = 0.25
"""Points of true quality: pairs of systems closer than that are held against no metric."""

LEVEL: Final = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """The order that a metric puts systems in, held against the true one.

    Attributes
    ----------
    metric
        Which one.
    systems
        Best first.
    pairs
        How many pairs of systems clearly differ in truth.
    wrong
        Pairs in the wrong order: the system that is better in truth, then the one that the metric prefers.
    sure
        Those of them that the metric is sure of: the difference is significant. Only these show that it is fooled; a
        test set of this size leaves all metrics a few that go one way or the other.
    tied
        How many pairs have equal scores.
    """

    metric: str
    systems: tuple[str, ...]
    pairs: int
    wrong: tuple[tuple[str, str], ...]
    sure: tuple[tuple[str, str], ...]
    tied: int

    def overrated(self, *, sure: bool = True) -> dict[str, list[str]]:
        """Return the systems that stand above better ones, and these, the most overrated first.

        Parameters
        ----------
        sure
            Whether only those count that stand there significantly.
        """
        found: dict[str, list[str]] = {}
        for better, preferred in self.sure if sure else self.wrong:
            found.setdefault(preferred, []).append(better)
        return dict(sorted(found.items(), key=lambda entry: (-len(entry[1]), self.systems.index(entry[0]))))


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What came out.

    Attributes
    ----------
    headline
        In one sentence.
    sentences
        What it rests on.
    true_order
        Best first.
    orders
        By metric.
    """

    headline: str
    sentences: tuple[str, ...]
    true_order: tuple[str, ...]
    orders: Mapping[str, Order]


def find(results: Results) -> Finding:
    """Say what came out."""
    true_order = tuple(sorted(results.systems, key=lambda name: -results.truth[name]))
    orders = {metric: _order(results, metric) for metric in results.metrics}
    plain, weighted = orders[PLAIN], orders[WEIGHTED]
    return Finding(
        headline=headline(plain, weighted),
        sentences=tuple(_sentences(results, true_order, plain, weighted)),
        true_order=true_order,
        orders=orders,
    )


def _order(results: Results, metric: str) -> Order:
    scores = {name: results.scores[metric, name].value for name in results.systems}
    clear = [
        (a, b) if results.truth[a] > results.truth[b] else (b, a)
        for a, b in combinations(results.systems, 2)
        if abs(results.truth[a] - results.truth[b]) >= CLEAR
    ]
    wrong = tuple((better, worse) for better, worse in clear if scores[worse] > scores[better])
    return Order(
        metric=metric,
        # Of equal ones, the better first: a metric that does not tell two apart is not wrong about them.
        systems=tuple(sorted(scores, key=lambda name: (-scores[name], -results.truth[name]))),
        pairs=len(clear),
        wrong=wrong,
        sure=tuple(pair for pair in wrong if results.p[metric, *pair] < LEVEL),
        tied=sum(scores[better] == scores[worse] for better, worse in clear),
    )


def headline(plain: Order, weighted: Order) -> str:
    """Say in one sentence who is fooled; each of the cases is possible, and so each has its sentence.

    Examples
    --------
    >>> right = Order(metric="dbleu-2", systems=("a", "b"), pairs=1, wrong=(), sure=(), tied=0)
    >>> fooled = Order(metric="bleu-2", systems=("b", "a"), pairs=1, wrong=(("a", "b"),), sure=(("a", "b"),), tied=0)
    >>> headline(fooled, right)
    'BLEU is fooled by bad references, and ΔBLEU is not.'
    >>> headline(right, fooled)
    'With this seed BLEU is not fooled by bad references, and ΔBLEU is sure of 1 wrong pair of systems.'
    """
    bad, better = len(plain.sure), len(weighted.sure)
    if not bad and not better:
        return "With this seed neither BLEU nor ΔBLEU is fooled by bad references."
    if not bad:
        pairs = "wrong pair" if better == 1 else "wrong pairs"
        return f"With this seed BLEU is not fooled by bad references, and ΔBLEU is sure of {better} {pairs} of systems."
    if not better:
        return "BLEU is fooled by bad references, and ΔBLEU is not."
    if better < bad:
        return (
            f"BLEU is fooled by bad references more than ΔBLEU: sure of {bad} wrong pairs of systems against {better}."
        )
    return f"With this seed ΔBLEU does no better than BLEU: sure of {better} wrong pairs of systems against {bad}."


def _sentences(results: Results, true_order: Sequence[str], plain: Order, weighted: Order) -> list[str]:
    said = [
        f"In truth the systems rank {_listed(true_order)}.",
        *(
            f"{NAMES[order.metric]} ranks them {_listed(order.systems)}: {_mistakes(order)}."
            for order in (plain, weighted)
        ),
    ]
    first, second = results.agreement[PLAIN].rho, results.agreement[WEIGHTED].rho
    if first is not None and second is not None:
        said.append(
            f"Agreement with those who rated the outputs, Spearman’s ρ: {_number(first)} for BLEU, {_number(second)} "
            "for ΔBLEU."
        )
    return said


def _mistakes(order: Order) -> str:
    if not order.wrong:
        return f"of {_pairs(order.pairs)} that clearly differ none is in the wrong order"
    count = (
        f"{len(order.wrong)} of {_pairs(order.pairs)} that clearly differ {_are(len(order.wrong))} in the wrong order"
    )
    if not order.sure:
        return f"{count}, {'though not' if len(order.wrong) == 1 else 'none of them'} significantly"
    above = "; ".join(f"{worse} above {some(better)}" for worse, better in order.overrated().items())
    how_many = "" if len(order.wrong) == 1 else "all " if len(order.sure) == len(order.wrong) else f"{len(order.sure)} "
    return f"{count}, {how_many}significantly: {above}"


def _are(number: int) -> str:
    return "is" if number == 1 else "are"


def _listed(names: Sequence[str]) -> str:
    return " > ".join(names)


def _pairs(number: int) -> str:
    return f"{number} pair{'' if number == 1 else 's'}"


def _number(value: float) -> str:
    return f"{value:z.2f}".replace("-", "−")

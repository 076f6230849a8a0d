"""What came out, in plain words. Nothing is taken for granted: every sentence follows from the numbers."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Final

from trubleu.errors import counted
from trubleu.judge.show.summary import some

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from trubleu.demo.results import Results, Score

PLAIN, WEIGHTED = "bleu-2", "dbleu-2"
"""The two that the finding is about."""

NAMES: Final = {"bleu-2": "BLEU", "bleu2vec-2": "bleu2vec", "dbleu-2": "ΔBLEU", "dbleu2vec-2": "dbleu2vec"}
"""What people call the metrics."""

CLEAR: Final = 0.25
"""Points of true quality: pairs of systems closer than that are held against no metric."""

LEVEL: Final = 0.05

ENOUGH: Final = 20
"""With fewer segments nothing is called sure: a bootstrap of so few takes chance for certainty."""


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
    enough
        Whether there are segments enough to call anything sure.
    """

    metric: str
    systems: tuple[str, ...]
    pairs: int
    wrong: tuple[tuple[str, str], ...]
    sure: tuple[tuple[str, str], ...]
    enough: bool = True

    @property
    def fooled(self) -> bool:
        """Whether it is sure of anything that is wrong."""
        return bool(self.sure)

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
class Four:
    """BLEU and ΔBLEU, each with all references and with the good ones only: what the finding compares."""

    plain: Order
    weighted: Order
    good_plain: Order
    good_weighted: Order


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
    good_orders
        By metric, with the good references only.
    """

    headline: str
    sentences: tuple[str, ...]
    true_order: tuple[str, ...]
    orders: Mapping[str, Order]
    good_orders: Mapping[str, Order]


def find(results: Results) -> Finding:
    """Say what came out."""
    true_order = tuple(sorted(results.systems, key=lambda name: -results.truth[name]))
    orders = {metric: _order(results, metric, results.scores, results.p) for metric in results.metrics}
    good = {metric: _order(results, metric, results.good_scores, results.good_p) for metric in (PLAIN, WEIGHTED)}
    four = Four(plain=orders[PLAIN], weighted=orders[WEIGHTED], good_plain=good[PLAIN], good_weighted=good[WEIGHTED])
    segments = len(results.references)
    return Finding(
        headline=headline(four, segments=segments),
        sentences=tuple(_sentences(results, true_order, four)),
        true_order=true_order,
        orders=orders,
        good_orders=good,
    )


def _order(
    results: Results,
    metric: str,
    scored: Mapping[tuple[str, str], Score],
    p: Mapping[tuple[str, str, str], float],
) -> Order:
    scores = {name: scored[metric, name].value for name in results.systems}
    clear = [
        (a, b) if results.truth[a] > results.truth[b] else (b, a)
        for a, b in combinations(results.systems, 2)
        if abs(results.truth[a] - results.truth[b]) >= CLEAR
    ]
    wrong = tuple((better, worse) for better, worse in clear if scores[worse] > scores[better])
    enough = len(results.references) >= ENOUGH
    return Order(
        metric=metric,
        # Of equal ones, the better first: a metric that does not tell two apart is not wrong about them.
        systems=tuple(sorted(scores, key=lambda name: (-scores[name], -results.truth[name]))),
        pairs=len(clear),
        wrong=wrong,
        sure=tuple(pair for pair in wrong if enough and p[metric, *pair] < LEVEL),
        enough=enough,
    )


def headline(four: Four, *, segments: int) -> str:
    """Say in one sentence who is fooled; each of the cases is possible, and so each has its sentence.

    Examples
    --------
    >>> right = Order(metric="dbleu-2", systems=("a", "b"), pairs=1, wrong=(), sure=())
    >>> fooled = Order(metric="bleu-2", systems=("b", "a"), pairs=1, wrong=(("a", "b"),), sure=(("a", "b"),))
    >>> headline(Four(plain=fooled, weighted=right, good_plain=fooled, good_weighted=fooled), segments=100)
    'BLEU is fooled by b, with bad references and without them; ΔBLEU, which knows which ones are bad, is not.'
    >>> headline(Four(plain=right, weighted=fooled, good_plain=fooled, good_weighted=fooled), segments=100)
    'With this seed ΔBLEU is fooled by b, and BLEU is not.'
    """
    plain, weighted = four.plain, four.weighted
    if segments < ENOUGH:
        return (
            f"With {counted(segments, 'segment')} nothing is sure: of {_pairs(plain.pairs)} of systems that clearly "
            f"differ BLEU has {len(plain.wrong)} in the wrong order, ΔBLEU {len(weighted.wrong)}."
        )
    if not plain.fooled and not weighted.fooled:
        if not plain.wrong and not weighted.wrong:
            return "With this seed neither BLEU nor ΔBLEU is fooled."
        return (
            f"With this seed neither is surely fooled: of {_pairs(plain.pairs)} of systems that clearly differ BLEU "
            f"has {len(plain.wrong)} in the wrong order, ΔBLEU {len(weighted.wrong)}, none of them significantly."
        )
    if not plain.fooled:
        return f"With this seed ΔBLEU is fooled by {_who(weighted)}, and BLEU {_not_fooled(plain)}."
    if not weighted.fooled:
        knows = f"ΔBLEU, which knows which ones are bad, {_not_fooled(weighted)}"
        if four.good_plain.fooled:
            return f"BLEU is fooled{_by_both(plain, four.good_plain)} with bad references and without them; {knows}."
        return (
            f"BLEU is fooled by {_who(plain)} where bad references are among the good ones, and without them "
            f"{_not_fooled(four.good_plain)}; {knows}."
        )
    numbers = len(plain.sure), len(weighted.sure)
    if numbers[1] < numbers[0]:
        return (
            f"Both are fooled, BLEU more than ΔBLEU: sure of {numbers[0]} wrong pairs of systems against {numbers[1]}."
        )
    return (
        f"With this seed ΔBLEU does no better than BLEU: sure of {_wrong(numbers[1])} of systems against {numbers[0]}."
    )


def _not_fooled(order: Order) -> str:
    """Say of a metric that it is sure of nothing wrong; that is not the same as being right."""
    if not order.wrong:
        return "is not"
    sure = "not" if len(order.wrong) == 1 else "none"
    return f"is not ({len(order.wrong)} of {_pairs(order.pairs)} wrong, {sure} significantly)"


def _who(order: Order) -> str:
    return some([_called(name) for name in order.overrated()])


def _by_both(first: Order, second: Order) -> str:
    """Name those whom a metric overrates both times, if there is anyone."""
    both = [name for name in first.overrated() if name in second.overrated()]
    return f" by {some([_called(name) for name in both])}," if both else ""


def _called(name: str) -> str:
    return "the parrot" if name == "parrot" else name


def conclusion(four: Four) -> str:
    """Say what leaving the bad references out changes, and so what it is that helps.

    Examples
    --------
    >>> right = Order(metric="dbleu-2", systems=("a", "b"), pairs=1, wrong=(), sure=())
    >>> conclusion(Four(plain=right, weighted=right, good_plain=right, good_weighted=right))
    'Without the bad references neither is surely fooled.'
    """
    good_plain, good_weighted = four.good_plain.fooled, four.good_weighted.fooled
    if four.plain.fooled and not four.weighted.fooled:
        match good_plain, good_weighted:
            case True, True:
                return (
                    "So it is not enough to leave bad references out; what helps is to know that they are bad. A bad "
                    "reference that is rated tells what not to say: a match with it costs in ΔBLEU, and BLEU cannot "
                    "use that."
                )
            case True, False:
                return (
                    "So it is not enough for BLEU to leave bad references out. ΔBLEU is not surely fooled with them or "
                    "without them: for it the weights of the good ones are enough here."
                )
            case False, True:
                return (
                    "So leaving bad references out helps BLEU and harms ΔBLEU, which can use them: a match with one "
                    "costs there."
                )
            case _:
                return "So leaving bad references out helps BLEU as weights do; which ones are bad, only ratings tell."
    match good_plain, good_weighted:
        case True, True:
            return "Without the bad references both are fooled."
        case True, False:
            return "Without the bad references BLEU is fooled, and ΔBLEU is not surely."
        case False, True:
            return "Without the bad references ΔBLEU is fooled, and BLEU is not surely."
        case _:
            return "Without the bad references neither is surely fooled."


def _sentences(results: Results, true_order: Sequence[str], four: Four) -> list[str]:
    said = [
        f"In truth the systems rank {_listed(true_order)}.",
        *(
            f"{NAMES[order.metric]} ranks them {_listed(order.systems)}: {_mistakes(order)}."
            for order in (four.plain, four.weighted)
        ),
        f"With the good references only, {results.good:,} of {len(results.rated):,} (a weight above 0), "
        + "; ".join(
            f"{NAMES[order.metric]} has {len(order.wrong) or 'none'} of these pairs in the wrong order"
            + (f", {len(order.sure) or 'none'} significantly" if order.wrong and order.enough else "")
            for order in (four.good_plain, four.good_weighted)
        )
        + "."
        + (f" {conclusion(four)}" if four.plain.enough else ""),
    ]
    first, second = results.agreement[PLAIN].rho, results.agreement[WEIGHTED].rho
    if first is not None and second is not None:
        said.append(
            "Agreement with those who rated the outputs, with all references, Spearman’s ρ: "
            f"{_number(first)} for BLEU, {_number(second)} for ΔBLEU."
        )
    return said


def _mistakes(order: Order) -> str:
    if not order.wrong:
        return f"of {_pairs(order.pairs)} that clearly differ none is in the wrong order"
    count = (
        f"{len(order.wrong)} of {_pairs(order.pairs)} that clearly differ {_are(len(order.wrong))} in the wrong order"
    )
    if not order.enough:
        return count
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
    return counted(number, "pair")


def _wrong(number: int) -> str:
    return f"{number} wrong pair{'' if number == 1 else 's'}"


def _number(value: float) -> str:
    return f"{value:z.2f}".replace("-", "−")

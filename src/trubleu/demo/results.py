"""What a demo yielded, read from its folder, and the verdict in plain words."""

from __future__ import annotations

import csv
import json
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import combinations, permutations
from typing import TYPE_CHECKING, Any, Final

from trubleu.data import References
from trubleu.demo.runner import read_journal
from trubleu.demo.steps import COMPARED, METRICS, SYSTEMS
from trubleu.errors import DataError, counted
from trubleu.files.lines import read_text_lines
from trubleu.render.judge_page import some
from trubleu.render.tables import Column, Estimate, Table
from trubleu.simulate.world import read_world

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from trubleu.demo.runner import Journal
    from trubleu.render.tables import Cell


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """A metric's score of a system, with its interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    """How well a metric agrees with people: Spearman's ρ with its interval; None where it is undefined."""

    rho: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RatedReference:
    """A candidate that became a reference.

    Attributes
    ----------
    segment, text, origin
        What it is.
    ratings, weight
        What raters think of it.
    quality
        How good it is in truth, from 1 to 5.
    """

    segment: str
    text: str
    origin: str
    ratings: tuple[int, ...]
    weight: float
    quality: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Results:
    """Everything that the report shows.

    Attributes
    ----------
    journal
        What was done.
    systems, metrics
        Names.
    truth
        The mean quality of each system's outputs, from 1 to 5.
    people
        The mean rating of each system's outputs.
    scores
        By metric and system.
    p
        Holm's p of the difference between two systems under a metric, by metric and the two names in either order.
    good_scores, good_p
        The same with the good references only, of a few metrics.
    agreement
        By metric.
    beats
        By two metrics: how much larger the first one's ρ is, and Holm's p of that; None where undefined.
    references
        The weighted references of each segment.
    rated
        The same, with what raters said and what is true.
    outputs
        By system, in the order of the segments.
    qualities
        How good they are in truth, in the same order.
    alpha
        Krippendorff's α of the raters of references; None where undefined.
    raters, output_raters
        How many people rated references, and how many outputs: more than were asked for if they were interrupted.
    notes
        What judging warned of.
    """

    journal: Journal
    systems: tuple[str, ...]
    metrics: tuple[str, ...]
    truth: Mapping[str, float]
    people: Mapping[str, float]
    scores: Mapping[tuple[str, str], Score]
    p: Mapping[tuple[str, str, str], float]
    good_scores: Mapping[tuple[str, str], Score]
    good_p: Mapping[tuple[str, str, str], float]
    agreement: Mapping[str, Agreement]
    beats: Mapping[tuple[str, str], tuple[float, float | None]]
    references: References
    rated: tuple[RatedReference, ...]
    outputs: Mapping[str, Sequence[str]]
    qualities: Mapping[str, Sequence[float]]
    alpha: float | None
    raters: int
    output_raters: int
    notes: tuple[str, ...]

    @property
    def left_out(self) -> int:
        """How many segments have no good reference, so that metrics with weights leave them out."""
        return len(self.references.segments_without_positive())

    @property
    def good(self) -> int:
        """How many references are good: their weight is above 0."""
        return sum(each.weight > 0 for each in self.rated)

    @property
    def interrupted(self) -> tuple[str, ...]:
        """What was being rated when the demo was interrupted, if it was."""
        rated = {"rate study": "references", "rate pairs": "outputs"}
        return tuple(what for step, what in rated.items() if self.journal.begun.get(step, 0) > 1)


def read_results(folder: Path) -> Results:
    """Read the results of a demo in which everything but the report is done.

    Raises
    ------
    DataError
        If a file of it is not as the demo made it.
    """
    journal = read_journal(folder)
    with _reading(folder / "references.jsonl") as path:
        references = References.read(path)
        if len(references) != journal.options.segments:
            raise ValueError(f"{len(references)} segments instead of {journal.options.segments}")
    scores, p = _scores(folder / "scores.json", METRICS)
    good_scores, good_p = _scores(folder / "good-scores.json", COMPARED)
    with _reading(folder / "world" / "truth.csv") as path:
        qualities = _qualities(path, references.ids)
    with _reading(folder / "judge.json") as path:
        judged = _json(path)
        ratings = {row["system"]: float(row["mean_rating"]) for row in judged["systems"]}
        people = {name: ratings[name] for name in SYSTEMS}
        correlations = {row["metric"]: row for row in judged["correlations"]}
        agreement = {
            name: Agreement(
                rho=correlations[name]["spearman"],
                low=correlations[name]["spearman_low"],
                high=correlations[name]["spearman_high"],
            )
            for name in METRICS
        }
        beats = _beats(judged["comparisons"])
        notes = tuple(str(row["note"]) for row in judged["notes"])
    with _reading(folder / "status.json") as path:
        status = _json(path)
        alpha = status["agreement"][0]["alpha"]
        raters = sum(row["counted"] > 0 for row in status["raters"])
    with _reading(folder / "ratings.csv") as path, path.open(encoding="utf-8", newline="") as stream:
        output_raters = len({row["rater"] for row in csv.DictReader(stream)})
    return Results(
        journal=journal,
        systems=tuple(SYSTEMS),
        metrics=METRICS,
        truth={name: sum(values) / len(values) for name, values in qualities.items()},
        people=people,
        scores=scores,
        p=p,
        good_scores=good_scores,
        good_p=good_p,
        agreement=agreement,
        beats=beats,
        references=references,
        rated=_rated(folder),
        outputs={name: _outputs(folder / "world" / "outputs" / f"{name}.txt", len(references)) for name in SYSTEMS},
        qualities=qualities,
        alpha=alpha,
        raters=raters,
        output_raters=output_raters,
        notes=notes,
    )


@contextmanager
def _reading(path: Path) -> Iterator[Path]:
    """Say of a file that something has changed since it was made what is to be done."""
    try:
        yield path
    except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
        reason = f"{error.args[0]} is missing" if isinstance(error, KeyError) else error
        raise DataError(
            f"{path} is not as the demo made it ({reason}); remove it, and the same command makes it again"
        ) from error


def _json(path: Path) -> Any:
    return json.loads(path.read_text("utf-8"))


def _scores(
    path: Path, metrics: Sequence[str]
) -> tuple[dict[tuple[str, str], Score], dict[tuple[str, str, str], float]]:
    """Return the scores, and what tests say of their differences."""
    with _reading(path):
        content = _json(path)
        scored = {
            (row["metric"], row["system"]): Score(
                value=float(row["score"]), low=float(row["low"]), high=float(row["high"])
            )
            for row in content["scores"]
        }
        tested = {
            (row["metric"], *pair): float(row["p_holm"])
            for row in content["tests"]
            for pair in permutations((row["a"], row["b"]))
        }
        # Every one is asked for: a file with fewer rows is not whole.
        return (
            {(metric, name): scored[metric, name] for metric in metrics for name in SYSTEMS},
            {(metric, *pair): tested[metric, *pair] for metric in metrics for pair in permutations(SYSTEMS, 2)},
        )


def _qualities(path: Path, ids: Sequence[str]) -> dict[str, list[float]]:
    """Return how good each system's outputs are, in the order of the segments."""
    found: dict[tuple[str, str], float] = {}
    with path.open(encoding="utf-8", newline="") as stream:
        for row in csv.DictReader(stream):
            found[row["system"], row["item"]] = float(row["quality"])
    return {name: [found[name, segment] for segment in ids] for name in SYSTEMS}


def _outputs(path: Path, segments: int) -> Sequence[str]:
    with _reading(path):
        texts = read_text_lines(path)
        if len(texts) != segments:
            raise ValueError(f"{len(texts)} lines instead of {segments}")
        return texts


def _beats(rows: Sequence[Mapping[str, Any]]) -> dict[tuple[str, str], tuple[float, float | None]]:
    found: dict[tuple[str, str], tuple[float, float | None]] = {}
    for row in rows:
        difference, p = row["spearman_difference"], row["spearman_p_holm"]
        if difference is not None:
            found[row["metric_x"], row["metric_y"]] = (difference, p)
            found[row["metric_y"], row["metric_x"]] = (-difference, p)
    return found


def _rated(folder: Path) -> tuple[RatedReference, ...]:
    world = read_world(folder / "world")
    with _reading(folder / "references.jsonl") as path:
        return tuple(
            RatedReference(
                segment=segment["id"],
                text=reference["text"],
                origin=reference["origin"],
                ratings=tuple(reference["ratings"]),
                weight=reference["weight"],
                quality=world.quality(segment["message"], reference["text"]),
            )
            for segment in map(json.loads, read_text_lines(path))
            for reference in segment["references"]
        )


PLAIN, WEIGHTED = "bleu-2", "dbleu-2"
"""The two that the finding is about."""

NAMES: Final = {
    "bleu-2": "BLEU",
    "dbleu-2": "ΔBLEU",
    "dbleu2vec-2": "dbleu2vec",
    "trubleu": "trubleu",
}
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


def summary_table(results: Results, finding: Finding) -> Table:
    """Return the systems from best to worst, with what people and metrics say; a star where a metric overrates one."""
    columns = [
        Column("system"),
        Column("true", "true quality", kind="number"),
        Column("people", "people", kind="number"),
        *(Column(name, NAMES[name], kind="number", digits=1) for name in results.metrics),
    ]
    overrated = {name: finding.orders[name].overrated() for name in results.metrics}
    rows: list[tuple[Cell, ...]] = [
        (
            system,
            results.truth[system],
            results.people[system],
            *(
                Estimate(results.scores[name, system].value, mark="*" if system in overrated[name] else "")
                for name in results.metrics
            ),
        )
        for system in finding.true_order
    ]
    notes = ["* stands significantly above a system that is better in truth"] if any(overrated.values()) else []
    return Table("", columns, rows, notes, name="summary")

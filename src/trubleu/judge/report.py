"""What both protocols share: scores from files, notes, flat rows by name, and the sentences of verdicts."""

from __future__ import annotations

import math
import warnings
from dataclasses import asdict, dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING, Any, ClassVar, Final, NamedTuple

from trubleu.data.outputs import check_numbering
from trubleu.errors import CountedWarning, DataError, TrubleuWarning, UsageError, counted, nearest, some
from trubleu.metrics.file_scores import lower_is_better_of
from trubleu.results import SCHEMA, Row

if TYPE_CHECKING:
    from collections.abc import Collection, Container, Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from trubleu.data import SegmentScores


class Notes:
    """Sentences for a report, each once; some are also said at once, as warnings."""

    def __init__(self) -> None:
        self._sentences: dict[str, None] = {}

    def add(self, sentence: str) -> None:
        """Keep a sentence without a warning."""
        self._sentences.setdefault(sentence)

    def warn(self, sentence: str) -> None:
        """Keep a sentence, and warn of it."""
        if sentence not in self._sentences:
            self._sentences[sentence] = None
            warnings.warn(TrubleuWarning(sentence), stacklevel=3)

    def count(self, what: str, number: int) -> None:
        """Keep a number of cases, and warn of them."""
        warning = CountedWarning(what, number)
        self._sentences.setdefault(str(warning))
        warnings.warn(warning, stacklevel=3)

    def unknown(self, who: str, what: str, names: Collection[str], known: Collection[str]) -> None:
        """Warn of systems or items that are not here and left out: ``who`` is such as "ratings.csv rates"."""
        if strange := [name for name in dict.fromkeys(names) if name not in known]:
            if what in ("item", "segment"):
                check_numbering(who.partition(" ")[0], names, "the references", known)
            self.warn(
                f"{who} {counted(len(strange), what)} without outputs ({some(strange, 3)}), left out; "
                "correct the names if they are there under others"
            )

    def turned(self, names: Sequence[str]) -> None:
        """Keep the names of error rates, whose sign is changed."""
        if names:
            self.add(f"the sign of error rates is changed, so agreement is positive: {some(names)}")

    def all(self) -> tuple[str, ...]:
        """Return the sentences in their order."""
        return tuple(self._sentences)


def nothing_fits(
    what: str, source: str, theirs: tuple[Sequence[str], Sequence[str]], ours: tuple[Sequence[str], Sequence[str]]
) -> DataError:
    """Return the error for ratings or rankings none of which is of an output that is here.

    Parameters
    ----------
    what, source
        Such as "rating", and where they are from.
    theirs, ours
        Names of systems and items.
    """
    there, here = (f"of {some(systems, 3)} on {some(items, 3)}" for systems, items in (theirs, ours))
    return DataError(
        f"no {what} in {source} is of an output that is here: they are {there}, and the outputs are {here}; "
        "use the same names"
    )


class GivenScores(NamedTuple):
    """A metric's scores from a file: ``float64[systems, segments]``, NaN where there is none.

    The sign is −1 for error rates.
    """

    name: str
    table: NDArray[np.float64]
    sign: int
    source: str


def given_scores(
    files: Sequence[SegmentScores],
    systems: Sequence[str],
    segments: Sequence[str],
    *,
    ours: Container[str],
    lower_is_better: Collection[str],
    notes: Notes | None = None,
) -> list[GivenScores]:
    """Return scores from files as tables.

    Parameters
    ----------
    files
        Scores of metrics from elsewhere.
    systems, segments
        Those that are judged; files may name systems as `match_systems` knows them.
    ours
        The names of our own metrics, which are taken.
    lower_is_better
        Names of error rates; those of our own are known.
    notes
        Told of systems and segments that are not known here.

    Raises
    ------
    UsageError
        If two metrics have one name, or there are no scores of an error rate.
    """
    given: dict[str, GivenScores] = {}
    for scores in files:
        theirs = scores.systems_of(systems)
        if notes is not None:
            notes.unknown(f"{scores.source} scores", "system", scores.systems(), theirs.values())
            notes.unknown(f"{scores.source} scores", "segment", scores.segments(), set(segments))
        for name in scores.metrics():
            if name in ours or name in given:
                raise UsageError(f"there are two metrics named {name}, one of them from {scores.source}; rename one")
            sign = -1 if lower_is_better_of(scores, name, lower_is_better) else 1
            table = scores.table(name, [theirs.get(system, system) for system in systems], segments)
            given[name] = GivenScores(name, table, sign, scores.source)
    for name in lower_is_better:
        if name not in given:
            hint = nearest(name, sorted(given)) if given else "there are none"
            raise UsageError(f"lower is better for {name}, but no file has scores of it; {hint}")
    return [*given.values()]


def mean_score(sums: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the score of a system from sums of (score of a segment, 1)."""
    mean: NDArray[np.float64] = sums[..., 0] / sums[..., 1]
    return mean


@dataclass(frozen=True, slots=True, kw_only=True)
class NoteRow(Row):
    """What a reader must know, in one sentence."""

    note: str


class RowsReport:
    """A report that is made of flat rows.

    Attributes
    ----------
    kinds
        The dataclass of the rows of each part, in order; parts are attributes.
    """

    __slots__ = ()
    kinds: ClassVar[Mapping[str, type[Any]]]
    notes: tuple[str, ...]

    def parts(self) -> dict[str, Sequence[Any]]:
        """Return all rows by what they are."""
        rows = {name: getattr(self, name) for name in self.kinds}
        rows["notes"] = [NoteRow(note=note) for note in self.notes]
        return {name: [each] if isinstance(each, Row) else each for name, each in rows.items()}

    def to_dict(self) -> dict[str, Any]:
        """Return the rows as plain values, ready for JSON; ``notes`` and ``setting`` are rows as well."""
        return {"schema": SCHEMA} | {name: [*map(asdict, rows)] for name, rows in self.parts().items()}


POWER: Final = 1.96 + 0.84
"""Standard errors that a difference must have for a two-sided test at 5 % to find it with a power of 80 %."""

HOPELESS: Final = 100
"""How many times as much data as there is is too much to ask for."""

_NAMED: Final = 4


def data_needed(now: int, difference: float, spread: float) -> float:
    """Return how much data it takes to find a difference with a power of 80 %; infinite if no amount does.

    Parameters
    ----------
    now
        How much there is.
    difference, spread
        What was found with it, and its standard error.

    Examples
    --------
    >>> data_needed(100, 0.02, 0.02), data_needed(100, 0.0, 0.02)
    (784, inf)
    """
    if difference == 0.0 or spread == 0.0:
        return math.inf
    return max(now, math.ceil(now * (POWER * spread / difference) ** 2))


def standard_error(low: float, high: float, confidence: float) -> float:
    """Return the standard error of what has this interval, as if it were normal.

    Examples
    --------
    >>> round(standard_error(-1.96, 1.96, 0.95), 3)
    1.0
    """
    return (high - low) / (2 * NormalDist().inv_cdf((1 + confidence) / 2))


def settling(now: int, needed: float, what: str, other: str, difference: float, p: float | None) -> str:
    """Say how much data would settle a difference that is not significant.

    Examples
    --------
    >>> settling(100, 784, "rated items", "chrf", 0.02, 0.31)
    'About 790 rated items would settle the difference to chrf, .020 (p = .310).'
    >>> settling(100, 100, "rated items", "chrf", 0.02, 0.06)
    'A little more data or more draws would settle the difference to chrf, .020 (p = .060).'
    >>> settling(100, 20_000, "rated items", "chrf", 0.001, None)
    'The difference to chrf is .001: no realistic amount of data would settle it.'
    """
    of = f"{brief(difference)}{'' if p is None else f' (p = {brief_p(p)})'}"
    if needed > HOPELESS * now:
        return f"The difference to {other} is {of}: no realistic amount of data would settle it."
    if needed <= now:
        return f"A little more data or more draws would settle the difference to {other}, {of}."
    step = 10 ** max(len(str(int(needed))) - 2, 0)  # two digits that count
    return f"About {math.ceil(needed / step) * step:,} {what} would settle the difference to {other}, {of}."


class Rival(NamedTuple):
    """Another metric beside the best.

    Attributes
    ----------
    name
        Its name.
    difference
        How far it is behind.
    p
        Of the difference, corrected for all tests; None if there was no test.
    needed
        How much data would settle the difference, infinite if no amount does; None if that is not known.
    """

    name: str
    difference: float
    p: float | None
    needed: float | None = None


def verdict(head: str, rivals: Sequence[Rival], level: float, now: int, what: str) -> str:
    """Say whether the best metric is significantly better than the others, and how much data would settle it.

    Parameters
    ----------
    head
        The sentence that names it, without an end.
    rivals
        The others.
    level
        Of significance.
    now, what
        How much data there is, and of what.

    Examples
    --------
    >>> verdict("a is best", [Rival("b", 0.2, 0.001), Rival("c", 0.02, 0.31, 784)], 0.05, 100, "rated items")
    'a is best, but not significantly better than c; significantly better than 1 of the 2 others. About 790 rated items would settle the difference to c, .020 (p = .310).'
    >>> verdict("a is best", [Rival("b", 0.2, 0.01)], 0.05, 100, "rated items")
    'a is best, significantly better than b (p ≤ .010).'
    >>> verdict("a is best", [Rival("b", 0.0, 1.0)], 0.05, 100, "rated items")
    'a is best, with the same value as b.'
    """  # noqa: E501 - a sentence
    if ties := [each.name for each in rivals if each.difference == 0.0]:
        head, rivals = f"{head}, with the same value as {listed(ties)}", [each for each in rivals if each.difference]
        if not rivals:
            return f"{head}."
    tested = {rival: rival.p for rival in rivals if rival.p is not None}
    equal = sorted((each for each, p in tested.items() if p >= level), key=lambda each: each.difference)
    untested = [each.name for each in rivals if each.p is None]
    whom = listed(untested) if 0 < len(untested) < _NAMED else f"{len(untested)} others"
    more = f"; not tested against {whom}" if untested else ""
    if not rivals:
        return f"{head}; there is no other metric to compare it with."
    if not tested:
        return f"{head}; whether it is significantly better than the others was not tested."
    if not equal:
        whom = (
            rivals[0].name if len(rivals) == 1 else listed([each.name for each in tested]) if untested else "all others"
        )
        return f"{head}, significantly better than {whom} (p ≤ {brief_p(max(tested.values()))}){more}."
    if beaten := len(tested) - len(equal):
        more = f"; significantly better than {beaten} of the {len(rivals)} others{more}"
    first = equal[0]
    said = f"{head}, but not significantly better than {listed([each.name for each in equal])}{more}."
    if first.needed is None:
        return said
    return f"{said} {settling(now, first.needed, what, first.name, first.difference, first.p)}"


def brief(value: float) -> str:
    """Return a value of a measure as sentences have it.

    Examples
    --------
    >>> brief(0.5), brief(-0.25), brief(1.0)
    ('.500', '−.250', '1.000')
    """
    return f"{value:z.3f}".replace("0.", ".", 1).replace("-", "−")


def brief_interval(value: float, low: float | None, high: float | None) -> str:
    """Return a value and its interval, if there is one, as sentences have them."""
    return brief(value) if low is None or high is None else f"{brief(value)} [{brief(low)}, {brief(high)}]"


def brief_p(value: float) -> str:
    """Return a p-value as sentences have it."""
    return brief(max(value, 0.001))


def listed(names: Sequence[str]) -> str:
    """Join names for a sentence, only the first few of many.

    Examples
    --------
    >>> listed(["a"]), listed(["a", "b"]), listed(list("abcdefg"))
    ('a', 'a and b', 'a, b, c, d and 3 others')
    """
    shown = list(names) if len(names) <= _NAMED + 1 else [*names[:_NAMED], f"{len(names) - _NAMED} others"]
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"

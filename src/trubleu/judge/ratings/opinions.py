"""What people think of outputs and systems, and the scores of metrics for these, laid side by side."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import compress
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from trubleu.data import Ratings
from trubleu.data.outputs import match_systems
from trubleu.errors import DataError, UsageError, counted, nearest, some
from trubleu.judge.report import mean_score, nothing_fits
from trubleu.scoring.systems import prepare_for
from trubleu.stats import total
from trubleu.stats.correlation import grain_of, settled
from trubleu.stats.meta_evaluation import OutputPairs
from trubleu.stats.metric_tests import CorpusEvaluation, MetaEvaluation

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import TypeAlias

    from numpy.typing import NDArray

    from trubleu.data import Rankings, References, SegmentScores
    from trubleu.judge.ratings.results import Level
    from trubleu.judge.report import GivenScores, Notes
    from trubleu.metrics import Metric
    from trubleu.progress import Steps
    from trubleu.stats import ScoreFunction

    Outputs: TypeAlias = Mapping[str, Sequence[str | None]]

IDENTICAL: Final = ("expanded", "collapsed")
"""Whether systems that wrote the same text are ranked one by one, or as one."""

_LARGEST: Final = int(np.iinfo(np.int64).max)


@dataclass(frozen=True, slots=True, kw_only=True)
class Opinions:
    """What people think of outputs, in the order of systems and items.

    Attributes
    ----------
    systems, items
        Names of those that somebody looked at.
    rows, columns
        Their places among all systems and items.
    people
        ``float64[systems, items]``, NaN where nobody rated; None for rankings.
    ranked
        For rankings, of each pair: item, first and second system, and which one is better (1, 0 or −1).
    rated
        ``bool[systems, items]``: which outputs somebody looked at.
    count
        How many ratings or ranked pairs these are.
    """

    systems: tuple[str, ...]
    items: tuple[str, ...]
    rows: NDArray[np.int64]
    columns: NDArray[np.int64]
    people: NDArray[np.float64] | None
    ranked: NDArray[np.int64] | None
    rated: NDArray[np.bool_]
    count: int

    def evaluation(self, scores: NDArray[np.float64], seed: int) -> MetaEvaluation:
        """Return these with scores of metrics, ``float64[metrics, systems, items]``."""
        if self.ranked is None:
            return MetaEvaluation(self.people, scores, seed=seed)
        item, a, b, better = self.ranked
        pairs = OutputPairs(item, better.astype(np.int8), scores[:, a, item] - scores[:, b, item])
        return MetaEvaluation(None, scores, pairs, seed=seed)


class OfficialScores(NamedTuple):
    """What people think of whole systems: their names, places among all systems, and scores."""

    systems: tuple[str, ...]
    rows: NDArray[np.int64]
    people: NDArray[np.float64]


class Known(NamedTuple):
    """The names of all systems and items, and of systems and items that are left out on purpose."""

    systems: tuple[str, ...]
    items: tuple[str, ...]
    without: frozenset[str]
    left_out: frozenset[str] = frozenset()


def known_names(
    outputs: Outputs,
    references: References | None,
    opinions: Ratings | Rankings | None,
    human: Mapping[str, float] | None,
    scores: Sequence[SegmentScores],
    without: frozenset[str],
) -> Known:
    """Return the names of all systems and items: those of the outputs, or if there are none those that people saw."""
    systems: Sequence[str] = tuple(human or ())
    items: Sequence[str] = [name for each in scores for name in each.segments()]
    if isinstance(opinions, Ratings):
        systems, items = opinions.systems(), opinions.items()
    elif opinions is not None:
        systems, items = opinions.systems, opinions.segments
    names = dict.fromkeys((*outputs, *systems))
    if outputs:
        if references is None:
            raise UsageError("outputs need references to be scored against; give --refs FILE, or only --scores FILE")
        systems, items = tuple(outputs), references.ids
    if unknown := sorted(without.difference(names)):
        raise UsageError(f"there is no system {unknown[0]!r} to leave out; {nearest(unknown[0], names)}")
    kept = tuple(name for name in systems if name not in without)
    if not kept:
        raise UsageError("no system is left to judge by; leave fewer out")
    return Known(kept, tuple(dict.fromkeys(items)), without)


def with_good_references(
    outputs: Outputs, references: References, known: Known, notes: Notes
) -> tuple[Outputs, References, Known]:
    """Leave out items without a reference of positive weight, for all metrics alike; metrics refuse unrated ones."""
    kept = references.best_weights() > 0
    kept[references.unrated()] = True
    if kept.all():
        return outputs, references, known
    if not kept.any():
        raise DataError(f"no segment of {references.source} has a reference of positive weight; add some")
    bad = frozenset(compress(references.ids, (~kept).tolist()))
    notes.add(f"{counted(len(bad), 'item')} without a reference of positive weight, left out for every metric")
    chosen = {system: list(compress(texts, kept.tolist())) for system, texts in outputs.items()}
    items = tuple(item for item in known.items if item not in bad)
    return chosen, references.take(kept), known._replace(items=items, left_out=bad)


def of_ratings(ratings: Ratings, known: Known, notes: Notes) -> Opinions:
    """Return the mean rating of each output that is here."""
    systems, items = known.systems, known.items
    if not len(ratings):
        raise DataError(f"{ratings.source} has no ratings; give one per row")
    rows, columns = places(systems), places(items)
    people = np.full((len(systems), len(items)), np.nan)
    for (item, system), mean in ratings.item_means().items():
        if system in rows and item in columns:
            people[rows[system], columns[item]] = float(mean)
    rated = np.isfinite(people)
    if not rated.any():
        theirs = ratings.systems(), ratings.items()
        raise nothing_fits("rating", ratings.source, theirs, (systems, items))
    _note_unknown(ratings.source, ratings.systems(), ratings.items(), known, notes)
    values = people[rated]
    if len(values) == 1:
        raise DataError(f"{ratings.source} rates one output only, and a metric is judged by several; rate more outputs")
    if values.min() == values.max():
        raise DataError(
            f"{ratings.source}: all {counted(len(values), 'rated output')} got the same mean rating, {values[0]:g}, "
            "so no metric can agree or disagree; judge by another aspect or rate more outputs"
        )
    count = sum(item in columns and system in rows for item, system in zip(ratings.item, ratings.system, strict=True))
    return _rated_only(known, rated, count, people=people)


def of_rankings(
    rankings: Rankings, known: Known, notes: Notes, outputs: Outputs | None = None, identical: str = "expanded"
) -> Opinions:
    """Return the ranked pairs of systems and items that are here; outputs are needed to collapse identical ones."""
    systems, items, without, _ = known
    if len(rankings.language_pairs) > 1:
        raise UsageError(
            f"{rankings.source} has rankings of {some(rankings.language_pairs)}; say which with --language-pair"
        )
    matched = match_systems([name for name in rankings.systems if name not in without], systems)
    rows, columns = places(systems), places(items)
    row = np.array([rows[matched[name]] if name in matched else -1 for name in rankings.systems], dtype=np.int64)
    column = np.array([columns.get(name, -1) for name in rankings.segments], dtype=np.int64)
    a, b, item = row[rankings.system_a], row[rankings.system_b], column[rankings.segment]
    kept = (a >= 0) & (b >= 0) & (item >= 0) & (a != b)
    if not kept.any():
        raise nothing_fits("ranking", rankings.source, (rankings.systems, rankings.segments), (systems, items))
    unmatched = [name for name in rankings.systems if name not in matched]
    _note_unknown(rankings.source, unmatched, rankings.segments, known, notes)
    better = np.sign(rankings.rank_b - rankings.rank_a)
    if not better[kept].any():
        raise DataError(
            f"{rankings.source}: people rank the outputs of every pair equal, so no metric can agree or disagree; "
            "rank more pairs"
        )
    pairs = np.stack([item, a, b, better])[:, kept]
    ranking = (rankings.ranking * max(1, len(rankings.judges)) + rankings.judge)[kept]
    if identical == "collapsed":
        if not outputs:
            raise UsageError("identical outputs can be collapsed only where there are outputs; name the systems' files")
        numbers: dict[str | None, int] = {}
        texts = [[numbers.setdefault(text, len(numbers)) for text in outputs[system]] for system in systems]
        chosen, contradictions = collapsed(pairs, ranking, np.array(texts))
        pairs = pairs[:, chosen]
        if contradictions:
            notes.count("pairs of texts left out, as a judge ranked the same two texts both ways", contradictions)
        if not len(chosen):
            raise DataError(f"{rankings.source}: no pair of different texts is left; use identical=expanded")
    elif again := repeated(
        np.stack([ranking, item[kept], a[kept], b[kept], rankings.rank_a[kept], rankings.rank_b[kept]])
    ):
        notes.count("rankings that repeat another row, judge and ranking included, and are counted again", again)
    rated = np.zeros((len(systems), len(items)), dtype=bool)
    rated[pairs[1], pairs[0]] = rated[pairs[2], pairs[0]] = True
    return _rated_only(known, rated, pairs.shape[1], ranked=pairs)


def repeated(columns: NDArray[np.int64]) -> int:
    """Return how many rows, given as columns, are the same as another one.

    Examples
    --------
    >>> repeated(np.array([[1, 2, 1, 1], [3, 3, 3, 3]]))
    2
    """
    key = np.zeros(columns.shape[1], dtype=np.int64)
    for column in columns:
        # One number per row takes one sort; numbered anew where it would outgrow 64 bits.
        if (int(key.max(initial=0)) + 1) * (int(column.max(initial=0)) + 1) > _LARGEST:
            key, column = (np.unique(each, return_inverse=True)[1] for each in (key, column))
        key = key * (int(column.max(initial=0)) + 1) + column
    key.sort()
    return int(np.count_nonzero(key[1:] == key[:-1]))


def collapsed(
    pairs: NDArray[np.int64], ranking: NDArray[np.int64], texts: NDArray[np.int64]
) -> tuple[NDArray[np.intp], int]:
    """Merge systems that wrote the same text: return the pairs to keep, and how many contradicted themselves.

    Within one ranking of one item every unordered pair of different texts is kept once, and pairs of equal texts are
    dropped. Where a judge preferred one of two texts in one place and not in another, the pair is left out.

    Parameters
    ----------
    pairs
        Of each pair: item, first and second system, and which one is better.
    ranking
        Which pairs one judge ranked together.
    texts
        ``int64[systems, items]``: equal numbers for equal texts.
    """
    item, a, b, better = pairs
    first, second = texts[a, item], texts[b, item]
    keys = np.stack([ranking, item, np.minimum(first, second), np.maximum(first, second)])
    # The systems come last, so that which of equal pairs stands for all does not depend on the order of rows.
    order = np.lexsort((b, a, *keys[::-1]))
    order = order[(first != second)[order]]
    if not len(order):
        return order, 0
    ordered = keys[:, order]
    begins = np.flatnonzero(np.append(True, (ordered[:, 1:] != ordered[:, :-1]).any(axis=0)))
    opinion = np.where(first > second, -better, better)[order]
    agreed = np.minimum.reduceat(opinion, begins) == np.maximum.reduceat(opinion, begins)
    return order[begins[agreed]], int(np.count_nonzero(~agreed))


def of_human(human: Mapping[str, float], known: Known, notes: Notes) -> OfficialScores:
    """Return the official scores of systems that are here."""
    matched = match_systems([name for name in human if name not in known.without], known.systems)
    if not matched:
        raise DataError(
            f"no official score is of a system that is here: they are of {some(human, 3)}, and the outputs are of "
            f"{some(known.systems, 3)}; use the same names"
        )
    notes.unknown("people score", "system", human, {*matched, *known.without})
    scores = {system: human[name] for name, system in matched.items()}
    if missing := [system for system in known.systems if system not in scores]:
        notes.warn(f"no official score, left out of the system level: {some(missing)}")
    rows = [place for place, system in enumerate(known.systems) if system in scores]
    systems = tuple(known.systems[place] for place in rows)
    return OfficialScores(systems, np.array(rows, dtype=np.int64), np.array([scores[each] for each in systems], float))


def of_nobody(known: Known) -> Opinions:
    """Return the opinions on outputs where people only scored whole systems."""
    return _rated_only(known, np.zeros((len(known.systems), len(known.items)), dtype=bool), 0)


def _rated_only(
    known: Known,
    rated: NDArray[np.bool_],
    count: int,
    people: NDArray[np.float64] | None = None,
    ranked: NDArray[np.int64] | None = None,
) -> Opinions:
    """Return opinions without the systems and items that nobody looked at."""
    rows, columns = (np.flatnonzero(np.logical_or.reduce(rated, axis=axis)) for axis in (1, 0))
    if ranked is not None:
        item, first, second, better = ranked
        sides = np.searchsorted(rows, [first, second])
        ranked = np.stack([np.searchsorted(columns, item), *sides, better])
    return Opinions(
        systems=tuple(known.systems[row] for row in rows.tolist()),
        items=tuple(known.items[column] for column in columns.tolist()),
        rows=rows,
        columns=columns,
        people=None if people is None else people[rows][:, columns],
        ranked=ranked,
        rated=rated[rows][:, columns],
        count=count,
    )


def places(names: Sequence[str]) -> dict[str, int]:
    """Return the place of each name."""
    return {name: place for place, name in enumerate(names)}


def _note_unknown(
    source: str, rated_systems: Sequence[str], rated_items: Sequence[str], known: Known, notes: Notes
) -> None:
    notes.unknown(f"{source} rates", "system", rated_systems, {*known.systems, *known.without})
    notes.unknown(f"{source} rates", "item", rated_items, {*known.items, *known.left_out})


class Scored(NamedTuple):
    """A metric's scores.

    Attributes
    ----------
    name, signature
        Its name, and how its scores were made if that was here.
    sign
        −1 for an error rate, whose scores are negated, else 1.
    scores
        ``float64[systems, items]``, NaN where nobody rated.
    statistics, score
        What scores of corpora are made of, ``float64[segments, k]`` for each system with an official score, and how.
    """

    name: str
    scores: NDArray[np.float64]
    signature: str | None
    sign: float
    statistics: Sequence[NDArray[np.float64]] = ()
    score: ScoreFunction | None = None

    def signed_score(self, sums: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return scores of corpora from sums of statistics, higher for better ones."""
        return self.sign * np.asarray(self.score(sums)) if self.score is not None else sums

    def corpora(self) -> NDArray[np.float64]:
        """Return the score of each system with an official score, ``float64[systems]``."""
        return _settled(np.array([float(self.signed_score(total(rows))) for rows in self.statistics]))


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """Outputs of systems, with what people think of them.

    Attributes
    ----------
    outputs, references
        As `judge_ratings` takes them.
    opinions, official
        On outputs, and on whole systems.
    threads
        How many threads count.
    """

    outputs: Outputs
    references: References | None
    opinions: Opinions
    official: OfficialScores | None
    threads: int | None

    def evaluations(self, scored: Sequence[Scored], seed: int) -> dict[Level, MetaEvaluation]:
        """Return what each level is judged by."""
        found: dict[Level, MetaEvaluation] = {}
        if self.opinions.count:
            scores = np.stack([each.scores for each in scored])
            found["segment"] = found["system"] = self.opinions.evaluation(scores, seed)
        if self.official is not None:
            found["system"] = CorpusEvaluation(
                self.official.people[:, np.newaxis],
                np.stack([each.corpora() for each in scored])[:, :, np.newaxis],
                seed=seed,
                statistics=tuple((each.statistics, each.signed_score) for each in scored),
                threads=self.threads,
            )
        return found

    def computed(self, metrics: Mapping[str, Metric], steps: Steps) -> list[Scored]:
        """Score the outputs that somebody rated, and whole corpora of systems with an official score."""
        references, opinions, official = self.references, self.opinions, self.official
        if not metrics:
            return []
        if references is None:
            raise UsageError(f"{some(metrics)} cannot be computed without references; give --refs FILE")
        columns = references.positions()
        places = np.array([columns[item] for item in opinions.items], dtype=np.int64)
        rated = dict(zip(opinions.systems, (places[row] for row in opinions.rated), strict=True))
        corpora = official.systems if official is not None else ()
        scored = {**rated, **dict.fromkeys(corpora, np.arange(len(references)))}
        advance = steps("score", len(metrics) * sum(map(len, scored.values())))
        parts = {}
        for system, own in scored.items():
            texts = self.outputs[system]
            if lacking := [references.ids[place] for place in own.tolist() if texts[place] is None]:
                why, instead = "somebody rated", "rating"
                if system in corpora:
                    why, instead = "is part of the corpus", "official score"
                raise DataError(
                    f"{system} has no output for {some(lacking, 3)}, which {why}; add the output, "
                    f"or leave out the {instead}"
                )
            # The whole corpus needs no copy, and what is prepared for it serves all systems.
            part = references if len(own) == len(references) else references.take(own)
            parts[system] = part, [texts[place] or "" for place in own.tolist()]
        prepare_for(references, metrics.values(), sum(part is references for part, _ in parts.values()))
        found = []
        for name, metric in metrics.items():
            learned = metric.learned(references) if metric.learns else metric
            table = np.full(opinions.rated.shape, np.nan)
            statistics = {}
            for system, (part, texts) in parts.items():
                rows = statistics[system] = learned.statistics(texts, part, threads=self.threads)
                if system in rated:
                    own = rated[system] if part is references else slice(None)
                    row = opinions.systems.index(system)
                    table[row, opinions.rated[row]] = learned.segment_scores(rows, part)[own]
                advance(len(texts))
            if (skipped := int((opinions.rated & np.isnan(table)).sum())) > 0:
                raise DataError(
                    f"{name} skips {counted(skipped, 'rated output')}, so it cannot be compared with other metrics; "
                    "leave the metric or those segments out"
                )
            sign = 1.0 if metric.higher_is_better else -1.0
            of_corpora = [statistics[system] for system in corpora]
            signature = str(metric.signature(references))
            found.append(Scored(name, _settled(sign * table), signature, sign, of_corpora, learned.score))
        return found

    def read(self, scores: Sequence[GivenScores], notes: Notes) -> Iterator[Scored]:
        """Yield scores from files, which all rated outputs must have; the score of a system is their mean."""
        opinions, official = self.opinions, self.official
        for each in scores:
            table = each.table[np.ix_(opinions.rows, opinions.columns)]
            gaps = opinions.rated & np.isnan(table)
            if gaps.any():
                whole = gaps == opinions.rated
                systems, items = (
                    [*compress(names, np.logical_and.reduce(whole, axis=axis).tolist())]
                    for names, axis in ((opinions.systems, 1), (opinions.items, 0))
                )
                lacking = counted(int(gaps.sum()), "rated output")
                if systems or items:
                    lacking = some(systems, 3) if systems else f"{counted(len(items), 'rated item')} ({some(items, 3)})"
                raise DataError(
                    f"{each.source}: {each.name} has no scores of {lacking}; give scores of all rated outputs"
                )
            rated = each.sign * np.where(opinions.rated, table, np.nan)
            if opinions.ranked is not None:  # with ratings, scores count as given, as in mt-metrics-eval
                rated = _settled(rated)
            statistics: list[NDArray[np.float64]] = []
            if official is not None:
                of_systems = each.table[official.rows]
                shared = np.isfinite(of_systems).all(axis=0)
                if not shared.any():
                    raise DataError(
                        f"{each.source}: {each.name} has no item with scores of all systems; add what is missing"
                    )
                over = "" if shared.all() else f" over the {int(shared.sum()):,} items that all systems have"
                notes.add(f"{each.name}: the score of a system is the mean of its segment scores{over}")
                statistics = [np.stack([row, np.ones(len(row))], axis=1) for row in of_systems[:, shared]]
            yield Scored(each.name, rated, None, each.sign, statistics, mean_score)


def _settled(table: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return scores of which those are equal that are so but for rounding."""
    return settled(table, grain_of(float(np.nanmax(np.abs(table), initial=0.0))))

"""One language pair of the WMT protocol: what people bring, and the same fitted together as numbers."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import compress
from typing import TYPE_CHECKING, Final

import numpy as np

from trubleu.data.system_names import match_systems
from trubleu.errors import DataError, UsageError, some
from trubleu.judge.wmt.tau import RankedPairs
from trubleu.metrics.weights import all_rated

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from trubleu.data import Rankings, References, SegmentScores, SystemScores
    from trubleu.judge.notes import Notes
    from trubleu.judge.wmt.results import Identical

_LARGEST: Final = int(np.iinfo(np.int64).max)


@dataclass(frozen=True, slots=True, kw_only=True)
class WmtTask:
    """One language pair: systems, and what people think of them. What is not given is not computed.

    Attributes
    ----------
    language_pair
        What it is called in rows.
    outputs
        The texts of each system, one a segment.
    references
        What metrics compare outputs with; not needed if all scores come from files.
    human
        The official human score of each system, higher is better.
    rankings
        Pairs of outputs that people ranked.
    assessments
        For each assessed system one number a segment, NaN for an output that was not assessed.
    segment_scores, system_scores
        Other metrics' scores.
    testset
        What the segments are called in files of scores.
    aliases
        Other names of systems, such as those of their files.
    left_out
        The names of segments that were taken away; what files say of them is passed over.
    """

    language_pair: str
    outputs: Mapping[str, Sequence[str]]
    references: References | None = None
    human: Mapping[str, float] | None = None
    rankings: Rankings | None = None
    assessments: Mapping[str, Sequence[float]] | None = None
    segment_scores: Sequence[SegmentScores] = ()
    system_scores: Sequence[SystemScores] = ()
    testset: str = ""
    aliases: Mapping[str, str] = field(default_factory=dict)
    left_out: frozenset[str] = frozenset()

    @property
    def systems(self) -> tuple[str, ...]:
        """The names of the systems."""
        return tuple(self.outputs)

    @property
    def segments(self) -> int:
        """How many segments there are."""
        if self.references is not None:
            return len(self.references)
        return len(next(iter(self.outputs.values()), ()))

    def places(self) -> Mapping[str, int]:
        """Return the place of each segment by its name."""
        if self.references is not None:
            return self.references.positions()
        return {str(number + 1): number for number in range(self.segments)}

    def check(self) -> None:
        """Refuse a task whose parts do not fit together."""
        if not self.outputs:
            raise UsageError(f"{self.language_pair} has no outputs of systems; give some")
        for system, texts in self.outputs.items():
            if len(texts) != self.segments:
                raise DataError(
                    f"{self.language_pair}: {system} has {len(texts)} outputs for {self.segments} segments; "
                    "give one for each"
                )
        assessments = self.assessments or {}
        for name in self.found(assessments):
            if len(assessments[name]) != self.segments:
                raise DataError(
                    f"{self.language_pair}: {name} has {len(assessments[name])} assessments for {self.segments} "
                    "segments; give one number for each"
                )

    def rated(self, unrated_as: float | None, notes: Notes) -> WmtTask:
        """Return the task without the segments that have no reference of positive weight, which ΔBLEU cannot score.

        They are taken away for every metric, whether it looks at weights or not, so that all are judged by the same.

        Parameters
        ----------
        unrated_as
            The weight of references that are not rated yet; they are refused without one.
        notes
            Told how many segments are left out.
        """
        if self.references is None or not self.references.weighted():
            return self
        references = all_rated(self.references, unrated_as)
        kept = references.best_weights() > 0
        if kept.all():
            return self if references is self.references else replace(self, references=references)
        if not kept.any():
            raise DataError(f"no segment of {references.source} has a reference of positive weight; add some")
        what = "segments without a reference of positive weight, left out for every metric"
        notes.count(f"{self.language_pair}: {what}", int(np.count_nonzero(~kept)))
        mask = kept.tolist()
        assessments = self.assessments
        if assessments is not None:
            assessments = {name: list(compress(values, mask)) for name, values in assessments.items()}
        return replace(
            self,
            outputs={system: list(compress(texts, mask)) for system, texts in self.outputs.items()},
            references=references.take(kept),
            assessments=assessments,
            left_out=frozenset(compress(references.ids, (~kept).tolist())),
        )

    def found(self, names: Iterable[str]) -> dict[str, int]:
        """Return the place of the system that each name means; names that mean none are left out."""
        given = list(dict.fromkeys(names))
        place = {system: index for index, system in enumerate(self.outputs)}
        known = match_systems(given, place)
        unused = {alias: system for alias, system in self.aliases.items() if system not in known.values()}
        others = match_systems([name for name in given if name not in known], unused)
        return {name: place[system] for name, system in known.items()} | {
            name: place[unused[alias]] for name, alias in others.items()
        }

    def human_scores(self, notes: Notes) -> NDArray[np.float64] | None:
        """Return the human score of each system, NaN where there is none."""
        if self.human is None:
            return None
        known = self.found(self.human)
        if unknown := [name for name in self.human if name not in known]:
            notes.warn(f"{self.language_pair}: people scored systems that have no outputs here: {some(unknown)}")
        scores = np.full(len(self.outputs), np.nan)
        for name, place in known.items():
            scores[place] = self.human[name]
        if missing := [system for system, score in zip(self.systems, scores, strict=True) if np.isnan(score)]:
            notes.warn(f"{self.language_pair}: no human score at the system level, left out: {some(missing)}")
        return scores

    def ranked_pairs(self, identical: Identical, notes: Notes) -> RankedPairs | None:
        """Return the rankings of systems and segments that are here."""
        if self.rankings is None:
            return None
        rankings = self._own_rankings(self.rankings)
        systems, segments = self.found(rankings.systems), self.places()
        place_of_system = _places(rankings.systems, systems)
        place_of_segment = _places(rankings.segments, segments)
        a, b = place_of_system[rankings.system_a], place_of_system[rankings.system_b]
        segment = place_of_segment[rankings.segment]
        if unknown := [name for name in rankings.systems if name not in systems]:
            rows = int(np.count_nonzero((a < 0) | (b < 0)))
            notes.count(f"{self.language_pair}: rankings left out, as there are no outputs of {some(unknown)}", rows)
        if unknown := [name for name in rankings.segments if name not in segments and name not in self.left_out]:
            rows = int(np.isin(rankings.segment, _codes(rankings.segments, unknown)).sum())
            notes.count(f"{self.language_pair}: rankings left out, as there is no segment {some(unknown)}", rows)
        here = (a >= 0) & (b >= 0) & (segment >= 0)
        pairs = RankedPairs(
            segment=segment,
            a=a,
            b=b,
            human=np.sign(rankings.rank_a - rankings.rank_b).astype(np.int64),
            ranking=rankings.ranking * max(1, len(rankings.judges)) + rankings.judge,
        ).where(here)
        if identical == "collapsed":
            pairs, contradictions = pairs.collapsed(self._equal_texts())
            if contradictions:
                what = "pairs of texts left out, as a judge ranked the same two texts both ways"
                notes.count(f"{self.language_pair}: {what}", contradictions)
        elif repeated := _repeated_rows(rankings, here):
            what = "rankings that repeat another row, judge and ranking included, and are counted again"
            notes.count(f"{self.language_pair}: {what}", repeated)
        return pairs

    def _own_rankings(self, rankings: Rankings) -> Rankings:
        if len(rankings.language_pairs) < 2:
            return rankings
        if self.language_pair not in rankings.language_pairs:
            raise DataError(
                f"{rankings.source} has rankings of {some(rankings.language_pairs)}, and none is called "
                f"{self.language_pair}; name the language pair as they do"
            )
        return rankings.select(self.language_pair)

    def _equal_texts(self) -> NDArray[np.int64]:
        numbers: dict[str, int] = {}
        rows = [[numbers.setdefault(text, len(numbers)) for text in texts] for texts in self.outputs.values()]
        return np.array(rows, dtype=np.int64)

    def assessed(self, notes: Notes) -> NDArray[np.float64] | None:
        """Return ``float64[systems, segments]`` of assessments, NaN where there is none."""
        if self.assessments is None:
            return None
        known = self.found(self.assessments)
        if unknown := [name for name in self.assessments if name not in known]:
            notes.warn(f"{self.language_pair}: assessments of systems that have no outputs here: {some(unknown)}")
        table = np.full((len(self.outputs), self.segments), np.nan)
        for name, place in known.items():
            table[place] = self.assessments[name]
        return table


def _places(names: Sequence[str], known: Mapping[str, int]) -> NDArray[np.int64]:
    return np.array([known.get(name, -1) for name in names], dtype=np.int64)


def _codes(names: Sequence[str], wanted: Iterable[str]) -> list[int]:
    among = set(wanted)
    return [code for code, name in enumerate(names) if name in among]


def _repeated_rows(rankings: Rankings, among: NDArray[np.bool_]) -> int:
    """Return how many of some rows are the same as an earlier one."""
    key, span = np.zeros(int(np.count_nonzero(among)), dtype=np.int64), 1
    for values in (
        rankings.ranking,
        rankings.judge,
        rankings.segment,
        rankings.system_a,
        rankings.system_b,
        rankings.rank_a,
        rankings.rank_b,
    ):
        # One number a row is found by one sort; numbered anew where it would outgrow 64 bits.
        column = values[among]
        size = int(column.max(initial=0)) + 1
        if span * size > _LARGEST:
            column, size = _numbered(column)
            key, span = _numbered(key)
        key, span = key * size + column, span * size
    return len(key) - len(np.unique(key))


def _numbered(values: NDArray[np.int64]) -> tuple[NDArray[np.int64], int]:
    different, numbers = np.unique(values, return_inverse=True)
    return numbers.astype(np.int64), max(1, len(different))

"""What figures and the page show beyond rows: the units of one draw, and every judged segment."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from trubleu.judge.pairs.results import Cloud, Evidence
from trubleu.judge.sharing import Slice

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from trubleu.data import References
    from trubleu.judge.pairs.conditions import Condition
    from trubleu.judge.pairs.observations import Column, Observer
    from trubleu.judge.pairs.opinions import Pair
    from trubleu.judge.pairs.scoring import Scoring
    from trubleu.stats import UnitDraws


def cloud_of(observer: Observer, columns: Sequence[Column], draws: UnitDraws, common: int) -> Cloud:
    """Return the units of the first draw; ``common`` is what opinions were multiplied by to make them whole."""
    seen = observer.drawing(columns, draws)().observe(Slice(0, 1), observer.where.engine.threads)
    return Cloud(
        pair=observer.units(draws),
        rating=seen.opinions[0] / common,
        scores={column.measure: difference[0] for column, difference in zip(columns, seen.differences, strict=True)},
    )


def evidence_of(scoring: Scoring, columns: Sequence[Column], conditions: Sequence[Condition]) -> tuple[Evidence, ...]:
    """Return every pair's segments with outputs, ratings and scores."""
    found = []
    for place, pair in enumerate(scoring.pairs):
        sides = {column.measure: column.sides(column.rows[place]) for column in columns}
        found.append(
            Evidence(
                pair=place,
                segments=pair.segments,
                outputs_a=_texts(scoring, pair.a, pair),
                outputs_b=_texts(scoring, pair.b, pair),
                rating_a=pair.rating_a,
                rating_b=pair.rating_b,
                scores_a={measure: np.asarray(scores[0]) for measure, scores in sides.items()},
                scores_b={measure: np.asarray(scores[1]) for measure, scores in sides.items()},
                references_a=_Chosen(scoring, pair, pair.a, conditions),
                references_b=_Chosen(scoring, pair, pair.b, conditions),
            )
        )
    return tuple(found)


def _texts(scoring: Scoring, system: int, pair: Pair) -> tuple[str, ...]:
    outputs = scoring.outputs[system]
    return tuple(outputs[segment] for segment in pair.segments.tolist())


class _Chosen(Mapping[str, "References"]):
    """The references of one side by condition, made when somebody looks: a page shows few of them."""

    def __init__(self, scoring: Scoring, pair: Pair, system: int, conditions: Sequence[Condition]) -> None:
        self._scoring = scoring
        self._pair = pair
        self._system = system
        self._conditions = {str(condition): condition for condition in conditions}
        self._made: dict[str, References] = {}

    def __getitem__(self, condition: str) -> References:
        if condition not in self._made:
            chosen = self._conditions[condition]
            without = frozenset({self._pair.a, self._pair.b})
            self._made[condition] = self._scoring.references(chosen, without, self._system, self._pair.segments)
        return self._made[condition]

    def __iter__(self) -> Iterator[str]:
        return iter(self._conditions)

    def __len__(self) -> int:
        return len(self._conditions)

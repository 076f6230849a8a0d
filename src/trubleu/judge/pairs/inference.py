"""From coefficients of many draws to rows: means, intervals, differences, and the evidence that pages show."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, partial
from itertools import combinations
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

import numpy as np

from trubleu.judge.pairs.observations import Tables
from trubleu.judge.pairs.results import Cloud, ComparisonRow, CorrelationRow, Evidence, SweepRow
from trubleu.stats import fieller_interval, fisher_interval
from trubleu.stats.bootstrap import ends_of
from trubleu.stats.paired import centred_p, corrected

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from trubleu.data import References
    from trubleu.judge.pairs.conditions import Condition
    from trubleu.judge.pairs.human_scores import Pair
    from trubleu.judge.pairs.observations import Column
    from trubleu.judge.pairs.results import Measure, SweepName
    from trubleu.judge.pairs.scoring import Scoring
    from trubleu.stats import RankCorrelations, UnitDraws


NAMES: Final = ("spearman", "kendall")

_Ends: TypeAlias = tuple[float | None, float | None]


class Replicates(NamedTuple):
    """The coefficients of one measure in all draws and in all bootstrap replicates."""

    measure: Measure
    drawn: RankCorrelations
    over_segments: RankCorrelations
    over_systems: RankCorrelations | None = None

    @property
    def undefined(self) -> int:
        """In how many draws there is no coefficient."""
        return int(np.isnan(self.drawn.spearman).sum())

    def mean(self, name: str) -> float | None:
        """Return the mean of a coefficient over the draws in which it is defined."""
        values: NDArray[np.float64] = getattr(self.drawn, name)
        defined = values[~np.isnan(values)]
        return float(defined.mean()) if len(defined) else None


def _coefficients(replicates: Replicates, unit: int, units: int, confidence: float) -> dict[str, Any]:
    """Return the fields of a `CoefficientRow`."""
    measure = replicates.measure
    values: dict[str, Any] = {"metric": measure.metric, "condition": measure.condition}
    values |= {"unit": unit, "units": units, "n": 2 * units}
    for name in NAMES:
        values[name] = replicates.mean(name)
        defined = None if values[name] is None else getattr(replicates.over_segments, name)
        values[f"{name}_low"], values[f"{name}_high"], _ = ends_of(defined, confidence)
    return values


def correlation_row(replicates: Replicates, unit: int, units: int, confidence: float, signature: str) -> CorrelationRow:
    """Return the row of one measure."""
    values = _coefficients(replicates, unit, units, confidence)
    for name in NAMES:
        mean = values[name]
        systems: _Ends = (None, None)
        fisher, fieller = systems, systems
        if mean is not None:
            if replicates.over_systems is not None:
                systems = ends_of(getattr(replicates.over_systems, name), confidence)[:2]
            if 2 * units > 3:
                fisher = fisher_interval(mean, 2 * units, confidence)
            if units > 4:
                fieller = fieller_interval(mean, units, kind=name, confidence=confidence)
        for kind, ends in (("systems", systems), ("fisher", fisher), ("fieller", fieller)):
            values[f"{name}_{kind}_low"], values[f"{name}_{kind}_high"] = ends
    return CorrelationRow(undefined=replicates.undefined, signature=signature, **values)


def sweep_row(
    sweep: SweepName, value: float, replicates: Replicates, unit: int, units: int, confidence: float
) -> SweepRow:
    """Return one point of a sweep."""
    values = _coefficients(replicates, unit, units, confidence)
    if sweep == "threshold":
        values["condition"] = None
    return SweepRow(sweep=sweep, value=value, **values)


def compare_measures(measures: Sequence[Replicates], confidence: float) -> list[ComparisonRow]:
    """Return a row for every two metrics under one condition, and for every two conditions of one metric.

    The same replicates serve all measures, so their differences are those of paired bootstrap samples. Shifted so that
    their mean is 0 they stand for chance: p is the share of them at least as large as the observed difference, the
    observed one counted in.
    """
    pairs = list(_comparable(measures))
    found: list[dict[str, Any]] = [{} for _ in pairs]
    for name in NAMES:
        for values, (x, y) in zip(found, pairs, strict=True):
            first, second = x.mean(name), y.mean(name)
            difference = low = high = p = None
            if first is not None and second is not None:
                difference = first - second
                replicates = getattr(x.over_segments, name) - getattr(y.over_segments, name)
                low, high, _ = ends_of(replicates, confidence)
                p = None if low is None else centred_p(replicates, difference)
            values |= {
                f"{name}_difference": difference,
                f"{name}_difference_low": low,
                f"{name}_difference_high": high,
                f"{name}_p": p,
            }
        for values, p_holm in zip(found, corrected([values[f"{name}_p"] for values in found]), strict=True):
            values[f"{name}_p_holm"] = p_holm
    return [
        ComparisonRow(
            metric_x=x.measure.metric,
            condition_x=x.measure.condition,
            metric_y=y.measure.metric,
            condition_y=y.measure.condition,
            **values,
        )
        for (x, y), values in zip(pairs, found, strict=True)
    ]


def _comparable(measures: Sequence[Replicates]) -> Iterator[tuple[Replicates, Replicates]]:
    for x, y in combinations(measures, 2):
        same_condition = x.measure.condition == y.measure.condition or None in (
            x.measure.condition,
            y.measure.condition,
        )
        if same_condition or x.measure.metric == y.measure.metric:
            yield x, y


def cloud_of(scoring: Scoring, columns: Sequence[Column], draws: UnitDraws, common: int) -> Cloud:
    """Return the units of the first draw; ``common`` is what opinions were multiplied by to make them whole."""
    tables = Tables(scoring.pairs, columns, draws)
    opinions, differences = tables.observe(range(1), scoring.threads)
    return Cloud(
        pair=tables.units,
        rating=opinions[0] / common,
        scores={column.measure: each[0] for column, each in zip(columns, differences, strict=True)},
    )


def evidence_of(scoring: Scoring, columns: Sequence[Column], conditions: Sequence[Condition]) -> Iterator[Evidence]:
    """Yield every pair's segments with outputs, ratings and scores."""
    for place, pair in enumerate(scoring.pairs):
        sides = {column.measure: column.sides(column.rows[place]) for column in columns}
        of_systems: dict[str, Any] = {}
        for side, (letter, system) in enumerate((("a", pair.a), ("b", pair.b))):
            outputs = scoring.outputs[system]
            of_systems |= {
                f"outputs_{letter}": tuple(outputs[segment] for segment in pair.segments.tolist()),
                f"scores_{letter}": {measure: np.asarray(scores[side]) for measure, scores in sides.items()},
                f"references_{letter}": _Chosen(scoring, pair, system, conditions),
            }
        yield Evidence(pair=place, segments=pair.segments, rating_a=pair.rating_a, rating_b=pair.rating_b, **of_systems)


class _Chosen(Mapping[str, "References"]):
    """The references of one side by condition, made when somebody looks: a page shows few of them."""

    def __init__(self, scoring: Scoring, pair: Pair, system: int, conditions: Sequence[Condition]) -> None:
        self._conditions = {str(condition): condition for condition in conditions}
        available = partial(scoring.library.available, pair.systems, system)
        chosen = scoring.library.chosen
        self._made = cache(lambda name: chosen(self._conditions[name], available(), pair.segments))

    def __getitem__(self, condition: str) -> References:
        return self._made(condition)

    def __iter__(self) -> Iterator[str]:
        return iter(self._conditions)

    def __len__(self) -> int:
        return len(self._conditions)

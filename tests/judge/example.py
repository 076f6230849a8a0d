"""A report made by hand, from real metrics over invented texts, for the figures and the page."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
from scipy import stats

import trubleu
from trubleu.data import References
from trubleu.judge.pairs.results import (
    Cloud,
    ComparisonRow,
    CorrelationRow,
    Evidence,
    Measure,
    PairRow,
    PairsReport,
    Setting,
    SweepRow,
    SystemRow,
    SystemScoreRow,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

HOSTILE = '<script>window.flag = "run"</script> <img src=x onerror="window.flag=1"> </script> & "quoted"'

_SUBJECTS = ("the food", "our room", "that film", "the talk", "her song", "this town", "the match")
_GOOD = ("was really great", "made us very happy", "is worth a visit", "could not be better", "was a lovely surprise")
_BAD = ("was awful I fear", "made us rather sad", "is not worth a visit", "could be much better", "was a let down")
_DULL = ("I do not know", "ok fine", "what do you mean ?", "that is nice")
_CONDITIONS = ("single", "w>=0.6", "all")
_QUALITY = {"good": 4.1, "dull": 2.6, "copy": 3.4}


def references(segments: int, seed: int = 5) -> References:
    """Return segments with six weighted references each; the second one holds markup that must never run."""
    draw = np.random.default_rng(seed)
    texts: list[list[str]] = []
    weights: list[list[float]] = []
    for number in range(segments):
        subject = _SUBJECTS[number % len(_SUBJECTS)]
        rows = [(f"{subject} {draw.choice(_GOOD)} , really", 1.0), (f"{subject} {draw.choice(_GOOD)}", 0.6)]
        rows += [(f"I think {subject} {draw.choice(_GOOD)}", 0.3), (str(draw.choice(_DULL)), -0.2)]
        rows += [(f"{subject} {draw.choice(_BAD)}", -0.7), (f"no , {subject} {draw.choice(_BAD)} !", -1.0)]
        if number == 1:
            rows[1] = (HOSTILE, 0.6)
        texts.append([text for text, _ in rows])
        weights.append([weight for _, weight in rows])
    plain = References.from_lists(texts, weights)
    return References(
        plain.texts,
        plain.offsets,
        plain.weights,
        ids=[f"s{number + 1}" for number in range(segments)],
        origins=["seed", "mined", "mined", "random", "mined", "mined"] * segments,
        messages=[f"how was {_SUBJECTS[number % len(_SUBJECTS)]} ?" for number in range(segments)],
        contexts=[("hello there", "hi !") if number % 3 else None for number in range(segments)],
    )


def outputs(refs: References, seed: int = 7) -> dict[str, list[str]]:
    """Return three systems: one that answers well, one that answers anything dully, one that copies references."""
    draw = np.random.default_rng(seed)
    made: dict[str, list[str]] = {name: [] for name in _QUALITY}
    for number, segment in enumerate(refs):
        subject = _SUBJECTS[number % len(_SUBJECTS)]
        made["good"].append(f"{subject} {draw.choice(_GOOD if draw.random() < 0.8 else _BAD)}")
        made["dull"].append(str(draw.choice(_DULL)) if draw.random() < 0.7 else f"{subject} {draw.choice(_BAD)}")
        made["copy"].append(segment.references[int(draw.integers(6))].text)
    made["good"][1] = HOSTILE + " the end"
    return made


def condition_references(refs: References, condition: str) -> References:
    """Return the references of a condition: the first, those of weight 0.6 or more, or all."""
    kept = {"single": [0], "w>=0.6": [0, 1], "all": list(range(6))}[condition]
    rows = [[segment.references[place] for place in kept] for segment in refs]
    return References(
        [reference.text for row in rows for reference in row],
        np.arange(len(rows) + 1) * len(kept),
        [reference.weight or 0.0 for row in rows for reference in row],
        ids=refs.ids,
        origins=[reference.origin for row in rows for reference in row],
        messages=refs.messages,
        contexts=refs.contexts,
    )


def make_report(
    segments: int = 40,
    *,
    metrics: Sequence[str] = ("bleu-2", "dbleu-2", "chrf"),
    external: bool = True,
    unit: int = 4,
    notes: Sequence[str] = ("2 segments were left out: no reference of theirs has a weight above 0.",),
) -> PairsReport:
    """Return a report with every kind of row; one coefficient, and one point of each sweep, are undefined."""
    refs = references(segments)
    draw = np.random.default_rng(11)
    seen = {condition: condition_references(refs, condition) for condition in _CONDITIONS}
    made = {name: trubleu.metric(name) for name in metrics}
    systems = outputs(refs)
    ratings = {
        name: np.clip(np.round((_QUALITY[name] + draw.normal(0, 0.9, segments)) * 3) / 3, 1, 5) for name in systems
    }
    measures = [Measure(metric=name, condition=condition) for name in metrics for condition in _CONDITIONS]
    scores: dict[tuple[str, Measure], NDArray[np.float64]] = {
        (system, measure): made[measure.metric].segments(texts, seen[measure.condition or "all"])
        for system, texts in systems.items()
        for measure in measures
    }
    if external:
        neural = Measure(metric="a-rather-long-neural-metric-v2.1-multilingual", condition=None)
        measures.append(neural)
        for system in systems:
            scores[system, neural] = ratings[system] / 5 + draw.normal(0, 0.2, segments)
        scores["good", neural][3] = np.nan
    pairs = list(combinations(systems, 2))
    evidence = tuple(
        Evidence(
            pair=place,
            segments=np.arange(segments),
            outputs_a=systems[a],
            outputs_b=systems[b],
            rating_a=ratings[a],
            rating_b=ratings[b],
            scores_a={measure: scores[a, measure] for measure in measures},
            scores_b={measure: scores[b, measure] for measure in measures},
            references_a=seen,
            references_b=seen,
        )
        for place, (a, b) in enumerate(pairs)
    )
    units = segments // unit
    cloud = Cloud(
        pair=np.repeat(np.arange(len(pairs)), units),
        rating=np.concatenate([_means(ratings[a] - ratings[b], unit) for a, b in pairs]),
        scores={
            measure: np.concatenate([_means(scores[a, measure] - scores[b, measure], unit) for a, b in pairs])
            for measure in measures
        },
    )
    correlations = tuple(_correlation(measure, cloud, unit, seed) for seed, measure in enumerate(measures))
    undefined = Measure(metric="bleu-9[smoothing=none]", condition="single")
    correlations += (_undefined_row(undefined, correlations[0]),)
    return PairsReport(
        correlations=correlations,
        comparisons=tuple(_comparison(x, y, place) for place, (x, y) in enumerate(combinations(correlations[:-1], 2))),
        sweeps=tuple(_sweeps(metrics)),
        systems=tuple(
            SystemRow(
                system=name,
                rated=segments,
                ratings=3 * segments,
                mean_rating=float(ratings[name].mean()),
                equal=segments if name == "copy" else 0,
                equal_share=1.0 if name == "copy" else 0.0,
            )
            for name in systems
        ),
        system_scores=tuple(
            SystemScoreRow(
                system=system,
                metric=measure.metric,
                condition=measure.condition,
                score=None if measure.condition is None else float(np.nanmean(values)),
            )
            for (system, measure), values in scores.items()
        ),
        pairs=tuple(PairRow(a=a, b=b, segments=segments, units=units) for a, b in pairs),
        setting=Setting(
            unit=unit,
            draws=1000,
            resamples=1000,
            sweep_draws=100,
            sweep_resamples=200,
            confidence=0.95,
            seed=12345,
            partial=False,
            pool_outputs=False,
            drop_equal="",
        ),
        notes=tuple(notes),
        metrics=made,
        cloud=cloud,
        evidence=evidence,
    )


def _means(values: NDArray[np.float64], unit: int) -> NDArray[np.float64]:
    whole = len(values) // unit * unit
    means: NDArray[np.float64] = values[:whole].reshape(-1, unit).mean(axis=1)
    return means


def _correlation(measure: Measure, cloud: Cloud, unit: int, seed: int) -> CorrelationRow:
    able = np.isfinite(cloud.scores[measure])
    x, y = cloud.scores[measure][able], cloud.rating[able]
    spearman = float(stats.spearmanr(x, y).statistic)
    kendall = float(stats.kendalltau(x, y).statistic)
    half = 0.06 + 0.005 * seed
    return CorrelationRow(
        metric=measure.metric, condition=measure.condition, unit=unit, units=len(x), n=2 * len(x),
        spearman=spearman, spearman_low=spearman - half, spearman_high=min(spearman + half, 1.0),
        spearman_systems_low=spearman - 2 * half, spearman_systems_high=min(spearman + 2 * half, 1.0),
        spearman_fisher_low=spearman - half / 2, spearman_fisher_high=spearman + half / 2,
        spearman_fieller_low=spearman - half, spearman_fieller_high=spearman + half,
        kendall=kendall, kendall_low=kendall - half, kendall_high=kendall + half,
        kendall_systems_low=None, kendall_systems_high=None,
        kendall_fisher_low=kendall - half / 2, kendall_fisher_high=kendall + half / 2,
        kendall_fieller_low=kendall - half, kendall_fieller_high=kendall + half,
        undefined=0, signature=f"{measure.metric}|refs:6|version:trubleu",
    )  # fmt: skip


def _undefined_row(measure: Measure, like: CorrelationRow) -> CorrelationRow:
    from dataclasses import fields, replace

    numbers = {field.name: None for field in fields(CorrelationRow) if field.name.startswith(("spearman", "kendall"))}
    return replace(
        like, metric=measure.metric, condition=measure.condition, undefined=1000, **numbers  # type: ignore[arg-type]
    )  # fmt: skip


def _comparison(x: CorrelationRow, y: CorrelationRow, place: int) -> ComparisonRow:
    spearman, kendall = (x.spearman or 0.0) - (y.spearman or 0.0), (x.kendall or 0.0) - (y.kendall or 0.0)
    p = 0.0009 if abs(spearman) > 0.25 else 0.2 + 0.01 * place
    return ComparisonRow(
        metric_x=x.metric, condition_x=x.condition, metric_y=y.metric, condition_y=y.condition,
        spearman_difference=spearman, spearman_difference_low=spearman - 0.1, spearman_difference_high=spearman + 0.1,
        spearman_p=p, spearman_p_holm=min(1.0, 20 * p),
        kendall_difference=kendall, kendall_difference_low=kendall - 0.1, kendall_difference_high=kendall + 0.1,
        kendall_p=p, kendall_p_holm=min(1.0, 20 * p),
    )  # fmt: skip


def _sweeps(metrics: Sequence[str]) -> list[SweepRow]:
    rows = []
    values: dict[str, list[float]] = {
        "threshold": [1 - 0.2 * step for step in range(11)],
        "unit": [1, 10, 20, 50, 100],
        "order": [1, 2, 3, 4],
    }
    for name, places in values.items():
        for number, metric in enumerate(metrics):
            for condition in (None,) if name == "threshold" else ("all",):
                for step, value in enumerate(places):
                    rho = 0.2 + 0.12 * number + 0.02 * step * (1 if number else -1) + 0.03 * (condition == "all")
                    gap = number == 0 and step == 2
                    rows.append(
                        SweepRow(
                            sweep=name,  # type: ignore[arg-type]
                            metric=metric,
                            condition=condition,
                            value=float(value),
                            unit=int(value) if name == "unit" else 100,
                            units=66, n=132,
                            spearman=None if gap else rho,
                            spearman_low=None if gap else rho - 0.07,
                            spearman_high=None if gap else rho + 0.07,
                            kendall=None if gap else rho / 1.5,
                            kendall_low=None if gap else rho / 1.5 - 0.05,
                            kendall_high=None if gap else rho / 1.5 + 0.05,
                        )
                    )  # fmt: skip
    return rows

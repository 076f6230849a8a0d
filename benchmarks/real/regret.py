"""How far each metric is from the best one of every set: what it costs to use one metric everywhere."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

from benchmarks.real.agreement import HEADLINE, SYMBOLS
from trubleu.render.tables import Cell, Column, Table, render_tables

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

Values = dict[str, dict[str, float]]
"""For each measure (a set and a level), the agreement of each metric."""


class Regret(NamedTuple):
    """Distances of one metric from the best one of each measure."""

    metric: str
    mean: float
    worst: float
    where: str
    best: int
    by_group: dict[str, float]


def regrets(groups: Mapping[str, Values]) -> list[Regret]:
    """Return the distances of metrics that have a value everywhere, the smallest mean first.

    A metric without one may still be the best of a measure that it has.
    """
    measures = {(group, measure): each for group, values in groups.items() for measure, each in values.items()}
    everywhere = set.intersection(*(set(each) for each in measures.values())) if measures else set()
    found = []
    for metric in everywhere:
        distances = {key: max(each.values()) - each[metric] for key, each in measures.items()}
        worst = max(distances, key=lambda key: distances[key])
        by_group = {
            group: _mean([distance for (of, _), distance in distances.items() if of == group]) for group in groups
        }
        best = sum(distance == 0 for distance in distances.values())
        mean = _mean(list(distances.values()))
        found.append(Regret(metric, mean, distances[worst], f"{worst[0]}, {worst[1]}", best, by_group))
    return sorted(found, key=lambda row: (row.mean, row.metric))


def values_of(study: str, result: Mapping[str, Any]) -> Values:
    """Return the agreements in what a study wrote: those of this folder, of ``judge wmt`` or of ``judge pairs``."""
    found: Values = {}
    for measure, metric, value in _agreements(study, result):
        found.setdefault(measure, {})[metric] = value or 0.0
    return found


def run(folder: Path, studies: Mapping[str, str]) -> int:
    """Print the table, and leave it in the folder, from studies (and their groups) in the folders beside it."""
    groups: dict[str, Values] = {}
    for study, group in studies.items():
        path = folder.parent / study / "result.json"
        if not path.exists():
            print(f"{study}: left out, as there is no {path}; run python -m benchmarks.real {study}")
            continue
        groups.setdefault(group, {}).update(values_of(study, json.loads(path.read_text(encoding="utf-8"))))
    found = regrets(groups)
    metrics = [row.metric for row in found]
    measures = [(measure, each) for values in groups.values() for measure, each in values.items()]
    partly = sorted({name for _, each in measures for name in each} - set(metrics))
    for metric in partly:
        missing = [measure for measure, each in measures if metric not in each]
        print(f"{metric}: no distances, as it has no value for {', '.join(missing)}")
    tables = [_summary(found, list(groups)), _measured(groups, [*metrics, *partly])]
    text = render_tables(tables, "markdown", 3)
    (folder / "result.md").write_text(text, encoding="utf-8")
    for name, table in zip(("regret", "agreements"), tables, strict=True):
        (folder / f"{name}.csv").write_text(render_tables([table], "csv"), encoding="utf-8")
    print(text)
    return 0


def _agreements(study: str, result: Mapping[str, Any]) -> Iterator[tuple[str, str, float | None]]:
    name = study.removesuffix("-all")
    for row in result.get("correlations", ()):
        yield f"{name} ρ", row["metric"], row["spearman"]
    for row in result.get("agreements", ()):
        if "set" in row:
            if HEADLINE[row["level"]] == row["coefficient"]:
                yield f"{row['set']} {row['level']} {SYMBOLS[row['coefficient']]}", row["metric"], row["value"]
        elif row["language_pair"] != "average" and (symbol := _JUDGED.get((row["level"], row["statistic"]))):
            yield f"{row['language_pair']} {symbol}", row["metric"], row["value"]


_JUDGED = {("rankings", "wmt14"): "segment τ", ("system", "pearson"): "system r", ("assessments", "pearson"): "r"}


def _summary(found: Sequence[Regret], groups: Sequence[str]) -> Table:
    columns = [
        *(Column("metric"), Column("mean", kind="number"), Column("worst", kind="number"), Column("where")),
        Column("best", title="times best", kind="count"),
        *(Column(group, kind="number") for group in groups),
    ]
    rows: list[Sequence[Cell]] = [
        [row.metric, row.mean, row.worst, row.where, row.best, *row.by_group.values()] for row in found
    ]
    return Table("Distance from the best metric of each measure", columns, rows)


def _measured(groups: Mapping[str, Values], metrics: Sequence[str]) -> Table:
    columns = [Column("group"), Column("measure"), *(Column(metric, kind="number") for metric in metrics)]
    rows: list[Sequence[Cell]] = [
        [group, measure, *(each.get(metric) for metric in metrics)]
        for group, values in groups.items()
        for measure, each in values.items()
    ]
    return Table("Agreement with people", columns, rows)


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)

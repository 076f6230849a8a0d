"""Draw all metrics on all sets: ``python -m benchmarks.real.sets SETS.csv OUT.svg``.

``trubleu judge sets … --format csv --out SETS.csv`` writes the table; docs/results.md has the whole command.
"""

from __future__ import annotations

import csv
import sys
from pathlib import Path

from matplotlib import rc_context
from matplotlib.figure import Figure

NAMES = {"pc_usr_data": "usr-persona", "tc_usr_data": "usr-topical"}
MEASURES = {"acc-eq-calibrated": "acc*eq", "soft-pairwise-accuracy": "SPA"}
WORST = 0.25
"""The distance from the best that has the darkest colour."""


def main() -> int:
    """Draw, and return the exit code."""
    if len(sys.argv) != 3:
        print(__doc__)
        return 2
    with Path(sys.argv[1]).open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    metrics = [row["metric"] for row in rows if row["table"] == "regrets"]
    values = {
        (row["set"], row["level"], row["measure"], row["metric"]): row for row in rows if row["table"] == "values"
    }
    columns = list(dict.fromkeys(key[:3] for key in values))
    with rc_context({"svg.hashsalt": "trubleu", "svg.fonttype": "none", "font.size": 8}):
        figure = Figure(figsize=(8, 6.2), layout="constrained")
        axes = figure.subplots()
        distances = [[min(WORST, float(values[*column, metric]["regret"])) for metric in metrics] for column in columns]
        axes.imshow(distances, cmap="Blues", vmin=0, vmax=2 * WORST, aspect="auto")  # light enough for black numbers
        for y, column in enumerate(columns):
            for x, metric in enumerate(metrics):
                row = values[*column, metric]
                number = f"{float(row['value']):.3f}".replace("0.", ".", 1)
                weight = "bold" if row["not_worse"] == "true" else "normal"
                axes.text(x, y, number, ha="center", va="center", weight=weight)
        axes.set_xticks(range(len(metrics)), [metric.split("[")[0] for metric in metrics])
        axes.set_yticks(range(len(columns)), [label(*column) for column in columns])
        axes.tick_params(length=0, labeltop=True, labelbottom=False)
        axes.spines[:].set_visible(False)
        figure.savefig(sys.argv[2], metadata={"Date": None} if sys.argv[2].endswith(".svg") else None)
    return 0


def label(name: str, level: str, measure: str) -> str:
    """Return the title of a row: set, level and measure."""
    name = NAMES.get(name, name.replace("newstest2015.", "da-"))
    return f"{name}, {level}, {MEASURES.get(measure, 'r')}"


if __name__ == "__main__":
    sys.exit(main())

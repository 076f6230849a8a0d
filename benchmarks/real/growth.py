"""Draw how agreement grows with the text that vectors were trained on: ``python -m benchmarks.real.growth OUT.svg``.

Run ``python -m benchmarks.real trained`` first: it trains, and writes the sets.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from matplotlib.figure import Figure

from trubleu.cli import main as trubleu

FOLDER = Path("build/real/trained")
SIZES = {50_000: "separate-50000", 200_000: "separate-200000", 1_133_218: "separate"}
WORDS = "tokenize=words,lowercase=true"
BASELINE = f"sbleu-3[{WORDS}]"


def main() -> int:
    """Judge, draw, and return the exit code."""
    if len(sys.argv) != 2 or not (FOLDER / "sets").exists():
        print(__doc__)
        return 2
    metrics = {size: f"bleu2vec[{WORDS},vectors={FOLDER / name}.store]" for size, name in SIZES.items()}
    named = [argument for name in (BASELINE, *metrics.values()) for argument in ("-m", name)]
    ranked, assessed = FOLDER / "sets" / "de-en", sorted(map(str, (FOLDER / "sets").glob("newstest2015.*")))
    figure = Figure(figsize=(7, 2.8), layout="constrained")
    panels = figure.subplots(1, 2)
    for axes, title, command, table in (
        (panels[0], "segment τ, WMT15 de-en", ["ratings", str(ranked), "--segment-measure", "tau-wmt14"], "measures"),
        (
            panels[1],
            "DA r, average into English",
            ["sets", *assessed, "--segment-measure", "pearson-pooled"],
            "averages",
        ),
    ):
        result = FOLDER / f"growth-{table}.json"
        if code := trubleu(["judge", *command, *named, "--format", "json", "--out", str(result), "--quiet"]):
            return code
        rows = json.loads(result.read_text(encoding="utf-8"))[table]
        wanted = [row for row in rows if row["level"] == "segment" and row.get("headline", True)]
        found = {row["metric"]: (row["value"], row["low"], row["high"]) for row in wanted}
        values = [found[name] for name in metrics.values()]
        below = [value - low for value, low, _ in values]
        above = [high - value for value, _, high in values]
        axes.errorbar(list(metrics), [value for value, _, _ in values], [below, above], marker="o", capsize=3)
        axes.axhline(found[BASELINE][0], linestyle="--", color="grey", label="sBLEU-3, no vectors")
        axes.set(xscale="log", xlabel="sentences to train on", title=title)
        axes.margins(y=0.3)
        axes.legend(frameon=False, fontsize=8, loc="upper left")
    figure.savefig(sys.argv[1], metadata={"Date": None} if sys.argv[1].endswith(".svg") else None)
    return 0


if __name__ == "__main__":
    sys.exit(main())

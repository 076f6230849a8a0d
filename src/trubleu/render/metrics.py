"""The list of metrics, and the options of one, as tables."""

from __future__ import annotations

import re

from trubleu.metrics import describe, names
from trubleu.metrics.options import OPTIONS
from trubleu.render.tables import Column, Table, table_of


def metric_table() -> Table:
    """Return all metrics with their purpose and requirements."""
    columns = [
        Column("metric", of=lambda found: found.name),
        Column("purpose", "what it is for"),
        Column("order", "N", kind="count"),
        Column("better", of=lambda found: "higher" if found.higher_is_better else "lower"),
        Column("needs", of=lambda found: ", ".join(found.needs) or None),
    ]
    notes = [
        "N: default n-gram order; bleu-2 sets it to 2 (1 to 9)",
        "options of one metric: trubleu score --list-metrics NAME",
    ]
    return table_of(describe(), columns, "", notes, "metrics")


def option_table(name: str) -> Table:
    """Return the options of one metric."""
    # The name may include an order, which does not change the options.
    [found] = describe(name if name in names() else re.sub(r"-\d+$", "", name))
    return Table(
        "",
        [Column("option"), Column("default", "default"), Column("takes", "values"), Column("help", "what it sets")],
        [
            (option, _shown(default), OPTIONS[option].values_of(found.name), OPTIONS[option].help)
            for option, default in found.options.items()
        ],
        notes=[f"set options in brackets: -m '{name}[option=value,…]'"],
        name="options",
    )


def _shown(default: object) -> str | None:
    if isinstance(default, bool):
        return "true" if default else "false"
    return None if default is None else str(default)

"""The list of metrics, and the options of one, as tables."""

from __future__ import annotations

import re
from typing import Final

from trubleu.metrics import describe, names
from trubleu.render.tables import Column, Table, table_of

_TAKES: Final = {
    "tokenize": "13a, intl, char, zh, words, chat, none, …",
    "smoothing": "exp, floor, add-k or none",
    "smoothing_value": "a number, for floor (0.1) or add-k (1)",
    "reference_length": "closest, shortest, longest or average",
    "variant": "lin-och, nakov, nakov-all or sacrebleu",
    "definition": "paper or fork2019",
    "negative": "clamp, floor:E or error",
    "length_references": "all or positive",
    "no_positive": "error or skip",
    "unrated_as": "a weight from -1 to 1",
    "vectors": "ready, or the path of a store, a file or a folder",
    "similarity": "raw, clamp or shift:S",
    "oov": "a number from 0 to 1, or composed",
    "credit": "earn, nearest or max",
    "corpus": "a file of references to learn from",
    "alpha": "a number from 0 to 1",
    "threshold": "a number from 0 to 1",
    "shift": "a cosine from 0 to below 1",
    "importance": "vector, corpus or none",
    "gamma": "a number from 0 to 1",
    "sigma": "a number above 0",
    "beta": "a number, at least 0",
    "char_order": "an integer, at least 1",
    "word_order": "an integer, at least 0",
    "stemmer": "porter, another Snowball stemmer (english, german, …) or none",
    "synonyms": "none, wordnet, or the folder of a WordNet",
}
"""Values of options that are not boolean."""

_TAKES_HERE: Final = {
    ("bleu2vec", "smoothing"): "lin-och, exp, floor, add-k or none",
    ("dbleu2vec", "smoothing"): "lin-och, exp, floor, add-k or none",
    ("bleu2vec", "definition"): "paper or release2017",
    ("trubleu", "beta"): "a number above 0",
    ("chrf", "beta"): "an integer, at least 1",
    ("chrf++", "beta"): "an integer, at least 1",
}
"""Exceptions by metric, without -f."""


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
        [Column("option"), Column("default", "default"), Column("takes", "values")],
        [(option, _shown(default), _taken(found.name, option, default)) for option, default in found.options.items()],
        notes=[f"set options in brackets: -m '{name}[option=value,…]'"],
        name="options",
    )


def _taken(metric: str, option: str, default: object) -> str | None:
    if isinstance(default, bool):
        return "true or false"
    return _TAKES_HERE.get((metric.removesuffix("-f"), option), _TAKES.get(option))


def _shown(default: object) -> str | None:
    if isinstance(default, bool):
        return "true" if default else "false"
    return None if default is None else str(default)

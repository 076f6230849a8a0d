"""``trubleu score --list-metrics``: what there is to choose from."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import argparse

    from trubleu.report import Table

ALL: Final = "all"

# What goes with the list.
_APPLY: Final = ("list_metrics", "format", "digits", "out", "quiet")

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
    "gamma": "a number from 0 to 1",
    "sigma": "a number above 0",
    "beta": "a number that is not below 0",
    "char_order": "a whole number from 1 on",
    "word_order": "a whole number from 0 on",
    "stemmer": "porter, another of Snowball's (english, german, …) or none",
    "synonyms": "none, wordnet, or the folder of one",
}
"""What options take that are not true or false."""

_TAKES_HERE: Final = {
    ("bleu2vec", "smoothing"): "lin-och, exp, floor, add-k or none",
    ("dbleu2vec", "smoothing"): "lin-och, exp, floor, add-k or none",
    ("bleu2vec", "definition"): "paper or release2017",
    ("chrf", "beta"): "a whole number from 1 on",
    ("chrf++", "beta"): "a whole number from 1 on",
}
"""By the metric, without -f."""


def add_list_option(parser: argparse._ArgumentGroup) -> None:
    """Add the option."""
    parser.add_argument(
        "--list-metrics",
        nargs="?",
        const=ALL,
        metavar="NAME",
        help="tell what each metric is for and what it needs, or the options of one, and end",
    )


def metric_list(options: argparse.Namespace) -> str:
    """Return the list as ``--format`` says."""
    from trubleu.cli import build_parser
    from trubleu.errors import UsageError
    from trubleu.report import render_tables

    usual = vars(build_parser().parse_args(["score"]))
    if given := [name for name, value in vars(options).items() if name not in _APPLY and value != usual[name]]:
        flags = ["outputs" if name == "systems" else f"--{name.replace('_', '-')}" for name in given]
        raise UsageError(f"--list-metrics scores nothing; leave out {', '.join(flags)}")
    table = _metrics() if options.list_metrics == ALL else _options(options.list_metrics)
    return render_tables([table], options.format, options.digits)


def _metrics() -> Table:
    from trubleu.metrics import describe
    from trubleu.report import Column, Table

    return Table(
        "",
        [
            Column("metric"),
            Column("purpose", "what it is for"),
            Column("order", "N", kind="count"),
            Column("better"),
            Column("needs"),
        ],
        [
            (
                found.name,
                found.purpose,
                found.order,
                "higher" if found.higher_is_better else "lower",
                ", ".join(found.needs) or None,
            )
            for found in describe()
        ],
        notes=[
            "N: the longest n-grams if none are asked for; bleu-2 asks for 2, and 1 to 9 are possible",
            "options of one metric: trubleu score --list-metrics NAME",
        ],
        name="metrics",
    )


def _options(name: str) -> Table:
    from trubleu.metrics import describe, names
    from trubleu.report import Column, Table

    # An order may stand behind the name, but changes no option.
    [found] = describe(name if name in names() else re.sub(r"-\d+$", "", name))
    return Table(
        "",
        [Column("option"), Column("default", "if left out"), Column("takes", "what it takes")],
        [(option, _shown(default), _taken(found.name, option, default)) for option, default in found.options.items()],
        notes=[f"options stand in brackets: -m '{name}[option=value,…]'"],
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

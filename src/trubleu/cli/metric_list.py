"""``trubleu score --list-metrics``: what there is to choose from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import argparse

    from trubleu.report import Table

ALL: Final = "all"


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
    from trubleu.errors import UsageError
    from trubleu.report import render_tables

    if options.systems or options.refs is not None or options.ref is not None or options.metric:
        raise UsageError("--list-metrics scores nothing; leave out outputs, references and metrics")
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
    from trubleu.metrics import describe
    from trubleu.report import Column, Table

    [found] = describe(name)
    return Table(
        "",
        [Column("option"), Column("default", "if left out")],
        [(option, _shown(default)) for option, default in found.options.items()],
        notes=[f"options stand in brackets: -m '{name}[option=value,…]'"],
        name="options",
    )


def _shown(default: object) -> str | None:
    if isinstance(default, bool):
        return "true" if default else "false"
    return None if default is None else str(default)

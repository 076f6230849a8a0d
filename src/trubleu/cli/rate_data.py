"""``trubleu rate status``, ``export`` and ``import``: how a study goes, and what goes in and out of it."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any, Final

from trubleu.cli.output import add_output_options, check_output, write_output

if TYPE_CHECKING:
    from collections.abc import Sequence

    from trubleu.rating import Study
    from trubleu.rating.summary import RaterSummary, Summary
    from trubleu.report.tables import Table

STATUS_EPILOG = """\
examples:
  trubleu rate status my-study
  trubleu rate status my-study --format json --out status.json
"""

EXPORT_EPILOG = """\
examples:
  trubleu rate export my-study --as references --out refs.jsonl
  trubleu rate export my-pairs --as ratings --out ratings.csv
  trubleu rate export my-study --as raw --out log.parquet
  trubleu rate export my-study --as mturk-tasks --out tasks.csv
"""

IMPORT_EPILOG = """\
examples:
  trubleu rate import my-study ratings.csv
  trubleu rate import my-study Batch_123_results.csv --as mturk
"""

WHATS: Final = ("references", "ratings", "raw", "mturk-tasks")
"""Those of `trubleu.rating.exporting`, said again so that ``--help`` need not load it (a test holds them equal)."""

LAYOUTS: Final = ("table", "mturk")
"""Those of `trubleu.rating.importing`."""

_TEXT = 60  # characters of a disputed text where people read


def check_packages() -> None:
    """Say what to install where a study cannot be opened."""
    from trubleu.data.extras import needed

    for package in ("sqlalchemy", "yaml"):
        needed(package, "a rating study", "trubleu[rate]")


def opened(folder: str, *, sync: bool = False, quiet: bool = False) -> Study:
    """Open a study, and bring it in step with its settings if it is to be served."""
    check_packages()
    from trubleu.cli.progress import told_once
    from trubleu.rating import Study

    # Also where a command has no warnings of its own to tell.
    with told_once(quiet=quiet):
        return Study.open(folder, sync=sync)


def no_more(options: argparse.Namespace, command: str) -> None:
    """Refuse arguments that nobody asked for."""
    from trubleu.errors import UsageError

    if options.files:
        raise UsageError(f"rate {command} has no use for {options.files[0]}; leave it out")


def add_status_parser(commands: argparse._SubParsersAction[Any]) -> None:
    """Add ``rate status``."""
    parser = commands.add_parser(
        "status",
        help="how a study goes: progress, agreement, raters, weights",
        description="Say how a study goes, as the lead's page does: progress, agreement of raters, how each of them "
        "rates, the distribution of weights, and what they disagree on most.",
        epilog=STATUS_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.set_defaults(run=status, files=[])
    parser.add_argument("study", metavar="STUDY", help="the folder of the study")
    parser.add_argument("--resamples", type=int, default=1000, metavar="N", help="for the interval of α (1000)")
    add_output_options(parser)


def add_export_parser(commands: argparse._SubParsersAction[Any]) -> None:
    """Add ``rate export``."""
    parser = commands.add_parser(
        "export",
        help="write weighted references, ratings or the log",
        description="Write what a study has. references: a file for trubleu score, with the weights that the ratings "
        "give. ratings: one row a rating, for trubleu judge and trubleu triples split. raw: the log of everything that "
        "happened. mturk-tasks: what still lacks ratings, for a batch of Mechanical Turk. Excluded raters, gold and "
        "practice items are left out, except from the log.",
        epilog=EXPORT_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.set_defaults(run=export, files=[])
    parser.add_argument("study", metavar="STUDY", help="the folder of the study")
    parser.add_argument("--as", dest="what", choices=WHATS, required=True, metavar="NAME", help=", ".join(WHATS))
    parser.add_argument(
        "--out",
        default="-",
        metavar="FILE",
        help="references: .jsonl or .parquet; ratings and raw: .csv, .tsv, .jsonl or .parquet; mturk-tasks: .csv; "
        "standard output gets JSON lines (default)",
    )
    parser.add_argument("--labels", action="store_true", help="call raters by their labels instead of by numbers")
    parser.add_argument("--quiet", action="store_true", help="no warnings, no summary")


def add_import_parser(commands: argparse._SubParsersAction[Any]) -> None:
    """Add ``rate import``."""
    parser = commands.add_parser(
        "import",
        help="add ratings that were given elsewhere",
        description="Add ratings that were given elsewhere: a table with the columns item, rater and score (for pairs "
        "also system and pair), or the results of a batch of Mechanical Turk. All are added, or none if one cannot be "
        "used; doing it again changes nothing.",
        epilog=IMPORT_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.set_defaults(run=bring_in, files=[])
    parser.add_argument("study", metavar="STUDY", help="the folder of the study")
    parser.add_argument("file", metavar="FILE", help="CSV, TSV, JSON lines or Parquet; for Mechanical Turk CSV")
    parser.add_argument(
        "--as", dest="layout", choices=LAYOUTS, default=LAYOUTS[0], metavar="NAME", help="table (default) or mturk"
    )
    parser.add_argument(
        "--answer",
        default="score",
        metavar="NAME",
        help="what the form on Mechanical Turk calls an answer; for pairs 1 and 2 are added (score)",
    )
    parser.add_argument("--quiet", action="store_true", help="no warnings, no summary")


def export(options: argparse.Namespace) -> None:
    """Write what a study has."""
    import sys

    from trubleu.cli.progress import told_once
    from trubleu.data import check_writable
    from trubleu.errors import counted

    no_more(options, "export")
    check_writable(options.out)
    with told_once(quiet=options.quiet), opened(options.study, quiet=options.quiet) as study:
        from trubleu.rating.exporting import export_study

        made = export_study(study, options.what, options.out, labels=options.labels)
    if options.quiet or options.out == "-":
        return
    rows = {
        "references": f"{counted(made.rows, 'segment')} with {counted(made.items, 'reference')}",
        "ratings": counted(made.rows, "rating"),
        "raw": f"{made.rows:,} entries of the log",
        "mturk-tasks": counted(made.rows, "task"),
    }
    from_ratings = f", weighted by {counted(made.ratings, 'rating')}" if options.what == "references" else ""
    sys.stdout.write(f"{options.out}: {rows[options.what]}{from_ratings}\n")


def bring_in(options: argparse.Namespace) -> None:
    """Add ratings that were given elsewhere."""
    import sys

    from trubleu.cli.progress import told_once
    from trubleu.errors import counted

    no_more(options, "import")
    with told_once(quiet=options.quiet), opened(options.study, quiet=options.quiet) as study:
        from trubleu.rating.importing import import_ratings

        found = import_ratings(study, options.file, layout=options.layout, answer=options.answer)
    if options.quiet:
        return
    said = f"{options.file}: {counted(found.answers, 'answer')}, {found.added:,} new, {found.counted:,} of them count"
    said += f"; {counted(found.items, 'item')}, {counted(found.raters, 'new rater')}"
    for number, what in (
        (found.repeated, "there already"),
        (found.rejected, "rejected"),
        (found.blank, "without a score"),
    ):
        said += f"; {number:,} {what}" if number else ""
    sys.stdout.write(said + "\n")


def status(options: argparse.Namespace) -> None:
    """Say how a study goes."""
    from trubleu.cli.progress import told_once
    from trubleu.errors import UsageError
    from trubleu.report.tables import FOR_PROGRAMS, render_tables

    no_more(options, "status")
    check_output(options)
    if not 0 <= options.resamples <= 1_000_000:
        raise UsageError(f"--resamples {options.resamples} must lie between 0 and 1,000,000")
    with told_once(quiet=options.quiet), opened(options.study, quiet=options.quiet) as study:
        from trubleu.rating.study import time_now
        from trubleu.rating.summary import summary

        found = summary(study, time_now(), resamples=options.resamples)
    for_people = options.format not in FOR_PROGRAMS
    tables = status_tables(found) if for_people else status_records(found)
    write_output(
        options, render_tables(tables, options.format, options.digits, notes=found.notes if for_people else ())
    )


def status_tables(found: Summary) -> list[Table]:
    """Return how a study goes, for people."""
    from trubleu.errors import counted
    from trubleu.report.tables import Column, Table

    share = f" ({100 * found.counted / found.wanted:.1f} %)" if found.wanted else ""
    left = f", {found.hours_left:,.1f} hours left at this pace" if found.hours_left else ""
    alpha = found.alpha
    interval = "" if alpha.low != alpha.low else f" [{alpha.low:.3f}, {alpha.high:.3f}]"
    facts = [
        ("state", "paused" if found.paused else "running"),
        ("ratings", f"{found.counted:,} of {found.wanted:,}{share}"),
        ("items complete", f"{found.complete:,} of {found.items:,}"),
        ("ratings in the last hour", f"{found.last_hour:,}{left}"),
        ("with raters now", f"{found.waiting:,}"),
        ("could not judge", f"{found.unable:,}"),
        ("not counted", f"{found.uncounted:,}"),
        ("Krippendorff's α, ordinal", alpha.reason or f"{alpha.alpha:.3f}{interval} of {counted(alpha.items, 'text')}"),
        (
            "quadratic κ between raters",
            "undefined"
            if found.kappa is None
            else f"{found.kappa:.3f}, mean of {counted(found.pairs, 'pair')} of raters, weighted by shared texts",
        ),
    ]
    weights = [(f"{each.low:+.2f} to {each.high:+.2f}", each.count) for each in found.weights]
    disputed = [
        (_short(each.key), " ".join(map(str, each.scores)), each.spread, _short(each.message or ""), _short(each.text))
        for each in found.disputed
    ]
    tables = [Table("", [Column("what", ""), Column("value", "")], facts, name="progress")]
    if found.raters:
        tables.append(_raters_table(found.raters))
    if found.counted:
        columns = [Column("weight"), Column("texts", kind="count")]
        tables.append(Table("Weights", columns, weights))
    if disputed:
        names = [Column("item"), Column("scores"), Column("spread", kind="number"), Column("message"), Column("text")]
        tables.append(Table("What raters disagree on most", names, disputed, name="disputed"))
    return tables


def _raters_table(raters: Sequence[RaterSummary]) -> Table:
    from trubleu.report.tables import Column, Table, one_line

    columns = [
        Column("number", kind="count"),
        Column("name"),
        Column("ratings", kind="count"),
        Column("counted", kind="count"),
        Column("seconds", "seconds each", kind="number", digits=1),
        Column("scores", "scores 1 to 5"),
        Column("mean", kind="number"),
        Column("spread", kind="number"),
        Column("gold"),
        Column("kappa", "κ with the rest", kind="number"),
        Column("shared", kind="count"),
        Column("state", ""),
    ]
    rows = [
        (
            each.rater.id,
            one_line(each.rater.name),
            each.ratings,
            each.counted,
            each.seconds,
            " ".join(map(str, each.scores)),
            each.mean,
            each.spread,
            f"{each.gold_right} of {each.gold_total}" if each.gold_total else None,
            each.agreement,
            each.shared,
            f"excluded: {one_line(each.rater.reason or '')}" if each.rater.excluded else "",
        )
        for each in raters
    ]
    return Table("Raters", columns, rows)


def _short(text: str) -> str:
    from trubleu.report.tables import one_line

    line = one_line(text[: 2 * _TEXT])
    return line if len(line) <= _TEXT else line[: _TEXT - 1] + "…"


def status_records(found: Summary) -> list[Table]:
    """Return how a study goes, for programs."""
    from trubleu.report.tables import Column, Table

    progress = (
        "paused", "items", "complete", "wanted", "counted", "uncounted", "unable", "waiting", "last_hour", "hours_left",
    )  # fmt: skip
    agreement = (
        "alpha", "low", "high", "level", "items", "ratings", "raters", "reason", "confidence", "resamples", "undefined",
        "seed",
    )  # fmt: skip
    kappa = (*(getattr(found.alpha, name) for name in agreement), found.kappa, found.pairs)
    person = ("id", "name", "entry", "excluded", "reason", "created_at", "erased_at")
    own = (
        "ratings",
        "counted",
        "seconds",
        "mean",
        "spread",
        "gold_right",
        "gold_total",
        "agreement",
        "shared",
        "last_at",
    )
    raters = [
        (*(getattr(each.rater, name) for name in person), *(getattr(each, name) for name in own), *each.scores)
        for each in found.raters
    ]
    scores = [f"scores_{score}" for score in range(1, 6)]
    disputed = [
        (each.key, each.part, each.message, each.text, " ".join(map(str, each.scores)), each.spread)
        for each in found.disputed
    ]

    def table(name: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> Table:
        return Table("", [*map(Column, columns)], rows, name=name)

    return [
        table("progress", progress, [[getattr(found, name) for name in progress]]),
        table("agreement", (*agreement, "kappa", "pairs"), [kappa]),
        table("raters", (*person, *own, *scores), raters),
        table("weights", ("low", "high", "count"), [(each.low, each.high, each.count) for each in found.weights]),
        table("disputed", ("item", "part", "message", "text", "scores", "spread"), disputed),
        table("notes", ("note",), [(note,) for note in found.notes]),
    ]

"""``trubleu rate`` on an existing study: status, audit, export, import, links, exclude, readmit, erase, pause."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any, Final

from trubleu.cli.options import add_output_options, check_output, checked_url, write_output

if TYPE_CHECKING:
    from collections.abc import Callable

    from trubleu.rating import NewRater, Study


STATUS_EPILOG = """\
examples:
  trubleu rate status my-study
  trubleu rate status my-study --format json --out status.json
"""

AUDIT_EPILOG = """\
examples:
  trubleu rate audit my-study
"""

EXPORT_EPILOG = """\
examples:
  trubleu rate export my-study --as references --out refs.jsonl
  trubleu rate export my-pairs --as ratings --out ratings.csv
  trubleu rate export my-study --as raw --out log.parquet
  trubleu rate export my-study --as mturk-tasks --out tasks.csv
  trubleu rate export my-study --as references --weights joint --out refs.jsonl
"""

IMPORT_EPILOG = """\
examples:
  trubleu rate import my-study ratings.csv
  trubleu rate import my-study Batch_123_results.csv --as mturk
"""

WHATS: Final = ("references", "ratings", "rankings", "wide", "raw", "mturk-tasks")
"""Kinds of `trubleu.rating.export`, repeated so ``--help`` need not import it (a test keeps them equal)."""

WEIGHTS_FROM: Final = ("people", "joint", "model")
"""As in `trubleu.rating.export`."""

LAYOUTS: Final = ("table", "mturk")
"""As in `trubleu.rating.import_ratings`."""


def check_packages() -> None:
    """Raise an error with the command to install missing packages."""
    from trubleu.optional_deps import needed

    for package in ("sqlalchemy", "yaml"):
        needed(package, "a rating study", "trubleu[rate]")


def opened(folder: str, *, sync: bool = False, copy: bool = False, check: bool = True) -> Study:
    """Open a study: ``sync`` updates it to its settings, for serving; ``copy`` opens a copy, for reading."""
    check_packages()
    from trubleu.rating import Study

    return Study.open(folder, sync=sync, copy=copy, check=check)


def no_more(options: argparse.Namespace, command: str) -> None:
    """Raise an error for unexpected arguments."""
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
    parser.add_argument(
        "--epsilon",
        type=float,
        default=0.1,
        metavar="E",
        help="how much worse than a person a model may be: 0.1 beside crowd workers, 0.15 beside trained raters, 0.2 "
        "beside experts (0.1)",
    )
    add_output_options(parser)


def add_audit_parser(commands: argparse._SubParsersAction[Any]) -> None:
    """Add ``rate audit``."""
    parser = commands.add_parser(
        "audit",
        help="check the store of a study",
        description="Check that the store of a study is as it was written: the hashes of settings, items, raters and "
        "the log are right, and every other table is what follows from the log. Other commands check that too and "
        "refuse a store with the first fault; this one lists all of them.",
        epilog=AUDIT_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.set_defaults(run=audit, files=[])
    parser.add_argument("study", metavar="STUDY", help="the folder of the study")


def add_export_parser(commands: argparse._SubParsersAction[Any]) -> None:
    """Add ``rate export``."""
    parser = commands.add_parser(
        "export",
        help="write weighted references, ratings or the log",
        description="Write what a study has. references: a file for trubleu score, with the weights that the ratings "
        "give. ratings: one row a rating, for trubleu judge and trubleu triples split. rankings: one row for each pair "
        "of a ranking, for trubleu judge. wide: one row an answer, for spreadsheets. raw: the log of everything that "
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
        help="references: .jsonl, .parquet; ratings, wide, raw: .csv, .tsv, .jsonl, .parquet; rankings: .csv, .tsv; "
        "mturk-tasks: .csv; standard output gets JSON lines, or CSV (default)",
    )
    parser.add_argument("--labels", action="store_true", help="call raters by their labels instead of by numbers")
    parser.add_argument(
        "--weights",
        choices=WEIGHTS_FROM,
        default=WEIGHTS_FROM[0],
        metavar="NAME",
        help="of references. people (default); joint: people's, and where nobody has rated, those of a model, "
        "calibrated on the texts that both have rated; model: those of a model alone",
    )
    parser.add_argument("--model", metavar="NAME", help="which model, by name or number, if several have rated")
    parser.add_argument(
        "--unverified", action="store_true", help="with --weights model: export what nobody has checked, and say so"
    )
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
    """Export the data of a study."""
    import sys

    from trubleu.errors import counted
    from trubleu.files.writer import check_writable

    no_more(options, "export")
    check_writable(options.out)
    with opened(options.study, copy=True) as study:
        from trubleu.rating.export import export_study

        made = export_study(
            study,
            options.what,
            options.out,
            labels=options.labels,
            weights=options.weights,
            model=options.model,
            unverified=options.unverified,
        )
    if options.quiet or options.out == "-":
        return
    rows = {
        "references": f"{counted(made.rows, 'segment')} with {counted(made.items, 'reference')}",
        "ratings": counted(made.rows, "rating"),
        "rankings": f"{counted(made.rows, 'pair')} of outputs from {counted(made.ratings, 'ranking')}",
        "wide": counted(made.rows, "answer"),
        "raw": f"{made.rows:,} entries of the log",
        "mturk-tasks": counted(made.rows, "task"),
    }
    from_ratings = f", weighted by {counted(made.ratings, 'rating')}" if options.what == "references" else ""
    if made.by_model:
        from_ratings = f", {made.by_model:,} of them weighted by a model"
    if made.calibration is not None:
        found = made.calibration
        from_ratings += (
            f", calibrated on {counted(found.texts, 'text')}: it explains {max(found.explained, 0.0):.0%} of the "
            f"variance of people's weights, standard error {found.error:.2f}"
        )
    sys.stdout.write(f"{options.out}: {rows[options.what]}{from_ratings}\n")


def bring_in(options: argparse.Namespace) -> None:
    """Import ratings collected elsewhere."""
    import sys

    from trubleu.errors import counted

    no_more(options, "import")
    with opened(options.study) as study:
        from trubleu.rating.import_ratings import import_ratings

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
    if found.excluded:
        said += f"; {counted(found.excluded, 'rater')} excluded by the rule on gold items"
    sys.stdout.write(said + "\n")


def status(options: argparse.Namespace) -> None:
    """Print the progress of a study."""
    from trubleu.errors import UsageError
    from trubleu.render.rating import status_records, status_tables
    from trubleu.render.tables import FOR_PROGRAMS, render_tables

    no_more(options, "status")
    check_output(options)
    if not 0 <= options.resamples <= 1_000_000:
        raise UsageError(f"--resamples {options.resamples} must lie between 0 and 1,000,000")
    if not 0 <= options.epsilon <= 1:
        raise UsageError(f"--epsilon {options.epsilon:g} must lie between 0 and 1")
    with opened(options.study, copy=True) as study:
        from trubleu.rating.summary import summary

        found = summary(study, study.now(), resamples=options.resamples, epsilon=options.epsilon)
    for_people = options.format not in FOR_PROGRAMS
    tables = status_tables(found) if for_people else status_records(found)
    write_output(
        options,
        render_tables(
            tables, options.format, options.digits, notes=(*found.warnings, *found.notes) if for_people else ()
        ),
    )


def audit(options: argparse.Namespace) -> None:
    """Verify a store against its hashes and its log."""
    import sys

    from trubleu.errors import StoreError, counted
    from trubleu.rating.audit import audit as faults_of

    no_more(options, "audit")
    with opened(options.study, copy=True, check=False) as study:
        faults = faults_of(study)
        name = study.store.name
        if not faults:
            entries = counted(len(study.log()), "entry").replace("entrys", "entries")
            people = counted(len(study.raters()), "rater")
            sys.stdout.write(
                f"{options.study}: {entries} of the log, {counted(len(study.items()), 'item')}, {people}: "
                "every hash is right, and every table says what the log says\n"
            )
            return
    sys.stdout.write("".join(f"{fault}\n" for fault in faults))
    found = counted(len(faults), "fault")
    raise StoreError(f"{name} is damaged or was changed from outside: {found}; restore the study from a backup")


LINKS_EPILOG = """\
examples:
  trubleu rate links my-study --add 20 --url https://rate.example.org --out links.csv
  trubleu rate links my-study --labels names.txt
  trubleu rate links my-study --renew 7
"""

_LOCAL = "http://127.0.0.1:8000"

_ABOUT = {
    "exclude": (
        "leave a rater's ratings out",
        "Leave a rater's ratings out; items that now lack ratings are asked again.",
    ),
    "readmit": ("take a rater's ratings in again", "Take a rater's ratings in again, as far as items have room."),
    "erase": (
        "forget who a rater is",
        "Forget a rater's label, id from elsewhere and link, for ever. The ratings stay and go on counting.",
    ),
    "pause": ("hand out no more tasks", "Hand out no more tasks; answers to those that are out are still kept."),
    "resume": ("hand out tasks again", "Hand out tasks again after a pause."),
}


def add_links_parser(commands: argparse._SubParsersAction[Any]) -> None:
    """Add ``rate links``."""
    parser = commands.add_parser(
        "links",
        help="add raters, and print their links once",
        description="Add raters with links of their own. The links are printed, or written to a file that only its "
        "owner may read, this once: the study keeps nothing that they could be made from again.",
        epilog=LINKS_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.set_defaults(run=links, files=[])
    parser.add_argument("study", metavar="STUDY", help="the folder of the study")
    parser.add_argument("--add", type=int, metavar="N", help="how many raters to add")
    parser.add_argument("--labels", metavar="FILE", help="what to call them, one per line")
    parser.add_argument("--renew", metavar="RATER", help="give a rater a new link instead; the old one ceases to work")
    parser.add_argument(
        "--url",
        metavar="URL",
        help=f"how people reach the pages (as rate serve was last started with, else {_LOCAL})",
    )
    parser.add_argument("--out", default="-", metavar="FILE", help="a new .csv file instead of standard output")


def add_people_parsers(commands: argparse._SubParsersAction[Any]) -> None:
    """Add ``rate exclude``, ``readmit``, ``erase``, ``pause`` and ``resume``."""
    for name, (summary, description) in _ABOUT.items():
        with_rater = name in ("exclude", "readmit", "erase")
        with_reason = name in ("exclude", "readmit")
        example = " 7" * with_rater + ' --reason "fails gold items"' * (name == "exclude")
        example += ' --reason "the gold items were wrong"' * (name == "readmit")
        parser = commands.add_parser(
            name,
            help=summary,
            description=description,
            epilog=f"examples:\n  trubleu rate {name} my-study{example}\n",
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )
        parser.set_defaults(run=change, files=[])
        parser.add_argument("study", metavar="STUDY", help="the folder of the study")
        if with_rater:
            parser.add_argument("rater", metavar="RATER", help="the number of the rater, or the label")
        if with_reason:
            parser.add_argument(
                "--reason", required=True, metavar="TEXT", help="why; it stays in the log for ever, so name nobody"
            )


def links(options: argparse.Namespace) -> None:
    """Add raters, and print their links."""
    from trubleu.errors import UsageError
    from trubleu.files.lines import read_text_lines

    no_more(options, "links")
    labels = (
        [] if options.labels is None else [line.strip() for line in read_text_lines(options.labels) if line.strip()]
    )
    if options.labels is not None and not labels:
        raise UsageError(f"{options.labels} holds no labels; write one per line")
    if (options.renew is not None) == (options.add is not None or bool(labels)):
        raise UsageError("rate links needs --add N or --labels FILE for new raters, or --renew RATER for a new link")
    given = None if options.url is None else checked_url(options.url)
    with opened(options.study) as study:
        url = given or study.store.get("url") or _LOCAL
        if options.renew is None:
            if not study.config.entry.links:
                raise UsageError(
                    f"{study.folder / 'study.yaml'} lets nobody in by links of their own; set entry: links: true there"
                )
            _tell(options.out, url, lambda: study.add_raters(options.add or len(labels), labels=labels))
        else:
            from trubleu.rating import NewRater

            number = rater_number(study, options.renew)
            _tell(options.out, url, lambda: [NewRater(study.rater(number), study.new_link(number))])


def _tell(target: str, url: str, made: Callable[[], list[NewRater]]) -> None:
    """Write links to a private file, or print them; the file is created before any rater is added."""
    import csv
    import os
    import sys
    from pathlib import Path

    from trubleu.errors import DataError, UsageError
    from trubleu.files.delimited import guarded
    from trubleu.files.writer import check_writable
    from trubleu.render.tables import one_line

    if target == "-":
        sys.stdout.write("".join(f"{one_line(each.rater.name)}\t{url}/r/{each.token}\n" for each in made()))
        return
    if not target.endswith(".csv"):
        raise UsageError(f"--out {target} must end in .csv")
    check_writable(target)
    try:
        handle = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError as error:
        raise DataError(f"{target} is there already, and may hold links; choose another name") from error
    except OSError as error:
        raise DataError(f"{target} cannot be written: {error.strerror or error}") from error
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="") as stream:
            writer = csv.writer(stream, lineterminator="\n", quoting=csv.QUOTE_ALL)
            writer.writerow(["rater", "name", "link"])
            for each in made():
                writer.writerow([each.rater.id, guarded(each.rater.name), f"{url}/r/{each.token}"])
            stream.flush()
            os.fsync(stream.fileno())
    except BaseException:
        Path(target).unlink()
        raise


def rater_number(study: Study, name: str) -> int:
    """Return the number of a rater given by number or label.

    Raises
    ------
    UsageError
        If nobody, or more than one, is called so.
    """
    from trubleu.errors import UsageError, nearest, some

    everybody = study.raters()
    if name.isascii() and name.isdecimal() and len(name) < 19:
        found = [rater for rater in everybody if rater.id == int(name)]
    else:
        found = [rater for rater in everybody if name in (rater.label, rater.name)]
    if not found:
        labels = [rater.label for rater in everybody if rater.label]
        hint = nearest(name, labels) if 0 < len(labels) <= 20 else "trubleu rate status lists them"
        raise UsageError(f"there is no rater {name!r} in {study.folder}; {hint}")
    if len(found) > 1:
        raise UsageError(
            f"{len(found)} raters are called {name!r}; give the number: {some(rater.id for rater in found)}"
        )
    return found[0].id


def change(options: argparse.Namespace) -> None:
    """Exclude, re-admit or erase a rater; pause or resume a study."""
    import sys

    from trubleu.render.tables import one_line

    command = options.rate_command
    no_more(options, command)
    with opened(options.study) as study:
        match command:
            case "pause":
                study.pause()
                said = f"{study.folder} is paused"
            case "resume":
                study.resume()
                said = f"{study.folder} is running"
            case "erase":
                erased = study.erase(rater_number(study, options.rater))
                said = f"rater {erased.id}: the identity is erased, the ratings stay"
                if study.store.dialect == "postgresql":
                    said += (
                        "\nPostgreSQL keeps old rows: let the owner of the tables run VACUUM (FULL, ANALYZE) raters; "
                        "backups and archived WAL hold the identity as long as they are kept"
                    )
            case _:
                number = rater_number(study, options.rater)
                act = study.exclude if command == "exclude" else study.readmit
                person = act(number, reason=options.reason)
                done = "excluded, and the ratings no longer count" if person.excluded else "taken in again"
                said = f"{one_line(person.name)} (number {person.id}) is {done}"
    sys.stdout.write(said + "\n")

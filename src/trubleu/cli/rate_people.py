"""``trubleu rate links``, ``exclude``, ``readmit``, ``erase``, ``pause`` and ``resume``: who rates, and whether."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from trubleu.cli.rate_data import no_more, opened

if TYPE_CHECKING:
    from collections.abc import Callable

    from trubleu.rating import NewRater, Study

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
    parser.add_argument("--labels", metavar="FILE", help="what to call them, one a line")
    parser.add_argument("--renew", metavar="RATER", help="give a rater a new link instead; the old one ceases to work")
    parser.add_argument(
        "--url", default=_LOCAL, metavar="URL", help=f"how people reach the pages of rate serve ({_LOCAL})"
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
    from trubleu.data import read_text_lines
    from trubleu.errors import UsageError
    from trubleu.rating.addresses import check_url

    no_more(options, "links")
    labels = (
        [] if options.labels is None else [line.strip() for line in read_text_lines(options.labels) if line.strip()]
    )
    if options.labels is not None and not labels:
        raise UsageError(f"{options.labels} holds no labels; write one a line")
    if (options.renew is not None) == (options.add is not None or bool(labels)):
        raise UsageError("rate links needs --add N or --labels FILE for new raters, or --renew RATER for a new link")
    url = check_url(options.url)
    with opened(options.study) as study:
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
    """Write links to a file that only its owner may read, or print them; the file is there before anybody is added."""
    import csv
    import os
    import sys
    from pathlib import Path

    from trubleu.data import check_writable
    from trubleu.data.delimited import guarded
    from trubleu.errors import DataError, UsageError
    from trubleu.report.tables import one_line

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
    """Return the number of a rater who is given by number or by label.

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

    from trubleu.report.tables import one_line

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
            case _:
                number = rater_number(study, options.rater)
                act = study.exclude if command == "exclude" else study.readmit
                person = act(number, reason=options.reason)
                done = "excluded, and the ratings no longer count" if person.excluded else "taken in again"
                said = f"{one_line(person.name)} (number {person.id}) is {done}"
    sys.stdout.write(said + "\n")

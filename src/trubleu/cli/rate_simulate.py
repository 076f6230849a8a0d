"""``trubleu rate simulate``: answer a study with simulated raters, for rehearsal."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from trubleu.cli.rate_data import no_more, opened

if TYPE_CHECKING:
    from collections.abc import Callable

    from trubleu.rating import Study
    from trubleu.rating.simulated import Simulation

EPILOG = """\
examples:
  trubleu rate simulate rehearsal --raters 40 --noise 0.8
  trubleu rate simulate rehearsal --raters 40 --lazy 0.1 --clumsy 0.2 --slow 0.1
  trubleu rate simulate world/study --raters 40 --world world
  trubleu rate simulate rehearsal --raters 5 --seconds 3 --url http://127.0.0.1:8000
"""


def add_simulate_parser(commands: argparse._SubParsersAction[Any]) -> None:
    """Add ``rate simulate``."""
    parser = commands.add_parser(
        "simulate",
        help="answer a study with simulated raters, for rehearsal",
        description="Answer a study with simulated raters, who reach it over HTTP as people do: for rehearsal, on a "
        "study that no real person has rated in. Without --url a server is started for them.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.set_defaults(run=simulate, files=[])
    parser.add_argument("study", metavar="STUDY", help="the folder of the study")
    parser.add_argument("--raters", type=int, required=True, metavar="N", help="how many there are")
    parser.add_argument(
        "--world",
        metavar="FOLDER",
        help="raters know the true quality of every text in this world, made with trubleu simulate world",
    )
    parser.add_argument("--noise", type=float, default=0.8, metavar="S", help="spread of one rater's scores (0.8)")
    parser.add_argument("--bias", type=float, default=0.3, metavar="S", help="spread of how mild raters are (0.3)")
    parser.add_argument("--lazy", type=float, default=0.0, metavar="SHARE", help="of raters who do not read (0)")
    parser.add_argument(
        "--clumsy",
        type=float,
        default=0.0,
        metavar="SHARE",
        help="of those who send twice, lose the connection, take answers back, cannot judge (0)",
    )
    parser.add_argument("--slow", type=float, default=0.0, metavar="SHARE", help="of those who answer late (0)")
    parser.add_argument(
        "--leaving", type=float, default=0.0, metavar="SHARE", help="of those who take a task and never come back (0)"
    )
    parser.add_argument("--seconds", type=float, default=0.0, metavar="S", help="that a task takes on average (0)")
    parser.add_argument("--at-once", type=int, default=8, metavar="N", help="how many rate at the same time (8)")
    parser.add_argument(
        "--seed",
        type=int,
        default=1,
        metavar="N",
        help="of the people and of all that is drawn (1); the same people judge the same item the same way",
    )
    parser.add_argument(
        "--url",
        action="append",
        default=[],
        metavar="URL",
        help="where the study is served already; several times for several servers",
    )
    parser.add_argument(
        "--anyway",
        action="store_true",
        help="even if real people have rated, whose answers it would mix with, or the study is in PostgreSQL",
    )
    parser.add_argument("--quiet", action="store_true", help="print nothing, and no progress bar")


def simulate(options: argparse.Namespace) -> None:
    """Answer a study with simulated raters."""
    import sys

    from trubleu.data.extras import needed

    no_more(options, "simulate")
    _check_store(options)
    with opened(options.study, sync=True, quiet=options.quiet) as study:
        for package in ("httpx", "fastapi", "uvicorn", "jinja2", "markdown_it", "python_multipart"):
            needed(package, "simulating raters", "trubleu[rate]")
        _check(options, study)
        done = _simulated(options, study)
    if not options.quiet:
        sys.stdout.write("\n".join(_told(done, options.study)) + "\n")


def _check_store(options: argparse.Namespace) -> None:
    """Refuse what may be a copy of a folder only: it names the database of the real study."""
    from pathlib import Path

    from trubleu.errors import UsageError

    if (Path(options.study) / "store.url").exists() and not options.anyway:
        raise UsageError(
            f"{options.study} keeps its answers in the database that its store.url names, and so does every copy "
            "of the folder; rehearse with a study of its own (trubleu rate new rehearsal --from FILE --config "
            f"{options.study}/study.yaml), or add --anyway"
        )


def _check(options: argparse.Namespace, study: Study) -> None:
    from trubleu.errors import UsageError, counted
    from trubleu.rating.addresses import check_url
    from trubleu.rating.simulated import LABEL

    for url in options.url:
        check_url(url)
    real = sum(rater.answered for rater in study.raters() if not (rater.label or "").startswith(LABEL + " "))
    if real and not options.anyway:
        raise UsageError(
            f"{study.folder} has {counted(real, 'answer')} of real raters, which simulated ones would be mixed with; "
            "rehearse with a study of its own, or add --anyway"
        )
    if study.paused:
        raise UsageError(f"{study.folder} is paused; trubleu rate resume lets raters go on")


def _simulated(options: argparse.Namespace, study: Study) -> Simulation:
    from contextlib import ExitStack

    from trubleu.cli.progress import Bars
    from trubleu.rating.simulated import simulate
    from trubleu.rating.simulated_server import ServerProcess
    from trubleu.simulate.people import Habits

    habits = Habits(
        noise=options.noise,
        bias=options.bias,
        lazy=options.lazy,
        clumsy=options.clumsy,
        slow=options.slow,
        leaving=options.leaving,
    )
    quality = _truth(options.world)
    missing = sum(max(0, item.wanted - item.counted) for item in study.items() if item.role == "item")
    with ExitStack() as stack:
        urls = options.url
        if not urls:
            urls = [stack.enter_context(ServerProcess(study.folder, options=["--quiet"])).url]
        bars = stack.enter_context(Bars(quiet=options.quiet))
        return simulate(
            study,
            options.raters,
            urls=urls,
            habits=habits,
            at_once=options.at_once,
            seed=options.seed,
            seconds=options.seconds,
            quality=quality,
            progress=bars.stage("rating", missing, "answer"),
        )


def _truth(world: str | None) -> Callable[[str, str], float] | None:
    """Return what tells how good a text is, if a world was given."""
    if world is None:
        return None
    from trubleu.simulate import read_world

    return read_world(world).quality


def _told(done: Simulation, study: str) -> list[str]:
    from trubleu.errors import counted

    who = f"{counted(len(done.answers), 'answer')} of {counted(len(done.raters), 'simulated rater')}"
    lines = [
        f"{study}: {who} in {done.seconds:,.1f} seconds",
        f"missing: {counted(done.missing, 'rating')}" if done.missing else "every item has its ratings",
    ]
    odd = [
        (done.taken_back, "taken back"),
        (done.repeated, "sent twice"),
        (done.late, "too late"),
        (done.left, "raters left"),
        (done.trouble.connections, "connections lost"),
        (done.trouble.not_saved, "not saved at first"),
        (done.trouble.too_fast, "too fast"),
    ]
    if told := [f"{number:,} {what}" for number, what in odd if number]:
        lines.append("on the way: " + ", ".join(told))
    if done.missing:
        lines.append("items lack ratings where there are too few raters, or where those who left still hold tasks")
    return [*lines, f"then: trubleu rate status {study}"]

"""``trubleu simulate world``: a folder of made-up conversations whose quality is known."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from trubleu.simulate import WrittenWorld

EPILOG = """\
examples:
  trubleu simulate world rehearsal
  trubleu simulate world rehearsal --seed 7 --corpus 100000 --segments 500
  trubleu simulate world rehearsal --system a=skill:0.8 --system b=skill:0.7 --system parrot

systems:
  skill:SHARE  so many good responses (0 to 1), otherwise dull ones, other topics, acts that do not fit, near-parrots
  retrieval    the response to the most similar message, among other conversations than those of the corpus
  random       any response of these
  dull         always something dull
  constant     always the same dull thing
  parrot       the message said back
"""


def add_world_parser(commands: argparse._SubParsersAction[Any]) -> None:
    """Add ``simulate world``."""
    parser = commands.add_parser(
        "world",
        help="make up a world with known quality: a corpus, test messages, systems, the truth about them",
        description="Make up a world in which the quality of every response is known: a corpus to mine, conversations "
        "to test on, what systems of chosen quality answer, and the truth about it.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.set_defaults(run=world, files=[])
    parser.add_argument("folder", metavar="FOLDER", help="a new folder")
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="of the world (1)")
    parser.add_argument("--corpus", type=int, default=20_000, metavar="N", help="conversations of the corpus (20000)")
    parser.add_argument("--segments", type=int, default=200, metavar="N", help="conversations to test on (200)")
    parser.add_argument(
        "--system",
        action="append",
        default=[],
        metavar="NAME=SPEC",
        help="a system, several times for several; the usual ones are strong=skill:0.85, fair=skill:0.6, "
        "weak=skill:0.3, retrieval, dull, parrot and random",
    )
    parser.add_argument("--quiet", action="store_true", help="print nothing, and no progress bar")


def world(options: argparse.Namespace) -> None:
    """Write a made-up world."""
    import sys

    from trubleu.cli.progress import Bars
    from trubleu.errors import UsageError
    from trubleu.simulate import World, write_world
    from trubleu.simulate.world_files import SYSTEMS

    if options.files:
        raise UsageError(f"simulate world makes one folder, but {options.files[0]} is given as well")
    systems = read_systems(options.system, need_names=True) if options.system else dict(SYSTEMS)
    with Bars(quiet=options.quiet) as bars:
        written = write_world(
            options.folder,
            World(seed=options.seed),
            corpus=options.corpus,
            segments=options.segments,
            systems=systems,
            progress=lambda name, total: bars.stage(name, total, ""),
        )
    if not options.quiet:
        sys.stdout.write(_told(written, systems))


def read_systems(given: Sequence[str], *, need_names: bool) -> dict[str, str]:
    """Read what ``--system`` was given: the names of systems and what they are.

    Parameters
    ----------
    given
        ``NAME=SPEC``, or a spec that is its own name.
    need_names
        Whether names become those of files, which a spec with a number cannot be.

    Raises
    ------
    UsageError
        If a name is missing, or two systems have the same.

    Examples
    --------
    >>> read_systems(["a=skill:0.8", "parrot"], need_names=True)
    {'a': 'skill:0.8', 'parrot': 'parrot'}
    """
    from trubleu.errors import UsageError

    systems: dict[str, str] = {}
    for each in given:
        name, equals, spec = each.partition("=")
        if not name:
            raise UsageError(f"--system {each} has no name before the =; write NAME=SPEC")
        if need_names and not equals and ":" in name:
            raise UsageError(f"--system {each} needs a name, such as good={each}")
        if name in systems:
            raise UsageError(f"--system {name} is given twice; give each system a name of its own, NAME=SPEC")
        systems[name] = spec if equals else each
    return systems


def _told(written: WrittenWorld, systems: dict[str, str]) -> str:
    import shlex

    from trubleu.errors import counted
    from trubleu.report import Column, Table, render_tables

    columns = [Column("system"), Column("spec"), Column("quality", "true mean quality", kind="number")]
    rows = [(name, systems[name], quality) for name, quality in written.qualities.items()]
    folder = shlex.quote(str(written.folder))
    what = f"{counted(written.corpus, 'conversation')} to mine, {written.segments:,} to test on"
    return (
        f"{written.folder}: {what}, {counted(len(rows), 'system')}\n\n"
        + render_tables([Table("", columns, rows, name="systems")])
        + "\nthen:\n"
        f"  trubleu mine index {folder}/corpus.jsonl --out {folder}/corpus.index\n"
        f"  trubleu mine run {folder}/corpus.index --seeds {folder}/seeds.jsonl --out {folder}/candidates.jsonl\n"
        f"  trubleu rate new {folder}/study --from {folder}/candidates.jsonl\n"
        f"  trubleu rate simulate {folder}/study --world {folder} --raters 10\n"
    )

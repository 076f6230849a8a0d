"""``trubleu simulate``: make up data of any size from a seed."""

from __future__ import annotations

import argparse
from typing import Any

from trubleu.cli.simulate_studies import add_study_parsers
from trubleu.cli.simulate_world import add_world_parser

EPILOG = """\
examples:
  trubleu simulate world rehearsal --corpus 20000 --segments 200
  trubleu simulate triples --n 29000000 --out corpus.jsonl.zst
  trubleu simulate triples --n 2000 --seed 2 --out seeds.jsonl
  trubleu simulate triples --n 10 --out -
"""


def add_parser(commands: argparse._SubParsersAction[Any]) -> None:
    """Add the command and its own commands."""
    parser = commands.add_parser(
        "simulate",
        help="make up data of any size from a seed",
        description="Make up data of any size from a seed, for rehearsals and scale runs.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    inner = parser.add_subparsers(title="commands", dest="simulate_command", metavar="COMMAND", required=True)
    add_world_parser(inner)
    _add_triples(inner)
    add_study_parsers(inner)


def _add_triples(commands: argparse._SubParsersAction[Any]) -> None:
    parser = commands.add_parser(
        "triples",
        help="make up conversations: context, message, response",
        description="Make up conversations: words with Zipf's frequencies, topics, stock phrases, duplicates and "
        "near-duplicates. The first thousand triples are the same however many are asked for.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.set_defaults(run=triples, files=[])
    parser.add_argument("--n", type=int, required=True, metavar="N", help="how many")
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="of the texts (1)")
    parser.add_argument("--language", type=int, default=1, metavar="N", help="seed of the words and stock phrases (1)")
    parser.add_argument("--words", type=int, default=200_000, metavar="N", help="different words (200000)")
    parser.add_argument("--exponent", type=float, default=1.0, metavar="X", help="of Zipf's law (1)")
    parser.add_argument(
        "--duplicates",
        type=float,
        default=0.02,
        metavar="SHARE",
        help="share of messages, and of responses, that repeat an earlier one (0.02)",
    )
    parser.add_argument(
        "--near-duplicates", type=float, default=0.05, metavar="SHARE", help="share of those that nearly do (0.05)"
    )
    parser.add_argument(
        "--out",
        required=True,
        metavar="FILE",
        help=".jsonl or .tsv, also with .gz or .zst, or .parquet; - for standard output",
    )
    parser.add_argument("--quiet", action="store_true", help="no progress bar")


def triples(options: argparse.Namespace) -> None:
    """Write made-up triples."""
    from trubleu.cli.progress import Bars
    from trubleu.errors import UsageError
    from trubleu.simulate import TripleSimulation

    if options.files:
        raise UsageError(
            f"simulate triples reads no files, but {options.files[0]} is given; name the target with --out"
        )
    simulation = TripleSimulation(
        seed=options.seed,
        language=options.language,
        words=options.words,
        exponent=options.exponent,
        duplicates=options.duplicates,
        near_duplicates=options.near_duplicates,
    )
    with Bars(quiet=options.quiet) as bars:
        simulation.write(options.out, options.n, progress=bars.stage("simulating", options.n, " triples"))

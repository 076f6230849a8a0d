"""``trubleu refs``: check, convert and prepare references."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from trubleu.cli.options import add_output_options, check_output, keep_inputs, write_output
from trubleu.errors import DataError, UsageError

if TYPE_CHECKING:
    import argparse

    from trubleu.data import References

EPILOG = """\
examples:
  trubleu refs check refs.jsonl
  trubleu refs convert refs.jsonl refs.parquet
  trubleu refs convert refs.jsonl good.jsonl --min-weight 0.5
  trubleu refs convert --ref a.txt --ref b.txt --weight wa.txt --weight wb.txt refs.jsonl.gz
  trubleu refs prepare refs.jsonl --out refs.tbp --tokenize 13a
"""


def add_parser(commands: argparse._SubParsersAction[Any]) -> None:
    """Add the command and its subcommands."""
    parser = commands.add_parser(
        "refs",
        help="check, convert or prepare references",
        description="Check references, convert them to another format, or prepare them for repeated scoring.",
        epilog=EPILOG,
    )
    inner = parser.add_subparsers(title="commands", dest="refs_command", metavar="COMMAND", required=True)
    _add_check(inner)
    _add_convert(inner)
    _add_prepare(inner)


def _add_check(commands: argparse._SubParsersAction[Any]) -> None:
    parser = commands.add_parser(
        "check",
        help="count references and weights, and report possible problems",
        description="Count segments, references and weights, and report segments without a positive weight and "
        "references that are unrated, repeated or empty. The exit code is 0 even if there are problems.",
    )
    parser.set_defaults(run=check)
    _add_input(parser, "FILE", "references: JSON lines, a table, Parquet, one per line, or a prepared file")
    add_output_options(parser)


def _add_convert(commands: argparse._SubParsersAction[Any]) -> None:
    parser = commands.add_parser(
        "convert",
        help="write references in another format",
        description="Write references in the format given by the name of the second file: .jsonl (optionally with .gz "
        "or .zst) or .parquet. Ids, contexts, messages, texts, weights and origins are kept; ratings become weights.",
    )
    parser.set_defaults(run=convert)
    _add_input(parser, "FILE", "the references (unless --ref is given), and the file to write")
    parser.add_argument(
        "--min-weight",
        type=float,
        metavar="W",
        help="keep only references with at least this weight; a segment without any keeps its best one",
    )


def _add_prepare(commands: argparse._SubParsersAction[Any]) -> None:
    parser = commands.add_parser(
        "prepare",
        help="tokenise references once, for repeated scoring",
        description="Tokenise references once and write them to a file for trubleu score --refs. The file opens "
        "instantly, and scoring with several references is several times as fast.",
    )
    parser.set_defaults(run=prepare)
    _add_input(parser, "FILE", "the references, unless --ref is given")
    parser.add_argument("--out", metavar="FILE.tbp", required=True, help="the file to write")
    parser.add_argument("--tokenize", metavar="NAME", default="13a", help="tokenizer: 13a (default), intl, chat, …")
    parser.add_argument("--lowercase", action="store_true", help="lower-case all texts")
    parser.add_argument("--quiet", action="store_true", help="no progress bars or warnings")


def _add_input(parser: argparse.ArgumentParser, metavar: str, text: str) -> None:
    parser.add_argument("files", nargs="*", metavar=metavar, help=text)
    parser.add_argument("--ref", action="append", metavar="FILE", help="one reference per line; repeat for more")
    parser.add_argument(
        "--weight",
        action="append",
        metavar="FILE",
        help="weights, one file per --ref in the same order: a number from -1 to 1 per line, empty for no reference",
    )


def check(options: argparse.Namespace) -> None:
    """Check references and print the findings."""
    from trubleu.render.references import render_reference_check
    from trubleu.scoring.reference_check import check_references

    check_output(options)
    references = _read(options, options.files)
    write_output(options, render_reference_check(check_references(references), options.format, options.digits))


def convert(options: argparse.Namespace) -> None:
    """Convert references to another format."""
    from trubleu.files.writer import check_writable

    if not options.files:
        raise UsageError("refs convert needs the file to write; give it last")
    if options.min_weight is not None and not -1 <= options.min_weight <= 1:
        raise UsageError(f"--min-weight {options.min_weight:g} must lie between -1 and 1, as weights do")
    *files, target = options.files
    check_writable(target)
    options.files = files
    keep_inputs(options, target)
    references = _read(options, files)
    (references if options.min_weight is None else _above(references, options.min_weight)).write(target)


def _above(references: References, least: float) -> References:
    """Keep only references of sufficient weight, as the conditions of judge do."""
    import numpy as np

    from trubleu.judge.pairs.conditions import SEED_ORIGIN, Condition, Shelf

    if references.weights is None:
        raise DataError(f"the references in {references.source} have no weights; leave out --min-weight")
    shelf = Shelf(
        references.offsets,
        np.where(np.isnan(references.weights), -np.inf, references.weights),  # not rated yet
        np.array([origin == SEED_ORIGIN for origin in references.origins or [None] * references.count], dtype=bool),
        np.zeros(references.count, dtype=bool),
    )
    kept = Condition("threshold", least).choose(shelf, np.ones(references.count, dtype=bool))
    return references.take(range(len(references)), kept=kept)


def prepare(options: argparse.Namespace) -> None:
    """Tokenize references and write the result."""
    from trubleu.execution.progress import Bars
    from trubleu.files.writer import check_writable
    from trubleu.text import tokenizer

    if options.out == "-":
        raise UsageError("a prepared file is mapped into memory, so it cannot go to standard output; give a file name")
    check_writable(options.out)
    keep_inputs(options, options.out)
    tokenize = tokenizer(options.tokenize)  # fail on wrong names before reading files
    with Bars(quiet=options.quiet) as bars:
        references = _read(options, options.files)
        prepared = references.prepare(
            tokenize=tokenize, lowercase=options.lowercase, progress=bars.stage("prepare", len(references))
        )
        prepared.save(options.out, progress=bars.stage("write", len(references)))


def _read(options: argparse.Namespace, files: list[str]) -> References:
    """Read references from one file, or from parallel plain files."""
    from trubleu.data import References

    if options.weight and not options.ref:
        raise UsageError("--weight goes with --ref; a single file holds its weights itself")
    if len(files) + bool(options.ref) != 1:
        given = "none" if not files else "both" if options.ref else f"{len(files)} files"
        raise UsageError(f"references are given as one file or with one or more --ref FILE, not as {given}")
    return References.read_parallel(options.ref, options.weight or ()) if options.ref else References.read(files[0])

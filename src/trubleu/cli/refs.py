"""``trubleu refs``: check, convert and prepare references."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trubleu.cli import arguments as add
from trubleu.cli.options import keep_inputs, write_output
from trubleu.errors import DataError, UsageError
from trubleu.files.writer import check_writable
from trubleu.progress import Bars

if TYPE_CHECKING:
    import argparse

    from trubleu.data import References


def add_parser(commands: add.Commands) -> None:
    """Check, convert or prepare references.

    Examples
    --------
    trubleu refs check refs.jsonl
    trubleu refs convert refs.jsonl refs.parquet
    trubleu refs convert refs.jsonl good.jsonl --min-weight 0.5
    trubleu refs convert --ref a.txt --ref b.txt --weight wa.txt --weight wb.txt refs.jsonl.gz
    trubleu refs prepare refs.jsonl --out refs.tbp --tokenize 13a
    """
    inner = add.commands(commands, "refs", add_parser)

    parser = add.command(inner, "check", check)
    _add_input(parser, "references: JSON lines, a table, Parquet, one per line, or a prepared file")
    add.output(parser)

    parser = add.command(inner, "convert", convert)
    _add_input(parser, "the references (unless --ref is given), and the file to write")
    about = "keep only references with at least this weight; a segment without any keeps its best one"
    add.option(parser, "--min-weight", "W", about, type=float)

    parser = add.command(inner, "prepare", prepare)
    _add_input(parser, "the references, unless --ref is given")
    add.option(parser, "--out", "FILE.tbp", "the file to write", required=True)
    add.option(parser, "--tokenize", "NAME", "tokenizer: 13a (default), intl, chat, …", "13a")
    add.flag(parser, "--lowercase", "lower-case all texts")
    add.quiet(parser, "no progress bars or warnings")


def _add_input(parser: argparse.ArgumentParser, text: str) -> None:
    add.files(parser, "FILE", text)
    add.references(parser)


def check(options: argparse.Namespace) -> None:
    """Count references and weights, and report possible problems.

    Count segments, references and weights, and report segments without a positive weight and references that are
    unrated, repeated or empty. The exit code is 0 even if there are problems.
    """
    from trubleu.render.references import render_reference_check
    from trubleu.scoring.reference_check import check_references

    references = _read(options, options.files)
    write_output(options, render_reference_check(check_references(references), options.format, options.digits))


def convert(options: argparse.Namespace) -> None:
    """Write references in another format.

    Write references in the format given by the name of the second file: .jsonl (optionally with .gz or .zst) or
    .parquet. Ids, contexts, messages, texts, weights and origins are kept; ratings become weights.
    """
    if not options.files:
        raise UsageError("refs convert needs the file to write; give it last")
    if options.min_weight is not None and not -1 <= options.min_weight <= 1:
        raise UsageError(f"--min-weight {options.min_weight:g} must be between -1 and 1, as weights are")
    *files, target = options.files
    check_writable(target)
    options.files = files
    keep_inputs(options, target)
    references = _read(options, files)
    (references if options.min_weight is None else _above(references, options.min_weight)).write(target)


def _above(references: References, least: float) -> References:
    """Keep only references of sufficient weight, as the conditions of judge do."""
    import numpy as np

    from trubleu.judge.pairs.reference_pool import SEED_ORIGIN, Condition, Shelf

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
    """Tokenize references once, for repeated scoring.

    Tokenize references once and write them to a file for trubleu score --refs. The file opens instantly, and scoring
    with several references is several times as fast.
    """
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
    from trubleu.data.weights import parse_scale

    if options.weight and not options.ref:
        raise UsageError("--weight goes with --ref; a single file holds its weights itself")
    if len(files) + bool(options.ref) != 1:
        given = "none" if not files else "both" if options.ref else f"{len(files)} files"
        raise UsageError(f"references are given as one file or with one or more --ref FILE, not as {given}")
    scale = options.reference_scale
    if options.ref and (options.columns or scale):
        raise UsageError("--columns and --scale go with a table, and --ref names plain text; leave them out")
    if options.ref:
        return References.read_parallel(options.ref, options.weight or ())
    return References.read(files[0], columns=options.columns, scale=scale and parse_scale(scale))

"""``trubleu import``: convert published data to a set of outputs, references and ratings."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Final

from trubleu.cli import arguments as add
from trubleu.errors import counted, some

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping

KINDS: Final = ("dstc7", "mtme", "mqm", "esa", "wmt-da", "wmt-rr", "summeval", "usr", "tasks")
"""Kinds of `trubleu.data.published`, repeated so ``--help`` need not import it (a test keeps them equal)."""


def add_parser(commands: add.Commands) -> None:
    """Add the command and its options."""
    parser = add.command(commands, "import", run)
    parser.add_argument("kind", choices=KINDS, metavar="KIND", help=f"{', '.join(KINDS[:-1])} or {KINDS[-1]}")
    parser.add_argument("source", metavar="SOURCE", help="the folder with the raw files, or one file")
    add.option(parser, "--out", "FOLDER", "the new folder", required=True)
    add.option(parser, "--language-pair", "NAME", "for mtme, esa and wmt-da: the only language pair, such as en-de")
    about = (
        "the references to score against; for mtme their name, such as refB (default: those that most metrics used), "
        "for mqm a file of them, line N for segment N (default: human translations among the systems)"
    )
    add.option(parser, "--ref", "REF", about)


def run(options: argparse.Namespace) -> None:
    """Convert published data into outputs, references and ratings.

    Convert the raw files of published data into a set (outputs, references and ratings) that other commands can use.
    Nothing is downloaded.

    Examples
    --------
    trubleu import dstc7 dstc7-task2-human_eval/ --out dstc7
    trubleu judge pairs dstc7 --repeated-ratings keep --drop-equal Human --report dstc7.html
    trubleu import mtme mt-metrics-eval-v2/wmt23 --language-pair en-de --out wmt23
    trubleu judge ratings wmt23
    trubleu import usr tc_usr_data.json --out usr
    trubleu score usr

    Notes
    -----
    A set is a folder with references.jsonl, outputs/SYSTEM.jsonl, ratings.csv (ratings or rankings), set.json, and
    scores/METRIC.seg.score where scores of metrics are published. A folder with several raw files or language pairs
    becomes a folder of sets.
    """
    from trubleu.data.published import read_published
    from trubleu.data.sets import terms_of, write_sets

    sets = read_published(options.kind, options.source, language_pair=options.language_pair, reference=options.ref)
    for folder, each in write_sets(options.out, sets).items():
        sys.stdout.write(f"{folder}: {each.title}, {_listed(each.counts())}\n")
        if each.left_out:
            sys.stdout.write(f"  left out: {_listed(each.left_out)}\n")
        partial = [name for name, texts in each.outputs.items() if len(texts) < len(each.segments)]
        if partial:
            sys.stdout.write(f"  systems without an output for every item: {some(partial)}\n")
        terms = " and ".join(path.name for path in terms_of(each))
        sys.stdout.write(f"  licence: {each.licence}{f'; see {terms}' * bool(terms)}\n")


def _listed(counts: Mapping[str, int]) -> str:
    """Format counts with their nouns."""
    parts = ((number, *what.partition(" ")) for what, number in counts.items())
    return ", ".join(counted(number, noun.removesuffix("s")) + space + rest for number, noun, space, rest in parts)

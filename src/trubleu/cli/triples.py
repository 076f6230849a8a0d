"""``trubleu triples``: split conversations into triples, sample seeds, and split well-rated ones into dev and test."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any

from trubleu.cli import arguments as add
from trubleu.cli.options import keep_inputs, operands
from trubleu.files.paths import check_standard_input_once, format_to_write
from trubleu.files.writer import check_writable
from trubleu.progress import Bars
from trubleu.render.tables import FORMATS, render_tables

if TYPE_CHECKING:
    from collections.abc import Sequence


_TRIPLES = "triples: JSON lines, tables (.tsv, .csv, .xlsx) or Parquet, folders of them, or - for standard input"
_TARGET = ".jsonl (optionally with .gz or .zst) or .parquet"


def add_parser(commands: add.Commands) -> None:
    """Cut conversations into triples, sample seeds, and split them.

    Examples
    --------
    trubleu triples make dialogues.jsonl --out triples.jsonl
    trubleu triples make dialogues_train.txt --context 3 --out triples.parquet
    trubleu triples sample corpus/ --n 33000 --seed 1 --out seeds.jsonl
    trubleu triples split seeds.jsonl --ratings ratings.csv --dev-out dev.jsonl --test-out test.jsonl
    """
    inner = add.commands(commands, "triples", add_parser)

    parser = add.command(inner, "make", make)
    add.files(parser, "DIALOGUES", "JSON lines or text, one conversation per line")
    about = "maximum number of context turns (default: 1); with 0, the second turn is a response too"
    add.option(parser, "--context", "N", about, 1)
    add.option(parser, "--separator", "TEXT", "separator between turns in a line of text", "__eou__")
    add.option(parser, "--turns", "FIELD", "JSON field with the turns", "turns")
    add.flag(parser, "--skip-bad", "skip and count bad conversations instead of stopping")
    _add_target(parser)

    parser = add.command(inner, "sample", sample)
    add.files(parser, "CORPUS", _TRIPLES)
    add.option(parser, "--n", "N", "number of triples", type=int, required=True)
    add.option(parser, "--seed", "N", "random seed", 1)
    add.triples(parser, "skip and count bad rows instead of stopping")
    _add_target(parser)

    parser = add.command(inner, "split", split)
    add.files(parser, "TRIPLES", _TRIPLES)
    about = "ratings of the responses from 1 to 5: columns item (the id of a triple), rater and score"
    add.option(parser, "--ratings", "FILE", about, required=True)
    add.option(parser, "--least", "MEAN", "minimum mean rating", "4")
    add.option(parser, "--raters", "N", "minimum number of raters", 3)
    add.option(parser, "--dev", "SHARE", "share of triples for dev", "0.5")
    add.option(parser, "--seed", "N", "random seed", 1)
    add.triples(parser, "skip and count bad rows instead of stopping")
    group = parser.add_argument_group("output")
    add.option(group, "--dev-out", "FILE", f"file for dev: {_TARGET}", required=True)
    add.option(group, "--test-out", "FILE", "file for test", required=True)
    add.choice(group, "--format", FORMATS, "format of the table: ")
    add.quiet(group, "no progress bars, warnings or table")


def _add_target(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("output")
    add.option(group, "--out", "FILE", f"{_TARGET} (default: JSON lines on standard output)", "-")
    add.quiet(group, "no progress bars, warnings or table")


def make(options: argparse.Namespace) -> None:
    """Cut whole conversations into triples.

    Cut conversations into triples: every turn from the third on is a response to the one before it, and earlier turns
    are its context. Each line is a conversation: an object {"id": ..., "turns": [...]}, or text with a separator
    between turns.

    Examples
    --------
    trubleu triples make dialogues.jsonl --out triples.jsonl
    trubleu triples make chats.jsonl.zst --turns utterances --skip-bad --out triples.jsonl.zst
    trubleu triples make dialogues_train.txt --separator __eou__ --context 3 --out triples.parquet
    """
    from trubleu.data import DialogueFiles, write_triples

    _check(options, "make", "DIALOGUES", [options.out])
    source = DialogueFiles(options.files, separator=options.separator, turns=options.turns, skip_bad=options.skip_bad)
    with Bars(quiet=options.quiet) as bars:
        triples = source.triples(context=options.context, progress=bars.stage("cut", source.total, "B"))
        written = write_triples(options.out, triples)
        source.warn_of_skipped()
    _say(options, {"dialogues": source.dialogues, "skipped": source.bad, "short": source.short, "triples": written})


def sample(options: argparse.Namespace) -> None:
    """Sample triples at random.

    Sample triples at random, without replacement, in one pass over a corpus of any size. They keep the order of the
    corpus. The sample depends on the seed and that order, not on how files are split.

    Examples
    --------
    trubleu triples sample corpus/ --n 33000 --seed 1 --out seeds.jsonl
    zstd -dc dump.zst | trubleu triples sample - --n 1000 --seed 7 --out seeds.jsonl
    trubleu triples sample dialogues.tsv.gz --columns=-,context,message,response --n 200 --seed 1 --out seeds.jsonl
    """
    from trubleu.data import TripleFiles, sample_triples, write_triples

    _check(options, "sample", "CORPUS", [options.out])
    source = TripleFiles(options.files, columns=options.columns, skip_bad=options.skip_bad)
    keep_inputs(argparse.Namespace(files=list(source.files)), options.out)
    with Bars(quiet=options.quiet) as bars:
        read = bars.stage("read", source.total, "B")
        drawn = sample_triples(source, options.n, seed=options.seed, progress=read)
        write_triples(options.out, drawn)
    _say(options, {"drawn": len(drawn), "seed": options.seed, "skipped": source.bad, "blank": source.empty})


def split(options: argparse.Namespace) -> None:
    r"""Keep highly rated triples, and split them into dev and test.

    Keep triples with a high mean rating, and split them at random into dev and test. Both files are written, or
    neither. Means are compared as exact fractions.

    Examples
    --------
    trubleu triples split seeds.jsonl --ratings ratings.csv --dev-out dev.jsonl --test-out test.jsonl
    trubleu triples split seeds.jsonl --ratings ratings.csv --least 3.5 --raters 5 --dev 0.2 --seed 7 \
      --dev-out dev.jsonl --test-out test.jsonl --format json
    """
    from trubleu.data import Ratings, TripleFiles, split_seeds, warn_of_skipped
    from trubleu.data.seeds import SEED_SYSTEM
    from trubleu.data.triples import check_together, distinct_triples, write_together
    from trubleu.data.weights import FIVE_POINTS

    targets = [options.dev_out, options.test_out]
    _check(options, "split", "TRIPLES", targets)
    check_together(targets)
    check_standard_input_once([*options.files, options.ratings])
    source = TripleFiles(options.files, columns=options.columns, skip_bad=options.skip_bad)
    for target in targets:
        keep_inputs(argparse.Namespace(files=list(source.files)), target)
    with Bars(quiet=options.quiet) as bars:
        ratings = Ratings.read(options.ratings, scale=FIVE_POINTS, system=SEED_SYSTEM)
        read = bars.stage("read", source.total, "B")
        triples = distinct_triples(source, progress=read)
        warn_of_skipped(source)
        parts = split_seeds(
            triples, ratings, least=options.least, raters=options.raters, dev=options.dev, seed=options.seed
        )
        write_together([(options.dev_out, parts.dev), (options.test_out, parts.test)])
    if not options.quiet:
        _print({**parts.counts(), "seed": options.seed}, options.format)


def _check(options: argparse.Namespace, command: str, what: str, targets: Sequence[str]) -> None:
    """Raise an error for files that cannot be read or written, before any work."""
    operands(options, f"triples {command}", what)
    for target in targets:
        format_to_write(target, ["jsonl", "parquet"])
        check_writable(target)
        keep_inputs(options, target)


def _say(options: argparse.Namespace, counts: dict[str, int]) -> None:
    """Print a summary, unless the triples themselves were printed."""
    if not options.quiet and options.out != "-":
        _print(counts, "text")


def _print(counts: dict[str, int], form: Any) -> None:
    from trubleu.render.mining import triples_table

    sys.stdout.write(render_tables([triples_table(counts)], form))

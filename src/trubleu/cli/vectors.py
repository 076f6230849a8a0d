"""``trubleu vectors``: train, inspect, query and convert n-gram vectors."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Final

from trubleu.cli import arguments as add
from trubleu.cli.options import keep_inputs, operands, picked, resumable, whole_numbers, write_tables
from trubleu.errors import DataError, UsageError
from trubleu.progress import Bars
from trubleu.render.tables import render_tables

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence


def train(options: argparse.Namespace) -> None:
    """Train vectors of words and n-grams on text.

    Train vectors of words and n-grams on text with one sentence per line.

    Examples
    --------
    trubleu vectors train news.txt.zst --out news.store
    trubleu vectors train a.txt b.txt.gz --mode joint --lowercase --tokenize words --dim 300 --out joint.store
    trubleu vectors train news.txt.zst --out news.store --resume
    trubleu vectors train part-*.txt --out /shared/news.store --engine ray

    Notes
    -----
    Checkpoints are kept in news.store.training until the store is written, also after Ctrl-C. For a store at an address
    such as s3://bucket/news.store, that folder is created in the current folder.
    """
    from trubleu.execution import engine
    from trubleu.render.vectors import training_table
    from trubleu.vectors.training.options import TrainingOptions
    from trubleu.vectors.training.trainer import train_vectors

    operands(options, "vectors train", "a CORPUS: files of text, one sentence per line")
    chosen = TrainingOptions(
        orders=whole_numbers("--orders", options.orders),
        min_count=() if options.min_count is None else whole_numbers("--min-count", options.min_count),
        **picked(options, "mode dim window negative epochs beta sample alpha seed output tokenize lowercase"),
    )
    # Counting takes one thread; --threads applies to training, which does not use the engine.
    where = engine("local" if options.engine is None else options.engine)
    with resumable(options) as cache, where, Bars(quiet=options.quiet) as bars:
        made = train_vectors(
            options.files,
            options.out,
            chosen,
            **picked(options, "resume threads dtype"),
            cache=cache,
            engine=where,
            after_counting=where.close,
            progress=bars,
        )
    if not options.quiet:
        sys.stdout.write(render_tables([training_table(made, chosen.mode, chosen.epochs)], "text", 3))


SOURCE: Final = "a store, a word2vec or fastText file, a model2vec folder, or ready"


def add_parser(commands: add.Commands) -> None:
    """Train, inspect, query and convert n-gram vectors.

    Examples
    --------
    trubleu vectors train news.txt.zst --out news.store
    trubleu vectors info vectors.store
    trubleu vectors nearest vectors.store "do not like"
    trubleu vectors nearest ready "do not like" --among phrases.txt
    trubleu vectors similarity ready "research paper" "scientific article"
    trubleu vectors convert wiki.vec.gz wiki.store --dtype float16
    """
    inner = add.commands(commands, "vectors", add_parser)

    parser = add.command(inner, "train", train)
    add.files(parser, "CORPUS", "text, one sentence per line; may be compressed")
    entries = parser.add_argument_group("what gets a vector")
    about = "separate (default): one model per order; joint: one model for words and n-grams"
    add.option(entries, "--mode", "NAME", about, "separate")
    add.option(entries, "--orders", "LIST", "n-gram orders", "1-3")
    add.option(entries, "--min-count", "LIST", "minimum count per order (default: 5,30,50), or one for all")
    add.option(entries, "--beta", "B", "joint: n-grams are joined with probability f^-B", 0.125)
    about = "joint: n-grams predict words and n-grams (same, default), or words only (words)"
    add.option(entries, "--output", "NAME", about, "same")
    add.option(entries, "--tokenize", "NAME", "tokenizer, as in scoring", "13a")
    add.flag(entries, "--lowercase", "lower-case the text")
    model = parser.add_argument_group("model")
    add.option(model, "--dim", "N", "dimensions", 100)
    add.option(model, "--window", "N", "maximum window size on each side", 5)
    add.option(model, "--negative", "N", "negative samples", 5)
    add.option(model, "--epochs", "N", "epochs", 5)
    add.option(model, "--sample", "S", "sub-sampling threshold", 1e-3)
    add.option(model, "--alpha", "A", "initial learning rate", 0.025)
    add.option(model, "--seed", "N", "random seed", 1)
    out = parser.add_argument_group("output")
    add.option(out, "--out", "STORE", "the store to write", required=True)
    add.option(out, "--dtype", "TYPE", "number type of the store: float32 (default) or float16", "float32")
    add.flag(out, "--resume", "continue an interrupted training")
    add.cache(out)
    add.option(out, "--threads", "N", "threads (default: all cores); only 1 is bit-reproducible", type=int)
    add.quiet(out, "no progress bars or table")
    where = add.engine(parser)
    where.description = (
        "The engine counts words and n-grams; training runs in this process. Workers must reach the corpus\n"
        "and the checkpoints under the same paths. A compressed file is read by one worker."
    )

    parser = add.command(inner, "info", info)
    add.files(parser, "SOURCE", SOURCE)
    add.output(parser)

    parser = add.command(inner, "nearest", find_nearest)
    add.files(parser, "SOURCE PHRASE", f"{SOURCE}; then a phrase as one argument")
    add.option(parser, "--top", "N", "number of n-grams", 10)
    add.option(parser, "--among", "FILE", "search only the n-grams of this file, one per line")
    add.output(parser, digits=3)

    parser = add.command(inner, "similarity", compare)
    add.files(parser, "SOURCE PHRASE PHRASE", f"{SOURCE}; then pairs of phrases, each one argument")
    add.output(parser, digits=3)

    parser = add.command(inner, "convert", convert)
    add.files(parser, "SOURCE TARGET", "a store, or a word2vec or fastText file; then the file to write")
    add.option(parser, "--dtype", "TYPE", "number type of a store: float32 (default) or float16", "float32")
    add.quiet(parser, "no progress bars or warnings")


def info(options: argparse.Namespace) -> None:
    """Describe a file of vectors.

    Show the number of n-grams per order, their dimensions, and how they were made.
    """
    from trubleu.render.vectors import source_tables
    from trubleu.vectors import as_source

    (path,) = operands(options, "vectors info", "one SOURCE", 1)
    write_tables(options, *source_tables(as_source(path)))


def find_nearest(options: argparse.Namespace) -> None:
    """Find the n-grams most similar to a phrase.

    Find the n-grams whose vectors have the largest cosines with that of a phrase.
    """
    from trubleu.render.vectors import neighbours_table
    from trubleu.vectors import as_source, nearest

    path, phrase = operands(options, "vectors nearest", 'SOURCE "SOME WORDS"', 2)
    among = _listed(options) if options.among else None
    source = as_source(path)
    found = nearest(source, _spaced(phrase), top=options.top, among=among)
    write_tables(options, neighbours_table(found, _spaced(phrase), source.name))


def compare(options: argparse.Namespace) -> None:
    """Print the cosine of two n-grams.

    Print the cosine of two n-grams, or of several pairs of them.
    """
    from trubleu.render.vectors import similarities_table
    from trubleu.vectors import as_source, similarity

    path, *phrases = operands(options, "vectors similarity", 'SOURCE "SOME WORDS" "OTHER WORDS"')
    if not phrases or len(phrases) % 2:
        raise UsageError(
            f"similarity compares pairs, but there are {len(phrases)} phrases; put each in quotation marks"
        )
    source = as_source(path)
    pairs = zip(map(_spaced, phrases[::2]), map(_spaced, phrases[1::2]), strict=True)
    found = [(one, other, similarity(source, one, other)) for one, other in pairs]
    write_tables(options, similarities_table(found, source.name))


def convert(options: argparse.Namespace) -> None:
    """Convert vectors to another format.

    Convert vectors to a store (.store), or to word2vec's text (.txt, .vec) or binary format (.bin), where _ joins the
    words of an n-gram and a word's own _ is escaped with a backslash.
    """
    from trubleu.vectors.convert import convert_vectors

    source, target = operands(options, "vectors convert", "SOURCE TARGET", 2)
    options.files = [source]
    keep_inputs(options, target)
    with Bars(quiet=options.quiet) as bars:
        convert_vectors(source, target, dtype=options.dtype, progress=bars.stage("vectors", 0))


def _listed(options: argparse.Namespace) -> Sequence[str]:
    from trubleu.files.lines import read_text_lines

    phrases = [phrase for line in read_text_lines(options.among) if (phrase := _spaced(line))]
    if not phrases:
        raise DataError(f"{options.among} has no n-grams; give one per line")
    return phrases


def _spaced(phrase: str) -> str:
    return " ".join(phrase.split())

"""``trubleu vectors``: train, inspect, query and convert n-gram vectors."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from trubleu.cli.options import (
    add_cache_options,
    add_engine_group,
    add_number,
    add_output_options,
    check_output,
    keep_inputs,
    resumable,
    write_output,
)
from trubleu.errors import DataError, UsageError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from trubleu.vectors import VectorSource


TRAIN_EPILOG = """\
examples:
  trubleu vectors train news.txt.zst --out news.store
  trubleu vectors train a.txt b.txt.gz --mode joint --lowercase --tokenize words --dim 300 --out joint.store
  trubleu vectors train news.txt.zst --out news.store --resume
  trubleu vectors train part-*.txt --out /shared/news.store --engine ray

Checkpoints are kept in news.store.training until the store is written, also after Ctrl-C. For a store at an address
such as s3://bucket/news.store, that folder is created in the current folder.
"""


def add_train_parser(commands: argparse._SubParsersAction[Any]) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "train",
        help="train vectors of words and n-grams on text",
        description="Train vectors of words and n-grams on text with one sentence per line.",
        epilog=TRAIN_EPILOG,
    )
    parser.set_defaults(run=train)
    parser.add_argument("files", nargs="*", metavar="CORPUS", help="text, one sentence per line; may be compressed")
    entries = parser.add_argument_group("what gets a vector")
    entries.add_argument(
        "--mode",
        default="separate",
        metavar="NAME",
        help="separate (default): one model per order; joint: one model for words and n-grams",
    )
    entries.add_argument("--orders", default="1-3", metavar="LIST", help="n-gram orders (default: 1-3)")
    entries.add_argument(
        "--min-count", metavar="LIST", help="minimum count per order (default: 5,30,50), or one for all"
    )
    add_number(entries, "--beta", 0.125, "joint: n-grams are joined with probability f^-B", "B")
    entries.add_argument(
        "--output",
        default="same",
        metavar="NAME",
        help="joint: n-grams predict words and n-grams (same, default), or words only (words)",
    )
    entries.add_argument("--tokenize", default="13a", metavar="NAME", help="tokenizer, as in scoring (default: 13a)")
    entries.add_argument("--lowercase", action="store_true", help="lower-case the text")
    model = parser.add_argument_group("model")
    add_number(model, "--dim", 100, "dimensions")
    add_number(model, "--window", 5, "maximum window size on each side")
    add_number(model, "--negative", 5, "negative samples")
    add_number(model, "--epochs", 5, "epochs")
    add_number(model, "--sample", 1e-3, "sub-sampling threshold", "S")
    add_number(model, "--alpha", 0.025, "initial learning rate", "A")
    add_number(model, "--seed", 1, "random seed")
    out = parser.add_argument_group("output")
    out.add_argument("--out", required=True, metavar="STORE", help="the store to write")
    out.add_argument(
        "--dtype", default="float32", metavar="TYPE", help="number type of the store: float32 (default) or float16"
    )
    out.add_argument("--resume", action="store_true", help="continue an interrupted training")
    add_cache_options(out)
    out.add_argument(
        "--threads", type=int, metavar="N", help="threads (default: all cores); only 1 gives reproducible bytes"
    )
    out.add_argument("--quiet", action="store_true", help="no progress bars or table")
    where = add_engine_group(parser)
    where.description = (
        "The engine counts words and n-grams; training runs in this process. Workers must reach the corpus\n"
        "and the checkpoints under the same paths. A compressed file is read by one worker."
    )


def train(options: argparse.Namespace) -> None:
    """Train vectors, and print a summary."""
    import sys

    from trubleu.execution import engine
    from trubleu.execution.progress import Bars
    from trubleu.render.tables import render_tables
    from trubleu.render.vectors import training_table
    from trubleu.vectors.training.options import TrainingOptions
    from trubleu.vectors.training.trainer import train_vectors

    if not options.files:
        raise UsageError("vectors train needs a CORPUS; give files of text, one sentence per line")
    chosen = TrainingOptions(
        mode=options.mode,
        orders=_numbers("--orders", options.orders),
        dim=options.dim,
        window=options.window,
        negative=options.negative,
        epochs=options.epochs,
        min_count=() if options.min_count is None else _numbers("--min-count", options.min_count),
        beta=options.beta,
        sample=options.sample,
        alpha=options.alpha,
        seed=options.seed,
        output=options.output,
        tokenize=options.tokenize,
        lowercase=options.lowercase,
    )
    # Counting takes one thread; --threads applies to training, which does not use the engine.
    where = engine("local" if options.engine is None else options.engine)
    with resumable(options) as cache, where, Bars(quiet=options.quiet) as bars:
        made = train_vectors(
            options.files,
            options.out,
            chosen,
            resume=options.resume,
            cache=cache,
            threads=options.threads,
            dtype=options.dtype,
            engine=where,
            after_counting=where.close,
            progress=bars,
        )
    if not options.quiet:
        sys.stdout.write(render_tables([training_table(made, chosen.mode, chosen.epochs)], "text", 3))


def _numbers(option: str, written: str) -> tuple[int, ...]:
    """Parse comma-separated integers, and ranges such as 1-3."""

    numbers: list[int] = []
    for part in written.split(","):
        found = re.fullmatch(r"\s*(\d{1,18})(?:\s*-\s*(\d{1,18}))?\s*", part, re.ASCII)
        first, last = (int(found[1]), int(found[2] or found[1])) if found else (1, 0)
        if not first <= last <= first + 99:
            raise UsageError(f"{option} {written} is not a list of whole numbers; write it like 1-3 or 5,30,50")
        numbers += range(first, last + 1)
    return tuple(numbers)


EPILOG = """\
examples:
  trubleu vectors train news.txt.zst --out news.store
  trubleu vectors info vectors.store
  trubleu vectors nearest vectors.store "do not like"
  trubleu vectors nearest ready "do not like" --among phrases.txt
  trubleu vectors similarity ready "research paper" "scientific article"
  trubleu vectors convert wiki.vec.gz wiki.store --dtype float16
"""

SOURCE: Final = "a store, a word2vec or fastText file, a model2vec folder, or ready"


def add_parser(commands: argparse._SubParsersAction[Any]) -> None:
    """Add the command and its subcommands."""
    parser = commands.add_parser(
        "vectors",
        help="train, inspect, query and convert n-gram vectors",
        description="Train, inspect, query and convert vectors of words and n-grams.",
        epilog=EPILOG,
    )
    inner = parser.add_subparsers(title="commands", dest="vectors_command", metavar="COMMAND", required=True)
    add_train_parser(inner)
    _add_info(inner)
    _add_nearest(inner)
    _add_similarity(inner)
    _add_convert(inner)


def _add_info(commands: argparse._SubParsersAction[Any]) -> None:
    parser = commands.add_parser(
        "info",
        help="describe a file of vectors",
        description="Show the number of n-grams per order, their dimensions, and how they were made.",
    )
    parser.set_defaults(run=info)
    parser.add_argument("files", nargs="*", metavar="SOURCE", help=SOURCE)
    add_output_options(parser)


def _add_nearest(commands: argparse._SubParsersAction[Any]) -> None:
    parser = commands.add_parser(
        "nearest",
        help="find the n-grams most similar to a phrase",
        description="Find the n-grams whose vectors have the largest cosines with that of a phrase.",
    )
    parser.set_defaults(run=find_nearest)
    parser.add_argument("files", nargs="*", metavar="SOURCE PHRASE", help=f"{SOURCE}; then a phrase as one argument")
    add_number(parser, "--top", 10, "number of n-grams")
    parser.add_argument(
        "--order", type=int, action="append", metavar="N", help="only n-grams of N words; repeat for more"
    )
    parser.add_argument("--among", metavar="FILE", help="search only the n-grams of this file, one per line")
    _add_composed(parser)
    add_output_options(parser, digits=3)


def _add_similarity(commands: argparse._SubParsersAction[Any]) -> None:
    parser = commands.add_parser(
        "similarity",
        help="print the cosine of two n-grams",
        description="Print the cosine of two n-grams, or of several pairs of them.",
    )
    parser.set_defaults(run=compare)
    parser.add_argument(
        "files", nargs="*", metavar="SOURCE PHRASE PHRASE", help=f"{SOURCE}; then pairs of phrases, each one argument"
    )
    _add_composed(parser)
    add_output_options(parser, digits=3)


def _add_composed(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--composed",
        action="store_true",
        help="compose n-grams without a vector from word vectors (all n-grams, if orders were trained separately)",
    )


def _add_convert(commands: argparse._SubParsersAction[Any]) -> None:
    parser = commands.add_parser(
        "convert",
        help="convert vectors to another format",
        description="Convert vectors to a store, or to word2vec's text or binary format, where _ joins the words of an "
        "n-gram and a word's own _ is escaped with a backslash.",
    )
    parser.set_defaults(run=convert)
    parser.add_argument("files", nargs="*", metavar="SOURCE TARGET", help=f"{SOURCE}; then the file to write")
    parser.add_argument("--to", metavar="FORMAT", help="store, text or binary (default: by the file name)")
    parser.add_argument(
        "--dtype", metavar="TYPE", default="float32", help="number type of a store: float32 (default) or float16"
    )
    parser.add_argument(
        "--joiner", metavar="C", default="_", help="character that joins words in word2vec files (default: _), or none"
    )
    parser.add_argument(
        "--duplicates", metavar="RULE", default="error", help="duplicate names: error (default) or first"
    )
    parser.add_argument("--among", metavar="FILE", help="only the n-grams of this file, one per line")
    parser.add_argument("--quiet", action="store_true", help="no progress bars or warnings")


def info(options: argparse.Namespace) -> None:
    """Print the contents of a source."""
    from trubleu.render.tables import render_tables
    from trubleu.render.vectors import source_tables
    from trubleu.vectors import as_source

    (path,) = _arguments(options, "info", "one SOURCE", 1)
    check_output(options)
    source = as_source(path)
    write_output(options, render_tables(source_tables(source), options.format, options.digits))


def find_nearest(options: argparse.Namespace) -> None:
    """Print an n-gram's neighbours."""
    from trubleu.render.tables import render_tables
    from trubleu.render.vectors import neighbours_table
    from trubleu.vectors import Composed, ListedSource, nearest

    path, phrase = _arguments(options, "nearest", 'SOURCE "SOME WORDS"', 2)
    options.files = [path]
    check_output(options)
    among = _listed(options) if options.among else None
    source = _opened(options, path)
    if among is None and not isinstance(source, ListedSource | Composed):
        raise UsageError(f"{path} has a vector for any n-gram and no list of them; give candidates with --among FILE")
    found = nearest(source, _spaced(phrase), top=options.top, among=among, orders=options.order)
    table = neighbours_table(found, _spaced(phrase), source.name)
    write_output(options, render_tables([table], options.format, options.digits))


def compare(options: argparse.Namespace) -> None:
    """Print cosines."""
    from trubleu.render.tables import render_tables
    from trubleu.render.vectors import similarities_table
    from trubleu.vectors import similarity

    path, *phrases = _arguments(options, "similarity", 'SOURCE "SOME WORDS" "OTHER WORDS"')
    if not phrases or len(phrases) % 2:
        raise UsageError(
            f"similarity compares pairs, but there are {len(phrases)} phrases; put each in quotation marks"
        )
    options.files = [path]
    check_output(options)
    source = _opened(options, path)
    pairs = list(zip(map(_spaced, phrases[::2]), map(_spaced, phrases[1::2]), strict=True))
    found = [(one, other, similarity(source, one, other)) for one, other in pairs]
    table = similarities_table(found, source.name)
    write_output(options, render_tables([table], options.format, options.digits))


def convert(options: argparse.Namespace) -> None:
    """Convert vectors to another file format."""
    from trubleu.execution.progress import Bars
    from trubleu.vectors.convert import convert_vectors

    source, target = _arguments(options, "convert", "SOURCE TARGET", 2)
    options.files = [source]
    keep_inputs(options, target)
    with Bars(quiet=options.quiet) as bars:
        convert_vectors(
            source,
            target,
            to=options.to,
            dtype=options.dtype,
            joiner=None if options.joiner == "none" else options.joiner,
            duplicates=options.duplicates,
            among=_listed(options) if options.among else None,
            progress=bars.stage("vectors", 0),
        )


def _arguments(options: argparse.Namespace, command: str, wanted: str, count: int | None = None) -> list[str]:

    given: list[str] = options.files
    if not given or (count is not None and len(given) != count):
        raise UsageError(f"vectors {command} needs {wanted}, but {len(given)} arguments are given")
    return given


def _opened(options: argparse.Namespace, path: str) -> VectorSource:
    from trubleu.vectors import Composed, as_source

    source = as_source(path)
    return Composed(source) if options.composed else source


def _listed(options: argparse.Namespace) -> Sequence[str]:
    from trubleu.files.lines import read_text_lines

    phrases = [phrase for line in read_text_lines(options.among) if (phrase := _spaced(line))]
    if not phrases:
        raise DataError(f"{options.among} has no n-grams; give one per line")
    return phrases


def _spaced(phrase: str) -> str:
    return " ".join(phrase.split())

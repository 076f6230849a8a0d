"""``trubleu vectors``: train vectors of n-grams, look into them, find neighbours, convert files."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any, Final

from trubleu.cli.output import add_output_options, check_output, keep_inputs, write_output
from trubleu.cli.vectors_train import add_train_parser

if TYPE_CHECKING:
    from collections.abc import Sequence

    from trubleu.report.tables import Table
    from trubleu.vectors import VectorSource

EPILOG = """\
examples:
  trubleu vectors train news.txt.zst --out news.store
  trubleu vectors info vectors.store
  trubleu vectors nearest vectors.store "do not like"
  trubleu vectors nearest ready "do not like" --among phrases.txt
  trubleu vectors similarity ready "research paper" "scientific article"
  trubleu vectors convert wiki.vec.gz wiki.store --dtype float16
"""

SOURCE: Final = "a store, a word2vec or fastText file, a folder of model2vec's form, or ready"


def add_parser(commands: argparse._SubParsersAction[Any]) -> None:
    """Add the command and its own commands."""
    parser = commands.add_parser(
        "vectors",
        help="train vectors of n-grams, look into them, convert files",
        description="Train vectors of n-grams, look into them, find the n-grams most similar to one, compare two, "
        "convert files.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
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
        help="say what a file of vectors holds",
        description="Say how many n-grams of which orders there are, their dimensions, and how they were made.",
        allow_abbrev=False,
    )
    parser.set_defaults(run=info)
    parser.add_argument("files", nargs="*", metavar="SOURCE", help=SOURCE)
    add_output_options(parser)


def _add_nearest(commands: argparse._SubParsersAction[Any]) -> None:
    parser = commands.add_parser(
        "nearest",
        help="find the n-grams most similar to one",
        description="Find the n-grams, of any number of words, whose vectors have the largest cosines with another's.",
        allow_abbrev=False,
    )
    parser.set_defaults(run=find_nearest)
    parser.add_argument("files", nargs="*", metavar="SOURCE PHRASE", help=f"{SOURCE}; then words, as one argument")
    parser.add_argument("--top", type=int, default=10, metavar="N", help="how many (10)")
    parser.add_argument("--order", type=int, action="append", metavar="N", help="only of N words; may be given again")
    parser.add_argument("--among", metavar="FILE", help="look among the n-grams of a file, one a line")
    _add_composed(parser)
    add_output_options(parser, digits=3)


def _add_similarity(commands: argparse._SubParsersAction[Any]) -> None:
    parser = commands.add_parser(
        "similarity",
        help="print the cosine of two n-grams",
        description="Print the cosine of two n-grams, or of several pairs of them.",
        allow_abbrev=False,
    )
    parser.set_defaults(run=compare)
    parser.add_argument(
        "files", nargs="*", metavar="SOURCE PHRASE PHRASE", help=f"{SOURCE}; then pairs of words, each one argument"
    )
    _add_composed(parser)
    add_output_options(parser, digits=3)


def _add_composed(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--composed",
        action="store_true",
        help="an n-gram without a vector gets the mean of its words' vectors (every one, if orders were trained apart)",
    )


def _add_convert(commands: argparse._SubParsersAction[Any]) -> None:
    parser = commands.add_parser(
        "convert",
        help="write vectors as another kind of file",
        description="Write vectors as a store, or as word2vec's text or binary format. In word2vec's formats _ joins "
        "the words of an n-gram, and a word's own _ gets a backslash.",
        allow_abbrev=False,
    )
    parser.set_defaults(run=convert)
    parser.add_argument("files", nargs="*", metavar="SOURCE TARGET", help=f"{SOURCE}; then the file to write")
    parser.add_argument("--to", metavar="FORMAT", help="store, text or binary, if the name does not tell")
    parser.add_argument(
        "--dtype", metavar="TYPE", default="float32", help="what a store holds: float32 (default) or float16"
    )
    parser.add_argument(
        "--joiner", metavar="C", default="_", help="joins words in word2vec files (_); none for nothing"
    )
    parser.add_argument("--duplicates", metavar="RULE", default="error", help="a name twice: error (default) or first")
    parser.add_argument("--among", metavar="FILE", help="only the n-grams of a file, one a line")
    parser.add_argument("--quiet", action="store_true", help="no progress bars and no warnings")


def info(options: argparse.Namespace) -> None:
    """Print what a source holds."""
    from trubleu.report.tables import render_tables
    from trubleu.vectors import as_source

    (path,) = _arguments(options, "info", "one SOURCE", 1)
    check_output(options)
    source = as_source(path)
    write_output(options, render_tables(_described(source), options.format, options.digits))


def find_nearest(options: argparse.Namespace) -> None:
    """Print an n-gram's neighbours."""
    from trubleu.errors import UsageError
    from trubleu.report.tables import Column, Table, one_line, render_tables
    from trubleu.vectors import Composed, ListedSource, nearest

    path, phrase = _arguments(options, "nearest", 'SOURCE "SOME WORDS"', 2)
    options.files = [path]
    check_output(options)
    among = _listed(options) if options.among else None
    source = _opened(options, path)
    if among is None and not isinstance(source, ListedSource | Composed):
        raise UsageError(f"{path} has a vector for any n-gram and no list of them; give candidates with --among FILE")
    found = nearest(source, _spaced(phrase), top=options.top, among=among, orders=options.order)
    columns = [Column("rank", kind="count"), Column("ngram", "n-gram"), Column("similarity", kind="number")]
    rows: list[tuple[Any, ...]] = [(rank, one_line(each.ngram), each.similarity) for rank, each in enumerate(found, 1)]
    if any(each.count is not None for each in found):
        columns.append(Column("count", "seen", "count"))
        rows = [(*row, each.count) for row, each in zip(rows, found, strict=True)]
    table = Table("", columns, rows, [f"nearest to {_spaced(phrase)!r} in {source.name}"], name="neighbours")
    write_output(options, render_tables([table], options.format, options.digits))


def compare(options: argparse.Namespace) -> None:
    """Print cosines."""
    from trubleu.errors import UsageError
    from trubleu.report.tables import Column, Table, one_line, render_tables
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
    columns = [Column("one"), Column("other"), Column("similarity", kind="number")]
    rows = [(one_line(one), one_line(other), similarity(source, one, other)) for one, other in pairs]
    table = Table("", columns, rows, [f"vectors: {source.name}"], name="similarities")
    write_output(options, render_tables([table], options.format, options.digits))


def convert(options: argparse.Namespace) -> None:
    """Write vectors as another kind of file."""
    from trubleu.cli.progress import Bars, told_once
    from trubleu.vectors.convert import convert_vectors

    source, target = _arguments(options, "convert", "SOURCE TARGET", 2)
    options.files = [source]
    keep_inputs(options, target)
    with told_once(quiet=options.quiet), Bars(quiet=options.quiet) as bars:
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
    from trubleu.errors import UsageError

    given: list[str] = options.files
    if not given or (count is not None and len(given) != count):
        raise UsageError(f"vectors {command} needs {wanted}, but {len(given)} arguments are given")
    return given


def _opened(options: argparse.Namespace, path: str) -> VectorSource:
    from trubleu.vectors import Composed, as_source

    source = as_source(path)
    return Composed(source) if options.composed else source


def _listed(options: argparse.Namespace) -> Sequence[str]:
    from trubleu.data.files import read_text_lines
    from trubleu.errors import DataError

    phrases = [phrase for line in read_text_lines(options.among) if (phrase := _spaced(line))]
    if not phrases:
        raise DataError(f"{options.among} has no n-grams; give one a line")
    return phrases


def _spaced(phrase: str) -> str:
    return " ".join(phrase.split())


def _described(source: VectorSource) -> list[Table]:
    import numpy as np

    from trubleu.report.tables import Column, Table, one_line
    from trubleu.vectors import ListedSource, VectorStore

    columns = [Column("name"), Column("dimensions", kind="count")]
    row: list[Any] = [source.name, source.dimensions]
    if isinstance(source, ListedSource):
        columns.append(Column("entries", "n-grams", "count"))
        row.append(len(source))
    if isinstance(source, VectorStore):
        columns.append(Column("dtype", "numbers"))
        row.append(source.precision)
    notes = [] if isinstance(source, ListedSource) else ["It has a vector for any n-gram of any number of words."]
    tables = [Table("", columns, [row], notes, name="vectors")]
    if isinstance(source, ListedSource):
        lengths, counts = source.lengths, source.counts
        columns = [Column("order", "words", "count"), Column("entries", "n-grams", "count")]
        rows: list[list[Any]] = [[order, int((lengths == order).sum())] for order in np.unique(lengths).tolist()]
        if counts is not None:
            columns.append(Column("count", "seen", "count"))
            for row in rows:
                row.append(int(counts[lengths == row[0]].sum()))
        tables.append(Table("Orders", columns, rows, name="orders"))
    if isinstance(source, VectorStore) and source.options:
        made = [(one_line(str(key)), one_line(str(value))) for key, value in source.options.items()]
        tables.append(Table("How they were made", [Column("option"), Column("value")], made, name="options"))
    return tables

"""``trubleu mine``: index conversations, and find in them what others answered to similar messages."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from trubleu.cli.engine import add_engine_group, chosen_engine
from trubleu.cli.mine_run import add_run_parser, add_search_parser
from trubleu.cli.output import add_output_options, check_output, write_output

if TYPE_CHECKING:
    from trubleu.mining import Index
    from trubleu.report.tables import Table

EPILOG = """\
examples:
  trubleu mine index conversations/ --out chat.index
  trubleu mine add chat.index more.jsonl.zst
  trubleu mine info chat.index --check
  trubleu mine run chat.index --seeds seeds.jsonl --out candidates.jsonl
  trubleu mine search chat.index "how was the match?" --response "we won!"
"""

INDEX_EPILOG = """\
A corpus is triples in JSON lines, TSV or Parquet, or folders of such files; like the index, it may lie at an address
such as s3://bucket/folder. What is indexed is kept shard by shard: after Ctrl-C, a full disk or a lost machine,
--resume makes only those that are not finished.
"""


def add_parser(commands: argparse._SubParsersAction[Any]) -> None:
    """Add the command and its own commands."""
    parser = commands.add_parser(
        "mine",
        help="index conversations, and mine candidate references from them",
        description="Index conversations, and mine candidate references from them.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    inner = parser.add_subparsers(title="commands", dest="mine_command", metavar="COMMAND", required=True)
    _add_index(inner)
    _add_add(inner)
    _add_info(inner)
    add_run_parser(inner)
    add_search_parser(inner)


def _add_index(commands: argparse._SubParsersAction[Any]) -> None:
    parser = commands.add_parser(
        "index",
        help="index a corpus of triples",
        description="Index a corpus of triples, of any size, in little memory.",
        epilog=INDEX_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.set_defaults(run=index)
    parser.add_argument("files", nargs="*", metavar="CORPUS", help="files of triples, or folders of them")
    words = parser.add_argument_group("words")
    words.add_argument("--tokenize", default="13a", metavar="NAME", help="tokenizer, as in scoring (13a)")
    words.add_argument("--keep-case", action="store_true", help="tell upper from lower case")
    words.add_argument("--stop-words", metavar="FILE", help="words to leave out, one a line")
    _add_reading(parser)
    out = parser.add_argument_group("output")
    out.add_argument("--out", required=True, metavar="INDEX", help="the folder to make")
    out.add_argument(
        "--shard-triples",
        type=int,
        metavar="N",
        help="triples in a file of the index, at most (1048576); fewer take less memory, and change no result",
    )
    _add_resume(out)
    add_engine_group(parser)


def _add_add(commands: argparse._SubParsersAction[Any]) -> None:
    parser = commands.add_parser(
        "add",
        help="add more triples to an index",
        description="Add more triples to an index, which can be searched meanwhile.",
        epilog=INDEX_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.set_defaults(run=add)
    parser.add_argument("files", nargs="*", metavar="INDEX MORE", help="an index; then files of triples, or folders")
    _add_reading(parser)
    _add_resume(parser.add_argument_group("output"))
    add_engine_group(parser)


def _add_info(commands: argparse._SubParsersAction[Any]) -> None:
    parser = commands.add_parser(
        "info",
        help="say what an index holds",
        description="Say what an index holds and how it was made, and on request whether every byte is in order.",
        allow_abbrev=False,
    )
    parser.set_defaults(run=info)
    parser.add_argument("files", nargs="*", metavar="INDEX", help="an index")
    parser.add_argument("--check", action="store_true", help="compare every byte with its checksum")
    add_output_options(parser)


def _add_reading(parser: argparse.ArgumentParser) -> None:
    corpus = parser.add_argument_group("corpus")
    corpus.add_argument(
        "--columns", metavar="LIST", help="what the columns of TSV files hold: -,context,message,response (- for none)"
    )
    corpus.add_argument(
        "--skip-bad",
        action="store_true",
        help="skip and count rows with a missing or wrong field, and leave out damaged files",
    )


def _add_resume(group: argparse._ArgumentGroup) -> None:
    group.add_argument("--resume", action="store_true", help="go on where an earlier call was interrupted")
    group.add_argument("--quiet", action="store_true", help="no progress bars, no warnings, no table")


def index(options: argparse.Namespace) -> None:
    """Index a corpus, and say what was made."""
    from trubleu.cli.progress import Bars, told_once
    from trubleu.errors import UsageError
    from trubleu.mining import Index
    from trubleu.mining.building import corpus_source
    from trubleu.mining.folder import check_outside
    from trubleu.mining.options import read_stop_words
    from trubleu.mining.shard import MOST_TRIPLES

    if not options.files:
        raise UsageError("mine index needs a CORPUS; give files of triples, or folders of them")
    stop_words = read_stop_words(options.stop_words) if options.stop_words else ()
    check_outside(options.out, options.files)
    shard_triples = MOST_TRIPLES if options.shard_triples is None else options.shard_triples
    with told_once(quiet=options.quiet), chosen_engine(options) as where, Bars(quiet=options.quiet) as bars:
        corpus = corpus_source(options.files, columns=options.columns, skip_bad=options.skip_bad)
        made = Index.build(
            options.out,
            corpus,
            tokenize=options.tokenize,
            lowercase=not options.keep_case,
            stop_words=stop_words,
            shard_triples=shard_triples,
            columns=options.columns,
            resume=options.resume,
            engine=where,
            progress=bars.stage("indexing", corpus.total, corpus.unit),
        )
    _say(options, made)


def add(options: argparse.Namespace) -> None:
    """Add to an index, and say what it is now."""
    from trubleu.cli.progress import Bars, told_once
    from trubleu.errors import UsageError
    from trubleu.mining import Index
    from trubleu.mining.building import corpus_source
    from trubleu.mining.folder import check_outside

    if len(options.files) < 2:
        raise UsageError("mine add needs INDEX MORE: an index, and files of triples or folders of them")
    path, *files = options.files
    with told_once(quiet=options.quiet), chosen_engine(options) as where, Bars(quiet=options.quiet) as bars:
        before = Index.open(path)
        check_outside(path, files)
        corpus = corpus_source(files, columns=options.columns, skip_bad=options.skip_bad)
        made = before.add(
            corpus,
            columns=options.columns,
            resume=options.resume,
            engine=where,
            progress=bars.stage("adding", corpus.total, corpus.unit),
        )
    _say(options, made)


def info(options: argparse.Namespace) -> None:
    """Print what an index holds."""
    from trubleu.cli.progress import Bars
    from trubleu.errors import UsageError
    from trubleu.mining import Index
    from trubleu.report.tables import render_tables

    if len(options.files) != 1:
        raise UsageError(f"mine info needs one INDEX, but {len(options.files)} are given")
    found = Index.open(options.files[0])
    options.files = []  # a folder, which no output could replace
    check_output(options)
    if options.check:
        with Bars(quiet=options.quiet) as bars:
            found.check(bars.stage("checking", len(found.shards), "shard"))
    tables = described(found, ["Every byte is in order."] if options.check else [])
    write_output(options, render_tables(tables, options.format, options.digits))


def _say(options: argparse.Namespace, made: Index) -> None:
    import sys

    from trubleu.report.tables import render_tables

    if not options.quiet:
        sys.stdout.write(render_tables(described(made)[:1], "text", 2))


def described(index: Index, notes: list[str] | None = None) -> list[Table]:
    """Return tables of what an index holds, how it was made and from what."""
    from trubleu.data import places
    from trubleu.report.tables import Column, Table, one_line

    manifest = index.manifest
    columns = [
        Column("name", "index"),
        Column("triples", kind="count"),
        Column("message_words", "words of messages", "count"),
        Column("mean_message", "mean", "number"),
        Column("response_words", "words of responses", "count"),
        Column("mean_response", "mean", "number"),
        Column("shards", kind="count"),
        Column("bytes", kind="count"),
    ]
    size = sum(places.byte_size(places.joined(index.place, shard.file)) for shard in manifest.shards)
    words = index.message_words, index.response_words
    row: list[Any] = [index.place, len(index), words[0], words[0] / len(index), words[1], words[1] / len(index)]
    row += [len(manifest.shards), size]
    options = [
        ("tokenize", index.tokenize),
        ("case", "ignored" if index.lowercase else "kept"),
        ("stop words", str(len(index.stop_words))),
        ("triples in a shard", str(manifest.options.shard_triples)),
        ("skipped as bad", str(manifest.bad)),
        ("skipped as blank", str(manifest.empty)),
        ("fingerprint", index.content),
    ]
    sources = [(one_line(source.name), source.triples) for source in manifest.sources]
    return [
        Table("", columns, [row], notes or [], name="index"),
        Table("How it was made", [Column("option"), Column("value")], options, name="options"),
        Table("Sources", [Column("name", "file"), Column("triples", kind="count")], sources, name="sources"),
    ]

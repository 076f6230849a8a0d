"""``trubleu mine``: index conversations, and find responses to similar messages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from trubleu.cli.options import (
    add_cache_options,
    add_engine_group,
    add_number,
    add_output_options,
    add_threads,
    add_triple_options,
    check_output,
    chosen_engine,
    keep_inputs,
    resumable,
    write_output,
)
from trubleu.errors import UsageError, counted
from trubleu.files.paths import format_to_write

if TYPE_CHECKING:
    import argparse

    from trubleu.mining import Index


RUN_EPILOG: Final = """\
examples:
  trubleu mine run chat.index --seeds seeds.jsonl --out candidates.jsonl
  trubleu mine run chat.index --seeds seeds.jsonl --random 5 --seed 7 --explain --out candidates.jsonl
  trubleu mine run chat.index --seeds seeds.jsonl --engine ray --resume parts --out candidates.jsonl
"""

SEARCH_EPILOG: Final = """\
examples:
  trubleu mine search chat.index "how was the match?"
  trubleu mine search chat.index "how was the match?" --response "we won!" --top 5 --explain
"""


def add_run_parser(commands: argparse._SubParsersAction[Any]) -> None:
    """Add ``mine run``."""
    parser = commands.add_parser(
        "run",
        help="mine candidate references for seeds",
        description="For each seed, find the responses in the corpus whose message is similar to the seed's message "
        "and which are similar to the seed's response. Add the seed's own response and its message. The output is a "
        "file of unrated references.",
        epilog=RUN_EPILOG,
    )
    parser.set_defaults(run=run)
    parser.add_argument("files", nargs="*", metavar="INDEX", help="an index, made by mine index")
    parser.add_argument(
        "--seeds", metavar="FILE", required=True, help="triples: JSON lines, a table or Parquet, or a folder"
    )
    add_triple_options(parser, "skip and count bad seeds instead of stopping")
    _add_scoring(parser)
    add_number(parser, "--random", 0, "random responses to add per seed", "K")
    add_number(parser, "--seed", 1, "random seed")
    where = add_engine_group(parser)
    where.add_argument(
        "--resume",
        metavar="FOLDER",
        help="cache the results of finished parts in this folder, and reuse those already there",
    )
    add_cache_options(where)
    out = parser.add_argument_group("output")
    out.add_argument("--out", metavar="FILE", required=True, help=".jsonl (optionally with .gz or .zst), or -")
    out.add_argument("--quiet", action="store_true", help="no progress bars, warnings or table")


def add_search_parser(commands: argparse._SubParsersAction[Any]) -> None:
    """Add ``mine search``."""
    parser = commands.add_parser(
        "search",
        help="show what would be mined for one message",
        description="Print what would be mined for a message and a response; without a response, the triples with the "
        "most similar messages.",
        epilog=SEARCH_EPILOG,
    )
    parser.set_defaults(run=look)
    parser.add_argument("files", nargs="*", metavar="INDEX MESSAGE", help="an index, and a message as one argument")
    parser.add_argument(
        "--response",
        metavar="TEXT",
        help="response that candidates should be similar to; the same response is left out",
    )
    _add_scoring(parser)
    add_output_options(parser)


def _add_scoring(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("scores")
    # None if not given: the defaults are those of the Python API, and alpha and epsilon need a response.
    group.add_argument("--top", type=int, metavar="N", help="candidates per seed (default: 15)")
    group.add_argument(
        "--alpha", type=float, metavar="A", help="weight of the response's similarity, from 0 to 1 (default: 0.5)"
    )
    group.add_argument(
        "--epsilon",
        type=float,
        metavar="E",
        help="at least 0; above 0, responses that share no word are kept (default: 0.1)",
    )
    group.add_argument(
        "--variant", default="lucene", metavar="NAME", help="BM25 variant: lucene (default), robertson or atire"
    )
    add_number(group, "--k1", 1.2, "BM25 saturation of repeated words", "X")
    add_number(group, "--b", 0.75, "BM25 length normalisation, from 0 to 1", "X")
    group.add_argument("--explain", action="store_true", help="add the matching words and their contributions")
    add_threads(group)


def run(options: argparse.Namespace) -> None:
    """Mine, and write the file."""
    import sys
    from contextlib import ExitStack

    from trubleu.execution.progress import Bars
    from trubleu.files.writer import check_writable
    from trubleu.mining import Index
    from trubleu.mining.candidates import seed_source, seed_triples
    from trubleu.render.mining import summary_table
    from trubleu.render.tables import render_tables

    if len(options.files) != 1:
        raise UsageError(f"mine run needs one INDEX, but {len(options.files)} arguments are given")
    chosen = _scoring(options)
    format_to_write(options.out, ["jsonl"])
    check_writable(options.out)
    with resumable(options) as cache, Bars(quiet=options.quiet) as bars:
        source = seed_source(options.seeds, columns=options.columns, skip_bad=options.skip_bad)
        options.seeds = list(source.files)  # expands folders
        keep_inputs(options, options.out)
        _keep_index(options.files[0], options.out)
        if options.resume is not None:
            _keep_index(options.files[0], options.resume)
        index = Index.open(options.files[0])
        seeds = seed_triples(source)
        progress = bars.stage("mine", len(seeds) * len(index.shards), "search")
        with ExitStack() as stack:
            engine = None if options.engine is None else stack.enter_context(chosen_engine(options))
            found = index.candidates(
                seeds,
                **chosen,
                random=options.random,
                seed=options.seed,
                engine=engine,
                keep=options.resume,
                cache=cache,
                progress=progress,
            )
        found.write(options.out)
    if not options.quiet and options.out != "-":
        sys.stdout.write(render_tables([summary_table(found, options.out)], "text", 2))


def look(options: argparse.Namespace) -> None:
    """Print the search results."""
    from trubleu.mining import Index
    from trubleu.render.mining import candidate_tables
    from trubleu.render.tables import FOR_PROGRAMS, render_tables

    if len(options.files) != 2:
        raise UsageError(f'mine search needs INDEX "A MESSAGE", not {counted(len(options.files), "argument")}')
    path, message = options.files
    if options.response is None and (options.alpha is not None or options.epsilon is not None):
        name = "--epsilon" if options.alpha is None else "--alpha"
        raise UsageError(f"{name} is about the response, and there is none; give --response, or leave {name} out")
    options.files = [path]
    chosen = _scoring(options)
    check_output(options)
    _keep_index(path, options.out)
    index = Index.open(path)
    found = index.search(message, options.response, **chosen)
    notes = [] if found else [_nothing(index, message, options.response, chosen)]
    tables = candidate_tables(
        found,
        notes,
        by_message=options.response is None,
        explained=options.explain,
        for_people=options.format not in FOR_PROGRAMS,
        digits=options.digits,
    )
    write_output(options, render_tables(tables, options.format, options.digits))


def _scoring(options: argparse.Namespace) -> dict[str, Any]:
    """Return the scoring options, validated before any work."""
    from trubleu.mining.bm25 import Bm25
    from trubleu.mining.candidates import ALPHA, EPSILON, TOP, Ranking

    top = TOP if options.top is None else options.top
    alpha = ALPHA if options.alpha is None else options.alpha
    epsilon = EPSILON if options.epsilon is None else options.epsilon
    Ranking(top, alpha, epsilon, Bm25(options.variant, options.k1, options.b))
    return {
        "top": top,
        "alpha": alpha,
        "epsilon": epsilon,
        "variant": options.variant,
        "k1": options.k1,
        "b": options.b,
        "explain": options.explain,
        "threads": options.threads,
    }


def _nothing(index: Index, message: str, response: str | None, chosen: dict[str, Any]) -> str:
    """Explain why a search found nothing."""
    from trubleu.mining.bm25 import Bm25
    from trubleu.mining.candidates import Explainer
    from trubleu.render.tables import one_line

    text = repr(one_line(message))
    bm25 = Bm25(chosen["variant"], chosen["k1"], chosen["b"])
    if not Explainer(index, bm25).known(message):
        return f"no word of {text} is indexed in a message of {index.place}"
    if not index.search(message, **{**chosen, "top": 1}):
        return (
            f"every score is 0, as the words of {text} are in too many messages of {index.place} to weigh anything "
            f"with --variant {bm25.variant}"
        )
    if index.search(message, response, **{**chosen, "top": 1, "alpha": 0.0, "epsilon": 1.0}):
        alpha, epsilon = chosen["alpha"], chosen["epsilon"]
        hints = [hint for hint, wanted in (("lower --alpha", alpha == 1), ("raise --epsilon", epsilon == 0)) if wanted]
        return (
            f"every score is 0 with alpha {alpha:g} and epsilon {epsilon:g}, as no response shares a word that weighs "
            f"something with yours; {' and '.join(hints)}"
        )
    return f"{text} was answered in {index.place} by nothing else than your response, which is left out"


def _keep_index(index: str, target: str) -> None:
    """Raise an error for output in the folder of the index, which must hold only its own files."""
    from trubleu.files import paths

    if target == "-":
        return
    if paths.same_file(target, index):
        raise UsageError(f"{target} is the index itself; write to another folder")
    if paths.same_file(paths.parent(target), index):
        raise UsageError(f"{target} lies inside the index {index}; write to another folder")


EPILOG = """\
examples:
  trubleu mine index conversations/ --out chat.index
  trubleu mine add chat.index more.jsonl.zst
  trubleu mine info chat.index --check
  trubleu mine run chat.index --seeds seeds.jsonl --out candidates.jsonl
  trubleu mine search chat.index "how was the match?" --response "we won!"
"""

INDEX_EPILOG = """\
A corpus is triples in JSON lines, tables (.tsv, .csv, .xlsx) or Parquet, or folders of such files. Corpus and index may
be at an address such as s3://bucket/folder. Finished shards are kept: after Ctrl-C, a full disk or a lost machine,
--resume builds only the missing ones.
"""


def add_parser(commands: argparse._SubParsersAction[Any]) -> None:
    """Add the command and its subcommands."""
    parser = commands.add_parser(
        "mine",
        help="mine candidate references from conversations",
        description="Index conversations and mine candidate references from them.",
        epilog=EPILOG,
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
        description="Index a corpus of triples. Memory does not grow with the corpus.",
        epilog=INDEX_EPILOG,
    )
    parser.set_defaults(run=index)
    parser.add_argument("files", nargs="*", metavar="CORPUS", help="files of triples, or folders of them")
    words = parser.add_argument_group("words")
    words.add_argument("--tokenize", default="13a", metavar="NAME", help="tokenizer, as in scoring (default: 13a)")
    words.add_argument("--keep-case", action="store_true", help="keep upper and lower case apart")
    words.add_argument("--stop-words", metavar="FILE", help="words to leave out, one per line")
    _add_reading(parser)
    out = parser.add_argument_group("output")
    out.add_argument("--out", required=True, metavar="INDEX", help="the folder to create")
    out.add_argument(
        "--shard-triples",
        type=int,
        metavar="N",
        help="maximum number of triples per shard (default: 1048576); smaller shards need less memory",
    )
    _add_resume(out)
    add_engine_group(parser)


def _add_add(commands: argparse._SubParsersAction[Any]) -> None:
    parser = commands.add_parser(
        "add",
        help="add more triples to an index",
        description="Add more triples to an index. It can be searched meanwhile.",
        epilog=INDEX_EPILOG,
    )
    parser.set_defaults(run=add)
    parser.add_argument("files", nargs="*", metavar="INDEX MORE", help="an index, then files of triples or folders")
    _add_reading(parser)
    _add_resume(parser.add_argument_group("output"))
    add_engine_group(parser)


def _add_info(commands: argparse._SubParsersAction[Any]) -> None:
    parser = commands.add_parser(
        "info",
        help="describe an index",
        description="Describe what an index contains and how it was made; with --check, verify all checksums.",
    )
    parser.set_defaults(run=info)
    parser.add_argument("files", nargs="*", metavar="INDEX", help="an index")
    parser.add_argument("--check", action="store_true", help="verify all checksums")
    add_output_options(parser)


def _add_reading(parser: argparse.ArgumentParser) -> None:
    skipped = "skip and count rows with a missing or wrong field, and leave out damaged files"
    add_triple_options(parser.add_argument_group("corpus"), skipped)


def _add_resume(group: argparse._ArgumentGroup) -> None:
    group.add_argument("--resume", action="store_true", help="continue an interrupted run")
    add_cache_options(group)
    group.add_argument("--quiet", action="store_true", help="no progress bars, warnings or table")


def index(options: argparse.Namespace) -> None:
    """Index a corpus, and report the result."""
    from trubleu.execution.progress import Bars
    from trubleu.mining import Index
    from trubleu.mining.index_builder import check_outside, corpus_source
    from trubleu.mining.manifest import read_stop_words
    from trubleu.mining.shard import MOST_TRIPLES

    if not options.files:
        raise UsageError("mine index needs a CORPUS; give files of triples, or folders of them")
    stop_words = read_stop_words(options.stop_words) if options.stop_words else ()
    check_outside(options.out, options.files)
    shard_triples = MOST_TRIPLES if options.shard_triples is None else options.shard_triples
    with (
        resumable(options) as cache,
        chosen_engine(options) as where,
        Bars(quiet=options.quiet) as bars,
    ):
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
            cache=cache,
            engine=where,
            progress=bars.stage("indexing", corpus.total, corpus.unit),
        )
    _say(options, made)


def add(options: argparse.Namespace) -> None:
    """Add to an index, and report its new contents."""
    from trubleu.execution.progress import Bars
    from trubleu.mining import Index
    from trubleu.mining.index_builder import check_outside, corpus_source

    if len(options.files) < 2:
        raise UsageError("mine add needs INDEX MORE: an index, and files of triples or folders of them")
    path, *files = options.files
    with (
        resumable(options) as cache,
        chosen_engine(options) as where,
        Bars(quiet=options.quiet) as bars,
    ):
        before = Index.open(path)
        check_outside(path, files)
        corpus = corpus_source(files, columns=options.columns, skip_bad=options.skip_bad)
        made = before.add(
            corpus,
            columns=options.columns,
            resume=options.resume,
            cache=cache,
            engine=where,
            progress=bars.stage("adding", corpus.total, corpus.unit),
        )
    _say(options, made)


def info(options: argparse.Namespace) -> None:
    """Print the contents of an index."""
    from trubleu.execution.progress import Bars
    from trubleu.mining import Index
    from trubleu.render.mining import index_tables
    from trubleu.render.tables import render_tables

    if len(options.files) != 1:
        raise UsageError(f"mine info needs one INDEX, but {len(options.files)} are given")
    found = Index.open(options.files[0])
    options.files = []  # a folder, which no output could overwrite
    check_output(options)
    if options.check:
        with Bars(quiet=options.quiet) as bars:
            found.check(bars.stage("checking", len(found.shards), "shard"))
    tables = index_tables(found, ["Every byte is in order."] if options.check else [])
    write_output(options, render_tables(tables, options.format, options.digits))


def _say(options: argparse.Namespace, made: Index) -> None:
    import sys

    from trubleu.render.mining import index_tables
    from trubleu.render.tables import render_tables

    if not options.quiet:
        sys.stdout.write(render_tables(index_tables(made)[:1], "text", 2))

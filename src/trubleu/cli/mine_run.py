"""``trubleu mine run`` and ``search``: mine candidates for seeds, or have a look by hand."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any, Final

from trubleu.cli.engine import add_engine_group, chosen_engine
from trubleu.cli.output import add_output_options, check_output, keep_inputs, write_output

if TYPE_CHECKING:
    from collections.abc import Sequence

    from trubleu.mining import Candidate, Candidates, Index
    from trubleu.report.tables import Table

EPILOG: Final = """\
examples:
  trubleu mine run chat.index --seeds seeds.jsonl --out candidates.jsonl
  trubleu mine run chat.index --seeds seeds.jsonl --random 5 --seed 7 --explain --out candidates.parquet
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
        description="Find, for each seed, the responses of the corpus that fit best: those whose message is like the "
        "seed's and whose response is like the seed's. The seed's own response and its message are added. The file is "
        "one of references that are not rated yet.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.set_defaults(run=run)
    parser.add_argument("files", nargs="*", metavar="INDEX", help="the index, as mine index made it")
    parser.add_argument(
        "--seeds", metavar="FILE", required=True, help="triples: JSON lines, TSV or Parquet, or a folder"
    )
    parser.add_argument(
        "--columns", metavar="LIST", help="of TSV files, such as -,context,message,response (- for none)"
    )
    parser.add_argument("--skip-bad", action="store_true", help="count seeds that cannot be used instead of stopping")
    _add_scoring(parser)
    parser.add_argument("--random", type=int, default=0, metavar="K", help="random responses to add to each seed (0)")
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="seed of the random responses (1)")
    where = add_engine_group(parser)
    where.add_argument(
        "--resume",
        metavar="FOLDER",
        help="keep what was found in parts of the index in this folder, and do not search again what is there",
    )
    out = parser.add_argument_group("output")
    out.add_argument("--out", metavar="FILE", required=True, help=".jsonl (then maybe .gz or .zst), .parquet, or -")
    out.add_argument("--quiet", action="store_true", help="no progress bars, no warnings, no table")


def add_search_parser(commands: argparse._SubParsersAction[Any]) -> None:
    """Add ``mine search``."""
    parser = commands.add_parser(
        "search",
        help="look by hand for what would be mined",
        description="Print what would be mined for a message and a response; without a response, the triples whose "
        "messages are most like the message.",
        epilog=SEARCH_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.set_defaults(run=look)
    parser.add_argument("files", nargs="*", metavar="INDEX MESSAGE", help="the index; then a message, as one argument")
    parser.add_argument("--response", metavar="TEXT", help="what the candidates should be like; itself is left out")
    _add_scoring(parser)
    add_output_options(parser)


def _add_scoring(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("scores")
    # None where nothing was given: the defaults are Python's, and alpha and epsilon are about a response.
    group.add_argument("--top", type=int, metavar="N", help="how many candidates (15)")
    group.add_argument("--alpha", type=float, metavar="A", help="how much the response counts, from 0 to 1 (0.5)")
    group.add_argument(
        "--epsilon", type=float, metavar="E", help="keeps candidates whose response shares no word, from 0 on (0.1)"
    )
    group.add_argument(
        "--variant", default="lucene", metavar="NAME", help="of BM25: lucene (default), robertson or atire"
    )
    group.add_argument("--k1", type=float, default=1.2, metavar="X", help="how soon repetitions cease to count (1.2)")
    group.add_argument("--b", type=float, default=0.75, metavar="X", help="how much length counts, from 0 to 1 (0.75)")
    group.add_argument("--explain", action="store_true", help="also the words that matched, and what each contributed")
    group.add_argument(
        "--threads", type=int, metavar="N", help="threads to use (all cores); results do not depend on it"
    )


def run(options: argparse.Namespace) -> None:
    """Mine, and write the file."""
    import sys
    from contextlib import ExitStack

    from trubleu.cli.progress import Bars, told_once
    from trubleu.data import check_writable
    from trubleu.data.extras import polars_module
    from trubleu.data.formats import format_to_write
    from trubleu.errors import UsageError
    from trubleu.mining import Index
    from trubleu.mining.candidate_files import check_seeds_storable
    from trubleu.mining.seeds import seed_source, seed_triples
    from trubleu.report.tables import render_tables

    if len(options.files) != 1:
        raise UsageError(f"mine run needs one INDEX, but {len(options.files)} arguments are given")
    chosen = _scoring(options)
    in_parquet = format_to_write(options.out, ["jsonl", "parquet"]) == "parquet"
    if in_parquet:
        polars_module()  # if it is missing, that is said now and not after the work
    check_writable(options.out)
    with told_once(quiet=options.quiet), Bars(quiet=options.quiet) as bars:
        source = seed_source(options.seeds, columns=options.columns, skip_bad=options.skip_bad)
        options.seeds = list(source.files)  # of a folder, what is in it
        keep_inputs(options, options.out)
        _keep_index(options.files[0], options.out)
        if options.resume is not None:
            _keep_index(options.files[0], options.resume)
        index = Index.open(options.files[0])
        seeds = seed_triples(source)
        if in_parquet:
            check_seeds_storable(seeds)
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
                progress=progress,
            )
        found.write(options.out)
    if not options.quiet and options.out != "-":
        sys.stdout.write(render_tables([_summary(found, options.out)], "text", 2))


def look(options: argparse.Namespace) -> None:
    """Print what a search finds."""
    from trubleu.cli.progress import told_once
    from trubleu.errors import UsageError, counted
    from trubleu.mining import Index
    from trubleu.report.tables import render_tables

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
    with told_once(quiet=options.quiet):
        index = Index.open(path)
        found = index.search(message, options.response, **chosen)
        notes = [] if found else [_nothing(index, message, options.response, chosen)]
    write_output(options, render_tables(_tables(options, found, notes), options.format, options.digits))


def _scoring(options: argparse.Namespace) -> dict[str, Any]:
    """Return the options of the scores, refused before any work if they cannot be."""
    from trubleu.mining.bm25 import Bm25
    from trubleu.mining.candidates import ALPHA, EPSILON, TOP, check_scoring

    top = TOP if options.top is None else options.top
    alpha = ALPHA if options.alpha is None else options.alpha
    epsilon = EPSILON if options.epsilon is None else options.epsilon
    check_scoring(top, alpha, epsilon)
    Bm25(options.variant, options.k1, options.b)
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
    """Say why a search found nothing."""
    from trubleu.mining.bm25 import Bm25
    from trubleu.mining.explain import Explainer
    from trubleu.report.tables import one_line

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
    """Refuse to write a file, or to keep files, in the folder of the index, where every file is its own."""
    from trubleu.data import places
    from trubleu.errors import UsageError

    if target == "-":
        return
    if places.same_file(target, index):
        raise UsageError(f"{target} is the index itself; write to another folder")
    if places.same_file(places.parent(target), index):
        raise UsageError(f"{target} lies inside the index {index}; write to another folder")


def _summary(found: Candidates, path: str) -> Table:
    """Return how many candidates of each origin were written."""
    from trubleu.errors import counted
    from trubleu.report.tables import Column, Table

    origins = [each.origin for one in found for each in one.candidates]
    rows = [(origin, origins.count(origin)) for origin in ("seed", "mined", "parrot", "random") if origin in origins]
    notes = [f"{path}: candidates for {counted(len(found), 'seed')}", f"signature: {found.signature}"]
    return Table("", [Column("origin"), Column("candidates", kind="count")], rows, notes, name="candidates")


def _tables(options: argparse.Namespace, found: Sequence[Candidate], notes: list[str]) -> list[Table]:
    """Return what was found; for programs, words are rows of a table of their own."""
    from trubleu.report.tables import FOR_PROGRAMS, Column, Table, one_line

    columns = [
        Column("rank", kind="count"),
        Column("score", kind="number"),
        Column("message_score", "of message", "number"),
        Column("response_score", "of response", "number"),
        Column("message"),
        Column("response"),
        Column("source"),
    ]
    rows: list[list[Any]] = [
        [
            each.rank,
            each.score,
            each.message_score,
            each.response_score,
            one_line(each.source_message or ""),
            one_line(each.text),
            each.source,
        ]
        for each in found
    ]
    for_people = options.format not in FOR_PROGRAMS
    if options.response is None:  # a score is that of the message, which need not be said twice
        kept = [0, 1, *range(4, 7)] if for_people else [0, 1, 2, *range(4, 7)]
        columns, rows = [columns[each] for each in kept], [[row[each] for each in kept] for row in rows]
    if options.response is None:
        notes.append("ranked by the message alone, as no --response was given; the score is BM25's of the messages")
    tables = [Table("", columns, rows, notes, name="candidates")]
    if options.explain and for_people:
        fields = ("message",) if options.response is None else ("message", "response")
        columns += [Column(f"{field}_words", f"words of {field}") for field in fields]
        for row, each in zip(rows, found, strict=True):
            row += [_listed(getattr(each.words, field), options.digits) for field in fields]
    elif options.explain:
        names = [Column("rank", kind="count"), Column("field"), Column("word"), Column("contribution", kind="number")]
        parts = [
            (each.rank, field, word, contribution)
            for each in found
            if each.words is not None
            for field, words in (("message", each.words.message), ("response", each.words.response))
            for word, contribution in words
        ]
        tables.append(Table("", names, parts, name="words"))
    return tables


def _listed(words: Sequence[tuple[str, float]], digits: int) -> str:
    return " · ".join(f"{word} {contribution:.{digits}f}" for word, contribution in words)

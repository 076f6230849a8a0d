"""``trubleu mine``: index conversations, and find responses to similar messages."""

from __future__ import annotations

import sys
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Any

from trubleu.cli import arguments as add
from trubleu.cli.options import chosen_engine, keep_inputs, operands, picked, resumable, write_tables
from trubleu.errors import UsageError
from trubleu.files.paths import format_to_write
from trubleu.files.writer import check_writable
from trubleu.progress import Bars
from trubleu.render.tables import FOR_PROGRAMS, one_line, render_tables

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from trubleu.mining import Index
    from trubleu.mining.bm25 import Bm25


def _add_scoring(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("scores")
    # None if not given: the defaults are those of the Python API, and alpha and epsilon need a response.
    add.option(group, "--top", "N", "candidates per seed (default: 15)", type=int)
    add.option(group, "--alpha", "A", "weight of the response's similarity, from 0 to 1 (default: 0.5)", type=float)
    about = "if above 0, keep responses that share no word with the seed's response (default: 0.1)"
    add.option(group, "--epsilon", "E", about, type=float)
    add.option(group, "--variant", "NAME", "BM25 variant: lucene (default), robertson or atire", "lucene")
    add.option(group, "--k1", "X", "BM25 saturation of repeated words", 1.2)
    add.option(group, "--b", "X", "BM25 length normalisation, from 0 to 1", 0.75)
    add.flag(group, "--explain", "add the matching words and their contributions")
    add.threads(group)


def run(options: argparse.Namespace) -> None:
    """Mine candidate references for seeds.

    For each seed, find responses in the corpus that answer a similar message and resemble the seed's response. Add the
    seed's own response and its message. The output is a file of unrated references.

    Examples
    --------
    trubleu mine run chat.index --seeds seeds.jsonl --out candidates.jsonl
    trubleu mine run chat.index --seeds seeds.jsonl --random 5 --seed 7 --explain --out candidates.jsonl
    trubleu mine run chat.index --seeds seeds.jsonl --engine ray --resume parts --out candidates.jsonl
    """
    from trubleu.mining import Index
    from trubleu.mining.candidates import seed_source, seed_triples
    from trubleu.render.mining import summary_table

    (path,) = operands(options, "mine run", "one INDEX", 1)
    chosen = _scoring(options)
    format_to_write(options.out, ["jsonl"])
    check_writable(options.out)
    _keep_index(path, options.out)
    _keep_index(path, options.resume)
    with resumable(options) as cache, Bars(quiet=options.quiet) as bars:
        source = seed_source(options.seeds, columns=options.columns, skip_bad=options.skip_bad)
        options.seeds = list(source.files)  # expands folders
        keep_inputs(options, options.out)
        index = Index.open(path)
        seeds = seed_triples(source)
        progress = bars.stage("mine", len(seeds) * len(index.shards), "search")
        with nullcontext() if options.engine is None else chosen_engine(options) as engine:
            given = chosen | picked(options, "random seed")
            found = index.candidates(seeds, **given, engine=engine, keep=options.resume, cache=cache, progress=progress)
        found.write(options.out)
    if not options.quiet and options.out != "-":
        sys.stdout.write(render_tables([summary_table(found, options.out)], "text", 2))


def look(options: argparse.Namespace) -> None:
    """Show what would be mined for one message.

    Print what would be mined for a message and a response; without a response, the triples with the most similar
    messages.

    Examples
    --------
    trubleu mine search chat.index "how was the match?"
    trubleu mine search chat.index "how was the match?" --response "we won!" --top 5 --explain
    """
    from trubleu.mining import Index
    from trubleu.mining.bm25 import Bm25
    from trubleu.render.mining import candidate_tables

    path, message = operands(options, "mine search", 'INDEX "A MESSAGE"', 2)
    if options.response is None and (options.alpha is not None or options.epsilon is not None):
        name = "--epsilon" if options.alpha is None else "--alpha"
        raise UsageError(f"{name} is about the response, and there is none; give --response, or leave {name} out")
    chosen = _scoring(options)
    _keep_index(path, options.out)
    index = Index.open(path)
    found = index.search(message, options.response, **chosen)
    notes = [] if found else [_nothing(index, message, Bm25(options.variant, options.k1, options.b))]
    by_message, for_people = options.response is None, options.format not in FOR_PROGRAMS
    tables = candidate_tables(
        found, notes, by_message=by_message, explained=options.explain, for_people=for_people, digits=options.digits
    )
    write_tables(options, *tables)


def _scoring(options: argparse.Namespace) -> dict[str, Any]:
    """Return the scoring options, validated before any work."""
    from trubleu.mining.bm25 import Bm25
    from trubleu.mining.candidates import ALPHA, EPSILON, TOP
    from trubleu.mining.search import Ranking

    chosen = picked(options, "top alpha epsilon variant k1 b explain threads")
    usual = {"top": TOP, "alpha": ALPHA, "epsilon": EPSILON}
    chosen |= {name: value for name, value in usual.items() if chosen[name] is None}
    Ranking(chosen["top"], chosen["alpha"], chosen["epsilon"], Bm25(options.variant, options.k1, options.b))
    return chosen


def _nothing(index: Index, message: str, bm25: Bm25) -> str:
    """Explain why a search found nothing."""
    from trubleu.mining.candidates import Explainer

    text = repr(one_line(message))
    if not Explainer(index, bm25).known(message):
        return f"no word of {text} is indexed in a message of {index.place}"
    return (
        "every score is 0, or only your own response was found, which is left out; lower --alpha, raise --epsilon, or "
        "choose --variant lucene, with which words of more than half of all messages count too"
    )


def _keep_index(index: str, target: str | None) -> None:
    """Raise an error for output in the folder of the index, which must hold only its own files."""
    from trubleu.files import paths

    if target is None or target == "-":
        return
    for path, where in ((target, "is the index itself"), (paths.parent(target), f"lies inside the index {index}")):
        if paths.same_file(path, index):
            raise UsageError(f"{target} {where}; write to another folder")


def add_parser(commands: add.Commands) -> None:
    """Mine candidate references from conversations.

    Examples
    --------
    trubleu mine index conversations/ --out chat.index
    trubleu mine add chat.index more.jsonl.zst
    trubleu mine info chat.index --check
    trubleu mine run chat.index --seeds seeds.jsonl --out candidates.jsonl
    trubleu mine search chat.index "how was the match?" --response "we won!"
    """
    inner = add.commands(commands, "mine", add_parser)

    parser = add.command(inner, "index", index)
    add.files(parser, "CORPUS", "files of triples, or folders of them")
    words = parser.add_argument_group("words")
    add.option(words, "--tokenize", "NAME", "tokenizer, as in scoring", "13a")
    add.flag(words, "--keep-case", "distinguish upper and lower case")
    add.option(words, "--stop-words", "FILE", "words to leave out, one per line")
    _add_reading(parser)
    out = parser.add_argument_group("output")
    add.option(out, "--out", "INDEX", "the folder to create", required=True)
    about = "maximum number of triples per shard; smaller shards need less memory"
    add.option(out, "--shard-triples", "N", about, 1_048_576)
    _add_resume(out)
    add.engine(parser)

    parser = add.command(inner, "add", extend)
    add.files(parser, "INDEX MORE", "an index, then files of triples or folders")
    _add_reading(parser)
    _add_resume(parser.add_argument_group("output"))
    add.engine(parser)

    parser = add.command(inner, "info", info)
    add.files(parser, "INDEX", "an index")
    add.flag(parser, "--check", "verify all checksums")
    add.output(parser)

    parser = add.command(inner, "run", run)
    add.files(parser, "INDEX", "an index, made by mine index")
    add.option(parser, "--seeds", "FILE", "triples: JSON lines, a table or Parquet, or a folder", required=True)
    add.triples(parser, "skip and count bad seeds instead of stopping")
    _add_scoring(parser)
    add.option(parser, "--random", "K", "random responses to add per seed", 0)
    add.option(parser, "--seed", "N", "random seed", 1)
    add.engine(parser, "cache the results of finished parts in this folder, and reuse those already there")
    out = parser.add_argument_group("output")
    add.option(out, "--out", "FILE", ".jsonl (optionally with .gz or .zst), or -", required=True)
    add.quiet(out, "no progress bars, warnings or table")

    parser = add.command(inner, "search", look)
    add.files(parser, "INDEX MESSAGE", "an index, and a message as one argument")
    about = "response that candidates should be similar to; the same response is left out"
    add.option(parser, "--response", "TEXT", about)
    _add_scoring(parser)
    add.output(parser)


def _add_reading(parser: argparse.ArgumentParser) -> None:
    skipped = "skip and count rows with a missing or wrong field, and leave out damaged files"
    add.triples(parser.add_argument_group("corpus"), skipped)


def _add_resume(group: argparse._ArgumentGroup) -> None:
    add.flag(group, "--resume", "continue an interrupted run")
    add.cache(group)
    add.quiet(group, "no progress bars, warnings or table")


def index(options: argparse.Namespace) -> None:
    """Index a corpus of triples.

    Index a corpus of triples. Memory does not grow with the corpus.

    Notes
    -----
    A corpus is triples in JSON lines, tables (.tsv, .csv, .xlsx) or Parquet, or folders of such files. Corpus and index
    may be at an address such as s3://bucket/folder. Finished shards are kept: after Ctrl-C, a full disk or a lost
    machine, --resume builds only the missing ones.
    """
    from trubleu.mining import Index
    from trubleu.mining.index_builder import check_outside
    from trubleu.mining.manifest import read_stop_words

    operands(options, "mine index", "a CORPUS: files of triples, or folders of them")
    stop_words = read_stop_words(options.stop_words) if options.stop_words else ()
    check_outside(options.out, options.files)
    with _corpus(options, options.files, "indexing") as given:
        chosen = picked(options, "tokenize shard_triples")
        made = Index.build(options.out, **given, **chosen, lowercase=not options.keep_case, stop_words=stop_words)
    _say(options, made)


@contextmanager
def _corpus(options: argparse.Namespace, files: list[str], stage: str) -> Iterator[dict[str, Any]]:
    """Yield the arguments that building an index and adding to one share."""
    from trubleu.mining.index_builder import corpus_source

    with resumable(options) as cache, chosen_engine(options) as engine, Bars(quiet=options.quiet) as bars:
        corpus = corpus_source(files, columns=options.columns, skip_bad=options.skip_bad)
        progress = bars.stage(stage, corpus.total, corpus.unit)
        yield dict(corpus=corpus, cache=cache, engine=engine, progress=progress, **picked(options, "columns resume"))


def extend(options: argparse.Namespace) -> None:
    """Add more triples to an index.

    Add more triples to an index. It can be searched meanwhile.

    Notes
    -----
    MORE takes the formats of trubleu mine index; --resume works the same way.
    """
    from trubleu.mining import Index
    from trubleu.mining.index_builder import check_outside

    if len(options.files) < 2:
        raise UsageError("mine add needs INDEX MORE: an index, and files of triples or folders of them")
    path, *files = options.files
    before = Index.open(path)
    check_outside(path, files)
    with _corpus(options, files, "adding") as given:
        made = before.add(**given)
    _say(options, made)


def info(options: argparse.Namespace) -> None:
    """Describe an index.

    Describe what an index contains and how it was made; with --check, verify all checksums.
    """
    from trubleu.mining import Index
    from trubleu.render.mining import index_tables

    (path,) = operands(options, "mine info", "one INDEX", 1)
    found = Index.open(path)
    if options.check:
        with Bars(quiet=options.quiet) as bars:
            found.check(bars.stage("checking", len(found.shards), "shard"))
    write_tables(options, *index_tables(found, ["Every byte is in order."] if options.check else []))


def _say(options: argparse.Namespace, made: Index) -> None:
    from trubleu.render.mining import index_tables

    if not options.quiet:
        sys.stdout.write(render_tables(index_tables(made)[:1], "text", 2))

"""``trubleu vectors train``: vectors of words and n-grams from text."""

from __future__ import annotations

import argparse
import re
from typing import TYPE_CHECKING, Any

from trubleu.cli.engine import add_engine_group

if TYPE_CHECKING:
    from trubleu.vectors.train import Training

EPILOG = """\
examples:
  trubleu vectors train news.txt.zst --out news.store
  trubleu vectors train a.txt b.txt.gz --mode joint --lowercase --tokenize words --dim 300 --out joint.store
  trubleu vectors train news.txt.zst --out news.store --resume
  trubleu vectors train part-*.txt --out /shared/news.store --engine ray

The folder news.store.training holds checkpoints until the store is written. Ctrl-C leaves one there as well. For a
store at an address such as s3://bucket/news.store, that folder is here.
"""


def add_train_parser(commands: argparse._SubParsersAction[Any]) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "train",
        help="train vectors of words and n-grams from text",
        description="Train vectors of words and n-grams from text of any size, one sentence a line.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.set_defaults(run=run)
    parser.add_argument("files", nargs="*", metavar="CORPUS", help="text, one sentence a line; .gz and .zst too")
    entries = parser.add_argument_group("what gets a vector")
    entries.add_argument(
        "--mode",
        default="separate",
        metavar="NAME",
        help="separate (default): a model for each order; joint: one for words and n-grams together",
    )
    entries.add_argument("--orders", default="1-3", metavar="LIST", help="lengths of n-grams (1-3)")
    entries.add_argument(
        "--min-count", metavar="LIST", help="least frequency for each order (5,30,50), or one for all of them"
    )
    entries.add_argument(
        "--beta", type=float, default=0.125, metavar="B", help="joint: n-grams are joined with probability f^-B (0.125)"
    )
    entries.add_argument(
        "--output", default="same", metavar="NAME", help="joint: n-grams predict the same (default), or words only"
    )
    entries.add_argument("--tokenize", default="13a", metavar="NAME", help="tokenizer, as in scoring (13a)")
    entries.add_argument("--lowercase", action="store_true", help="lower-case the text")
    model = parser.add_argument_group("model")
    model.add_argument("--dim", type=int, default=100, metavar="N", help="numbers in a vector (100)")
    model.add_argument("--window", type=int, default=5, metavar="N", help="neighbours on either side, at most (5)")
    model.add_argument("--negative", type=int, default=5, metavar="N", help="random entries for each true one (5)")
    model.add_argument("--epochs", type=int, default=5, metavar="N", help="how often to go through the text (5)")
    model.add_argument(
        "--sample", type=float, default=1e-3, metavar="S", help="share from which entries are thinned out (0.001)"
    )
    model.add_argument("--alpha", type=float, default=0.025, metavar="A", help="learning rate at the beginning (0.025)")
    model.add_argument("--seed", type=int, default=1, metavar="N", help="of everything random (1)")
    out = parser.add_argument_group("output")
    out.add_argument("--out", required=True, metavar="STORE", help="the store to write")
    out.add_argument(
        "--dtype", default="float32", metavar="TYPE", help="numbers of the store: float32 (default), float16"
    )
    out.add_argument("--resume", action="store_true", help="continue a training that was interrupted")
    out.add_argument(
        "--threads", type=int, metavar="N", help="threads to use (all cores); the same bytes each time only with 1"
    )
    out.add_argument("--quiet", action="store_true", help="no progress bars, no table")
    where = add_engine_group(parser)
    where.description = (
        "Words and n-grams are counted there; vectors are trained here. Workers must find the corpus\n"
        "and the folder of checkpoints under the same paths. A compressed file is read by one worker."
    )


def run(options: argparse.Namespace) -> None:
    """Train, and say what was made."""
    import sys

    from trubleu.cli.progress import Bars, told_once
    from trubleu.engines import engine
    from trubleu.errors import UsageError
    from trubleu.report.tables import render_tables
    from trubleu.vectors.train import train_vectors
    from trubleu.vectors.training_options import TrainingOptions

    if not options.files:
        raise UsageError("vectors train needs a CORPUS; give files of text, one sentence a line")
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
    # Counting takes one thread; --threads are those of training, when the engine can neither fail nor hold anything.
    where = engine("local" if options.engine is None else options.engine)
    with told_once(quiet=options.quiet), where, Bars(quiet=options.quiet) as bars:
        made = train_vectors(
            options.files,
            options.out,
            chosen,
            resume=options.resume,
            threads=options.threads,
            dtype=options.dtype,
            engine=where,
            after_counting=where.close,
            progress=bars,
        )
    if not options.quiet:
        sys.stdout.write(render_tables([_described(made, chosen.mode, chosen.epochs)], "text", 3))


def _numbers(option: str, written: str) -> tuple[int, ...]:
    """Read whole numbers separated by commas, and ranges such as 1-3."""
    from trubleu.errors import UsageError

    numbers: list[int] = []
    for part in written.split(","):
        found = re.fullmatch(r"\s*(\d{1,18})(?:\s*-\s*(\d{1,18}))?\s*", part, re.ASCII)
        first, last = (int(found[1]), int(found[2] or found[1])) if found else (1, 0)
        if not first <= last <= first + 99:
            raise UsageError(f"{option} {written} is no list of whole numbers; write it like 1-3 or 5,30,50")
        numbers += range(first, last + 1)
    return tuple(numbers)


def _described(made: Training, mode: str, epochs: int) -> Any:
    from trubleu.report.tables import Column, Table

    # One loss for each model, that of its last epoch; a joint model has all orders.
    losses = list(made.losses[epochs - 1 :: epochs]) * (1 if mode == "separate" else len(made.entries))
    columns = [Column("order", "words", "count"), Column("entries", "n-grams", "count"), Column("loss", kind="number")]
    rows = [(order, entries, loss) for (order, entries), loss in zip(made.entries.items(), losses, strict=True)]
    return Table("", columns, rows, [f"{made.path}: trained on {made.words:,} words"], name="training")

"""How commands declare their options, imported as ``add``: ``add.option(parser, "--seed", "N", "random seed", 1)``."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any, Final

from trubleu.metrics.defaults import default_text
from trubleu.metrics.options import OPTIONS, SHARED
from trubleu.render.tables import FORMATS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Commands = argparse._SubParsersAction[Any]  # noqa: SLF001 - argparse has no public name for it
    Run = Callable[[argparse.Namespace], int | None]
    Options = argparse.ArgumentParser | argparse._ArgumentGroup  # noqa: SLF001

PAGE_FORMATS: Final = (*FORMATS, "html")
FIGURE_FORMATS: Final = (*PAGE_FORMATS, "svg", "pdf")


def command(commands: Commands, name: str, run: Callable[..., object], epilog: str = "") -> argparse.ArgumentParser:
    """Add a command.

    The docstring of ``run`` is its help: the first line is for the list of commands, the next paragraphs describe it,
    and the sections Examples and Notes come last.
    """
    text = (run.__doc__ or "").replace("\n    ", "\n").strip()
    rest, _, notes = text.partition("\n\nNotes\n-----\n")
    rest, _, examples = rest.partition("\n\nExamples\n--------\n")
    about, _, description = rest.partition("\n\n")
    listed = "examples:\n  " + examples.replace("\n", "\n  ") if examples else ""
    parser: argparse.ArgumentParser = commands.add_parser(
        name,
        help=about[0].lower() + about[1:].rstrip("."),
        description=" ".join(description.split()) or about,
        epilog="\n\n".join(filter(None, (listed, notes))) or epilog,
    )
    parser.set_defaults(run=run)
    return parser


def commands(outer: Commands, name: str, add_parser: Callable[..., object]) -> Commands:
    """Add a command that has subcommands, and return the place to add these; its docstring is that of `add_parser`."""
    parser = command(outer, name, add_parser)
    return parser.add_subparsers(title="commands", dest=f"{name}_command", metavar="COMMAND", required=True)


def option(group: Options, name: str, metavar: str, what: str, default: Any = None, **settings: Any) -> None:
    """Add an option with a value.

    Parameters
    ----------
    group
        The parser, or a group of its options.
    name
        The option; several forms with spaces between them.
    metavar
        The placeholder of the value.
    what
        The help. The default is added to it, unless it says "default" itself.
    default
        The default, which also sets the type.
    settings
        Anything else for ``add_argument``, such as ``type`` where there is no default.
    """
    if default not in (None, []):
        settings = {"type": type(default), **settings}
        if "default" not in what:
            what += f" (default: {default:g})" if isinstance(default, float) else f" (default: {default})"
    group.add_argument(*name.split(), metavar=metavar, help=what, default=default, **settings)


def several(group: Options, name: str, metavar: str, what: str, **settings: Any) -> None:
    """Add an option that may be given several times."""
    option(group, name, metavar, what, action="append", **settings)


def choice(group: Options, name: str, choices: Sequence[str], what: str = "", metavar: str = "NAME") -> None:
    """Add an option that takes one of several words, by default the first; its help is ``what`` and the words."""
    first, *others, last = choices
    listed = ", ".join([f"{first} (default)", *others]) + f" or {last}"
    option(group, name, metavar, what + listed, first, choices=choices)


def flag(group: Options, name: str, what: str, **settings: Any) -> None:
    """Add an option without a value."""
    group.add_argument(*name.split(), action="store_true", help=what, **settings)


def quiet(group: Options, what: str = "no progress bars, warnings or summary") -> None:
    """Add ``--quiet``."""
    flag(group, "--quiet", what)


def files(parser: argparse.ArgumentParser, metavar: str, what: str) -> None:
    """Add the operands of a command; `trubleu.cli.options.operands` counts them."""
    parser.add_argument("files", nargs="*", metavar=metavar, help=what)


def output(
    parser: argparse.ArgumentParser, *, formats: Sequence[str] = FORMATS, digits: int = 2
) -> argparse._ArgumentGroup:
    """Add the output options, and return their group for command-specific ones.

    They are checked before the work begins; call `write_output` when it is done.

    Parameters
    ----------
    parser
        The command's parser.
    formats
        What ``--format`` takes; the first is the default.
    digits
        The default of ``--digits``.
    """
    group = parser.add_argument_group("output")
    choice(group, "--format -f", formats)
    about = f"decimals in tables (default: {digits}); csv and json have all digits"
    option(group, "--digits -w --width", "N", about, digits)
    option(group, "--out", "FILE", "write to this file (default: standard output)", "-")
    quiet(group, "no progress bars or warnings")
    return group


def charts(group: Options, kinds: Sequence[str]) -> None:
    """Add ``--chart`` for ``--format svg`` and ``pdf``."""
    group.set_defaults(chart_kinds=kinds)
    several(group, "--chart", "NAME", f"with --format svg or pdf, only these charts: {', '.join(kinds)} (default: all)")


def threads(group: Options, what: str = "threads (default: all cores); results do not depend on it") -> None:
    """Add ``--threads``."""
    option(group, "--threads", "N", what, type=int)


def triples(group: Options, skipped: str) -> None:
    """Add the options for reading triples; ``skipped`` describes what ``--skip-bad`` does."""
    about = "columns of tables: -,context,message,response (- skips a column), or message=prompt,response=reply"
    option(group, "--columns", "LIST", about)
    flag(group, "--skip-bad", skipped)


def engine(parser: argparse.ArgumentParser, resume: str = "") -> argparse._ArgumentGroup:
    """Add ``--engine``, and with a help for it ``--resume FOLDER``; return their group."""
    where = parser.add_argument_group("where the work runs (results do not depend on it)")
    about = "local:N for N processes on this machine; ray or ray://HOST:PORT for a Ray cluster"
    option(where, "--engine", "NAME", about)
    if resume:
        option(where, "--resume", "FOLDER", resume)
        cache(where)
    return where


def cache(group: Options) -> None:
    """Add the options that go with ``--resume``."""
    about = "the key that signs the cache, for folders shared by several users or clusters (default: your own key)"
    option(group, "--cache-key", "FILE", about)
    flag(group, "--no-cache", "ignore the cache and compute everything again")


def sampling(group: Options, resamples: int = 10_000, what: str = "number of resamples") -> None:
    """Add the options of intervals and tests."""
    option(group, "--resamples", "N", what, resamples)
    option(group, "--confidence", "C", "confidence level", 0.95)
    option(group, "--seed", "N", "random seed", 12345)


def paired_test(group: Options, also: str = "") -> None:
    """Add the choice of the paired test; ``also`` tells when the bootstrap is the default."""
    about = f"the paired test: randomisation (default{also}) or bootstrap"
    option(group, "--method", "NAME", about, choices=("randomisation", "bootstrap"))


_SHORT: Final = {"tokenize": " -tok", "smoothing": " -s", "smoothing_value": " -sv"}  # as in sacreBLEU


def metrics(parser: argparse.ArgumentParser, command: str, without: Sequence[str] = ()) -> argparse._ArgumentGroup:
    """Add ``--metric`` and the options of metrics; ``command`` determines the default metrics."""
    parser.set_defaults(metrics_of=command)
    group = parser.add_argument_group("metrics")
    several(group, "-m --metric", "METRIC", f"a metric; repeat for more (default: {default_text(command)})")
    for name in SHARED:
        declared, flags = OPTIONS[name], f"--{name.replace('_', '-')}{_SHORT.get(name, '')}"
        if name in without:
            continue
        if declared.placeholder:
            option(group, flags, declared.placeholder, declared.text, type=float if declared.number else str)
        else:
            flag(group, flags, declared.text)
    return group


def references(group: Options, without: Sequence[str] = ()) -> None:
    """Add ``--columns`` and ``--scale`` for tables, ``--ref`` and ``--weight``."""
    if "columns" not in without:
        columns(group, "text=answer,ratings=ann+bob")
    if "scale" not in without:
        about = "rating scale of a table of references, such as 1:5 or 0:100"
        option(group, "--scale", "LOW:HIGH", about, dest="reference_scale")
    several(group, "--ref", "FILE", "one reference per line; repeat for more")
    about = "weights, one file per --ref in the same order: a number from -1 to 1 per line, empty for no reference"
    several(group, "--weight", "FILE", about)


def scores(group: Options) -> None:
    """Add ``--scores`` and ``--lower-is-better``; `trubleu.cli.options.build_metrics` adds what they name."""
    about = (
        "segment scores of a metric that another program computed, such as COMET (see docs/learned-metrics.md); repeat "
        "for more; NAME:SYSTEM=FILE for a file of one system"
    )
    several(group, "--scores", "[NAME=]FILE", about)
    several(group, "--lower-is-better", "NAME", "a metric in --scores that is an error rate")


def columns(group: Options, example: str) -> None:
    """Add ``--columns`` for tables with titles of their own."""
    about = f"columns of tables, if their titles are not recognised: {example}"
    option(group, "--columns", "FIELD=TITLE,…", about, type=_columns)


def corpus(
    parser: argparse.ArgumentParser, command: str, *, systems: str = "+", without: Sequence[str] = ()
) -> argparse._ArgumentGroup:
    """Add the arguments for systems, references and metrics, shared by several commands.

    Returns the group of metric options, for command-specific ones.

    Parameters
    ----------
    parser
        The command's parser.
    command
        The command as people type it, which determines the default metrics.
    systems
        How many systems there may be, in argparse's signs.
    without
        Options of metrics and of tables that the command does not have.
    """
    about = (
        "outputs of a system: one text per line, or JSON lines with id and text; may be compressed; - is standard "
        "input; or a set (see trubleu import), optionally followed by names of its systems"
    )
    parser.add_argument("systems", nargs=systems, metavar="[NAME=]OUTPUTS", help=about)
    given = parser.add_argument_group("references")
    about = (
        "references, with or without weights: JSON lines, a table (.csv, .tsv, .xlsx, .parquet) with id, text and "
        "weight or ratings, or one reference per line"
    )
    option(given, "--refs", "FILE", about)
    if "only_common" not in without:
        flag(given, "--only-common", "join files by id, and leave out segments that are not in all of them")
    references(given, without)
    about = "outputs, as in sacreBLEU; the other files are then references"
    option(given, "-i --input", "[NAME=]OUTPUTS", about, nargs="+")
    about = "source texts, one per line, for metrics that use them; compare and explain show them"
    option(given, "--source", "FILE", about)
    if "markdown" not in without:
        choice(given, "--markdown", ("keep", "strip"), "marks of Markdown (lists, emphasis, headings) in texts: ")
    group = metrics(parser, command, without)
    if "scores" not in without:
        scores(group)
    flag(group, "-lc", "lower-case texts for BLEU only", dest="lowercase_bleu")
    return group


def _columns(text: str) -> dict[str, str]:
    """Parse ``FIELD=TITLE,…``."""
    pairs = [part.partition("=") for part in text.split(",")]
    if not all(field.strip() and equals and title.strip() for field, equals, title in pairs):
        raise argparse.ArgumentTypeError(
            f"{text!r} must be FIELD=TITLE, several with commas between them: id=conv,text=answer"
        )
    return {field.strip(): title.strip() for field, _, title in pairs}

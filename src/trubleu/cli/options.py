"""Options that several commands share: references, systems, metrics, sampling, engines, output."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from trubleu.errors import TrubleuWarning, UsageError, nearest, shown, without_secrets
from trubleu.files.paths import base_name, check_standard_input_once, name_of, same_file
from trubleu.metrics.defaults import default_metrics, default_text

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from trubleu.data import References
    from trubleu.execution import Engine
    from trubleu.execution.cache import Cache
    from trubleu.metrics import Metric
    from trubleu.metrics.registry import MetricSpec
    from trubleu.scoring.systems import Sampling


FORMATS: Final = ("text", "json", "csv", "markdown", "latex")
"""Formats of `trubleu.render.tables`, repeated so ``--help`` need not import it (a test keeps them equal)."""

MOST_DIGITS: Final = 17

READ: Final = (
    "refs", "source", "ref", "weight", "files", "ratings", "scores", "human", "rankings", "assessments", "tasks",
    "among", "seeds", "corpus",
)  # fmt: skip
"""Options that name input files, besides those of outputs."""


def add_output_options(
    parser: argparse.ArgumentParser, *, formats: Sequence[str] = FORMATS, digits: int = 2
) -> argparse._ArgumentGroup:
    """Add the output options, and return their group for command-specific ones.

    Call `check_output` before the work begins and `write_output` when it is done.

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
    listed = f"{', '.join(formats[1:-1])} or {formats[-1]}"
    group.add_argument(
        "--format", "-f", choices=formats, default=formats[0], metavar="NAME", help=f"{formats[0]} (default), {listed}"
    )
    group.add_argument(
        "--digits",
        "-w",
        "--width",
        type=int,
        default=digits,
        metavar="N",
        help=f"decimals in tables (default: {digits}); csv and json have all digits",
    )
    group.add_argument("--out", metavar="FILE", default="-", help="write to this file instead of standard output")
    group.add_argument("--quiet", action="store_true", help="no progress bars or warnings")
    return group


def add_number(
    group: argparse.ArgumentParser | argparse._ArgumentGroup, name: str, default: float, what: str, metavar: str = "N"
) -> None:
    """Add a numeric option of the default's type; its help is ``what`` and the default."""
    about = f"{what} (default: {default:g})"
    group.add_argument(name, type=type(default), default=default, metavar=metavar, help=about)


def checked_url(url: str) -> str:
    """Return the address of a study's pages; refuse what is none, without repeating a password."""
    from trubleu.rating.config import check_url

    try:
        return check_url(url)
    except UsageError as error:
        raise UsageError(str(error).replace(url, without_secrets(url)) if url else str(error)) from None


def add_threads(group: argparse.ArgumentParser | argparse._ArgumentGroup) -> None:
    """Add ``--threads`` for a command whose results do not depend on it."""
    about = "threads (default: all cores); results do not depend on it"
    group.add_argument("--threads", type=int, metavar="N", help=about)


def add_triple_options(group: argparse.ArgumentParser | argparse._ArgumentGroup, skipped: str) -> None:
    """Add the options for reading triples; ``skipped`` describes what ``--skip-bad`` does."""
    group.add_argument(
        "--columns",
        metavar="LIST",
        help="columns of tables: -,context,message,response (- skips a column), or message=prompt,response=reply",
    )
    group.add_argument("--skip-bad", action="store_true", help=skipped)


def check_output(options: argparse.Namespace) -> None:
    """Raise an error for output that cannot be printed or written, before any work."""
    from trubleu.files.writer import check_writable

    if not 0 <= options.digits <= MOST_DIGITS:
        raise UsageError(f"--digits {options.digits} must lie between 0 and {MOST_DIGITS}")
    check_writable(options.out)
    keep_inputs(options, options.out)


def keep_inputs(options: argparse.Namespace, target: str) -> None:
    """Raise an error if the output would overwrite an input file."""
    from trubleu.data import parse_system

    # In some commands one of these names holds a number.
    given = [value for name in READ if isinstance(value := getattr(options, name, None), str | list)]
    paths = [path for value in given for path in ([value] if isinstance(value, str) else value)]
    paths += [parse_system(system)[1] for system in getattr(options, "systems", [])]
    paths += [path for argument in getattr(options, "by", []) if (path := argument.partition("=")[2])]
    for path in paths:
        if path != "-" and same_file(path, target):
            raise UsageError(f"{target} is read by this command and would be lost; write to another file")


def write_output(options: argparse.Namespace, text: str) -> None:
    """Write to the path of ``--out``, atomically."""
    from trubleu.files.writer import atomic_writer

    # A lone surrogate, which JSON allows and UTF-8 does not, becomes \ud83d, which is valid JSON again.
    encodable = text.encode("utf-8", "backslashreplace").decode("utf-8")
    with atomic_writer(options.out) as file:
        file.write(encodable)


def add_engine_group(parser: argparse.ArgumentParser) -> argparse._ArgumentGroup:
    """Add ``--engine``, and return its group for related options."""
    where = parser.add_argument_group("where the work runs (results do not depend on it)")
    where.add_argument(
        "--engine",
        metavar="NAME",
        help="local:N for N processes on this machine; ray or ray://HOST:PORT for a Ray cluster",
    )
    return where


def add_judge_engine_group(parser: argparse.ArgumentParser) -> None:
    """Add ``--engine`` and ``--resume``, shared by both judging protocols."""
    where = add_engine_group(parser)
    where.add_argument(
        "--resume",
        metavar="FOLDER",
        help="cache finished draws and scores in this folder, and reuse those already there",
    )
    add_cache_options(where)


def add_cache_options(group: argparse._ArgumentGroup) -> None:
    """Add the options that go with ``--resume``."""
    group.add_argument(
        "--cache-key",
        metavar="FILE",
        help="the key that signs the cache, for folders shared by several users or clusters (default: your own key)",
    )
    group.add_argument("--no-cache", action="store_true", help="ignore the cache and compute everything again")


@contextmanager
def resumable(options: argparse.Namespace) -> Iterator[Cache]:
    """Yield the requested cache, and report afterwards how much of it was reused."""
    from trubleu.execution.cache import Cache

    if options.resume is None:
        for name, given in (("--cache-key", options.cache_key), ("--no-cache", options.no_cache)):
            if given:
                raise UsageError(f"{name} is about what --resume uses; add --resume FOLDER, or leave it out")
    cache = Cache(key_file=options.cache_key, anew=options.no_cache)
    with cache.checked():
        yield cache
    if options.resume and not options.quiet:
        sys.stderr.write(f"trubleu: {cache}\n")


def chosen_engine(options: argparse.Namespace) -> Engine:
    """Return the requested engine, by default this process; use it as a context manager."""
    from trubleu.execution import engine

    return engine("local" if options.engine is None else options.engine, threads=getattr(options, "threads", None))


def _value(metavar: str, what: str, kind: type = str) -> dict[str, Any]:
    return {"metavar": metavar, "type": kind, "help": what}


def _flag(what: str) -> dict[str, Any]:
    return {"action": "store_true", "help": what}


METRIC_OPTIONS: Final[dict[str, dict[str, Any]]] = {
    "tokenize": _value("NAME", "tokenizer: 13a (default; trubleu: words), intl, char, zh, chat, none, …"),
    "lowercase": _flag("lower-case all texts (the default of trubleu and meteor)"),
    "smoothing": _value("KIND", "exp (default), floor, add-k or none; for bleu2vec also lin-och (its default)"),
    "smoothing_value": _value("X", "the constant of floor (default: 0.1) or add-k (default: 1)", float),
    "effective_order": _flag("leave out n-gram orders that the texts are too short for"),
    "reference_length": _value("RULE", "closest (default), shortest, longest or average"),
    "variant": _value("NAME", "smoothing of sBLEU: lin-och (default), nakov, nakov-all or sacrebleu"),
    "definition": _value(
        "NAME", "formula of ΔBLEU: paper (default) or fork2019; of bleu2vec: paper (default) or release2017"
    ),
    "negative": _value("RULE", "how ΔBLEU treats sums below 0: clamp (default), floor:E or error"),
    "length_references": _value("WHICH", "references that set ΔBLEU's reference length: all (default) or positive"),
    "no_positive": _value("RULE", "segments without a positive weight: error (default) or skip"),
    "unrated_as": _value("W", "weight of references that are not rated yet", float),
    "vectors": _value(
        "PATH", "vectors for trubleu, bleu2vec and dbleu2vec: a store, a file, a folder or ready (default)"
    ),
    "similarity": _value("RULE", "how bleu2vec and dbleu2vec use a cosine: raw, clamp or shift:S"),
    "oov": _value("X", "similarity if an n-gram has no vector (default: 0.001), or composed"),
    "credit": _value("RULE", "credit for near misses in dbleu2vec: earn (default), nearest or max"),
    "corpus": _value("FILE", "references to count n-grams in for nist and cider, instead of those given"),
    "alpha": _value(
        "A", "weight of the references in iBLEU, from 0 to 1 (default: 0.9); for METEOR, use meteor[alpha=…]", float
    ),
}
"""Metric options that can be given for all metrics at once, with their argument settings."""


def _columns(text: str) -> dict[str, str]:
    """Parse ``FIELD=TITLE,…``."""
    from argparse import ArgumentTypeError

    pairs = [part.partition("=") for part in text.split(",")]
    if not all(field.strip() and equals and title.strip() for field, equals, title in pairs):
        raise ArgumentTypeError(f"{text!r} must be FIELD=TITLE, several with commas between them: id=conv,text=answer")
    return {field.strip(): title.strip() for field, _, title in pairs}


SHORT: Final = {"tokenize": ("-tok",), "smoothing": ("-s",), "smoothing_value": ("-sv",)}
"""Short forms, as in sacreBLEU."""


def add_corpus_options(
    parser: argparse.ArgumentParser, command: str, *, systems: str = "+", without: Sequence[str] = ()
) -> argparse._ArgumentGroup:
    """Add the arguments for systems, references and metrics, shared by several commands.

    Returns the group of metric options, for command-specific ones.

    Parameters
    ----------
    parser
        The command's.
    command
        The command as people type it, by which its default metrics are known.
    systems
        How many systems there may be, in argparse's signs.
    without
        Options of metrics and of tables that the command does not have.
    """
    parser.add_argument(
        "systems",
        nargs=systems,
        metavar="[NAME=]OUTPUTS",
        help="outputs of a system: one text per line, or JSON lines with id and text; may be compressed; - is standard "
        "input; or a set (see trubleu import), optionally followed by names of its systems",
    )
    given = parser.add_argument_group("references")
    given.add_argument(
        "--refs",
        metavar="FILE",
        help="references, with or without weights: JSON lines, a table (.csv, .tsv, .xlsx, .parquet) with id, text and "
        "weight or ratings, or one reference per line",
    )
    if "columns" not in without:
        given.add_argument(
            "--columns",
            type=_columns,
            metavar="FIELD=TITLE,…",
            help="columns of tables, if their titles are not recognised: text=answer,ratings=ann+bob",
        )
    if "only_common" not in without:
        given.add_argument(
            "--only-common",
            action="store_true",
            help="join files by id, and leave out segments that are not in all of them",
        )
    if "scale" not in without:
        given.add_argument(
            "--scale",
            dest="reference_scale",
            metavar="LOW:HIGH",
            help="rating scale of a table of references, such as 1:5 or 0:100",
        )
    given.add_argument("--ref", action="append", metavar="FILE", help="one reference per line; repeat for more")
    given.add_argument(
        "-i",
        "--input",
        nargs="+",
        metavar="[NAME=]OUTPUTS",
        help="outputs, as in sacreBLEU; the other files are then references",
    )
    given.add_argument(
        "--weight",
        action="append",
        metavar="FILE",
        help="weights, one file per --ref in the same order: a number from -1 to 1 per line, empty for no reference",
    )
    given.add_argument(
        "--source",
        metavar="FILE",
        help="source texts for ibleu, one per line (default: the messages in --refs)",
    )
    parser.set_defaults(metrics_of=command)
    chosen = parser.add_argument_group("metrics")
    chosen.add_argument(
        "-m",
        "--metric",
        action="append",
        metavar="METRIC",
        help=f"a metric; repeat for more (default: {default_text(command)})",
    )
    for name, settings in METRIC_OPTIONS.items():
        if name not in without:
            chosen.add_argument(f"--{name.replace('_', '-')}", *SHORT.get(name, ()), **settings)
    if "lowercase" not in without:
        chosen.add_argument("-lc", dest="lowercase_bleu", action="store_true", help="lower-case texts for BLEU only")
    return chosen


def add_sampling_options(group: argparse._ArgumentGroup) -> None:
    """Add the options of intervals and tests, shared by several commands."""
    group.add_argument("--method", choices=("bootstrap", "randomisation"), default="bootstrap", help="the paired test")
    add_number(group, "--resamples", 10_000, "number of resamples")
    add_number(group, "--confidence", 0.95, "confidence level", "C")
    add_number(group, "--seed", 12345, "random seed")


def sampling_of(options: argparse.Namespace, *, interval: bool, test: bool, baseline: str | None = None) -> Sampling:
    """Return the sampling options from the arguments of `add_sampling_options`."""
    from trubleu.scoring.systems import Sampling

    return Sampling(
        interval=interval,
        test=options.method if test else None,
        baseline=baseline,
        resamples=options.resamples,
        confidence=options.confidence,
        seed=options.seed,
    )


def take_set(options: argparse.Namespace) -> None:
    """Fill in the files of a set for options that were not given.

    The set is given among the systems, or with ``-i`` in place of a reference.
    """
    from os.path import exists, isdir

    given = [*options.systems, *(options.ref or ())]
    folders = [argument for argument in given if isdir(argument)]  # noqa: PTH112 - it may be too long
    if not folders:
        return
    from trubleu.data.sets import find_set

    sets = {folder: found for folder in folders if (found := find_set(folder)) is not None}
    if not sets:
        return
    if len(sets) > 1:
        raise UsageError(f"{' and '.join(sets)} are sets; give one at a time")
    [(folder, found)] = sets.items()
    named = [argument for argument in options.systems if argument != folder]
    for argument in named:
        if argument not in found.outputs and argument != "-" and "=" not in argument and not exists(argument):  # noqa: PTH110
            hint = nearest(argument, found.outputs)
            raise UsageError(f"{argument} is neither a system of {folder} nor a file of outputs; {hint}")
    options.systems = [found.outputs.get(argument, argument) for argument in named] or [*found.outputs.values()]
    options.ref = [path for path in options.ref or () if path != folder] or None
    if options.refs is None and options.ref is None:
        options.refs = found.references
    options.set_name = folder.rstrip("/").rpartition("/")[2]
    if "ratings" in options and options.ratings is None:
        options.ratings = found.ratings
        options.aspect = options.aspect or found.aspects or None
        _take_scale(options, found.scales)


def _take_scale(options: argparse.Namespace, scales: Mapping[str, tuple[int, int]]) -> None:

    judged = [aspect for aspect in options.aspect or scales if aspect in scales]
    if options.scale is not None or not judged:
        return
    low, high = scales[judged[0]]
    for aspect in judged:
        if scales[aspect] != (low, high):
            raise UsageError(f"--aspect {judged[0]} and {aspect} have different scales; judge by one at a time")
    options.scale = f"{low}:{high}"


def read_corpus(options: argparse.Namespace) -> tuple[References, Mapping[str, Sequence[str]]]:
    """Read all references and outputs."""
    from trubleu.data import References, read_outputs
    from trubleu.data.outputs import read_common
    from trubleu.data.reference_files import RATING_TITLES, REFERENCE_TITLES
    from trubleu.data.weights import parse_scale
    from trubleu.files.lines import read_text_lines

    files, weights, sources, _ = corpus_files(options)
    scale = getattr(options, "reference_scale", None)
    if options.columns:
        _check_columns(options)
    if options.refs is None:
        if scale is not None:
            raise UsageError("--scale goes with a table of references, given with --refs; leave it out")
        whole = References.read_parallel(files, weights)
    else:
        columns = columns_of(options, options.refs, [*REFERENCE_TITLES, *RATING_TITLES])
        whole = References.read(options.refs, columns=columns, scale=scale and parse_scale(scale))
    for path in sources:
        whole = whole.with_messages(read_text_lines(path), what=f"lines in {name_of(path)}")
    if options.only_common:
        whole, found = read_common(options.systems, whole, columns=options.columns)
    else:
        found = read_outputs(options.systems, whole, columns=options.columns)
    return whole, {system.name: system.texts for system in found}


def columns_of(options: argparse.Namespace, path: str, fields: Iterable[str]) -> dict[str, str] | None:
    """Return the ``--columns`` mapping for the fields of one file, None if there is none."""
    from trubleu.files.tables import is_table_name, table_titles

    if not options.columns or not is_table_name(name_of(path)):
        return None
    titles = table_titles(path)
    wanted = [(field, text) for field, text in options.columns.items() if field in set(fields)]
    return {field: text for field, text in wanted if any(title in titles for title in text.split("+"))} or None


def _check_columns(options: argparse.Namespace) -> None:
    """Raise an error for ``--columns`` titles that no table has."""
    from trubleu.data import name_systems
    from trubleu.data.outputs import OUTPUT_TITLES
    from trubleu.data.rating_files import TITLES
    from trubleu.data.reference_files import RATING_TITLES, REFERENCE_TITLES
    from trubleu.files.tables import is_table_name, table_titles

    ratings = getattr(options, "ratings", None)
    paths = [*filter(None, (options.refs, ratings)), *name_systems(options.systems).values()]
    titles = [title for path in paths if is_table_name(name_of(path)) for title in table_titles(path)]
    if not titles:
        raise UsageError("--columns goes with tables, and none of the files is one; leave it out")
    fields = dict.fromkeys([*REFERENCE_TITLES, *RATING_TITLES, *OUTPUT_TITLES, *(TITLES if ratings else ())])
    for field, text in options.columns.items():
        if field not in fields:
            raise UsageError(f"--columns: there is no field {shown(field)}; {nearest(field, fields)}")
        for title in text.split("+") if field in RATING_TITLES else [text]:
            if title not in titles:
                raise UsageError(
                    f"--columns: no table has a column {shown(title)}; {nearest(title, dict.fromkeys(titles))}"
                )


def corpus_files(options: argparse.Namespace) -> tuple[list[str], list[str], list[str], dict[str, str]]:
    """Return the files of references, weights and sources, and those of outputs by system."""
    from trubleu.data import name_systems

    if options.refs is not None and options.ref is not None:
        raise UsageError("--refs and --ref both name references; give one of the two")
    if options.refs is None and options.ref is None:
        raise UsageError(
            "references are given with --refs FILE, with one or more --ref FILE, or by a set made by trubleu import; "
            "as in sacreBLEU: REFERENCE … -i OUTPUTS …"
        )
    if options.refs is not None and options.weight:
        raise UsageError("--weight goes with --ref; a file given with --refs holds its weights itself")
    files, weights = ([options.refs], []) if options.refs is not None else (options.ref, options.weight or [])
    paths = name_systems(options.systems)
    _warn_of_swapped(files, [*paths.values()])
    sources = [] if options.source is None else [options.source]
    check_standard_input_once([*files, *weights, *sources, *paths.values()])
    return files, weights, sources, paths


_LIKE_REFERENCES: Final = r"(?<![a-z])(refs?|references?|gold|targets?)(?![a-z])"
_LIKE_OUTPUTS: Final = r"(?<![a-z])(hyps?|hypo(thes[ei]s)?|sys(tems?)?|out(puts?)?|pred(ictions?)?|mt)(?![a-z])"


def _warn_of_swapped(references: Sequence[str], outputs: Sequence[str]) -> None:
    """Warn if reference files are named like outputs and vice versa."""
    import re
    import warnings

    def like(pattern: str, paths: Sequence[str]) -> bool:
        return all(re.search(pattern, base_name(path).lower()) for path in paths)

    if like(_LIKE_OUTPUTS, references) and like(_LIKE_REFERENCES, outputs):
        what = (
            f"{', '.join(references)} scored as references and {', '.join(outputs)} as outputs: are they swapped? "
            "References go with --ref"
        )
        warnings.warn(what, TrubleuWarning, stacklevel=2)


def choose_metric(options: argparse.Namespace, *, weighted: bool) -> None:
    """Fill in the command's default metrics if none was named; warn if ΔBLEU was named without weights."""
    if not options.metric:
        options.metric = [*default_metrics(options.metrics_of, weighted=weighted)]
    elif not weighted:
        from trubleu.metrics.base import warn_unweighted

        warn_unweighted(build_metrics(options), weighted=False)


def build_metrics(options: argparse.Namespace) -> dict[str, Metric]:
    """Create the metrics; options given for all go to those that accept them."""
    from trubleu.metrics.registry import metrics_by_name

    settings = metric_settings(options)
    built: tuple[object, dict[str, Metric]] | None = getattr(options, "built_metrics", None)
    if built is not None and built[0] == settings:
        return built[1]  # created once, as some read files
    metrics = metrics_by_name(settings)
    if options.weight and not any(metric.uses_weights for metric in metrics.values()):
        raise UsageError(
            "--weight has no effect, because none of the metrics uses weights; leave it out, or add trubleu"
        )
    if options.source is not None and not any(metric.needs_source for metric in metrics.values()):
        raise UsageError("--source has no effect, because none of the metrics uses it; leave it out, or add ibleu-4")
    options.built_metrics = (settings, metrics)
    return metrics


def metric_settings(options: argparse.Namespace) -> dict[str, dict[str, Any]]:
    """Return the metric names with the options of each."""
    from trubleu.metrics.registry import parse

    # By identity: 0 is a value, though it equals False.
    values = {name: getattr(options, name, None) for name in METRIC_OPTIONS}
    given = {name: value for name, value in values.items() if value is not None and value is not False}
    specs = [parse(text) for text in options.metric]
    for name in given:
        if not any(takes_option(spec, name) for spec in specs):
            raise UsageError(f"--{name.replace('_', '-')} has no effect on these metrics; leave it out")
    settings: dict[str, dict[str, Any]] = {}
    for spec in specs:
        if spec.text in settings:
            raise UsageError(f"the metric {spec.text} is given twice; give it once")
        settings[spec.text] = {name: value for name, value in given.items() if takes_option(spec, name)}
    if getattr(options, "lowercase_bleu", False):
        from trubleu.metrics import Bleu

        bleu = [spec.text for spec in specs if spec.factory is Bleu and spec.accepts("lowercase")]
        if not bleu:
            raise UsageError("-lc has no effect, because BLEU is not among the metrics; use --lowercase")
        for text in bleu:
            settings[text]["lowercase"] = True
    return settings


def takes_option(spec: MetricSpec, option: str) -> bool:
    """Return whether a metric takes an option given for all; METEOR's alpha means something else."""
    if option == "alpha":
        from trubleu.metrics import Meteor

        return spec.accepts(option) and spec.factory is not Meteor
    return spec.accepts(option)

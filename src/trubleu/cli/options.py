"""What the options that several commands share mean: references, systems, metrics, engines, output."""

from __future__ import annotations

import re
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from trubleu.errors import TrubleuWarning, UsageError, counted, nearest, shown
from trubleu.files.paths import base_name, check_standard_input_once, exists, is_remote, name_of, same_file
from trubleu.files.writer import atomic_writer, check_writable
from trubleu.metrics.defaults import default_metrics
from trubleu.metrics.options import OPTIONS, SHARED
from trubleu.render.tables import Table, render_tables

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from trubleu.data import References, SegmentScores
    from trubleu.execution import Engine
    from trubleu.execution.cache import Cache
    from trubleu.metrics import Metric
    from trubleu.metrics.registry import MetricSpec
    from trubleu.render.charts import Chart
    from trubleu.scoring.systems import Sampling


MOST_DIGITS: Final = 17

READ: Final = (
    "refs", "source", "ref", "weight", "files", "ratings", "human", "among", "seeds", "corpus", "proxy",
    "probabilities",
)  # fmt: skip
"""Options that name input files, besides those of outputs."""


def picked(options: argparse.Namespace, names: str) -> dict[str, Any]:
    """Return the options of these names, which have spaces between them, as keyword arguments."""
    return {name: getattr(options, name) for name in names.split()}


def check_range(options: argparse.Namespace, name: str, low: float, high: float) -> None:
    """Raise an error for a number that is out of range."""
    value = getattr(options, name)
    if not low <= value <= high:
        given = f"{value:g}" if isinstance(value, float) else value
        raise UsageError(f"--{name.replace('_', '-')} {given} must be between {low:,} and {high:,}")


def operands(options: argparse.Namespace, command: str, wanted: str, count: int | None = None) -> list[str]:
    """Return the arguments of a command that are no options; raise an error for a wrong number of them."""
    found: list[str] = options.files
    if not found or (count is not None and len(found) != count):
        given = f", not {counted(len(found), 'argument')}" if found else "; give it"
        raise UsageError(f"{command} needs {wanted}{given}")
    return found


def whole_numbers(option: str, written: str, words: Mapping[str, int] | None = None) -> tuple[int, ...]:
    """Parse comma-separated integers, ranges such as 1-3, and words that stand for a number."""
    numbers: list[int] = []
    for part in map(str.strip, written.split(",")):
        found = re.fullmatch(r"(\d{1,18})(?:\s*-\s*(\d{1,18}))?", str((words or {}).get(part, part)), re.ASCII)
        first, last = (int(found[1]), int(found[2] or found[1])) if found else (1, 0)
        if not first <= last <= first + 99:
            raise UsageError(f"{option} {written} is not a list of whole numbers; write it like 1-3 or 5,30,50")
        numbers += range(first, last + 1)
    return tuple(numbers)


def say(*lines: str) -> None:
    """Print lines at once, as commands also write to standard error."""
    sys.stdout.write("".join(f"{line}\n" for line in lines))
    sys.stdout.flush()


def check_output(options: argparse.Namespace) -> None:
    """Raise an error for output that cannot be printed or written, before any work."""
    check_range(options, "digits", 0, MOST_DIGITS)
    check_target(options, options.out, page=options.format == "html")
    if getattr(options, "chart", None) and not is_figure(options):
        raise UsageError("--chart goes with --format svg or pdf; add one")
    if is_figure(options):
        from trubleu.render.figures import check_figures

        check_figures()
        if options.format == "pdf" and options.out == "-" and sys.stdout.isatty():
            raise UsageError("a PDF cannot be shown in a terminal; add --out FILE.pdf")


def check_target(options: argparse.Namespace, target: str, *, page: bool = False) -> None:
    """Raise an error for a file that cannot be written, or must not be, or for packages that a page needs."""
    check_writable(target)
    keep_inputs(options, target)
    if page:
        from trubleu.render.pages import load_page_templates

        load_page_templates()


def keep_inputs(options: argparse.Namespace, target: str) -> None:
    """Raise an error if the output would overwrite an input file."""
    from trubleu.data import parse_system

    # In some commands one of these names holds a number.
    given = [value for name in READ if isinstance(value := getattr(options, name, None), str | list)]
    paths = [path for value in given for path in ([value] if isinstance(value, str) else value)]
    paths += [parse_system(system)[1] for system in getattr(options, "systems", [])]
    paths += [path for argument in getattr(options, "by", []) if (path := argument.partition("=")[2])]
    paths += [parse_scores(argument)[2] for argument in getattr(options, "scores", None) or ()]
    for path in paths:
        if path != "-" and same_file(path, target):
            raise UsageError(f"{target} is read by this command and would be lost; write to another file")


def write_output(options: argparse.Namespace, text: str) -> None:
    """Write to the path of ``--out``, atomically."""
    write_to(options.out, text)


def write_to(path: str, text: str) -> None:
    """Write a text, atomically."""
    # A lone surrogate, which JSON allows and UTF-8 does not, becomes \ud83d, which is valid JSON again.
    encodable = text.encode("utf-8", "backslashreplace").decode("utf-8")
    with atomic_writer(path) as file:
        file.write(encodable)


def is_figure(options: argparse.Namespace) -> bool:
    """Return whether charts are written instead of tables."""
    return getattr(options, "format", None) in ("svg", "pdf")


def write_figure(options: argparse.Namespace, charts: Iterable[tuple[str, Chart]]) -> None:
    """Write charts, by their kinds, as SVG or PDF to the path of ``--out``, atomically."""
    from trubleu.render.figures import chosen_charts, render_figure

    content = render_figure(chosen_charts(charts, options.chart, options.chart_kinds), options.format)
    with atomic_writer(options.out, "wb") as file:
        file.write(content)


def write_tables(options: argparse.Namespace, *tables: Table, notes: Sequence[str] = ()) -> None:
    """Write tables in the requested format."""
    write_output(options, render_tables(tables, options.format, options.digits, notes=notes))


@contextmanager
def resumable(options: argparse.Namespace) -> Iterator[Cache]:
    """Yield the requested cache, and report afterwards how much of it was reused."""
    from trubleu.execution.cache import Cache

    if options.resume is None and (options.cache_key or options.no_cache):
        name = "--cache-key" if options.cache_key else "--no-cache"
        raise UsageError(f"{name} is about what --resume uses; add --resume FOLDER, or leave it out")
    if isinstance(options.resume, str):
        from trubleu.execution.output_parts import prepare_folder

        prepare_folder(options.resume)  # fail before reading files if it is not writable
    cache = Cache(key_file=options.cache_key, anew=options.no_cache)
    with cache.checked():
        yield cache
    if options.resume and not options.quiet:
        sys.stderr.write(f"trubleu: {cache}\n")


def chosen_engine(options: argparse.Namespace) -> Engine:
    """Return the requested engine, by default this process; use it as a context manager."""
    from trubleu.execution import engine

    return engine("local" if options.engine is None else options.engine, threads=getattr(options, "threads", None))


def sampling_of(options: argparse.Namespace, *, interval: bool, test: bool, baseline: str | None = None) -> Sampling:
    """Return the sampling options from the arguments of `trubleu.cli.arguments.sampling`."""
    from trubleu.scoring.systems import Sampling

    drawn = picked(options, "resamples confidence seed")
    return Sampling(interval=interval, test=(options.method or True) if test else None, baseline=baseline, **drawn)


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
    if not found.outputs and "ratings" not in options:
        raise UsageError(f"{folder} has ratings only, which trubleu judge ratings takes with outputs or --scores FILE")
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
        if "human" in options and options.human is None:
            options.human = found.human
        if getattr(options, "metrics_of", "").startswith("judge") and not any(
            given.endswith(own) for given in options.scores or () for own in found.scores
        ):
            options.scores = [*found.scores, *(options.scores or ())] or None  # some of the set's stand for themselves
        options.aspect = options.aspect or found.aspects or None
        judged = [aspect for aspect in options.aspect or found.scales if aspect in found.scales]
        if options.scale is None and judged:
            low, high = found.scales[judged[0]]
            if other := [aspect for aspect in judged if found.scales[aspect] != (low, high)]:
                raise UsageError(f"--aspect {judged[0]} and {other[0]} have different scales; judge by one at a time")
            options.scale = f"{low}:{high}"


def read_references(options: argparse.Namespace) -> References:
    """Read the references, and the source texts if they are given."""
    from trubleu.data import References
    from trubleu.data.titles import RATER_TITLES, REFERENCE_TITLES
    from trubleu.data.weights import parse_scale
    from trubleu.files.lines import read_text_lines

    files, weights, sources, _ = corpus_files(options)
    scale = getattr(options, "reference_scale", None)
    if options.refs is None:
        if scale is not None:
            raise UsageError("--scale goes with a table of references, given with --refs; leave it out")
        whole = References.read_parallel(files, weights)
    else:
        columns = columns_of(options, options.refs, [*REFERENCE_TITLES, *RATER_TITLES])
        whole = References.read(options.refs, columns=columns, scale=scale and parse_scale(scale))
    for path in sources:
        whole = whole.with_messages(read_text_lines(path), what=f"lines in {name_of(path)}")
    return whole


def read_corpus(options: argparse.Namespace) -> tuple[References, Mapping[str, Sequence[str]]]:
    """Read all references and outputs."""
    from trubleu.data import read_outputs
    from trubleu.data.oddities import warn_of_oddities
    from trubleu.data.outputs import read_common

    if options.columns:
        _check_columns(options)
    whole = read_references(options)
    if options.only_common:
        whole, found = read_common(options.systems, whole, columns=options.columns)
    else:
        found = read_outputs(options.systems, whole, columns=options.columns)
    outputs = {system.name: system.texts for system in found}
    warn_of_oddities(outputs, whole)
    return whole, outputs


def corpus_and_metric(options: argparse.Namespace) -> tuple[References, Mapping[str, Sequence[str]]]:
    """Read all references and outputs, and choose the default metric if none was named."""
    references, outputs = read_corpus(options)
    if getattr(options, "markdown", "keep") == "strip":
        from trubleu.text.markdown import plain_text

        references = references.map_texts(plain_text)
        outputs = {name: [*map(plain_text, texts)] for name, texts in outputs.items()}
    bind_scores(options, outputs, references.ids)
    choose_metric(options, weighted=references.weighted())
    return references, outputs


def parse_scores(argument: str) -> tuple[str | None, str | None, str]:
    """Split ``NAME=FILE`` or ``NAME:SYSTEM=FILE`` of ``--scores``.

    Examples
    --------
    >>> parse_scores("comet=out.json"), parse_scores("comet:A=a.txt"), parse_scores("out.json")
    (('comet', None, 'out.json'), ('comet', 'A', 'a.txt'), (None, None, 'out.json'))
    """
    named, equals, path = argument.partition("=")
    if not equals or is_remote(argument) or exists(argument):
        return None, None, argument
    metric, colon, system = named.partition(":")
    if not metric or not path or (colon and not system):
        raise UsageError(f"--scores {argument} must be FILE, NAME=FILE or NAME:SYSTEM=FILE")
    return metric, system or None, path


def score_files(options: argparse.Namespace) -> list[SegmentScores]:
    """Read the files of ``--scores`` once; those of one metric for one system each are joined."""
    given = getattr(options, "scores", None) or ()
    if getattr(options, "lower_is_better", None) and not given:
        raise UsageError("--lower-is-better changes nothing without --scores; leave it out")
    found: list[SegmentScores] | None = getattr(options, "score_files", None)
    if found is None and given:
        from trubleu.data import SegmentScores
        from trubleu.metrics.file_scores import joined_scores

        named = [parse_scores(argument) for argument in given]
        read = [SegmentScores.read(path, metric=metric, system=system) for metric, system, path in named]
        found = options.score_files = joined_scores(read)
    return found or []


def bind_scores(options: argparse.Namespace, systems: Iterable[str], segments: Sequence[str]) -> None:
    """Make metrics of the files of ``--scores`` for these systems and segments; `build_metrics` then has them."""
    if files := score_files(options):
        from trubleu.data import name_systems
        from trubleu.metrics.file_scores import score_columns

        options.score_columns = score_columns(
            files,
            [*systems],
            segments,
            lower_is_better=options.lower_is_better or (),
            paths=name_systems(options.systems),
            part=bool(getattr(options, "only_common", False)),
        )


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
    from trubleu.data.titles import OUTPUT_TITLES, RATER_TITLES, RATING_TITLES, REFERENCE_TITLES
    from trubleu.files.tables import is_table_name, table_titles

    ratings = getattr(options, "ratings", None)
    paths = [*filter(None, (options.refs, ratings)), *name_systems(options.systems).values()]
    titles = [title for path in paths if is_table_name(name_of(path)) for title in table_titles(path)]
    if not titles:
        raise UsageError("--columns goes with tables, and none of the files is one; leave it out")
    fields = dict.fromkeys([*REFERENCE_TITLES, *RATER_TITLES, *OUTPUT_TITLES, *(RATING_TITLES if ratings else ())])
    for field, text in options.columns.items():
        if field not in fields:
            raise UsageError(f"--columns: there is no field {shown(field)}; {nearest(field, fields)}")
        for title in text.split("+") if field in RATER_TITLES else [text]:
            if title not in titles:
                raise UsageError(
                    f"--columns: no table has a column {shown(title)}; {nearest(title, dict.fromkeys(titles))}"
                )


def check_references(options: argparse.Namespace) -> None:
    """Raise an error for options about references that exclude each other."""
    if options.refs is not None and options.ref is not None:
        raise UsageError("--refs and --ref both name references; give one of the two")
    if options.weight and not options.ref:
        raise UsageError("--weight goes with --ref; a single file of references holds its weights itself")


def corpus_files(options: argparse.Namespace) -> tuple[list[str], list[str], list[str], dict[str, str]]:
    """Return the files of references, weights and sources, and those of outputs by system."""
    from trubleu.data import name_systems

    check_references(options)
    if options.refs is None and options.ref is None:
        raise UsageError(
            "references are given with --refs FILE, with one or more --ref FILE, or by a set made by trubleu import; "
            "as in sacreBLEU: REFERENCE … -i OUTPUTS …"
        )
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
    columns: dict[str, Metric] = getattr(options, "score_columns", None) or {}
    built: tuple[object, dict[str, Metric]] | None = getattr(options, "built_metrics", None)
    if built is None or built[0] != settings:  # created once, as some read files
        metrics = metrics_by_name(settings)
        if options.weight and not any(metric.uses_weights for metric in metrics.values()):
            raise UsageError(
                "--weight has no effect, because none of the metrics uses weights; leave it out, or add trubleu"
            )
        shown = getattr(options, "metrics_of", "") in ("compare", "explain")
        if options.source is not None and not shown and not any(each.needs_source for each in metrics.values()):
            raise UsageError("--source has no effect, because none of the metrics uses it; remove it, or add ibleu-4")
        built = options.built_metrics = (settings, metrics)
    metrics = built[1]
    if twice := [name for name in columns if name in metrics]:
        raise UsageError(f"there are two metrics named {twice[0]}; write --scores NAME=FILE with another name")
    ours = iter(metrics.items())
    order = [(text, columns[text]) if text in columns else next(ours) for text in _in_order(options, metrics, columns)]
    return dict(order)


def _in_order(options: argparse.Namespace, metrics: Iterable[str], columns: Iterable[str]) -> list[str]:
    """Return the names of metrics as ``-m`` orders them; columns of ``--scores`` that it does not name come last."""
    names = _column_names(options)
    written = [text for text in options.metric if text not in names or text in columns]
    return [*written, *(name for name in columns if name not in written)] if written else [*metrics, *columns]


def _column_names(options: argparse.Namespace) -> set[str]:
    """Return the names of metrics in the files of ``--scores``, which ``-m`` may put into an order."""
    if not getattr(options, "scores", None) or options.metrics_of.startswith("judge"):
        return set()
    from trubleu.metrics.registry import is_metric

    return {name for each in score_files(options) for name in each.metrics() if not is_metric(name)}


def metric_settings(options: argparse.Namespace) -> dict[str, dict[str, Any]]:
    """Return the metric names with the options of each."""
    from trubleu.metrics.registry import parse

    # By identity: 0 is a value, though it equals False.
    values = {name: getattr(options, name, None) for name in SHARED}
    given = {name: value for name, value in values.items() if value is not None and value is not False}
    columns = _column_names(options)
    specs = [parse(text) for text in options.metric if text not in columns]
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
    """Return whether a metric takes an option given for all metrics."""
    return spec.accepts(option) and spec.text.partition("[")[0] not in OPTIONS[option].in_brackets

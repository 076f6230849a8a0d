"""``trubleu score``: systems against references."""

from __future__ import annotations

import argparse
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from trubleu.cli.engine import add_engine_group, chosen_engine
from trubleu.cli.metric_list import add_list_option, metric_list
from trubleu.cli.output import add_output_options, check_output, write_output

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from trubleu.cli.progress import Bars
    from trubleu.data import References
    from trubleu.engines import Engine
    from trubleu.metrics import Metric
    from trubleu.metrics.registry import MetricSpec
    from trubleu.report.scores import Sampling, ScoreReport

WEIGHTED_METRIC: Final = "dbleu-4"
UNWEIGHTED_METRIC: Final = "bleu-4"
DEFAULT_METRIC: Final = f"{WEIGHTED_METRIC} for references with weights, otherwise {UNWEIGHTED_METRIC}"

# Options of metrics that may be given for all metrics at once: name, what it is, and the argument's own settings.
METRIC_OPTIONS: Final[dict[str, dict[str, Any]]] = {
    "tokenize": {"metavar": "NAME", "help": "tokenizer: 13a (default), intl, char, zh, words, chat, none, …"},
    "lowercase": {"action": "store_true", "help": "lower-case all texts; meteor does unless it has lowercase=false"},
    "smoothing": {"metavar": "KIND", "help": "exp (default), floor, add-k or none; for bleu2vec lin-och (default) too"},
    "smoothing_value": {"metavar": "X", "type": float, "help": "the value for floor (0.1) or add-k (1)"},
    "effective_order": {"action": "store_true", "help": "leave out orders that texts are too short for"},
    "reference_length": {"metavar": "RULE", "help": "closest (default), shortest, longest or average"},
    "variant": {"metavar": "NAME", "help": "sBLEU's smoothing: lin-och (default), nakov, nakov-all or sacrebleu"},
    "definition": {
        "metavar": "NAME",
        "help": "ΔBLEU's formula: paper (default) or fork2019; bleu2vec's: paper or release2017",
    },
    "negative": {"metavar": "RULE", "help": "what ΔBLEU's sums below 0 become: clamp (default), floor:E or error"},
    "length_references": {"metavar": "WHICH", "help": "who sets ΔBLEU's reference length: all (default) or positive"},
    "no_positive": {"metavar": "RULE", "help": "segments without a positive weight: error (default) or skip"},
    "unrated_as": {"metavar": "W", "type": float, "help": "the weight of references that are not rated yet"},
    "vectors": {
        "metavar": "PATH",
        "help": "vectors for bleu2vec and dbleu2vec: a store, a file, a folder or ready (default)",
    },
    "similarity": {"metavar": "RULE", "help": "what becomes of cosines there: raw, clamp or shift:S"},
    "oov": {"metavar": "X", "help": "the similarity of what has no vector there (0.001), or composed"},
    "credit": {"metavar": "RULE", "help": "what near misses earn in dbleu2vec: earn (default), nearest or max"},
    "corpus": {
        "metavar": "FILE",
        "help": "references whose n-grams nist and cider learn from, in place of those that outputs are scored against",
    },
    "alpha": {
        "metavar": "A",
        "type": float,
        "help": "the share of the references in iBLEU, from 0 to 1 (0.9); METEOR's own alpha stands in brackets only",
    },
}

EPILOG = """\
examples:
  trubleu score --ref reference.txt system.txt
  trubleu score --ref a.txt --ref b.txt --weight wa.txt --weight wb.txt system.txt -m dbleu-2
  trubleu score --refs refs.jsonl sysA.txt B=sysB.txt -m bleu-4 -m 'dbleu-2[tokenize=chat]' --ci --test --baseline sysA

metrics: bleu-N, sbleu-N, dbleu-N, sdbleu-N, ibleu-N, cider-N, cider-d-N, lebleu-N (N from 1 to 9, 4 if left out),
nist-N (5 if left out), chrf, chrf++, meteor, ter; with near misses bleu2vec-N, bleu2vec-f-N, dbleu2vec-N, dbleu2vec-f-N
(3 if left out); or your own as package.module:Class. Options of one metric stand in brackets behind its name. What each
of them is for: trubleu score --list-metrics.
"""


def add_parser(commands: argparse._SubParsersAction[Any]) -> None:
    """Add the command and its options."""
    parser = commands.add_parser(
        "score",
        help="score systems against references",
        description="Score one or more systems against references, with intervals and tests.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.set_defaults(run=run)
    add_list_option(add_corpus_options(parser, DEFAULT_METRIC, systems="*"))
    drawn = parser.add_argument_group("intervals and tests")
    drawn.add_argument("--ci", action="store_true", help="add bootstrap intervals")
    drawn.add_argument("--test", action="store_true", help="test the differences between systems")
    drawn.add_argument("--baseline", metavar="NAME", help="test every system against this one instead of all pairs")
    add_sampling_options(drawn)
    out = add_output_options(parser)
    out.add_argument("--segments", action="store_true", help="add the score of every segment")
    out.add_argument(
        "--segments-to",
        metavar="FOLDER",
        help="write the scores of segments to this folder, as JSON lines in parts, for corpora of any size",
    )
    add_engine_options(parser)


def add_corpus_options(
    parser: argparse.ArgumentParser, default_metric: str, *, systems: str = "+", without: Sequence[str] = ()
) -> argparse._ArgumentGroup:
    """Add the arguments that name systems, references and metrics, the same in every command.

    The group of metrics is returned for options that only this command has.

    Parameters
    ----------
    parser
        The command's.
    default_metric
        What is taken if no metric is named, for the help.
    systems
        How many systems there may be, in argparse's signs.
    without
        Options of metrics that the command settles itself.
    """
    parser.add_argument(
        "systems",
        nargs=systems,
        metavar="[NAME=]OUTPUTS",
        help="a system's outputs: one text a line, or JSON lines with id and text; .gz is fine, - is standard input",
    )
    given = parser.add_argument_group("references")
    given.add_argument("--refs", metavar="FILE", help="references with weights as JSON lines, or one reference a line")
    given.add_argument("--ref", action="append", metavar="FILE", help="one reference a line; give it again for more")
    given.add_argument(
        "--weight",
        action="append",
        metavar="FILE",
        help="the weights of a --ref, in the same order: a number from -1 to 1 a line, or nothing for no reference",
    )
    given.add_argument(
        "--source",
        metavar="FILE",
        help="what the outputs answer to, translate or shorten, one text a line, for ibleu; else the message in --refs",
    )
    chosen = parser.add_argument_group("metrics")
    chosen.add_argument(
        "-m", "--metric", action="append", metavar="METRIC", help=f"a metric; give it again for more ({default_metric})"
    )
    for name, settings in METRIC_OPTIONS.items():
        if name not in without:
            chosen.add_argument(f"--{name.replace('_', '-')}", **settings)
    return chosen


def add_engine_options(parser: argparse.ArgumentParser) -> None:
    """Add where the work is done."""
    where = add_engine_group(parser)
    where.add_argument(
        "--resume",
        metavar="FOLDER",
        help="with --engine, keep finished ranges in this folder, and do not work again on those that are there",
    )
    where.add_argument("--skip-bad", action="store_true", help="with --engine, leave out ranges that cannot be used")
    where.add_argument("--threads", type=int, metavar="N", help="threads to use (all cores; with --engine one a range)")


def add_sampling_options(group: argparse._ArgumentGroup) -> None:
    """Add how intervals and tests are made, the same in every command."""
    group.add_argument("--method", choices=("bootstrap", "randomisation"), default="bootstrap", help="the paired test")
    group.add_argument("--resamples", type=int, default=10_000, metavar="N", help="draws (10000)")
    group.add_argument("--confidence", type=float, default=0.95, metavar="C", help="of intervals (0.95)")
    group.add_argument("--seed", type=int, default=12345, metavar="N", help="of all draws (12345)")


def sampling_of(options: argparse.Namespace, *, interval: bool, test: bool, baseline: str | None = None) -> Sampling:
    """Return how intervals and tests draw, from what `add_sampling_options` added."""
    from trubleu.report.scores import Sampling

    return Sampling(
        interval=interval,
        test=options.method if test else None,
        baseline=baseline,
        resamples=options.resamples,
        confidence=options.confidence,
        seed=options.seed,
    )


def run(options: argparse.Namespace) -> None:
    """Score and print."""
    from trubleu.cli.progress import Bars, told_once
    from trubleu.errors import UsageError
    from trubleu.report.score_tables import render

    if options.list_metrics is not None:
        check_output(options)
        write_output(options, metric_list(options))
        return
    if not options.systems:
        raise UsageError("there is nothing to score; name a file of outputs, or see what there is with --list-metrics")
    if options.baseline is not None and not options.test:
        raise UsageError("--baseline needs --test; add it, or leave the baseline out")
    check_output(options)
    if options.metric:
        build_metrics(options)  # a wrong name is said before files are read
    if options.skip_bad and options.engine is None:
        raise UsageError("--skip-bad goes with --engine; add one, such as --engine local:4, or leave it out")
    if options.resume is not None and options.engine is None:
        raise UsageError("--resume goes with --engine; add one, such as --engine local:4, or leave it out")
    sampling = sampling_of(options, interval=options.ci, test=options.test, baseline=options.baseline)
    if options.segments and options.segments_to is not None:
        raise UsageError("--segments and --segments-to say twice where scores of segments go; leave one out")
    with told_once(quiet=options.quiet), Bars(quiet=options.quiet) as bars:
        if options.engine is not None:
            with chosen_engine(options) as where:
                report = _score_ranges(options, sampling, bars, where)
        elif _in_ranges(options):
            report = _score_ranges(options, sampling, bars, None)
        else:
            report = _score_whole(options, sampling, bars)
    write_output(options, render(report, options.format, options.digits))


def _in_ranges(options: argparse.Namespace) -> bool:
    """Return whether files are to be scored range by range though no engine was named: they are large, or folders."""
    from trubleu.data.stream import worth_streaming
    from trubleu.metrics.learning import LearningMetric

    files, weights, sources, paths = _corpus_files(options)
    metrics = build_metrics(options).values() if options.metric else ()
    if any(metric.learns and not isinstance(metric, LearningMetric) for metric in metrics):
        return False
    return worth_streaming(files, [*weights, *sources, *paths.values()])


def _score_ranges(options: argparse.Namespace, sampling: Sampling, bars: Bars, where: Engine | None) -> ScoreReport:
    """Score files range by range, so that they need not fit into memory."""
    from trubleu.data import LineStream
    from trubleu.data.files import name_of
    from trubleu.data.plain import check_plain
    from trubleu.engines.output import prepare_folder
    from trubleu.errors import DataError
    from trubleu.report.partitions import counted_on, score_files

    files, weights, _, paths = _corpus_files(options)
    if weights and len(weights) != len(files):
        raise DataError(f"there are {len(files)} files of references but {len(weights)} of weights; give one for each")
    for path in options.ref or []:
        check_plain(name_of(path))
    for folder in (options.resume, options.segments_to):
        if folder is not None:
            prepare_folder(folder)
    stream = LineStream(references=files, weights=weights, systems=paths, source=options.source)
    stream = counted_on(stream, where, bars.stage, skip_bad=options.skip_bad)
    choose_metric(options, weighted=stream.weighted)
    return score_files(
        stream,
        partial(make, _for_others(metric_settings(options))),
        where,
        sampling=sampling,
        segments=options.segments,
        segments_to=options.segments_to,
        skip_bad=options.skip_bad,
        keep=options.resume,
        threads=options.threads,
        steps=bars.stage,
    )


def _score_whole(options: argparse.Namespace, sampling: Sampling, bars: Bars) -> ScoreReport:
    """Score what is read as a whole."""
    from dataclasses import replace

    from trubleu.report.scores import score_systems
    from trubleu.report.segment_files import segments_folder, write_report_segments

    references, outputs = read_corpus(options)
    choose_metric(options, weighted=references.weighted())
    metrics = build_metrics(options)
    parts = None
    if options.segments_to is not None:
        files, weights, sources, paths = _corpus_files(options)
        parts = segments_folder(options.segments_to, [*files, *weights, *paths.values(), *sources], [*outputs], metrics)
    report = score_systems(
        outputs,
        references,
        metrics,
        sampling=sampling,
        segments=options.segments or parts is not None,
        threads=options.threads,
        steps=bars.stage,
    )
    if parts is None:
        return report
    write_report_segments(parts, report, metrics)
    return replace(report, segments=())


def read_corpus(options: argparse.Namespace) -> tuple[References, Mapping[str, Sequence[str]]]:
    """Read references and outputs as a whole."""
    from trubleu.data import References, read_outputs, read_text_lines
    from trubleu.data.files import name_of

    files, weights, sources, _ = _corpus_files(options)
    whole = References.read(options.refs) if options.refs is not None else References.read_parallel(files, weights)
    for path in sources:
        whole = whole.with_messages(read_text_lines(path), what=f"lines in {name_of(path)}")
    return whole, {system.name: system.texts for system in read_outputs(options.systems, whole)}


def _corpus_files(options: argparse.Namespace) -> tuple[list[str], list[str], list[str], dict[str, str]]:
    """Return the files of references, weights and sources, and those of outputs by system."""
    from trubleu.data import check_standard_input_once, name_systems
    from trubleu.errors import UsageError

    if (options.refs is None) == (options.ref is None):
        raise UsageError("references are given with --refs FILE, or with one or more --ref FILE")
    if options.refs is not None and options.weight:
        raise UsageError("--weight goes with --ref; a file given with --refs holds its weights itself")
    files, weights = ([options.refs], []) if options.refs is not None else (options.ref, options.weight or [])
    paths = name_systems(options.systems)
    sources = [] if options.source is None else [options.source]
    check_standard_input_once([*files, *weights, *sources, *paths.values()])
    return files, weights, sources, paths


def choose_metric(options: argparse.Namespace, *, weighted: bool) -> None:
    """Fill in the metric if none was named; say it if ΔBLEU was named and there are no weights."""
    import warnings

    from trubleu.errors import TrubleuWarning
    from trubleu.metrics import DeltaBleu, DeltaBleu2Vec, SentenceDeltaBleu

    if not options.metric:
        options.metric = [WEIGHTED_METRIC if weighted else UNWEIGHTED_METRIC]
    elif not weighted:
        delta = [
            name for name, metric in build_metrics(options).items() if isinstance(metric, DeltaBleu | SentenceDeltaBleu)
        ]
        if delta:
            what = f"the references have no weights, so that all weigh 1 and {delta[0]} is BLEU"
            warnings.warn(what, TrubleuWarning, stacklevel=2)
        for name, metric in build_metrics(options).items():
            if isinstance(metric, DeltaBleu2Vec):
                what = f"the references have no weights, so that all weigh 1 and {name} is {metric.without_weights()}"
                warnings.warn(what, TrubleuWarning, stacklevel=2)
                break


def build_metrics(options: argparse.Namespace) -> dict[str, Metric]:
    """Make the metrics; options that were given for all go to those that have them."""
    from trubleu.errors import UsageError

    settings = metric_settings(options)
    built: tuple[object, dict[str, Metric]] | None = getattr(options, "built_metrics", None)
    if built is not None and built[0] == settings:
        return built[1]  # some read files when they are made
    metrics = make(settings)
    if options.weight and not any(metric.uses_weights for metric in metrics.values()):
        raise UsageError("--weight changes nothing, as none of the metrics uses weights; leave it out, or add dbleu-4")
    if options.source is not None and not any(metric.needs_source for metric in metrics.values()):
        raise UsageError("--source changes nothing, as none of the metrics looks at it; leave it out, or add ibleu-4")
    options.built_metrics = (settings, metrics)
    return metrics


def make(settings: Mapping[str, Mapping[str, Any]]) -> dict[str, Metric]:
    """Make metrics from what they are called and the options of each; workers elsewhere do so, too."""
    from trubleu.metrics.registry import parse

    return {text: parse(text).build(**given) for text, given in settings.items()}


def metric_settings(options: argparse.Namespace) -> dict[str, dict[str, Any]]:
    """Return what the metrics are called and the options of each."""
    from trubleu.errors import UsageError
    from trubleu.metrics.registry import parse

    # By identity: 0 is a value, though it equals False.
    values = {name: getattr(options, name, None) for name in METRIC_OPTIONS}
    given = {name: value for name, value in values.items() if value is not None and value is not False}
    specs = [parse(text) for text in options.metric]
    for name in given:
        if not any(_takes(spec, name) for spec in specs):
            raise UsageError(f"--{name.replace('_', '-')} changes nothing, as none of the metrics takes it from there")
    settings: dict[str, dict[str, Any]] = {}
    for spec in specs:
        if spec.text in settings:
            raise UsageError(f"the metric {spec.text} is given twice; give it once")
        settings[spec.text] = {name: value for name, value in given.items() if _takes(spec, name)}
    return settings


def _for_others(settings: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return options of metrics with paths as workers in another folder or on another machine find them."""
    from trubleu.data.places import absolute, exists
    from trubleu.vectors.source import READY

    def found(option: str, value: Any) -> Any:
        # A word such as ready is no path.
        is_path = option == "corpus" or (option == "vectors" and value != READY and exists(value))
        return absolute(value) if is_path else value

    return {text: {name: found(name, value) for name, value in given.items()} for text, given in settings.items()}


def _takes(spec: MetricSpec, option: str) -> bool:
    """Return whether a metric takes an option that is given for all; one letter has another meaning in METEOR."""
    from trubleu.metrics import Meteor

    return spec.accepts(option) and not (option == "alpha" and spec.factory is Meteor)

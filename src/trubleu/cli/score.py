"""``trubleu score``: score systems against references."""

from __future__ import annotations

import re
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from trubleu.cli import arguments as add
from trubleu.cli.options import (
    build_metrics,
    choose_metric,
    chosen_engine,
    corpus_and_metric,
    corpus_files,
    metric_settings,
    picked,
    resumable,
    sampling_of,
    say,
    write_output,
    write_tables,
)
from trubleu.errors import DataError, UsageError
from trubleu.files.paths import absolute, exists, is_folder, name_of
from trubleu.progress import Bars

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping

    from trubleu.execution import Engine
    from trubleu.execution.cache import Cache
    from trubleu.metrics import Metric
    from trubleu.scoring.systems import Sampling, ScoreReport, ScoreRow


ALL: Final = "all"
CI_KINDS: Final = ("segments", "ratings")
"""Sources of variance in intervals; segments are always included."""

# Options that combine with the list.
_APPLY: Final = ("list_metrics", "format", "digits", "out", "quiet")


def list_metrics(options: argparse.Namespace) -> None:
    """Write the list of metrics, or of the options of one."""
    from trubleu.cli import build_parser
    from trubleu.render.metrics import metric_table, option_table

    usual = vars(build_parser().parse_args(["score"]))
    if given := [name for name, value in vars(options).items() if name not in _APPLY and value != usual[name]]:
        flags = ["outputs" if name == "systems" else f"--{name.replace('_', '-')}" for name in given]
        raise UsageError(f"--list-metrics scores nothing; leave out {', '.join(flags)}")
    write_tables(options, metric_table() if options.list_metrics == ALL else option_table(options.list_metrics))


def add_parser(commands: add.Commands) -> None:
    """Add the command and its options."""
    parser = add.command(commands, "score", run)
    about = "list all metrics with their purposes and needs, or the options of one metric, and exit"
    add.option(add.corpus(parser, "score", systems="*"), "--list-metrics", "NAME", about, nargs="?", const=ALL)
    drawn = parser.add_argument_group("intervals and tests")
    about = "add bootstrap intervals over segments (default), or over segments and the raters of references"
    drawn.add_argument("--ci", nargs="?", const=CI_KINDS[0], choices=CI_KINDS, help=about)
    add.flag(drawn, "--test", "test the differences between systems")
    add.option(drawn, "--baseline", "NAME", "compare all systems with this one instead of testing all pairs")
    add.paired_test(drawn, also="; with --ci ratings bootstrap")
    add.sampling(drawn)
    out = add.output(parser)
    add.flag(out, "-b --score-only", "print only the scores, one line per system and metric")
    about = "style of signatures: trubleu (default), or sacrebleu for metrics that equal sacreBLEU's"
    add.option(out, "--signature", "NAME", about, "trubleu", choices=("trubleu", "sacrebleu"))
    add.flag(out, "--segments", "add the score of every segment")
    about = "write segment scores to this folder as JSON lines, in parts; for large corpora"
    add.option(out, "--segments-to", "FOLDER", about)
    add.flag(out, "--dry-run", "print what an encoder behind an endpoint would get, and send nothing")
    where = add.engine(parser, "with --engine: cache finished ranges in this folder, and reuse those already there")
    add.flag(where, "--skip-bad", "with --engine: leave out ranges with bad data")
    add.threads(where, "threads (default: all cores; with --engine one per range)")


def run(options: argparse.Namespace) -> None:
    """Score systems against references.

    Score one or more systems against references, with intervals and tests.

    Examples
    --------
    trubleu score --ref reference.txt system.txt
    trubleu score reference.txt -i system.txt -m bleu chrf ter -b
    trubleu score --ref a.txt --ref b.txt --weight wa.txt --weight wb.txt system.txt
    trubleu score --refs refs.jsonl A.txt B=sysB.txt -m bleu-4 -m 'dbleu-2[tokenize=chat]' --ci --test --baseline A

    Notes
    -----
    metrics (N from 1 to 9): trubleu-N (default N: 3); bleu-N, sbleu-N, dbleu-N, sdbleu-N, ibleu-N, cider-N, cider-d-N,
    lebleu-N, self-bleu-N (4); nist-N (5); bleu2vec-N, bleu2vec-f-N, dbleu2vec-N, dbleu2vec-f-N (3); rouge-N (1),
    rouge-l, rouge-lsum, distinct-N (2); chrf, chrf++, meteor, ter; your own: module:function or
    module:Class; scores of COMET and others: --scores FILE. Set options of one metric in brackets after its name. One
    -m may be followed by several metrics. trubleu score --list-metrics shows what each metric is for.
    """
    from trubleu.render.scores import render_scores

    if options.list_metrics is not None:
        list_metrics(options)
        return
    if not options.systems:
        raise UsageError("there is nothing to score; name a file of outputs, or list the metrics with --list-metrics")
    if options.score_only and (options.format != "text" or options.ci or options.test or options.segments):
        raise UsageError("-b prints only scores; leave it out, or --format, --ci, --test and --segments")
    if options.baseline is not None and not options.test:
        raise UsageError("--baseline needs --test; add it, or leave the baseline out")
    if options.metric:
        build_metrics(options)  # fail on wrong names before reading files
    if options.ci == "ratings" and options.engine is not None:
        raise UsageError("--ci ratings needs files that are read whole; leave --engine out")
    if options.scores and options.engine is not None:
        raise UsageError("--scores needs files that are read whole; leave --engine out")
    if options.markdown == "strip" and options.engine is not None:
        raise UsageError("--markdown strip needs files that are read whole; leave --engine out")
    for name in ("skip_bad", "resume"):
        if getattr(options, name) and options.engine is None:
            flag = f"--{name.replace('_', '-')}"
            raise UsageError(f"{flag} goes with --engine; add one, such as --engine local:4, or leave it out")
    if options.method is not None and not options.test:
        raise UsageError("--method needs --test; add it, or remove --method")
    if options.ci == "ratings" and options.method == "randomisation":
        raise UsageError("--ci ratings goes with --method bootstrap; remove --method, or ratings")
    if options.segments and options.segments_to is not None:
        raise UsageError("--segments and --segments-to both ask for segment scores; leave one out")
    sampling = sampling_of(options, interval=options.ci is not None, test=options.test, baseline=options.baseline)
    sampling = replace(sampling, ratings=options.ci == "ratings")
    if options.dry_run:
        say(*_to_send(options))
        return
    with resumable(options) as cache, Bars(quiet=options.quiet) as bars:
        if options.engine is not None or (not sampling.ratings and _in_ranges(options)):
            with nullcontext() if options.engine is None else chosen_engine(options) as where:
                report = _score_ranges(options, sampling, bars, where, cache)
        else:
            report = _score_whole(options, sampling, bars)
    if options.markdown == "strip":
        report = report.without_markdown()
    elif options.signature == "sacrebleu":
        report = _with_their_signatures(report, build_metrics(options))
    if options.score_only:
        write_output(options, "".join(f"{row.score:.{options.digits}f}\n" for row in report.scores))
        return
    write_output(options, render_scores(report, options.format, options.digits))


def _to_send(options: argparse.Namespace) -> list[str]:
    """Say what encoders would send to endpoints."""
    from trubleu.metrics.trubleu_ctx import TruBleuCtx

    references, outputs = corpus_and_metric(options)
    texts = [text for system in outputs.values() for text in system]
    metrics = [metric for metric in build_metrics(options).values() if isinstance(metric, TruBleuCtx)]
    plans = [plan for metric in metrics if (plan := metric.plan(texts, references)) is not None]
    if not plans:
        return ["no metric sends texts to an endpoint"]
    return [
        line
        for plan in plans
        for line in (
            f"host        {plan.host}",
            f"texts       {plan.texts:,}, with those for the baseline",
            f"requests    {plan.requests:,}",
            f"tokens      about {plan.tokens:,}",
        )
    ]


def _with_their_signatures(report: ScoreReport, metrics: Mapping[str, Metric]) -> ScoreReport:
    """Return the report with sacreBLEU's signatures for scores equal to sacreBLEU's."""
    from trubleu.compat.sacrebleu.metrics import signature_of

    def theirs(row: ScoreRow) -> str:
        nrefs = re.search(r"\|nrefs:(\w+)", row.signature)  # a metric of somebody else may not have it
        return (nrefs and signature_of(metrics[row.metric], nrefs[1])) or row.signature

    return replace(report, scores=tuple(replace(row, signature=theirs(row)) for row in report.scores))


def _in_ranges(options: argparse.Namespace) -> bool:
    """Return whether to score by ranges although no engine was named: files are large, or folders."""
    from trubleu.data.corpus import worth_streaming

    files, weights, sources, paths = corpus_files(options)
    if options.only_common or options.scores or options.markdown == "strip":
        return False
    learning = [metric for metric in build_metrics(options).values() if metric.learns] if options.metric else []
    if learning:
        from trubleu.metrics.corpus_weights import LearningMetric

        if not all(isinstance(metric, LearningMetric) for metric in learning):
            return False
    return worth_streaming(files, [*weights, *sources, *paths.values()])


def _score_ranges(
    options: argparse.Namespace, sampling: Sampling, bars: Bars, where: Engine | None, cache: Cache
) -> ScoreReport:
    """Score files by ranges, so they need not fit into memory."""
    from trubleu.data import LineStream
    from trubleu.data.reference_files import check_plain
    from trubleu.execution.output_parts import prepare_folder
    from trubleu.files.tables import is_table_name
    from trubleu.metrics.registry import metrics_by_name
    from trubleu.scoring.partitions import counted_on, score_files

    files, weights, sources, paths = corpus_files(options)
    if weights and len(weights) != len(files):
        raise DataError(f"there are {len(files)} files of references but {len(weights)} of weights; give one for each")
    for path in options.ref or []:
        check_plain(name_of(path))
    cause, remedy = "--engine reads files", "remove --engine"
    if where is None:
        folders = [path for path in (*files, *weights, *sources, *paths.values()) if is_folder(path)]
        cause = f"{folders[0]} is a folder, whose files are read" if folders else "files of this size are read"
        remedy = "give a file instead of the folder" if folders else "use JSON lines"
    if tables := [path for path in (*files, *paths.values()) if is_table_name(name_of(path))]:
        raise UsageError(f"{tables[0]} is a table, but {cause} in ranges; {remedy}, or write JSON lines of the table")
    if options.only_common or options.columns or options.reference_scale:
        raise UsageError(f"--only-common, --columns and --scale do not work here, as {cause} in ranges; {remedy}")
    if options.segments_to is not None:
        prepare_folder(options.segments_to)
    stream = LineStream(references=files, weights=weights, systems=paths, source=options.source)
    stream = counted_on(stream, where, bars.stage, skip_bad=options.skip_bad)
    choose_metric(options, weighted=stream.weighted)
    return score_files(
        stream,
        partial(metrics_by_name, _for_others(metric_settings(options))),
        where,
        sampling=sampling,
        keep=options.resume,
        cache=cache,
        steps=bars.stage,
        **picked(options, "segments segments_to skip_bad threads"),
    )


def _score_whole(options: argparse.Namespace, sampling: Sampling, bars: Bars) -> ScoreReport:
    """Score a corpus in memory."""
    from trubleu.scoring.systems import score_systems

    references, outputs = corpus_and_metric(options)
    metrics = build_metrics(options)
    parts = None
    if options.segments_to is not None:
        from trubleu.scoring.partitions import segments_folder

        files, weights, sources, paths = corpus_files(options)
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
    from trubleu.scoring.partitions import write_report_segments

    write_report_segments(parts, report, metrics)
    return replace(report, segments=())


def _for_others(settings: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return metric options with paths that are valid in other folders and on other machines."""
    from trubleu.vectors.encoders.encoder import MINILM
    from trubleu.vectors.source import READY

    words = {"vectors": READY, "encoder": MINILM}

    def found(option: str, value: Any) -> Any:
        # A word such as ready is not a path.
        is_path = option == "corpus" or (option in words and value != words[option] and exists(value))
        return absolute(value) if is_path else value

    return {text: {name: found(name, value) for name, value in given.items()} for text, given in settings.items()}

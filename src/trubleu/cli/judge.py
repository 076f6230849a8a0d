"""``trubleu judge``: how well do metrics agree with people? Contains the protocols ``pairs`` and ``wmt``."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any, Final

from trubleu.cli import arguments as add
from trubleu.cli.judge_ratings import (
    add_draw_options,
    add_rating_options,
    add_ratings_parser,
    add_score_options,
    add_sets_parser,
    read_ratings,
    read_scores,
)
from trubleu.cli.options import (
    build_metrics,
    check_output,
    check_references,
    choose_metric,
    keep_inputs,
    picked,
    read_corpus,
    write_output,
)
from trubleu.errors import UsageError
from trubleu.files.paths import exists
from trubleu.files.writer import check_writable
from trubleu.progress import Bars

if TYPE_CHECKING:
    from collections.abc import Sequence

    from trubleu.data import References
    from trubleu.judge.pairs.results import PairsReport, SweepName
    from trubleu.judge.wmt.results import WmtReport
    from trubleu.judge.wmt.task import WmtTask
    from trubleu.metrics import Metric


DEFAULT_CONDITIONS: Final = ("single", "w>=0.6", "all")
POOLED_CONDITIONS: Final = ("given", "all")


def add_parser(commands: add.Commands) -> None:
    """Measure how well metrics agree with people."""
    protocols = add.commands(commands, "judge", add_parser)
    add_ratings_parser(protocols)
    add_sets_parser(protocols)
    add_pairs_parser(protocols)
    add_wmt_parser(protocols)


def add_pairs_parser(protocols: add.Commands) -> None:
    """Add ``judge pairs``, the ΔBLEU protocol."""
    parser = add.command(protocols, "pairs", run_pairs)
    add.corpus(parser, "judge pairs", without=["no_positive", "scale"])
    people = parser.add_argument_group("human judgements")
    about = "ratings of outputs: item, system, rater, score (and pair, aspect); a table, JSON lines or Parquet"
    add.option(people, "--ratings", "FILE", about)
    add_rating_options(people)
    add_score_options(people)
    units = parser.add_argument_group("protocol")
    add.option(units, "--pairs", "A:B,…", "pairs of systems", "all")
    about = (
        f"which references count; repeat for more ({', '.join(DEFAULT_CONDITIONS)}; with --pool-outputs "
        f"{', '.join(POOLED_CONDITIONS)})"
    )
    add.several(units, "--condition", "WHICH", about)
    add.option(units, "--unit", "M", "segments per unit", 100)
    add.option(units, "--draws", "N", "random assignments to units", 1000)
    add_draw_options(units, "bootstrap replicates")
    add.flag(units, "--partial", "keep the last unit of a pair even if it is smaller")
    add.option(units, "--sweeps", "LIST", "threshold, unit, order, or none", "threshold,unit,order")
    add.option(units, "--sweep-draws", "N", "draws per point", 200)
    add.option(units, "--sweep-resamples", "N", "replicates per point", 200)
    about = "add the rated outputs of other systems to the references, weighted by their ratings"
    add.flag(units, "--pool-outputs", about)
    about = "ignore references that equal this system's output; all for every system"
    add.several(units, "--drop-equal", "NAME", about)
    out = add.output(parser, digits=3)
    add.option(out, "--report", "FILE.html", "also write a page with tables, charts and segments")
    add.option(out, "--browse", "N", "number of segments on the page", 200)
    add.threads(out)


def run_pairs(options: argparse.Namespace) -> None:
    """Pairs of systems on units of segments: the protocol of the ΔBLEU paper.

    Correlate the differences between systems' scores with the differences between their ratings.

    Examples
    --------
    trubleu judge pairs --refs refs.jsonl --ratings ratings.csv A.txt B.txt C.txt
    trubleu judge pairs --refs refs.jsonl --ratings ratings.csv A.txt B.txt -m bleu-2 -m dbleu-2 --report out.html
    trubleu judge pairs SET --repeated-ratings keep --report out.html
    trubleu judge pairs --ref ref.txt --ratings ratings.tsv --pool-outputs --condition given --condition all A.txt B.txt

    Notes
    -----
    conditions: which references count. single (the one with the origin seed, else the first), all, w>=T (those with a
    weight of at least T; a segment without any keeps its best one), given (without pooled outputs).
    """
    from trubleu.data import parse_system
    from trubleu.judge import judge_pairs
    from trubleu.judge.pairs.results import Protocol
    from trubleu.metrics.dbleu import all_rated
    from trubleu.render import render_pairs

    if options.ratings is None:
        gone = [path for _, path in map(parse_system, options.systems) if not exists(path)]
        what = f"there is no {gone[0]}" if gone else "there is nothing to judge by"
        raise UsageError(f"{what}; give --ratings FILE with outputs and references, or a set made by trubleu import")
    check_output(options)
    _check_extras(options)
    if options.metric:
        build_metrics(options)  # fail on wrong names before reading files
    drawn = picked(options, "unit draws resamples sweep_draws sweep_resamples confidence seed partial")
    protocol = Protocol(sweeps=_sweeps(options.sweeps), **drawn)
    with Bars(quiet=options.quiet) as bars:
        references, systems = read_corpus(options)
        references = all_rated(references, options.unrated_as)
        choose_metric(options, weighted=references.weighted() or options.pool_outputs)
        report = judge_pairs(
            systems,
            references,
            read_ratings(options),
            build_metrics(options),
            conditions=options.condition or _conditions(options, references),
            protocol=protocol,
            drop_equal=options.drop_equal or (),
            scores=read_scores(options, "language_pair", "testset", "lower_is_better"),
            lower_is_better=options.lower_is_better or (),
            **picked(options, "pairs pool_outputs threads"),
            steps=bars.stage,
        )
        _write_extras(report, options)
    write_output(options, render_pairs(report, options.format, options.digits))


def _conditions(options: argparse.Namespace, references: References) -> tuple[str, ...]:
    """Return the paper's conditions that select something; with a pool, only what the pool adds matters."""
    if options.pool_outputs:
        return POOLED_CONDITIONS
    return tuple(each for each in DEFAULT_CONDITIONS if references.weighted() or not each.startswith("w"))


def _sweeps(written: str) -> tuple[SweepName, ...]:
    if written == "none":
        return ()
    names: Any = tuple(name.strip() for name in written.split(","))
    return names  # type: ignore[no-any-return] # Protocol refuses what is no sweep


def _check_extras(options: argparse.Namespace) -> None:
    """Raise an error for outputs that cannot be written or missing packages, before any work."""
    if options.browse < 0:
        raise UsageError(f"--browse {options.browse} must be 0 or more")
    if options.report is not None:
        from trubleu.render.explanation_page import load_page_templates

        load_page_templates()
        check_writable(options.report)
        keep_inputs(options, options.report)


def _write_extras(report: PairsReport, options: argparse.Namespace) -> None:
    if options.report is not None:
        from trubleu.files.writer import atomic_writer
        from trubleu.render.judge_pairs import render_judge_page

        page = render_judge_page(report, browse=options.browse)
        with atomic_writer(options.report) as file:
            file.write(page)


WMT_DIGITS: Final = 3


def add_wmt_parser(protocols: add.Commands) -> None:
    """Add ``judge wmt``."""
    parser = add.command(protocols, "wmt", run_wmt)
    add.corpus(parser, "judge wmt", systems="*", without=["no_positive", "scale", "columns", "only_common"])
    people = parser.add_argument_group("human judgements")
    add.option(people, "--human", "FILE", "official scores of systems: one NAME SCORE (LOW, HIGH) per line")
    add.option(people, "--rankings", "FILE", "ranked pairs of outputs: WMT's CSV, compressed or not")
    about = "direct assessments of a system's outputs, one number or empty line each; repeat for more systems"
    add.several(people, "--assessments", "[NAME=]FILE", about)
    add.option(people, "--tasks", "FILE.toml", "several language pairs, instead of the files above")
    add_score_options(
        parser.add_argument_group("other metrics"),
        "other metrics' scores of segments, or of systems if it ends in .sys.score(.gz)",
    )
    drawn = parser.add_argument_group("protocol")
    add.option(drawn, "--tau", "NAME", "wmt12, wmt13, wmt14 (default) or hties", "wmt14")
    about = "systems with the same text: expanded (default) or collapsed into one"
    add.option(drawn, "--identical", "HOW", about, "expanded", choices=("expanded", "collapsed"))
    add_draw_options(drawn, "draws; 0 for no intervals", "both")
    out = add.output(parser, formats=add.PAGE_FORMATS, digits=WMT_DIGITS)
    add.option(out, "--write-scores", "PREFIX", "write the metrics' PREFIX.seg.score.gz and PREFIX.sys.score.gz")
    add.threads(out)


def run_wmt(options: argparse.Namespace) -> None:
    """Official scores of systems, ranked pairs, direct assessments: the protocol of WMT's metrics tasks.

    Correlate metrics with people as WMT's metrics tasks do. The files you give decide what is computed.

    Examples
    --------
    trubleu judge wmt --ref ref.en --human official.txt --rankings rankings.csv.gz systems/*.de-en
    trubleu judge wmt --ref ref.en --assessments human.txt mt.txt -m 'sbleu-4[variant=sacrebleu]' -m chrf
    trubleu judge wmt --tasks tasks.toml -m bleu -m chrf --scores meteor.seg.score.gz --write-scores ours

    Notes
    -----
    tasks.toml has a table for each language pair, with paths relative to it:
      [de-en]
      references = "references/newstest2015-deen-ref.en"
      outputs = "system-outputs/de-en/*"
      human = "official_scores/wmt15.deu-eng.txt"
      rankings = "judgements/wmt15.deu-eng.csv.gz"
    """
    from trubleu.judge.wmt.judge import judge_wmt
    from trubleu.render.judge_wmt import render_wmt, render_wmt_page

    check_output(options)
    _check(options)
    if options.metric:
        _build(options)  # fail on wrong names before reading files
    with Bars(quiet=options.quiet) as bars:
        tasks = _tasks(options)
        report = judge_wmt(
            tasks,
            _metrics(options, tasks),
            **picked(options, "tau identical resample resamples confidence seed unrated_as threads"),
            lower_is_better=options.lower_is_better or (),
            steps=bars.stage,
        )
        _write_scores(options, report)
    if options.format == "html":
        write_output(options, render_wmt_page(report, options.digits))
    else:
        write_output(options, render_wmt(report, options.format, options.digits))


def _check(options: argparse.Namespace) -> None:
    """Raise an error for conflicting options, before reading files."""
    from trubleu.judge.wmt.tau import check_variant

    check_variant(options.tau)
    check_references(options)
    of_one = ("refs", "ref", "weight", "source", "human", "rankings", "assessments", "language_pair", "testset")
    if options.tasks is not None:
        given = [name for name in of_one if getattr(options, name) is not None]
        if given or options.systems:
            what = f"--{given[0].replace('_', '-')}" if given else options.systems[0]
            raise UsageError(f"{what} is of one language pair; with --tasks it belongs into {options.tasks}")
    elif not options.systems:
        raise UsageError("there are no outputs; name the systems' files, or give --tasks FILE.toml")
    elif options.human is None and options.rankings is None and not options.assessments:
        raise UsageError("there is nothing to judge by; give --human, --rankings or --assessments")
    elif options.refs is None and options.ref is None and (options.metric or not options.scores):
        raise UsageError("metrics need references; give --refs FILE, or one or more --ref FILE")
    if options.write_scores is not None:
        for path in _score_paths(options.write_scores):
            check_writable(path)
            keep_inputs(options, path)


def _tasks(options: argparse.Namespace) -> list[WmtTask]:
    from trubleu.judge.wmt.task import TaskFiles, read_tasks

    scores = tuple(options.scores or ())
    if options.tasks is not None:
        return read_tasks(options.tasks, scores)
    files = TaskFiles(
        references=options.refs if options.refs is not None else tuple(options.ref or ()),
        weights=tuple(options.weight or ()),
        source=options.source,
        outputs=tuple(options.systems),
        human=options.human,
        rankings=options.rankings,
        assessments=tuple(options.assessments or ()),
        scores=scores,
        testset=options.testset or "",
    )
    return [files.read(options.language_pair)]


def _metrics(options: argparse.Namespace, tasks: Sequence[WmtTask]) -> dict[str, Metric]:
    """Create the metrics, if there is something to compare outputs with."""
    references = [task.references for task in tasks if task.references is not None]
    if not options.metric and not references:
        return {}
    choose_metric(options, weighted=any(each.weighted() for each in references))
    return _build(options)


def _build(options: argparse.Namespace) -> dict[str, Metric]:
    """Create the metrics; --unrated-as also selects segments, so it is valid even if no metric takes it."""
    from trubleu.metrics.registry import parse

    if not any(parse(text).accepts("unrated_as") for text in options.metric):
        options = argparse.Namespace(**{**vars(options), "unrated_as": None})
    return build_metrics(options)


def _score_paths(prefix: str) -> tuple[str, str]:
    return f"{prefix}.seg.score.gz", f"{prefix}.sys.score.gz"


def _write_scores(options: argparse.Namespace, report: WmtReport) -> None:
    from trubleu.judge.wmt.scores import score_files

    if options.write_scores is None:
        return
    if not any(task.segment_scores for task in report.scored):
        raise UsageError("--write-scores writes scores that are computed here, and there are none; name a metric")
    for scores, path in zip(score_files(report.scored), _score_paths(options.write_scores), strict=True):
        scores.write(path)

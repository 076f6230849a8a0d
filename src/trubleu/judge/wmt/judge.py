"""The WMT protocol: metrics against official scores of systems, ranked pairs of outputs and direct assessments."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trubleu.data.weights import weight_problem
from trubleu.errors import UsageError, counted, nearest
from trubleu.execution.captured_warnings import HeldWarnings
from trubleu.judge.given_scores import check_lower_is_better
from trubleu.judge.report import Notes
from trubleu.judge.wmt.measures import (
    LEVEL_NAMES,
    Measured,
    Points,
    Work,
    differences_of,
    measure_assessments,
    measure_rankings,
    measure_systems,
)
from trubleu.judge.wmt.results import (
    AVERAGE,
    IDENTICAL,
    LEVELS,
    RESAMPLES,
    AgreementRow,
    SystemScoreRow,
    WmtReport,
    WmtSetting,
)
from trubleu.judge.wmt.scores import gather_scores, metrics_of, scored_task
from trubleu.judge.wmt.statistics import averaged
from trubleu.judge.wmt.tau import check_variant
from trubleu.metrics import Bleu
from trubleu.progress import no_steps
from trubleu.stats import checks

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from trubleu.judge.wmt.results import Identical, Resample, ScoredTask
    from trubleu.judge.wmt.scores import MetricScores
    from trubleu.judge.wmt.task import WmtTask
    from trubleu.metrics import Metric
    from trubleu.progress import Steps


def judge_wmt(
    tasks: Sequence[WmtTask],
    metrics: Mapping[str, Metric],
    *,
    tau: str = "wmt14",
    identical: Identical = "expanded",
    resample: Resample = "both",
    resamples: int = 1000,
    confidence: float = 0.95,
    seed: int = 12345,
    unrated_as: float | None = None,
    lower_is_better: Sequence[str] = (),
    threads: int | None = None,
    steps: Steps = no_steps,
) -> WmtReport:
    """Judge metrics as the metrics tasks of WMT do, in one or more language pairs.

    Parameters
    ----------
    tasks
        One a language pair. What a task has decides what is computed: ``human`` the system level, ``rankings`` the τ of
        segments, ``assessments`` the correlation of segments.
    metrics
        The metrics by the name they have in rows; those in the tasks' files of scores come after them.
    tau
        The variant of τ that differences between metrics are tested by; rows have all of them.
    identical
        ``expanded``: rankings as they are. ``collapsed``: systems that wrote the same text are one; see
        `trubleu.judge.wmt.tau.RankedPairs.collapsed`.
    resample
        What the intervals of the system level draw: ``segments``, ``systems`` or ``both``.
    resamples
        How many times; 0 for no intervals.
    confidence, seed
        Of the intervals and all draws.
    unrated_as
        The weight of references that are not rated yet; they are refused without one. Segments without a reference of
        positive weight are left out for every metric.
    lower_is_better
        Metrics in files of scores for which that is so; our own know it.
    threads
        How many threads to use; None for all cores. It never changes a number.
    steps
        Told of every stage of work, for a progress bar.

    Raises
    ------
    UsageError
        If there is nothing to judge or to judge by, or an option does not exist.
    DataError
        If a task's parts do not fit together.

    Examples
    --------
    >>> from trubleu import Bleu, References
    >>> from trubleu.judge import WmtTask
    >>> outputs = {"A": ["a b c d"], "B": ["a b x y"], "C": ["a b c x"]}
    >>> references, people = References.from_lists([["a b c d"]]), {"A": 1.0, "B": 0.1, "C": 0.4}
    >>> task = WmtTask(language_pair="de-en", outputs=outputs, references=references, human=people)
    >>> report = judge_wmt([task], {"bleu-1": Bleu(1)}, resamples=0)
    >>> row = report.agreement("system", "de-en", "bleu-1", "pearson")
    >>> round(row.value, 3), row.n
    (0.982, 3)
    """
    setting = WmtSetting(
        tau=check_variant(tau),
        identical=identical,
        resample=resample,
        resamples=resamples,
        confidence=confidence,
        seed=seed,
        unrated_as=unrated_as,
    )
    _check(tasks, metrics, setting, lower_is_better)
    notes = Notes()
    measured: list[Measured] = []
    points: list[Points] = []
    systems: list[SystemScoreRow] = []
    scored: list[ScoredTask] = []
    names: dict[str, None] = {}
    held = HeldWarnings()
    for each_task in tasks:
        task = each_task.rated(unrated_as, notes)
        with held.of_part():  # every system meets the same warning of a metric again
            found = gather_scores(task, metrics, frozenset(lower_is_better), notes, threads=threads, steps=steps)
        by_segment = task.rankings is not None or task.assessments is not None
        if by_segment and all(each.segments is None for each in found):
            raise UsageError(
                f"{task.language_pair}: rankings and assessments are of segments, but all scores are of whole systems; "
                "give -m METRIC or segment scores, or leave rankings and assessments out"
            )
        work = Work(
            language_pair=task.language_pair,
            setting=setting,
            notes=notes,
            threads=threads,
            steps=steps,
            signatures={each.name: each.signature for each in found},
        )
        names |= dict.fromkeys(each.name for each in found)
        scored.append(scored_task(task, found))
        human = task.human_scores(notes)
        systems += _system_rows(task, human, found)
        if human is not None:
            rows, cloud = measure_systems(work, human, found, task.systems)
            measured += rows
            points.append(cloud)
        if (pairs := task.ranked_pairs(identical, notes)) is not None:
            measured += measure_rankings(work, pairs, found)
        if (assessed := task.assessed(notes)) is not None:
            rows, cloud = measure_assessments(work, assessed, found)
            measured += rows
            points.append(cloud)
    held.tell()
    if any(each.row.level != "system" for each in measured):
        for name, each in metrics.items():
            if isinstance(each, Bleu) and not each.effective_order:
                better = f"{'sdbleu' if each.uses_weights else 'sbleu'}-{each.order}[variant=sacrebleu]"
                notes.add(f"{name}: made for whole corpora; for single segments there is {better}")
    if len(tasks) > 1:
        measured += _averages(measured, [task.language_pair for task in tasks], confidence, notes)
    order = {level: place for place, level in enumerate(LEVELS)}
    rank = {name: place for place, name in enumerate(names)}
    measured.sort(key=lambda each: (order[each.row.level], rank[each.row.metric]))
    _tell_intervals([each.row for each in measured], notes)
    differences = differences_of(measured, points, setting, notes, steps)
    return WmtReport(
        agreements=tuple(each.row for each in measured),
        differences=differences,
        systems=tuple(systems),
        setting=setting,
        notes=notes.all(),
        scored=tuple(scored),
    )


def _check(
    tasks: Sequence[WmtTask], metrics: Mapping[str, Metric], setting: WmtSetting, lower_is_better: Sequence[str]
) -> None:
    for what, given, known in (
        ("identical", setting.identical, IDENTICAL),
        ("resample", setting.resample, RESAMPLES),
    ):
        if given not in known:
            raise UsageError(f"{what}={given} is not known; {nearest(str(given), known)}")
    if setting.resamples:
        checks.at_least_one(setting.resamples, "resamples")
    checks.confidence_level(setting.confidence)
    checks.seed_range(setting.seed)
    if setting.unrated_as is not None and (problem := weight_problem(setting.unrated_as)):
        raise UsageError(f"unrated_as {problem}")
    if not tasks:
        raise UsageError("there is no language pair to judge; give at least one")
    pairs = [task.language_pair for task in tasks]
    for pair in pairs:
        if pair == AVERAGE or pairs.count(pair) > 1:
            raise UsageError(f"the language pair {pair} is given twice, or means the average; name it otherwise")
    in_files = metrics_of(tasks)
    if not metrics and not in_files:
        raise UsageError("there is no metric to judge; name one, or give a file of scores")
    check_lower_is_better(lower_is_better, in_files)
    for task in tasks:
        task.check()
        if task.human is None and task.rankings is None and task.assessments is None:
            raise UsageError(
                f"there is nothing to judge {task.language_pair} by; give official scores, rankings or assessments"
            )


def _tell_intervals(rows: Sequence[AgreementRow], notes: Notes) -> None:
    """Say how many statistics have no interval though there were resamples, and how many do without some of them."""
    undefined = [each for each in rows if each.undefined]
    if missing := sum(each.low is None for each in undefined):
        notes.add(
            f"{counted(missing, 'statistic')} without an interval, as more than half of the resamples leave "
            f"{'it' if missing == 1 else 'each'} undefined"
        )
    if partial := len(undefined) - missing:
        notes.add(f"{counted(partial, 'interval')} without those resamples in which the statistic is undefined")


def _system_rows(
    task: WmtTask, human: NDArray[np.float64] | None, metrics: Sequence[MetricScores]
) -> Iterator[SystemScoreRow]:
    for place, system in enumerate(task.systems):
        official = None if human is None or human[place] != human[place] else float(human[place])
        for each in metrics:
            if each.systems is not None and each.systems[place] == each.systems[place]:
                yield SystemScoreRow(
                    language_pair=task.language_pair,
                    system=system,
                    human=official,
                    metric=each.name,
                    score=each.sign * float(each.systems[place]),
                )


def _averages(
    measured: Sequence[Measured], order: Sequence[str], confidence: float, notes: Notes
) -> Iterator[Measured]:
    """Yield the mean of every statistic over the language pairs in which it is defined, where there are several."""
    pairs_of: dict[str, dict[str, None]] = {}
    groups: dict[tuple[str, str, str], list[Measured]] = {}
    for each in measured:
        row = each.row
        pairs_of.setdefault(row.level, {})[row.language_pair] = None
        groups.setdefault((row.level, row.metric, row.statistic), []).append(each)
    for group in groups.values():
        defined = sorted(
            (each for each in group if each.row.value is not None), key=lambda each: order.index(each.row.language_pair)
        )
        first, pairs = group[0].row, pairs_of[group[0].row.level]
        if len(pairs) < 2:
            continue
        if left := [pair for pair in pairs if pair not in {each.row.language_pair for each in defined}]:
            what = f"{first.metric} has no {first.statistic} in {', '.join(left)}"
            notes.add(f"average, {LEVEL_NAMES[first.level]}: {what}, so its average is over the others")
        values = [each.row.value or 0.0 for each in defined]
        yield Measured.of(
            sum(values) / len(values) if values else None,
            averaged(each.replicates for each in defined),
            " / ".join(sorted({each.resampled for each in defined if each.resampled is not None})) or None,
            confidence,
            level=first.level,
            language_pair=AVERAGE,
            metric=first.metric,
            statistic=first.statistic,
            n=len(values),
            signature=first.signature,
        )

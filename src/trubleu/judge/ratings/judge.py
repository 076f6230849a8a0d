"""Metrics held against what people think of outputs: segment level, system level, tests between metrics."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import numpy as np

from trubleu.data import Rankings, Ratings
from trubleu.data.ratings import MEAN
from trubleu.errors import DataError, UsageError, counted, nearest, some
from trubleu.judge.ratings import results
from trubleu.judge.ratings.opinions import (
    IDENTICAL,
    Judged,
    known_names,
    of_human,
    of_nobody,
    of_rankings,
    of_ratings,
    places,
    with_good_references,
)
from trubleu.judge.report import Notes, Rival, brief_interval, data_needed, given_scores, verdict
from trubleu.progress import Steps, no_steps
from trubleu.scoring.rating_errors import DRAWS, moved_weights, split_errors
from trubleu.stats import metric_tests
from trubleu.stats.bootstrap import ends_of, normal_errors
from trubleu.stats.checks import at_least_one, confidence_level, seed_range
from trubleu.stats.meta_evaluation import system_means
from trubleu.stats.paired import corrected, holm_limit, smallest_p

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from trubleu.data import References, SegmentScores
    from trubleu.judge.ratings.opinions import Known, OfficialScores, Opinions, Outputs, Scored
    from trubleu.judge.ratings.results import Level, RatingsReport
    from trubleu.metrics import Metric
    from trubleu.stats.metric_tests import Test

LEAST_SYSTEMS: Final = 5
"""Systems from which on the system level is judged."""

DEFAULT_TEST: Final[Test] = "perm-input"

CORPUS_TEST: Final[Test] = "perm-system"
"""How metrics are compared whose scores are of whole corpora, unless another test fits."""

RATINGS: Final = "ratings"
"""What intervals draw that take errors of the references' ratings into account."""

RESAMPLES: Final = ("segments", "systems", "both", RATINGS)

NEXT_MEASURES: Final = ("kendall-item", "kendall-pooled")
NEXT_OF_RANKINGS: Final = ("tau-wmt14",)
"""Measures of single outputs, for ratings and for ranked pairs, where acc*_eq does not tell metrics apart."""

MOSTLY_TIED: Final = 0.95
"""The share of tied pairs above which a calibration is not worth much."""

TRIALS: Final = 1000
TRIALS_A_PAIR: Final = 50
"""Trials for each pair of metrics, so that Holm's correction does not hide everything."""


def judge_ratings(
    outputs: Outputs,
    references: References | None,
    opinions: Ratings | Rankings | None,
    metrics: Mapping[str, Metric],
    *,
    human: Mapping[str, float] | None = None,
    scores: Sequence[SegmentScores] = (),
    lower_is_better: Collection[str] = (),
    name: str | None = None,
    without: Collection[str] = (),
    identical: str = "expanded",
    segment_measure: str | None = None,
    system_measure: str | None = None,
    test: Test = DEFAULT_TEST,
    trials: int | None = None,
    resample: str = "segments",
    resamples: int = 1000,
    confidence: float = 0.95,
    seed: int = 12345,
    threads: int | None = None,
    steps: Steps = no_steps,
) -> RatingsReport:
    """Measure how well metrics agree with ratings or rankings of outputs.

    Parameters
    ----------
    outputs
        The texts of each system, one per segment of the references, None where a system has none. Empty if all scores
        are given.
    references
        What outputs are scored against; None if all scores are given.
    opinions
        Ratings, which may have several raters and aspects, or ranked pairs; None if people only scored whole systems.
    metrics
        Those to compute, by name.
    human
        Official scores of systems, higher is better. The system level then compares them with metrics' scores of whole
        corpora, and not mean ratings with mean scores.
    scores
        Segment scores of other metrics.
    lower_is_better
        Metrics in ``scores`` for which that is so.
    name
        What is judged, for the report.
    without
        Systems to leave out.
    identical
        For rankings, whether systems that wrote the same text are ranked one by one (``expanded``) or as one
        (``collapsed``).
    segment_measure, system_measure
        The measures by which metrics are compared; None for acc-eq-calibrated (Pearson's r of all outputs where no item
        has two) and soft pairwise accuracy (Pearson's r with official scores).
    test
        How metrics are compared; see `MetaEvaluation.differences`. With official scores, a level that it does not fit
        is tested by ``perm-input`` or ``perm-system``.
    trials
        Of the test; None for 1000, or 50 for each pair of metrics if that is more.
    resample, resamples, confidence
        What intervals draw (``segments``, ``systems`` or ``both``), how often, and how much lies between their ends.
        ``ratings``: segments, and the raters of references, whose weights share the levels of these and the error of a
        calibration (`trubleu.scoring.rating_effects`); tests between metrics take weights as they are.
    seed
        Of all random steps.
    threads
        How many threads count; no number depends on it.
    steps
        Told of every stage of work, for a progress bar.

    Raises
    ------
    DataError
        If ratings, outputs and scores do not fit together, or nothing can be judged.
    UsageError
        If an option does not exist or does not fit the data.

    Examples
    --------
    >>> from trubleu.data import References
    >>> from trubleu.metrics import metric
    >>> references = References.from_lists([["a dog runs"], ["the cat sleeps"]])
    >>> outputs = {"A": ["a dog runs", "the cat"], "B": ["a cat", "it sleeps"]}
    >>> rows = [("1", "A", "ann", 5), ("1", "B", "ann", 1), ("2", "A", "ann", 3), ("2", "B", "ann", 3)]
    >>> report = judge_ratings(outputs, references, Ratings(*zip(*rows)), {"chrf": metric("chrf")}, resamples=10)
    >>> report.measure("segment", "acc-eq", "chrf").value
    0.5
    """
    confidence_level(confidence)
    seed_range(seed)
    at_least_one(resamples, "resamples")
    for what, chosen_as, choices in (("resample", resample, RESAMPLES), ("identical", identical, IDENTICAL)):
        if chosen_as not in choices:
            raise UsageError(f"{what}={chosen_as} is not known; {nearest(str(chosen_as), choices)}")
    notes = Notes()
    known = known_names(outputs, references, opinions, human, scores, frozenset(without))
    if references is not None and references.weighted():
        outputs, references, known = with_good_references(outputs, references, known, notes)
    if isinstance(opinions, Rankings):
        found = of_rankings(opinions, known, notes, outputs, identical)
    elif identical != "expanded":
        raise UsageError(f"identical={identical} is about rankings, and there are none; leave it out")
    elif opinions is None and human is None:
        raise UsageError("there is nothing to judge by; give ratings, rankings or official scores")
    else:
        found = of_nobody(known) if opinions is None else of_ratings(opinions, known, notes)
    official = None if human is None else of_human(human, known, notes)
    judged = Judged(outputs=outputs, references=references, opinions=found, official=official, threads=threads)
    scored = judged.computed(metrics, steps)
    given = given_scores(scores, known.systems, known.items, ours=metrics, lower_is_better=lower_is_better)
    scored += judged.read(given, notes)
    if not scored:
        raise UsageError("there is no metric to judge; give -m METRIC with outputs and references, or --scores FILE")
    notes.turned([each.name for each in scored if each.sign < 0])
    names = [each.name for each in scored]
    evaluations = judged.evaluations(scored, seed)
    chosen = _headlines(evaluations, found, official, segment_measure, system_measure, notes)
    calibrated = chosen.get("segment") == metric_tests.CALIBRATED
    blind = _blind(evaluations["segment"], names, notes) if calibrated else None
    tests = _tests(chosen, found, official, test, resample)
    setting = results.RatingsSetting(
        name=name or (opinions.source if opinions is not None else "official scores"),
        kind="official" if opinions is None else "ratings" if isinstance(opinions, Ratings) else "rankings",
        systems=len(found.systems if opinions is not None or official is None else official.systems),
        items=len(found.items if opinions is not None else known.items),
        outputs=int(found.rated.sum()),
        ratings=found.count,
        raters=_raters(opinions),
        official=None if official is None else len(official.systems),
        aspects=", ".join(_aspect_names(opinions)) or None,
        segment_measure=chosen.get("segment"),
        system_measure=chosen.get("system"),
        test=tests.get("segment", test),
        system_test=tests.get("system"),
        trials=trials if trials is not None else max(TRIALS, TRIALS_A_PAIR * math.comb(len(names), 2)),
        seed=seed,
        resample=resample,
        resamples=resamples,
        confidence=confidence,
    )
    at_least_one(setting.trials, "trials")
    errors: dict[Level, NDArray[np.float64]] = {}
    if resample == RATINGS:
        errors = _rating_errors(judged, metrics, scored, chosen, seed, steps, notes)
    measures: list[results.MeasureRow] = []
    replicates: dict[tuple[Level, str], NDArray[np.float64]] = {}
    differences: list[results.MetricDifferenceRow] = []
    verdicts: list[results.VerdictRow] = []
    for level, headline in chosen.items():
        compared = _Compared(level, headline, names, evaluations[level], setting, tests[level], steps)
        replicates |= compared.intervals(errors.get(level))
        own = compared.tested()
        differences += own
        measures += [*compared.rows.values(), *compared.others()]
        tested = [] if tests[level] == "williams" else [row.p for row in own if row.p is not None]
        if limit := holm_limit(tested, setting.trials, "trials"):
            notes.add(limit)
        verdicts.append(compared.verdict(own, blind if level == "segment" else None))
    _note_undefined(measures, notes)
    _note_little_data(found, official if tests.get("system") == CORPUS_TEST else None, len(names), confidence, notes)
    return results.RatingsReport(
        verdicts=tuple(verdicts),
        measures=tuple(measures),
        differences=tuple(differences),
        aspects=tuple(_aspects(opinions, found, known, scored, chosen, seed)),
        systems=tuple(_systems((official or found).systems, evaluations["system"], scored)),
        setting=setting,
        signatures=tuple(
            results.SignatureRow(metric=each.name, signature=each.signature)
            for each in scored
            if each.signature is not None
        ),
        notes=notes.all(),
        replicates=replicates,
    )


def _rating_errors(
    judged: Judged,
    metrics: Mapping[str, Metric],
    scored: Sequence[Scored],
    chosen: Mapping[Level, str],
    seed: int,
    steps: Steps,
    notes: Notes,
) -> dict[Level, NDArray[np.float64]]:
    """Return how far errors that many weights share move the measure of each level: a standard deviation per metric.

    Weights are moved one way and then the other, so that what noise alone does to a measure cancels out.
    """
    references = judged.references
    if references is None:
        raise UsageError("without references there are no ratings of them to draw; let intervals draw segments")
    shared = split_errors(references)[1]
    weighing = {name: metric for name, metric in metrics.items() if metric.uses_weights}
    if not shared or not weighing:
        why = "no metric uses weights" if shared else "no rater of references has a name and a level of their own"
        notes.add(f"intervals are those of segments, as {why}")
        return {}
    effects: dict[Level, list[NDArray[np.float64]]] = {level: [] for level in chosen}
    advance = steps("errors of ratings", DRAWS)
    for moves in shared.draws(DRAWS // 2, seed):
        ways = []
        for sign in (1.0, -1.0):
            with warnings.catch_warnings(action="ignore"):  # the scores themselves give the same warnings
                elsewhere = replace(judged, references=moved_weights(references, sign * moves))
                moved = {each.name: each for each in elsewhere.computed(weighing, no_steps)}
            ways.append(judged.evaluations([moved.get(each.name, each) for each in scored], seed))
            advance(1)
        for level, measure in chosen.items():
            there, back = (way[level].values(level, measure).value for way in ways)
            effects[level].append(np.nan_to_num(there - back) / 2)
    return {level: np.sqrt(np.square(each).mean(axis=0)) for level, each in effects.items()}


def _tests(
    chosen: Mapping[Level, str], opinions: Opinions, official: OfficialScores | None, test: Test, resample: str
) -> dict[Level, Test]:
    """Return the test of each level, or raise an error for one, or for what to resample, that does not fit."""
    by_systems = test in ("perm-system", "bootstrap-systems", "bootstrap-both")
    if official is None:
        if opinions.ranked is not None and (by_systems or resample in ("systems", "both")):
            raise UsageError(
                "ranked pairs are of two systems each, so systems cannot be drawn or swapped; use segments"
            )
        found = dict.fromkeys(chosen, test)
    else:
        try:
            metric_tests.check_test("segment", chosen.get("segment", metric_tests.CALIBRATED), test)
            fits = opinions.ranked is None or not by_systems
        except UsageError:
            fits = False
        of_corpora = CORPUS_TEST if test in ("perm-input", "perm-both") else test
        found = {level: of_corpora if level == "system" else test if fits else DEFAULT_TEST for level in chosen}
    for level, measure in chosen.items():
        metric_tests.check_test(level, measure, found[level])
    return found


def _headlines(
    evaluations: Mapping[Level, metric_tests.MetaEvaluation],
    opinions: Opinions,
    official: OfficialScores | None,
    segment: str | None,
    system: str | None,
    notes: Notes,
) -> dict[Level, str]:
    """Return the measure of each level that can be judged."""
    chosen: dict[Level, str] = {}
    of_pairs, of_systems = metric_tests.PAIR_MEASURES, metric_tests.SYSTEM_MEASURES
    for level, measure, known in (("segment", segment, metric_tests.SEGMENT_MEASURES), ("system", system, of_systems)):
        if measure is not None and measure not in known:
            raise UsageError(f"there is no {level}-level measure {measure!r}; {nearest(measure, known)}")
    if opinions.count:
        pairs = evaluations["segment"].pairs
        if segment in of_pairs and not len(pairs):
            raise UsageError(f"{segment} compares outputs of one item, and no item has two; use pearson-pooled")
        if segment is not None and segment not in of_pairs and opinions.people is None:
            raise UsageError(f"ranked pairs have no scores to correlate with; use one of {', '.join(of_pairs)}")
        chosen["segment"] = segment or (_of_pairs(evaluations["segment"], notes) if len(pairs) else "pearson-pooled")
        if not len(pairs):
            notes.add("no item has two rated outputs, so outputs are compared across items and not within them")
        elif not (pairs.people == 0).any():
            notes.add("people tied no pair of outputs, so calibrating ties changes nothing: ε = 0 and acc*_eq = acc_eq")
    elif segment is not None:
        raise UsageError(f"{segment} needs ratings or rankings of outputs; give --ratings FILE")
    systems, least = len(opinions.systems), LEAST_SYSTEMS
    if official is not None:
        systems, least = len(official.systems), metric_tests.FEWEST
        if system == metric_tests.SOFT:
            raise UsageError(f"{metric_tests.SOFT} needs ratings of outputs, not of systems; use pairwise-accuracy")
    if official is None and opinions.people is None:
        notes.add("rankings give no scores of systems; --human FILE judges by official scores")
    elif systems >= least:
        chosen["system"] = system or (metric_tests.SOFT if official is None else "pearson")
    elif system is not None:
        raise UsageError(f"{system} needs {least} systems and there are {systems}; leave it out")
    elif not chosen:
        raise DataError(f"the system level needs at least {least} systems with official scores; there are {systems}")
    else:
        notes.add(f"the system level needs at least {least} systems; there are {systems}")
    if opinions.people is not None and not opinions.rated.all():
        share = opinions.rated.mean()
        notes.add(
            f"{100 * share:.0f} % of all outputs are rated; a system's scores are means over the items rated for it"
        )
    return chosen


@dataclass
class _Compared:
    """The measures of one level, and the comparison of metrics by one of them."""

    level: Level
    headline: str
    names: Sequence[str]
    evaluation: metric_tests.MetaEvaluation
    setting: results.RatingsSetting
    test: Test
    steps: Steps

    def __post_init__(self) -> None:
        self.of_corpora = isinstance(self.evaluation, metric_tests.CorpusEvaluation)
        self.rows = {row.metric: row for row in self._measured(self.headline)}
        """The rows of the headline by metric."""

    def others(self) -> list[results.MeasureRow]:
        """Return the rows of all other measures of the level that the data allow."""
        if self.level == "system":
            unfit = metric_tests.SOFT if self.of_corpora else None
            fitting = [each for each in metric_tests.SYSTEM_MEASURES if each != unfit]
        else:
            endings = []
            if (people := self.evaluation.people) is not None:
                by_item, by_system = (np.isfinite(people).sum(axis=axis).max() > 1 for axis in (0, 1))
                # By system, one system is the same as pooled.
                able = {"pooled": True, "item": by_item, "system": by_system and len(people) > 1}
                endings = [f"-{grouping}" for grouping in able if able[grouping]]
            of_pairs = metric_tests.PAIR_MEASURES if len(self.evaluation.pairs) else ()
            known = metric_tests.SEGMENT_MEASURES
            fitting = [each for each in known if each in of_pairs or each.endswith(tuple(endings))]
        return [row for measure in fitting if measure != self.headline for row in self._measured(measure)]

    def _measured(self, measure: str) -> list[results.MeasureRow]:
        found = self.evaluation.values(self.level, measure)
        epsilons = self.evaluation.epsilon.tolist() if measure == metric_tests.CALIBRATED else [None] * len(self.names)
        rows = []
        for place, (name, value, epsilon) in enumerate(zip(self.names, found.value.tolist(), epsilons, strict=True)):
            reason = None if math.isfinite(value) else self._reason(place, measure)
            rows.append(
                results.MeasureRow(
                    level=self.level,
                    measure=measure,
                    metric=name,
                    value=None if reason else value,
                    groups=int(found.groups[place]),
                    epsilon=epsilon,
                    headline=measure == self.headline,
                    reason=reason,
                )
            )
        return rows

    def _reason(self, metric: int, measure: str) -> str:
        people = self.evaluation.people
        if people is not None:
            scores = self.evaluation.scores[metric][np.isfinite(people)]
            if scores.min() == scores.max():
                return "all its scores are equal"
        if measure in metric_tests.PAIR_MEASURES:
            return "it scores the outputs of every pair that counts equal"
        if self.level == "system":
            return "all systems have the same mean"
        where = "item" if measure.endswith("item") else "system" if measure.endswith("system") else "set"
        return f"no {where} has different ratings and different scores"

    def intervals(self, errors: NDArray[np.float64] | None) -> dict[tuple[Level, str], NDArray[np.float64]]:
        """Put bootstrap intervals into the rows, and return the replicates behind them.

        There are none with one item only, of which every resample is the same.
        """
        setting, count = self.setting, self.setting.resamples
        unit = "segments" if setting.resample == RATINGS or self.evaluation.people is None else setting.resample
        if unit == "segments" and setting.items == 1:
            return {}
        advance = self.steps(f"intervals, {self.level} level", count)
        drawn = self.evaluation.replicates(self.level, self.headline, unit, count, setting.seed, advance)
        for place, (name, row) in enumerate(self.rows.items()):
            if row.value is not None:
                if errors is not None:  # no measure exceeds 1
                    drawn[:, place] += normal_errors(errors[place], count, setting.seed)
                    np.clip(drawn[:, place], -1.0, 1.0, out=drawn[:, place])
                low, high, _ = ends_of(drawn[:, place], setting.confidence)
                self.rows[name] = replace(row, low=low, high=high)
        return {(self.level, name): drawn[:, place] for place, name in enumerate(self.rows)}

    def tested(self) -> list[results.MetricDifferenceRow]:
        """Compare all metrics that have a value, put clusters into the rows, and return the differences."""
        defined = [place for place, name in enumerate(self.names) if self.rows[name].value is not None]
        names = [self.names[place] for place in defined]
        values = [self.rows[name].value or 0.0 for name in names]
        worse = np.zeros((len(names), len(names)), dtype=bool)
        differences = []
        if len(names) > 1:
            setting = self.setting
            part = self.evaluation if len(names) == len(self.names) else self.evaluation.of_metrics(defined)
            advance = self.steps(f"tests, {self.level} level", setting.trials)
            found = part.differences(
                self.level, self.headline, self.test, trials=setting.trials, seed=setting.seed, advance=advance
            )
            p_values = [p if math.isfinite(p) else None for p in found.p.tolist()]
            pairs = zip(*(each.tolist() for each in metric_tests.metric_pairs(len(names))), strict=True)
            for number, ((a, b), p, p_holm) in enumerate(zip(pairs, p_values, corrected(p_values), strict=True)):
                first, second = (a, b) if values[a] >= values[b] else (b, a)
                difference = values[first] - values[second]
                worse[first, second] = p_holm is not None and p_holm < 1.0 - setting.confidence
                # Equal metrics stay equal, one item does not say how much items differ, and corpora need more systems.
                able = (
                    difference > metric_tests.SAME
                    and setting.items > 1
                    and not worse[first, second]
                    and not self.of_corpora
                )
                spread = float(found.spread[number]) if able else 0.0
                needed = data_needed(setting.items, float(found.observed[number]), spread)
                differences.append(
                    results.MetricDifferenceRow(
                        level=self.level,
                        measure=self.headline,
                        metric_x=names[first],
                        metric_y=names[second],
                        difference=difference if difference > metric_tests.SAME else 0.0,
                        p=p,
                        p_holm=p_holm,
                        items_needed=int(needed) if able and math.isfinite(needed) else None,
                    )
                )
        order = dict(zip(names, values, strict=True))
        best = max(range(len(names)), key=lambda place: values[place], default=0)
        for place, (name, cluster) in enumerate(zip(names, metric_tests.clusters(values, worse), strict=True)):
            self.rows[name] = replace(self.rows[name], cluster=cluster, not_worse=not worse[best, place])
        return sorted(differences, key=lambda row: (-order[row.metric_x], -order[row.metric_y]))

    def verdict(self, differences: Sequence[results.MetricDifferenceRow], blind: str | None) -> results.VerdictRow:
        """Say which metric agrees best, whether that is significant, and how much data would settle it.

        ``blind`` says why the measure does not tell the metrics apart, if that is so.
        """
        best, sentence = self._best(differences) if blind is None else (None, blind)
        return results.VerdictRow(level=self.level, verdict=sentence, best=best)

    def _best(self, differences: Sequence[results.MetricDifferenceRow]) -> tuple[str | None, str]:
        """Return the best metric and the sentence about it."""
        defined = [row for row in self.rows.values() if row.value is not None]
        what = "single outputs" if self.level == "segment" else "systems"
        title = results.measure_title(self.level, self.headline)
        items = self.setting.items
        few = items == 1 or self.of_corpora
        if not defined:
            reasons = some(dict.fromkeys(row.reason for row in self.rows.values() if row.reason is not None))
            return None, f"On {what}, {title} is undefined for every metric: {reasons}."
        best = max(defined, key=lambda row: row.value or 0.0)
        rivals = [
            Rival(other, row.difference, row.p_holm, None if few else row.items_needed or math.inf)
            for row in differences
            for one, other in ((row.metric_x, row.metric_y), (row.metric_y, row.metric_x))
            if one == best.metric
        ]
        shown = brief_interval(best.value or 0.0, best.low, best.high)
        head = f"{best.metric} agrees best with people on {what}: {title} {shown}"
        return best.metric, verdict(head, rivals, 1.0 - self.setting.confidence, items, "rated items")


def _note_undefined(rows: Sequence[results.MeasureRow], notes: Notes) -> None:
    """Say why measures are undefined, once for each metric and reason."""
    titles: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        if row.reason is not None:
            titles.setdefault((row.metric, row.reason), []).append(results.measure_title(row.level, row.measure))
    for (metric, reason), undefined in titles.items():
        verb = "is" if len(undefined) == 1 else "are"
        notes.add(f"{metric}: {some(undefined, 3)} {verb} undefined, as {reason}")


def _tied(evaluation: metric_tests.MetaEvaluation) -> NDArray[np.bool_]:
    """Return for each metric whether calibration ties nearly all of its pairs."""
    shares = (np.abs(evaluation.pairs.scores) <= evaluation.epsilon[:, None]).mean(axis=1)
    return np.asarray(shares > MOSTLY_TIED)


def _best_is_tied(evaluation: metric_tests.MetaEvaluation) -> bool:
    """Return whether no metric is better by acc*_eq than one whose pairs are nearly all tied."""
    values = evaluation.values("segment", metric_tests.CALIBRATED).value
    best = np.nan_to_num(values, nan=-1.0)
    return bool(_tied(evaluation)[best >= best.max() - metric_tests.SAME].any())


def _of_pairs(evaluation: metric_tests.MetaEvaluation, notes: Notes) -> str:
    """Return the measure of single outputs: acc*_eq, or the next one that tells metrics apart where acc*_eq does not.

    Where calibration ties nearly all pairs of the best metric, acc*_eq is little more than how often people tie.
    """
    if not _best_is_tied(evaluation):
        return metric_tests.CALIBRATED
    for measure in NEXT_OF_RANKINGS if evaluation.people is None else NEXT_MEASURES:
        if np.isfinite(evaluation.values("segment", measure).value).any():
            notes.warn(
                f"calibration ties more than {100 * MOSTLY_TIED:.0f} % of all pairs for the best metric, so acc*_eq is "
                "little more than the share of pairs that people tie; single outputs are judged by "
                f"{results.measure_title('segment', measure)}"
            )
            return measure
    return metric_tests.CALIBRATED


def _blind(evaluation: metric_tests.MetaEvaluation, names: Sequence[str], notes: Notes) -> str | None:
    """Return the verdict if acc*_eq does not tell metrics apart, otherwise None; note metrics that it cannot rank."""
    tied = [name for name, each in zip(names, _tied(evaluation).tolist(), strict=True) if each]
    share = f"{100 * MOSTLY_TIED:.0f} % of all pairs"
    if not tied:
        return None
    if not _best_is_tied(evaluation):
        notes.add(
            f"calibration ties more than {share} for {some(tied)}, so acc*_eq is little more than the share of pairs "
            "that people tie there"
        )
        return None
    others = NEXT_OF_RANKINGS if evaluation.people is None else NEXT_MEASURES
    able = [each for each in others if np.isfinite(evaluation.values("segment", each).value).any()]
    more = f"; use --segment-measure {able[0]}" if able else ", and no other measure of single outputs is defined"
    sentence = f"acc*_eq does not tell metrics apart: calibration ties more than {share} for {some(tied)}{more}"
    notes.warn(sentence)
    return f"On single outputs, {sentence}."


def _note_little_data(
    opinions: Opinions, swapped: OfficialScores | None, metrics: int, confidence: float, notes: Notes
) -> None:
    """Say it if there are few items, or few systems where these are swapped; then no p-value can be low."""
    items = len(opinions.items)

    def tell(say: Callable[[str], None], count: int, what: str, remedy: str) -> None:
        if count and metrics > 1 and smallest_p(count, math.comb(metrics, 2)) >= 1.0 - confidence:
            among = counted(metrics, "metric")
            say(f"{counted(count, what)} cannot make a difference between {among} significant; {remedy}")

    tell(notes.warn, items, "item", "rate more")
    if items == 1:
        notes.add("one item is rated, so there are no intervals over items")
    if len(opinions.systems) == 1:
        notes.add(f"all outputs are of one system, {opinions.systems[0]}; measures by item and of systems need several")
    if swapped is not None:
        tell(notes.add, len(swapped.systems), "system", "use --test williams")


def _raters(opinions: Ratings | Rankings | None) -> int:
    """Return how many people rated, 0 if that is not known, as for means."""
    if isinstance(opinions, Ratings):
        return len({*opinions.rater} - {MEAN})
    return len(opinions.judges) if opinions else 0


def _aspect_names(opinions: Ratings | Rankings | None) -> list[str]:
    return [*dict.fromkeys(each for each in opinions.aspect or () if each)] if isinstance(opinions, Ratings) else []


def _aspects(
    opinions: Ratings | Rankings | None,
    found: Opinions,
    known: Known,
    scored: Sequence[Scored],
    chosen: Mapping[Level, str],
    seed: int,
) -> Iterator[results.AspectRow]:
    """Yield the headline of the segment level for each aspect, where there are several."""
    names = _aspect_names(opinions)
    if not isinstance(opinions, Ratings) or len(names) < 2:
        return
    rows, columns = places(found.systems), places(found.items)
    for aspect in names:
        try:
            own = of_ratings(opinions.select(aspect=aspect), known, Notes())
        except DataError:
            values = np.full(len(scored), np.nan)
        else:
            part = np.ix_([rows[each] for each in own.systems], [columns[each] for each in own.items])
            evaluation = own.evaluation(np.stack([each.scores[part] for each in scored]), seed)
            values = evaluation.values("segment", chosen["segment"]).value
        for each, value in zip(scored, values.tolist(), strict=True):
            shown = value if math.isfinite(value) else None
            yield results.AspectRow(aspect=aspect, metric=each.name, measure=chosen["segment"], value=shown)


def _systems(
    systems: Sequence[str], evaluation: metric_tests.MetaEvaluation, scored: Sequence[Scored]
) -> Iterator[results.SystemMeanRow]:
    """Yield scores of systems beside what people think of them, the best first."""
    people, judged = evaluation.people, evaluation.people is not None
    if people is None:
        people = np.where(np.isnan(evaluation.scores[0]), np.nan, 0.0)
    mean, scores = system_means(people, evaluation.scores)
    for place in np.argsort(-mean, kind="stable").tolist() if judged else range(len(mean)):
        for each, score in zip(scored, scores[:, place].tolist(), strict=True):
            of_people = float(mean[place]) if judged else None
            yield results.SystemMeanRow(
                system=systems[place], people=of_people, metric=each.name, score=each.sign * score
            )

"""What the lead of a study wants to know: how far it is, how well raters agree, who rates how, what is disputed."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from dataclasses import dataclass, replace
from statistics import fmean, median, pstdev, stdev
from typing import TYPE_CHECKING, TypeVar

from sqlalchemy import Connection, select

from trubleu.errors import MissingExtraError
from trubleu.errors import counted as number_of
from trubleu.rating import raters as people
from trubleu.rating.allocation import is_allocated
from trubleu.rating.config import Question, StudyConfig, crowd_warnings
from trubleu.rating.decision import Decision, decisions
from trubleu.rating.raters import GoldScore, Rater, broken_rule, gold_scores
from trubleu.rating.store import queries
from trubleu.rating.store.database import get_meta
from trubleu.rating.store.schema import assignments, log
from trubleu.rating.weights import Text, by_models_only, text_weight
from trubleu.stats.agreement import Reliability, kappa_table, krippendorff_alpha
from trubleu.stats.alternative_annotator import EPSILON, AlternativeAnnotatorTest, alternative_annotator_test

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence

    from trubleu.rating.store.queries import RatingRow, StoredItem
    from trubleu.rating.study import Study

Key = TypeVar("Key", bound="Hashable")

HOUR = 3_600_000
_BINS = 8  # of the distribution of weights, from −1 to 1
_MOST_DISPUTED = 10
_FEW = 30  # texts; below, a coefficient of agreement says little
# When a rater is flagged. With fewer answers or shared texts than these, nothing is said.
_ANSWERS, _SHARED = 10, 20
_FAST = 1 / 3  # of the median of the others' median times
_SAME = 0.95  # of the answers
_THIRDS = ("short", "middle", "long")
_APART = 0.2  # κ with the rest, and less than half of the others' median


@dataclass(frozen=True, slots=True, kw_only=True)
class RaterSummary:
    """How one rater rates.

    Attributes
    ----------
    rater
        The rater.
    ratings, counted
        Items rated, and how many of them count; gold and practice apart.
    seconds
        The median time of an answer by the server's clock, else as was said with it; None if unknown.
    scores
        How often each score was given, from the worst; here and below, to the question that the summary is about.
    mean, spread
        Of the scores: their mean and standard deviation, None without ratings.
    gold_right, gold_total
        Gold items that were answered as expected, and all that were answered.
    gold_note
        What the rule on gold items says of somebody who is not excluded: that they are stopped or flagged, and why.
    agreement
        Quadratic κ with the counted ratings of the others, None if undefined. Of an excluded rater all ratings are
        taken, so that one sees what re-admission would bring; of all others those that count.
    shared
        How many texts it is computed from.
    last_at
        When the last answer came, in milliseconds since 1970, None if there is none.
    flags
        What makes this rater conspicuous, in words: too fast, always the same, apart from the rest.
    """

    rater: Rater
    ratings: int
    counted: int
    seconds: float | None
    scores: tuple[int, ...]
    mean: float | None
    spread: float | None
    gold_right: int
    gold_total: int
    gold_note: str
    agreement: float | None
    shared: int
    last_at: int | None
    flags: tuple[str, ...] = ()

    @property
    def in_trouble(self) -> bool:
        """Whether somebody who is not excluded has a flag or a note of the rule on gold items."""
        return not self.rater.excluded and bool(self.gold_note or self.flags)


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelBias:
    """How much more than people a model gives to texts of one group.

    Attributes
    ----------
    by, group
        What texts are grouped by (``all``, ``origin``, ``length`` or ``position``), and which group this is.
    texts
        Texts of it that people and the model have rated.
    difference
        The mean of the model's score less people's mean score, in points of the scale.
    error
        Its standard error; NaN for one text.
    """

    by: str
    group: str
    texts: int
    difference: float
    error: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelAgreement:
    """A model's ratings beside people's.

    Attributes
    ----------
    shared
        Texts that the model and at least one person have rated.
    alpha, alpha_without
        Krippendorff's ordinal α of people and the model together, and of people alone, over the same texts: those with
        a rating by the model and two or more by people. NaN if undefined.
    kappa
        The model's quadratic κ with people; NaN if undefined.
    test
        The alternative annotator test; None if SciPy is missing.
    bias
        What the model favours: all texts first, then by group.
    """

    shared: int
    alpha: float
    alpha_without: float
    kappa: float
    test: AlternativeAnnotatorTest | None
    bias: tuple[ModelBias, ...]

    @property
    def verdict(self) -> str:
        """Say whether the model may replace a person, by the alternative annotator test."""
        if not self.shared:
            return "not known: people have rated none of its texts"
        if self.test is None:
            return "not known: the test needs SciPy (pip install 'trubleu[model]')"
        if self.test.reason is not None:
            return f"not known: {self.test.reason}"
        won = sum(each.won for each in self.test.raters)
        answer = "yes" if self.test.passed else "no"
        return f"{answer}: it wins against {won} of {len(self.test.raters)} people, with ε {self.test.epsilon:g}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSummary:
    """How a model rates.

    Attributes
    ----------
    person
        The same as of a person. Its agreement is κ with people's counted ratings.
    refused
        Items that it gave no usable answer to.
    beside
        Its ratings beside people's.
    """

    person: RaterSummary
    refused: int
    beside: ModelAgreement


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionSummary:
    """How raters agree on one question.

    Attributes
    ----------
    name, text
        What it is called and what it asks.
    answered, left_out
        Scores that count, and how often the question was left out in answers that count.
    alpha
        Krippendorff's ordinal α of counted ratings with its interval.
    """

    name: str
    text: str
    answered: int
    left_out: int
    alpha: Reliability


@dataclass(frozen=True, slots=True, kw_only=True)
class DisputedText:
    """A text that raters disagree on.

    Attributes
    ----------
    number, key, part
        The item by its number in the store and its key, and which of its texts, counted from 0.
    message, text
        What it answers, and itself.
    scores
        The counted ones, sorted.
    spread
        Their standard deviation.
    """

    number: int
    key: str
    part: int
    message: str | None
    text: str
    scores: tuple[int, ...]
    spread: float


@dataclass(frozen=True, slots=True, kw_only=True)
class WeightBin:
    """How many texts have a weight from ``low`` to ``high`` (which only the last bin includes)."""

    low: float
    high: float
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """A study at one moment.

    Attributes
    ----------
    paused
        Whether no tasks are handed out.
    items, complete
        Items to be rated, and how many have all their ratings.
    wanted, counted
        Ratings asked for, and those that count.
    uncounted, unable
        Ratings that do not count (late ones, excluded raters), and how often somebody could not judge.
    waiting
        Tasks that raters have before them.
    last_hour
        Ratings of items in the last hour, apart from those that were imported or taken over from another study.
    hours_left
        How long the rest takes at the pace of those that count, None if there are none.
    question
        The question that agreement, raters' scores and disputed texts are about, counted from 0.
    questions
        One entry for each question.
    alpha
        Krippendorff's ordinal α of counted ratings with its interval.
    kappa
        The mean of quadratic κ over pairs of raters, weighted by the texts they share; None if undefined. Pairs for
        whom κ is undefined are left out.
    pairs
        How many pairs the mean is of.
    raters
        One entry a person.
    models
        One entry a model that rates; apart from ratings that the study counts, no other number has part in it.
    weights
        The distribution of weights of texts with at least one counted rating by a person; empty for rankings.
    disputed
        Texts that raters disagree on most.
    decisions
        One entry for each pair of systems: whether there are enough ratings.
    notes
        What to keep in mind about these numbers, in sentences.
    warnings
        What to change about the settings, in sentences.
    """

    paused: bool
    items: int
    complete: int
    wanted: int
    counted: int
    uncounted: int
    unable: int
    waiting: int
    last_hour: int
    hours_left: float | None
    question: int
    questions: tuple[QuestionSummary, ...]
    alpha: Reliability
    kappa: float | None
    pairs: int
    raters: tuple[RaterSummary, ...]
    weights: tuple[WeightBin, ...]
    disputed: tuple[DisputedText, ...]
    models: tuple[ModelSummary, ...] = ()
    decisions: tuple[Decision, ...] = ()
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


def summary(study: Study, now: int, *, question: int = 0, resamples: int = 1000, epsilon: float = EPSILON) -> Summary:
    """Return what the lead of a study wants to know.

    Gold and practice items are part of no number but the gold score of each rater, and excluded raters are part of no
    agreement but their own line.

    Parameters
    ----------
    study
        The study.
    now
        The time in milliseconds since 1970.
    question
        Which question agreement and scores are about, counted from 0.
    resamples
        Of segments, for the interval of α.
    epsilon
        How much worse than a person a model may be (see `alternative_annotator_test`).

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from trubleu.rating import Imported, Item, Study, StudyConfig, import_answers
    >>> folder = pathlib.Path(tempfile.mkdtemp()) / "study"
    >>> items = [Item("1", ("a",)), Item("2", ("b",))]
    >>> study = Study.create(folder, StudyConfig("Answers", "response", raters=2), items)
    >>> _ = import_answers(study, [Imported("1", "ann", (4,)), Imported("1", "bob", (2,))], source="doctest")
    >>> found = summary(study, now=0)
    >>> found.counted, found.wanted, found.complete, found.disputed[0].scores
    (2, 4, 1, (2, 4))
    >>> study.close()
    """
    # One transaction, so that numbers fit each other while people go on rating.
    there = study.store.read(lambda connection: _There(connection, study.config, question))
    config, everybody = study.config, there.raters
    items = [item for item in there.items if item.role == "item"]
    of_items = [row for row in there.rows if row.role == "item" and (row.counted or not row.model)]
    by_people = [row for row in of_items if row.counted and not row.model]
    scored = [row for row in of_items if row.question == question and row.score is not None and not row.model]
    texts = [row for row in scored if row.counted]
    kappas = kappa_table(*_columns(texts), scale=there.scale)
    pairs = [pair for pair in kappas.pairs if math.isfinite(pair.kappa)]
    shared = sum(pair.shared for pair in pairs)
    with_rest = {entry.rater: (entry.kappa, entry.shared) for entry in kappas.raters}
    with_rest |= {rater.id: _excluded_with_rest(scored, rater.id, there.scale) for rater in everybody if rater.excluded}
    first = [row for row in of_items if row.first]
    recent = [
        row
        for row in first
        if now - HOUR < row.answered_at <= now and not row.model and (row.item.id, row.rater) not in there.elsewhere
    ]
    wanted, done = sum(item.wanted for item in items), sum(row.counted for row in first)
    missing, an_hour = wanted - done, sum(row.counted for row in recent)
    by_question = [
        _question(each, [row for row in by_people if row.question == at], resamples)
        for at, each in enumerate(config.questions)
    ]
    alpha = by_question[question].alpha
    # Of an adaptive allocation, plain means are those of the uncertain items until all are rated.
    unequal = there.allocated and any(item.counted < item.wanted for item in items)
    people = [there.rater(each, *with_rest.get(each.id, (math.nan, 0))) for each in everybody if not each.is_model]
    return Summary(
        paused=there.state == "paused",
        items=len(items),
        complete=sum(item.counted >= item.wanted for item in items),
        wanted=wanted,
        counted=done,
        uncounted=len(first) - done,
        unable=sum(item.unable for item in items),
        waiting=sum(item.load - item.counted for item in items),
        last_hour=len(recent),
        hours_left=0.0 if missing <= 0 else missing / an_hour if an_hour else None,
        question=question,
        questions=tuple(by_question),
        alpha=alpha,
        kappa=sum(pair.kappa * pair.shared for pair in pairs) / shared if shared else None,
        pairs=len(pairs),
        raters=tuple(replace(person, flags=tuple(_flags(person, people))) for person in people),
        weights=_weights(config, list(_grouped(by_people, lambda row: row.text).values())),
        disputed=disputed_texts(texts)[:_MOST_DISPUTED],
        decisions=() if unequal else decisions(items, by_people, question),
        models=tuple(there.model(rater, texts, epsilon) for rater in everybody if rater.is_model),
        notes=(
            *_notes(config, alpha, items, len(kappas.pairs) - len(pairs)),
            *([_UNEQUAL] if unequal else []),
            *filter(None, [by_models_only(row for row in of_items if row.counted)]),
        ),
        warnings=tuple(crowd_warnings(config)),
    )


class _There:
    """What a store holds, and how its raters answer one of the questions."""

    def __init__(self, connection: Connection, config: StudyConfig, question: int) -> None:
        unable = select(assignments.c.rater).where(assignments.c.state == "unable")
        from_elsewhere = select(log.c.item, log.c.rater).where(log.c.kind.in_(("carried", "imported")))
        self.items = queries.stored_items(connection)
        self.rows = queries.table(connection)
        self.raters = people.all_raters(connection)
        self.state = get_meta(connection, "state")
        self.allocated = is_allocated(connection)
        self.elsewhere = {(row.item, row.rater) for row in connection.execute(from_elsewhere)}
        self.scale = (1, config.questions[question].points)
        self._config = config
        self._question = question
        self._by_rater = _grouped(self.rows, lambda row: row.rater)
        self._gold = gold_scores(connection)
        self._model_scores = queries.model_scores(connection)
        self._unable = Counter(connection.execute(unable).scalars())

    def _asked(self, rater: Rater) -> list[RatingRow]:
        """Return a rater's answers to the question, gold and practice items apart."""
        rows = self._by_rater.get(rater.id, [])
        return [row for row in rows if row.role == "item" and row.question == self._question]

    def rater(self, rater: Rater, kappa: float, shared: int) -> RaterSummary:
        """Summarize one rater, whose agreement with the rest is given."""
        rows = self._by_rater.get(rater.id, [])
        first = [row for row in rows if row.role == "item" and row.first]
        scores = [row.score for row in self._asked(rater) if row.score is not None]
        times = [row.seconds for row in first if row.seconds is not None]
        rule, gold = self._config.gold.rule, self._gold.get(rater.id, GoldScore(0, 0))
        reason = None if rater.excluded else broken_rule(rule, rater, gold)
        said = "" if rule is None or reason is None else f"{'flagged' if rule.then == 'flag' else 'stopped'}: {reason}"
        return RaterSummary(
            rater=rater,
            ratings=len(first),
            counted=sum(row.counted for row in first),
            seconds=median(times) if times else None,
            scores=tuple(scores.count(score) for score in range(1, self.scale[1] + 1)),
            mean=fmean(scores) if scores else None,
            spread=pstdev(scores) if scores else None,
            gold_right=gold.right,
            gold_total=gold.total,
            gold_note=said,
            agreement=kappa if math.isfinite(kappa) else None,
            shared=shared,
            last_at=max((row.answered_at for row in rows), default=None),
        )

    def model(self, rater: Rater, texts: Sequence[RatingRow], epsilon: float) -> ModelSummary:
        """Summarize a model beside people's ratings of texts."""
        questions, parts = len(self._config.questions), range(self._config.parts)
        precise = {
            (item, part): score
            for (item, who), given in self._model_scores.items()
            for part in parts
            if who == rater.id and (score := given[part * questions + self._question]) is not None
        }
        beside = _model_agreement(texts, self._asked(rater), precise, self.scale[1], epsilon)
        person = self.rater(rater, beside.kappa, beside.shared)
        person = replace(person, flags=tuple(_always_same(person)))
        return ModelSummary(person=person, refused=self._unable[rater.id], beside=beside)


def _question(question: Question, rows: Sequence[RatingRow], resamples: int) -> QuestionSummary:
    answered = [row for row in rows if row.score is not None]
    # Several items may show the same text, and texts of one segment are alike.
    segments = [row.item.item.segment or row.item.item.key for row in answered]
    return QuestionSummary(
        name=question.name,
        text=question.text,
        answered=len(answered),
        left_out=len(rows) - len(answered),
        alpha=krippendorff_alpha(*_columns(answered), groups=segments, resamples=resamples),
    )


def _model_agreement(
    people: Sequence[RatingRow], model: Sequence[RatingRow], precise: Mapping[Text, float], points: int, epsilon: float
) -> ModelAgreement:
    """Return how a model's ratings compare with people's that count, to one question.

    ``precise`` has its scores as fractions, where there are some.
    """
    theirs = {row.text: row.score for row in model if row.score is not None}
    shared = [row for row in people if row.score is not None and row.text in theirs]
    scores = {text: [*_columns(rows)[2]] for text, rows in _grouped(shared, lambda row: row.text).items()}
    several = [row for row in shared if len(scores[row.text]) > 1]
    both = [row for row in model if row.text in scores]
    kappas = kappa_table(*_columns([*shared, *both]), scale=(1, points)).raters
    means = {text: precise.get(text, float(theirs[text])) for text in scores}

    def alpha(rows: Sequence[RatingRow]) -> float:
        return krippendorff_alpha(*_columns(rows), resamples=0).alpha

    try:
        test = alternative_annotator_test(*_columns(shared), means, epsilon=epsilon)
    except MissingExtraError:
        test = None
    return ModelAgreement(
        shared=len(scores),
        alpha=alpha([*several, *(row for row in both if len(scores[row.text]) > 1)]),
        alpha_without=alpha(several),
        kappa=next((each.kappa for each in kappas if both and each.rater == both[0].rater), math.nan),
        test=test,
        bias=tuple(_bias(both, {text: means[text] - fmean(given) for text, given in scores.items()})),
    )


def _bias(rows: Sequence[RatingRow], differences: Mapping[Text, float]) -> Iterable[ModelBias]:
    """Yield the mean difference of all texts, then by origin or system, by length, and by place in a pair."""
    rated = [row for row in rows if row.score is not None]
    lengths = sorted(len(row.item.item.texts[row.part]) for row in rated)
    edges = [lengths[len(lengths) * third // 3] for third in (1, 2)] if lengths else []

    def length(row: RatingRow) -> str:
        return _THIRDS[sum(len(row.item.item.texts[row.part]) >= edge for edge in edges)]

    groups: list[tuple[str, Callable[[RatingRow], str]]] = [
        ("all", lambda _row: ""),
        ("origin", lambda row: row.item.item.writer(row.part)),
        ("length", length),
    ]
    if any(len(row.item.item.texts) > 1 for row in rated):
        groups.append(("position", lambda row: "second" if row.part != row.flipped else "first"))
    for by, group_of in groups:
        found: dict[str, list[float]] = defaultdict(list)
        for row in rated:
            found[group_of(row)].append(differences[row.text])
        if by == "origin" and len(found) < 2:
            continue
        order = _THIRDS if by == "length" else sorted(found)
        for group in order:
            if values := found.get(group):
                error = stdev(values) / math.sqrt(len(values)) if len(values) > 1 else math.nan
                yield ModelBias(by=by, group=group, texts=len(values), difference=fmean(values), error=error)


def _flags(person: RaterSummary, everybody: Sequence[RaterSummary]) -> Iterator[str]:
    """Yield what makes a rater conspicuous beside the others who are not excluded."""
    others = [each for each in everybody if each is not person and not each.rater.excluded]
    times = [each.seconds for each in others if each.seconds is not None and each.ratings >= _ANSWERS]
    if person.ratings >= _ANSWERS and person.seconds is not None and times:
        usual = median(times)
        if person.seconds < _FAST * usual:
            yield f"too fast: {person.seconds:.1f} s for half of the answers, others {usual:.1f} s"
    yield from _always_same(person)
    kappas = [each.agreement for each in others if each.agreement is not None and each.shared >= _SHARED]
    if person.shared >= _SHARED and person.agreement is not None and kappas:
        usual = median(kappas)
        if person.agreement < min(_APART, usual / 2):
            yield f"apart from the rest: κ {person.agreement:.2f} on {person.shared} texts, others {usual:.2f}"


def _always_same(person: RaterSummary) -> Iterator[str]:
    given = sum(person.scores)
    if given >= _ANSWERS and max(person.scores) >= _SAME * given:
        score = person.scores.index(max(person.scores)) + 1
        yield f"always the same: {score} in {max(person.scores)} of {given} answers"


def _columns(rows: Iterable[RatingRow]) -> tuple[list[Text], list[int], list[int]]:
    """Return what was rated, by whom and how."""
    kept = [(row, row.score) for row in rows if row.score is not None]
    return [row.text for row, _ in kept], [row.rater for row, _ in kept], [score for _, score in kept]


def _grouped(rows: Iterable[RatingRow], key: Callable[[RatingRow], Key]) -> dict[Key, list[RatingRow]]:
    groups: dict[Key, list[RatingRow]] = defaultdict(list)
    for row in rows:
        groups[key(row)].append(row)
    return groups


def _excluded_with_rest(rows: Sequence[RatingRow], rater: int, scale: tuple[int, int]) -> tuple[float, int]:
    """Return κ of an excluded rater with the ratings that count, and how many texts these share."""
    mine = {row.text for row in rows if row.rater == rater}
    beside = (row for row in rows if row.rater == rater or (row.counted and row.text in mine))
    found = next((entry for entry in kappa_table(*_columns(beside), scale=scale).raters if entry.rater == rater), None)
    return (found.kappa, found.shared) if found else (math.nan, 0)


_UNEQUAL = (
    "the allocation is adaptive: until all items are rated, plain means favour uncertain items; "
    "trubleu rate estimate weights them right"
)


def _notes(config: StudyConfig, alpha: Reliability, items: Sequence[StoredItem], undefined: int) -> Iterable[str]:
    if alpha.reason is None and alpha.items < _FEW:
        yield f"α is computed from {number_of(alpha.items, 'text')} with two ratings or more: too few to rely on it"
    elif alpha.reason is None and not math.isfinite(alpha.low) and alpha.resamples:
        yield "α has no interval: it is undefined in most samples of segments, or all texts are of one segment"
    if undefined:
        yield f"κ leaves out {number_of(undefined, 'pair')} of raters who gave all texts that they share the same score"
    if config.kind == "ranking":
        yield "scores are ranks, 1 for the best; α and κ compare the ranks that raters gave each output"
    elif any(item.counted for item in items) and (short := [item for item in items if item.counted < item.wanted]):
        texts, wanted = sum(len(item.item.texts) for item in short), max(item.wanted for item in short)
        yield f"weights may still change: {number_of(texts, 'text')} with fewer than {number_of(wanted, 'rating')}"


def _weights(config: StudyConfig, texts: Sequence[Sequence[RatingRow]]) -> tuple[WeightBin, ...]:
    if config.kind == "ranking":
        return ()
    counts = [0] * _BINS
    for rows in texts:
        # Exact, so that no weight falls beside an edge.
        if (weight := text_weight(config, rows)) is not None:
            counts[min(math.floor((weight + 1) * _BINS / 2), _BINS - 1)] += 1
    step = 2 / _BINS
    return tuple(WeightBin(low=at * step - 1, high=(at + 1) * step - 1, count=count) for at, count in enumerate(counts))


def disputed_texts(rows: Iterable[RatingRow]) -> tuple[DisputedText, ...]:
    """Return the texts that raters disagree on, most of all first, from scores of one question."""
    found = []
    for same in _grouped(rows, lambda row: row.text).values():
        scores = [row.score for row in same if row.score is not None]
        if len(scores) > 1 and (spread := pstdev(scores)):
            item = same[0].item
            found.append(
                DisputedText(
                    number=item.id,
                    key=same[0].key,
                    part=same[0].part,
                    message=item.item.message,
                    text=item.item.texts[same[0].part],
                    scores=tuple(sorted(scores)),
                    spread=spread,
                )
            )
    return tuple(sorted(found, key=lambda text: -text.spread))

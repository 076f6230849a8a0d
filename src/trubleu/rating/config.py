"""The settings of a study: one YAML file that explains itself, read with the line of every mistake."""

from __future__ import annotations

import hashlib
import json
import re
import shlex
from dataclasses import asdict, dataclass, field, replace
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast, get_args
from urllib.parse import urlsplit

from trubleu.errors import DataError, UsageError, nearest, shown
from trubleu.files.jsonl import json_line, parse_objects
from trubleu.files.lines import iterate_lines, open_bytes
from trubleu.rating.items import POINTS, Item, Role, unstorable
from trubleu.rating.yaml_nodes import Value, json_value, optional, read_yaml

if TYPE_CHECKING:
    from collections.abc import Iterable

    from trubleu.files.paths import PathLike


# What ends a path in a cookie or an attribute, or is no part of an address at all.
_NEVER = re.compile(r"[\s\x00-\x20\x7f-\x9f;,\"<>\\^`{|}]")


def is_address(url: str) -> bool:
    """Return whether a text is an http or https address with a host, and with no user in it.

    Examples
    --------
    >>> is_address("https://example.org/done?code=1"), is_address("https://"), is_address("http://a@b")
    (True, False, False)
    >>> is_address("http://example.org:99999")
    False
    """
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        return False
    right = parts.scheme in {"http", "https"} and bool(parts.hostname) and "@" not in parts.netloc
    return right and _NEVER.search(url) is None


def check_url(url: str) -> str:
    """Return the address of the pages without a slash at its end.

    Raises
    ------
    UsageError
        If it is none.

    Examples
    --------
    >>> check_url("https://rate.example.org/chat/")
    'https://rate.example.org/chat'
    >>> check_url("rate.example.org")
    Traceback (most recent call last):
    trubleu.errors.UsageError: --url rate.example.org is no address of pages; write https://HOST or https://HOST/PATH
    """
    if not is_address(url) or "?" in url or "#" in url or "@" in url:
        raise UsageError(f"--url {url} is no address of pages; write https://HOST or https://HOST/PATH")
    return url.rstrip("/")


_EXAMPLE = ("context", "message", "response", "responses", "accepted", "feedback")

Ranges = tuple[tuple[int, int] | None, ...]
"""The lowest and highest right score for each text and question, text by text; None where any will do."""


def read_examples(value: Value, asked: Asked, role: Role) -> tuple[Item, ...]:
    """Read a list of practice or gold items from the settings."""
    items: dict[str, Item] = {}
    for entry in value.entries():
        item = _example(entry, asked, role, _EXAMPLE if role == "practice" else _EXAMPLE[:-1])
        if item.key in items:
            entry.fail("is there twice; remove one of them")
        items[item.key] = item
    return tuple(items.values())


def _example(value: Value, asked: Asked, role: Role, known: tuple[str, ...]) -> Item:
    fields = value.fields(known)
    parts = asked.parts
    wanted, other = ("responses", "response") if parts > 1 else ("response", "responses")
    if other in fields:
        fields[other].fail(f"does not fit the kind of study; write {wanted}")
    for required in (wanted, *(("accepted",) if role == "gold" else ())):
        if required not in fields:
            value.fail(f"has no {required}; add it")
    texts = (fields[wanted].text(),) if parts == 1 else tuple(entry.text() for entry in fields[wanted].entries())
    if len(texts) != parts:
        fields[wanted].fail(f"must be {parts} texts, not {len(texts)}")
    nothing: tuple[str, ...] = ()
    context = optional(fields, "context", lambda value: tuple(turn.text() for turn in value.entries()), nothing)
    message = optional(fields, "message", Value.text, None)
    accepted = optional(fields, "accepted", lambda value: _accepted(value, asked), None)
    return example(role, texts, context, message, accepted, optional(fields, "feedback", Value.text, ""))


def _accepted(value: Value, asked: Asked) -> Ranges:
    """Read the right scores: a range, or one for each question by name; for several texts, also a list of these."""
    several = len(asked.questions) > 1
    if asked.parts > 1 and value.is_sequence:
        entries = value.entries()
        if all(entry.is_mapping if several else entry.is_sequence for entry in entries):
            if len(entries) != asked.parts:
                value.fail(f"must be one for each of the {asked.parts} responses, such as {_sample(asked)}")
            return tuple(each for entry in entries for each in _ranges(entry, asked))
    return _ranges(value, asked) * asked.parts


def _ranges(value: Value, asked: Asked) -> Ranges:
    if len(asked.questions) == 1:
        return (_range(value, asked.questions[0].points),)
    if not value.is_mapping:
        value.fail(f"must say which question each range is for, such as {_sample(asked)}")
    fields = value.fields(tuple(question.name for question in asked.questions))
    if not fields:
        value.fail(f"names no question; write it as {_sample(asked)}")
    return tuple(
        _range(fields[question.name], question.points) if question.name in fields else None
        for question in asked.questions
    )


def _range(value: Value, points: int) -> tuple[int, int]:
    entries = value.entries()
    if len(entries) != 2:
        value.fail("must be the lowest and the highest score, as [1, 2]")
    low, high = (entry.whole(1, points) for entry in entries)
    if low > high:
        value.fail(f"must be the lowest and the highest score, but {low} is above {high}")
    return low, high


def _sample(asked: Asked) -> str:
    """Return right scores as somebody would write them."""
    if len(asked.questions) == 1:
        return "[1, 2]" if asked.parts == 1 else f"[{', '.join(['[1, 2]'] * asked.parts)}]"
    one = f"{{{asked.questions[0].name}: [1, 2]}}"
    return one if asked.parts == 1 else f"[{one}, {one}]"


def example(
    role: Role,
    texts: tuple[str, ...],
    context: tuple[str, ...],
    message: str | None,
    accepted: Ranges | None,
    feedback: str = "",
) -> Item:
    """Make a gold or practice item, whose key follows from what raters see."""
    digest = hashlib.sha256(repr((texts, context, message)).encode("utf-8", "surrogatepass")).hexdigest()[:16]
    return Item(f"{role}:{digest}", texts, context, message, accepted=accepted, feedback=feedback, role=role)


def read_gold(path: Path, asked: Asked) -> tuple[Item, ...]:
    """Read gold items from a file of JSON lines."""
    items: dict[str, Item] = {}
    for place, record in parse_objects(iterate_lines(path), str(path)):
        value = json_value(record, place, "the gold item")
        item = _example(value, asked, "gold", ("id", *_EXAMPLE[:-1]))
        if item.key in items:
            value.fail("is there twice; remove one of them")
        items[item.key] = item
    if not items:
        raise DataError(f"{path} holds no gold items; add some or leave gold.file out")
    return tuple(items.values())


Kind = Literal["response", "pair", "ranking"]
KINDS: tuple[Kind, ...] = get_args(Kind)
FEWEST_RANKED, MOST_RANKED = 2, 8

_TOP = (
    "title", "kind", "outputs", "raters", "scale", "questions", "weights", "instructions", "consent", "comments",
    "reasons", "practice", "gold", "minimum_seconds", "lease_minutes", "entry", "completion", "on_complete",
    "models_count", "most_ratings_per_rater", "pay", "seed",
)  # fmt: skip
QUESTIONS = {
    "response": "How good is this response in the conversation?",
    "pair": "How good is each of these two responses in the conversation?",
    "ranking": "Which response fits the conversation best? Rank them from best to worst.",
}
BEST_AND_WORST = ("best", "worst")
LABELS: tuple[str, ...] = ("very bad", "bad", "okay", "good", "very good")
LONGEST_REASON, MOST_REASONS = 200, 9
REASONS: tuple[str, ...] = (
    "I cannot follow the conversation",
    "The text is incomplete or unreadable",
    "I would rather not read this",
)
INSTRUCTIONS = {
    "response": """\
You will see short conversations, each with a possible **response** at its end.

Say how good the response is at that point of the conversation: does it make sense, and does it fit what was said?
Spelling, slang and whether you agree do not matter.
""",
    "pair": """\
You will see short conversations, each with **two** possible responses at its end.

Rate each of the two by itself: does it make sense, and does it fit what was said? Both may be good, and both may be
bad. Spelling, slang and whether you agree do not matter.
""",
    "ranking": """\
You will see short conversations, each with **several** possible responses at its end.

Rank them: 1 for the response that makes most sense and fits best what was said, then 2, and so on. Responses that are
equally good get the same rank. Spelling, slang and whether you agree do not matter.
""",
}


FEWEST_POINTS, MOST_POINTS = 2, 11
MOST_QUESTIONS = 12
MEAN = "mean"
"""The weights that are the mean of all questions."""

RESERVED = (MEAN, "item", "system", "pair", "rater", "aspect", "score", "seconds", "comment")
"""What no question can be called: columns of tables of ratings."""


@dataclass(frozen=True, slots=True)
class Question:
    """What raters are asked about a text, and its answers from worst to best.

    Attributes
    ----------
    text
        The question.
    labels
        What the answers are called: all of them, the worst and the best, or none.
    name
        What results call it, as an aspect; empty in a study with one question that needs no name.
    required
        Whether an answer must have it.
    points
        How many answers there are, 2 to 11; as many as there are labels if not given.

    Examples
    --------
    >>> question = Question("Is it relevant?", ("not at all", "completely"), "relevance", points=7)
    >>> [question.answer(score) for score in (1, 2, 7)]
    ['1 – not at all', '2', '7 – completely']
    """

    text: str = ""
    labels: tuple[str, ...] = LABELS
    name: str = ""
    required: bool = True
    points: int = 0

    def __post_init__(self) -> None:
        if not self.points:
            object.__setattr__(self, "points", len(self.labels) or POINTS)

    def label(self, score: int) -> str:
        """Return what a score is called, empty if it has no name."""
        if len(self.labels) == self.points:
            return self.labels[score - 1]
        return {1: self.labels[0], self.points: self.labels[-1]}.get(score, "") if self.labels else ""

    def answer(self, score: int) -> str:
        """Return a score with what it is called."""
        return f"{score} – {label}" if (label := self.label(score)) else str(score)


@dataclass(frozen=True, slots=True)
class Asked:
    """What an answer consists of: a score for each question about each text.

    Examples
    --------
    >>> Asked(2, (Question(),)).fields, Asked(1, (Question(name="a"), Question(name="b"))).fields
    (('score_1', 'score_2'), ('score_1_1', 'score_1_2'))
    """

    parts: int
    questions: tuple[Question, ...]

    @property
    def fields(self) -> tuple[str, ...]:
        """What forms call the scores, text by text."""
        parts, questions = range(1, self.parts + 1), range(1, len(self.questions) + 1)
        if len(self.questions) == 1:
            return tuple(f"score_{part}" for part in parts)
        return tuple(f"score_{part}_{question}" for part in parts for question in questions)


Consequence = Literal["exclude", "stop", "flag"]


@dataclass(frozen=True, slots=True)
class GoldRule:
    """What follows if a rater gets too many gold items wrong.

    Attributes
    ----------
    at_least
        How many gold items somebody must have answered before anything follows.
    share
        Of those, how many must be right, from 0 to 1.
    then
        ``exclude``: the ratings no longer count and are asked of others; ``stop``: there are no more tasks, and what
        was rated counts; in both cases there is no completion code. ``flag``: the lead is told.

    Examples
    --------
    >>> rule = GoldRule(5, 0.7, "exclude")
    >>> rule.is_broken(3, 5), rule.is_broken(4, 5), rule.is_broken(0, 4)
    (True, False, False)
    """

    at_least: int = 5
    share: float = 0.7
    then: Consequence = "exclude"

    def is_broken(self, right: int, total: int) -> bool:
        """Return whether so many right ones of so many are too few."""
        return total >= self.at_least and right < self.share * total - 1e-9

    def reason(self, right: int, total: int) -> str:
        """Return what the lead is told."""
        return f"{right} of {total} gold items right, below {100 * self.share:g} %"


@dataclass(frozen=True, slots=True)
class Gold:
    """Items with a known answer: their share among the tasks of a rater, where they come from, what follows.

    Attributes
    ----------
    share
        How many of a rater's tasks are gold items, from 0 to 1.
    items
        The items, each used at most once a rater.
    file
        The JSON lines file that they come from, None if they are written in the settings.
    rule
        What follows if a rater gets too many wrong; None if nothing does.
    """

    share: float = 0.1
    items: tuple[Item, ...] = ()
    file: str | None = None
    rule: GoldRule | None = None


PROLIFIC_KEYS = "https://api.prolific.com/.well-known/study/jwks.json"


@dataclass(frozen=True, slots=True)
class Prolific:
    """People from Prolific who are let in with the token that Prolific has signed.

    Attributes
    ----------
    verify
        The keys that tokens are verified with: an address, as `PROLIFIC_KEYS`, or a file in the study's folder.
    study
        The id that the study has at Prolific; a token of another study is refused. None to take those of any.
    audience
        The host that tokens must be for; None for that of ``rate serve --url``.
    """

    verify: str
    study: str | None = None
    audience: str | None = None


@dataclass(frozen=True, slots=True)
class Entry:
    """How raters come in.

    Attributes
    ----------
    links
        With links of their own.
    code
        By anybody who knows this code; None if not.
    prolific
        From Prolific: with its signed token, or with an id in the address that anybody can make up. New studies must
        say ``unverified`` for that; True is what those from before have.
    mturk
        From Mechanical Turk, with an id in the address that anybody can make up.
    """

    links: bool = True
    code: str | None = None
    prolific: Prolific | Literal[False, True, "unverified"] = False
    mturk: bool = False


@dataclass(frozen=True, slots=True)
class Completion:
    """What raters get at the end: a code to paste, an address to go to."""

    code: str | None = None
    url: str | None = None


@dataclass(frozen=True, slots=True)
class Pay:
    """What raters are paid, and how long one task takes."""

    currency: str = "USD"
    per_hour: float = 15.0
    seconds_per_item: float = 20.0


@dataclass(frozen=True, slots=True)
class StudyConfig:
    """All settings of a study.

    Attributes
    ----------
    title
        What raters see at the top.
    kind
        ``response`` (one text at a time), ``pair`` (two side by side, each rated) or ``ranking`` (several, ranked).
    outputs
        For rankings, how many texts an item has: 2 to 8. Their question has the ranks as answers, 1 for the best.
    raters
        How many ratings each item gets.
    models_count
        Whether ratings by models (see `trubleu.rating.model_rater`) are among these; people's alone if not.
    questions
        What is asked about each text; at least one.
    weights
        Where weights of references come from: the name of a question, or ``mean`` for the mean of all.
    instructions, consent
        Texts in Markdown; no consent is asked for if it is None.
    comments
        Whether raters may write a comment with an answer.
    reasons
        Why somebody may say that they cannot judge; they can also write another reason.
    practice, gold
        Items before the start, with feedback, and items with a known answer in between.
    minimum_seconds
        The shortest time between seeing a task and answering it.
    lease_minutes
        How long a task is kept for a rater who does not answer.
    entry, completion
        How raters come in, and what they get at the end.
    on_complete
        What is told once every item has its ratings: an http or https address, or a command; None for nothing.
    most_ratings_per_rater
        After how many items a rater is done, None for no limit.
    pay
        For the plan.
    seed
        The order of the items at the start follows from it. What raters must not foresee follows from the secret too.

    Examples
    --------
    >>> config = StudyConfig("Good answers", "response")
    >>> config.raters, config.parts, config.questions[0].labels[-1]
    (5, 1, 'very good')
    """

    title: str
    kind: Kind
    raters: int = 5
    questions: tuple[Question, ...] = (Question(),)
    weights: str = MEAN
    instructions: str = ""
    consent: str | None = None
    comments: bool = False
    reasons: tuple[str, ...] = REASONS
    practice: tuple[Item, ...] = ()
    gold: Gold = field(default_factory=Gold)
    minimum_seconds: float = 0.0
    lease_minutes: float = 30.0
    entry: Entry = field(default_factory=Entry)
    completion: Completion = field(default_factory=Completion)
    on_complete: str | None = None
    most_ratings_per_rater: int | None = None
    pay: Pay = field(default_factory=Pay)
    seed: int = 1
    outputs: int = 0
    models_count: bool = False

    def __post_init__(self) -> None:
        # Frozen: what depends on the kind is set behind its back, once.
        if self.kind == "ranking":
            if not FEWEST_RANKED <= self.outputs <= MOST_RANKED:
                raise UsageError(f"a ranking has {FEWEST_RANKED} to {MOST_RANKED} outputs, not {self.outputs}")
            if len(self.questions) > 1:
                raise UsageError(f"a ranking asks one question, not {len(self.questions)}")
            ranks = Question(self.questions[0].text, BEST_AND_WORST, points=self.outputs)
            object.__setattr__(self, "questions", (ranks,))
        if any(not question.text for question in self.questions):
            asked = tuple(replace(each, text=each.text or QUESTIONS[self.kind]) for each in self.questions)
            object.__setattr__(self, "questions", asked)
        if not self.instructions:
            object.__setattr__(self, "instructions", INSTRUCTIONS[self.kind])

    @property
    def parts(self) -> int:
        """How many texts an item has."""
        return {"response": 1, "pair": 2, "ranking": self.outputs}[self.kind]

    @property
    def asked(self) -> Asked:
        """What an answer consists of."""
        return Asked(self.parts, self.questions)


def question_key(config: StudyConfig) -> str:
    """Return what must stay as it is once people have answered: the names of the questions and their points."""
    return json.dumps([[question.name, question.points] for question in config.questions])


def read_config(path: PathLike) -> StudyConfig:
    r"""Read the settings of a study.

    Parameters
    ----------
    path
        A YAML file. A file of gold items is looked for beside it.

    Raises
    ------
    DataError
        If a setting is unknown, given twice, missing or cannot be used, with the line and the field.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "study.yaml"
    >>> _ = path.write_text("title: Good answers\nkind: pair\nraters: 3\n")
    >>> read_config(path).raters
    3
    """
    with open_bytes(path) as stream:
        data = stream.read(4_000_001)  # beyond what `read_yaml` takes in any encoding
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise DataError(f"{path}:{line}: this is not valid UTF-8; convert the file to UTF-8") from error
    return parse_config(text, str(path), Path(path).parent)


def parse_config(text: str, name: str = "study.yaml", folder: Path | None = None) -> StudyConfig:
    """Read the settings of a study from the text of its YAML file.

    Parameters
    ----------
    text
        The file.
    name
        Its name, for messages.
    folder
        Where a file of gold items is looked for; the current one if not given.

    Examples
    --------
    >>> parse_config("title: Good answers\\nkind: response\\ninstruction: x")
    Traceback (most recent call last):
    trubleu.errors.DataError: study.yaml:3: 'instruction' is not a setting; did you mean instructions?
    """
    top = read_yaml(text, name)
    fields = top.fields(_TOP)
    for required in ("title", "kind"):
        if required not in fields:
            raise DataError(f"{top.place}: the setting {required} is missing; add it")
    kind = cast("Kind", fields["kind"].choice(KINDS))
    if kind == "ranking" and "outputs" not in fields:
        raise DataError(f"{top.place}: the setting outputs is missing; say how many outputs a ranking has")
    for other in ("questions", "weights") if kind == "ranking" else ("outputs",):
        if other in fields:
            fields[other].fail(f"does not fit kind: {kind}; leave it out")
    outputs = optional(fields, "outputs", lambda value: value.whole(FEWEST_RANKED, MOST_RANKED), 0)
    if "scale" in fields and "questions" in fields:
        fields["questions"].fail("and scale are both given; keep one of them")
    if kind == "ranking":
        scale = fields["scale"].fields(("question",)) if "scale" in fields else {}
        asks = optional(scale, "question", Value.some_text, QUESTIONS[kind])
        questions: tuple[Question, ...] = (Question(asks, BEST_AND_WORST, points=outputs),)
    elif "questions" in fields:
        questions = _questions(fields["questions"], kind)
    else:
        questions = (optional(fields, "scale", lambda value: _scale(value, kind), Question(QUESTIONS[kind])),)
    asked = Asked({"response": 1, "pair": 2, "ranking": outputs}[kind], questions)
    return StudyConfig(
        title=_title(fields["title"]),
        kind=kind,
        outputs=outputs,
        raters=optional(fields, "raters", lambda value: value.whole(1, 1000), 5),
        questions=questions,
        weights=optional(fields, "weights", lambda value: _weights(value, questions), MEAN),
        instructions=optional(fields, "instructions", Value.some_text, INSTRUCTIONS[kind]),
        consent=optional(fields, "consent", Value.some_text, None),
        comments=optional(fields, "comments", Value.truth, False),
        reasons=optional(fields, "reasons", _reasons, REASONS),
        practice=optional(fields, "practice", lambda value: read_examples(value, asked, "practice"), ()),
        gold=optional(fields, "gold", lambda value: _gold(value, asked, folder or Path()), Gold()),
        minimum_seconds=optional(fields, "minimum_seconds", lambda value: value.number(0, 3600), 0.0),
        lease_minutes=optional(fields, "lease_minutes", lambda value: value.number(0.1, 10080), 30.0),
        entry=optional(fields, "entry", _entry, Entry()),
        completion=optional(fields, "completion", _completion, Completion()),
        on_complete=optional(fields, "on_complete", _on_complete, None),
        most_ratings_per_rater=optional(fields, "most_ratings_per_rater", lambda value: value.whole(1, 10**9), None),
        models_count=optional(fields, "models_count", Value.truth, False),
        pay=optional(fields, "pay", _pay, Pay()),
        seed=optional(fields, "seed", lambda value: value.whole(0, 2**48), 1),
    )


def _title(value: Value) -> str:
    title = value.some_text()
    if problem := unstorable(title):
        value.fail(f"{problem}; leave it out")
    return title


def _scale(value: Value, kind: Kind) -> Question:
    fields = value.fields(("question", "labels", "points"))
    return Question(optional(fields, "question", Value.some_text, QUESTIONS[kind]), *_answers(fields))


def _answers(fields: dict[str, Value]) -> tuple[tuple[str, ...], str, bool, int]:
    """Read the labels and the points of a question, and what else it has."""
    points = optional(fields, "points", lambda value: value.whole(FEWEST_POINTS, MOST_POINTS), 0)
    labels: tuple[str, ...] = () if points else LABELS
    if "labels" in fields:
        at = fields["labels"]
        labels = tuple(entry.some_text() for entry in at.entries())
        if points and len(labels) not in (0, FEWEST_POINTS, points):
            ends = f", or {FEWEST_POINTS} for the worst and the best" if points > FEWEST_POINTS else ""
            at.fail(f"must be {points} texts from worst to best{ends}, not {len(labels)}")
        if not points and not FEWEST_POINTS <= len(labels) <= MOST_POINTS:
            at.fail(
                f"must be {FEWEST_POINTS} to {MOST_POINTS} texts from worst to best, not {len(labels)}; "
                "for a scale without labels give its points"
            )
        if len(set(labels)) != len(labels):
            at.fail("must be different texts")
    name = optional(fields, "name", _question_name, "")
    return labels, name, optional(fields, "required", Value.truth, True), points


def _question_name(value: Value) -> str:
    name = value.some_text().strip()
    if not re.fullmatch(r"\w[\w .-]{0,39}", name):
        value.fail(f"must be at most 40 letters, digits, spaces, dots, - and _, not {shown(name)}")
    if name in RESERVED:
        value.fail(f"cannot be {name}, which means something else in tables of ratings; choose another one")
    return name


def _questions(value: Value, kind: Kind) -> tuple[Question, ...]:
    entries = value.entries()
    if not 1 <= len(entries) <= MOST_QUESTIONS:
        value.fail(f"must be 1 to {MOST_QUESTIONS} questions, not {len(entries)}")
    found: dict[str, Question] = {}
    for entry in entries:
        fields = entry.fields(("name", "question", "labels", "points", "required"))
        if len(entries) > 1:
            for required in ("name", "question"):
                if required not in fields:
                    entry.fail(f"has no {required}; add it")
        question = Question(optional(fields, "question", Value.some_text, QUESTIONS[kind]), *_answers(fields))
        if question.name in found:
            fields["name"].fail(f"is {shown(question.name)}, as another question is called; choose another one")
        found[question.name] = question
    return tuple(found.values())


def _weights(value: Value, questions: tuple[Question, ...]) -> str:
    name = value.some_text().strip()
    known = [question.name for question in questions if question.name]
    if name not in (MEAN, *known):
        value.fail(f"must be {MEAN} or the name of a question, not {shown(name)}; {nearest(name, (MEAN, *known))}")
    return name


def _reasons(value: Value) -> tuple[str, ...]:
    reasons = tuple(entry.some_text().strip() for entry in value.entries())
    if any(len(reason) > LONGEST_REASON or unstorable(reason) for reason in reasons):
        value.fail(f"must be texts of {LONGEST_REASON} characters at most")
    if len(set(reasons)) != len(reasons) or len(reasons) > MOST_REASONS:
        value.fail(f"must be different texts, {MOST_REASONS} at most")
    return reasons


def _entry(value: Value) -> Entry:
    fields = value.fields(("links", "code", "prolific", "mturk"))
    entry = Entry(
        links=optional(fields, "links", Value.truth, True),
        code=optional(fields, "code", _code, None),
        prolific=optional(fields, "prolific", _prolific, False),
        mturk=optional(fields, "mturk", Value.truth, False),
    )
    if entry == Entry(links=False):
        value.fail("lets nobody in; set links, prolific or mturk to true, or give a code")
    return entry


def _prolific(value: Value) -> Prolific | Literal[False, True, "unverified"]:
    if not value.is_mapping:
        return "unverified" if value.is_text("unverified") else value.truth()
    fields = value.fields(("verify", "study", "audience"))
    if "verify" not in fields:
        value.fail(f"has no verify; add verify: {PROLIFIC_KEYS}, or the name of a file with the keys")
    verify = fields["verify"].some_text()
    if "://" in verify and not (verify.startswith("https://") and is_address(verify)):
        fields["verify"].fail(f"must be an address that begins with https://, or a file, not {shown(verify)}")
    audience = optional(fields, "audience", Value.some_text, None)
    if audience is not None and not is_address(f"https://{audience}/"):
        fields["audience"].fail(f"must be a host such as rate.example.org, not {shown(audience)}")
    return Prolific(verify, optional(fields, "study", Value.some_text, None), audience)


def check_verified(config: StudyConfig, name: str) -> None:
    """Refuse settings that let everybody in who makes up an id, unless they say so.

    Raises
    ------
    DataError
        If they do, with what to write.
    """
    if config.entry.prolific is True:
        raise DataError(
            f"{name}: entry.prolific: true would take every made-up id for somebody from Prolific, completion code "
            f"included; write prolific: {{verify: {PROLIFIC_KEYS}}} to verify them, or prolific: unverified"
        )


def crowd_warnings(config: StudyConfig) -> list[str]:
    """Return what the lead of a study that is open to crowds must know, in sentences."""
    entry, gold = config.entry, config.gold
    unverified = [
        name
        for name, there in (("Prolific", entry.prolific in (True, "unverified")), ("Mechanical Turk", entry.mturk))
        if there
    ]
    found = [
        f"ids from {name} are not verified: anybody can make one up, rate, and get to the end" for name in unverified
    ]
    if entry.prolific is True:
        found[0] += (
            f"; in study.yaml, write prolific: {{verify: {PROLIFIC_KEYS}}} instead of true, or prolific: unverified if "
            "that is what you want"
        )
    if (entry.prolific or entry.mturk) and (gold.rule is None or gold.rule.then == "flag"):
        found.append(
            "who gets gold items wrong reaches the end as everybody else does; gold.rule can exclude or stop them"
        )
    elif gold.rule is not None and gold.rule.at_least > (expected := _gold_each(config)):
        found.append(
            f"gold.rule begins after {gold.rule.at_least} gold items, but with most_ratings_per_rater: "
            f"{config.most_ratings_per_rater} a rater gets about {expected:.0f}; raise gold.share or lower at_least"
        )
    return found


def _gold_each(config: StudyConfig) -> float:
    """Return about how many gold items a rater gets."""
    if config.most_ratings_per_rater is None:
        return len(config.gold.items)
    share = config.gold.share
    return min(len(config.gold.items), config.most_ratings_per_rater * share / (1 - share))


def _code(value: Value) -> str:
    code = value.some_text().strip()
    if len(code) < 8:
        value.fail("must have at least 8 characters, so that nobody guesses it")
    return code


def _completion(value: Value) -> Completion:
    fields = value.fields(("code", "url"))
    if "url" in fields and not fields["url"].text().startswith(("https://", "http://")):
        fields["url"].fail(f"must begin with https:// or http://, not be {shown(fields['url'].text())}")
    if "url" in fields and not is_address(fields["url"].text()):
        fields["url"].fail(f"must be an address with a host, not {shown(fields['url'].text())}")
    return Completion(
        code=optional(fields, "code", Value.some_text, None), url=optional(fields, "url", Value.some_text, None)
    )


def _on_complete(value: Value) -> str:
    told = value.some_text().strip()
    if "://" in told.partition(" ")[0] and not is_address(told):
        value.fail(f"must be an address that begins with https:// or http://, or a command, not {shown(told)}")
    try:
        shlex.split(told)
    except ValueError:
        value.fail(f"must be a command whose quotation marks are closed, not {shown(told)}")
    return told


def _pay(value: Value) -> Pay:
    fields = value.fields(("currency", "per_hour", "seconds_per_item"))
    usual = Pay()
    return Pay(
        currency=optional(fields, "currency", Value.some_text, usual.currency),
        per_hour=optional(fields, "per_hour", lambda value: value.number(0, 1e6), usual.per_hour),
        seconds_per_item=optional(
            fields, "seconds_per_item", lambda value: value.number(0.1, 86400), usual.seconds_per_item
        ),
    )


def _gold(value: Value, asked: Asked, folder: Path) -> Gold:
    fields = value.fields(("share", "items", "file", "rule"))
    if "items" in fields and "file" in fields:
        fields["file"].fail("and gold.items are both given; keep one of them")
    share = optional(fields, "share", lambda value: value.number(0, 0.9), Gold().share)
    name = optional(fields, "file", Value.some_text, None)
    if name is not None:
        items = read_gold(folder / name, asked)
    else:
        items = optional(fields, "items", lambda value: read_examples(value, asked, "gold"), ())
    return Gold(share, items, name, optional(fields, "rule", lambda value: _gold_rule(value, len(items), share), None))


def _gold_rule(value: Value, items: int, share: float) -> GoldRule:
    fields = value.fields(("at_least", "share", "then"))
    if "then" not in fields:
        value.fail("has no then; write exclude, stop or flag")
    usual = GoldRule()
    rule = GoldRule(
        at_least=optional(fields, "at_least", lambda value: value.whole(1, 10_000), usual.at_least),
        share=optional(fields, "share", lambda value: value.number(0.01, 1), usual.share),
        then=cast("Consequence", fields["then"].choice(("exclude", "stop", "flag"))),
    )
    if items < rule.at_least:
        value.fail(
            f"begins after {rule.at_least} gold items, but there are {items}, each used once a rater; "
            "add some, or lower at_least"
        )
    if not share:
        value.fail("needs gold items among the tasks, but gold.share is 0; raise it")
    return rule


def default_config_text(kind: Kind) -> str:
    """Return the settings of a new study with their defaults, and a comment on each.

    Examples
    --------
    >>> print(default_config_text("pair").splitlines()[4])
    kind: "pair"
    """
    return config_text(default_config(kind))


def default_config(kind: Kind, outputs: int = 0) -> StudyConfig:
    """Return the settings of a new study; rankings have three outputs if nothing is said."""
    if kind == "ranking":
        return StudyConfig("Rank responses", kind, outputs=outputs or 3)
    return StudyConfig("Rate responses", kind)


def config_text(config: StudyConfig) -> str:
    """Return settings as a YAML file, with a comment on each.

    Examples
    --------
    >>> from trubleu.rating.config import parse_config
    >>> config = StudyConfig("Good answers", "response", raters=3)
    >>> parse_config(config_text(config)) == config
    True
    """
    gold, entry, completion, pay = config.gold, config.entry, config.completion, config.pay
    lines = [
        "# The settings of a rating study. They are read again whenever the study is opened.",
        f"title: {_value(config.title)}",
        "# response: one text at a time; pair: the outputs of two systems side by side; ranking: several outputs. It",
        "# cannot be changed.",
        f"kind: {_value(config.kind)}",
        *([f"outputs: {config.outputs}"] if config.kind == "ranking" else []),
        "# How many ratings each item gets. It can be raised later.",
        f"raters: {config.raters}",
        "# Whether ratings by models (trubleu rate model) are among these; otherwise only people's are.",
        f"models_count: {_value(config.models_count)}",
        "",
        *_question_lines(config),
        "",
        "# What raters read before they start, in Markdown.",
        *_text("instructions", config.instructions),
        "# What they agree to first, in Markdown; leave it empty if nothing is asked.",
        *(["consent:"] if config.consent is None else _text("consent", config.consent)),
        "# Whether they may write a comment with an answer; it stays in the log.",
        f"comments: {_value(config.comments)}",
        "# Why they may say that they cannot judge; another reason can always be written.",
        *(["reasons:", *(f"  - {_value(each)}" for each in config.reasons)] if config.reasons else ["reasons: []"]),
        "",
        "# Tasks before the start, with feedback after the answer, such as",
        f"#   - {_value(_EXAMPLES[config.kind] | {'feedback': 'This fits **well**.'})}",
        *_examples("practice", config.practice, config.asked, ""),
        "",
        "# Tasks with a known answer, mixed in unseen; they never reach results. Write them here as under practice,",
        "# without feedback, or name a file of JSON lines beside this one: file: gold.jsonl",
        "gold:",
        "  # How many of a rater's tasks they are, from 0 to 0.9; each is used once a rater at most.",
        f"  share: {_value(gold.share)}",
        *(
            [f"  file: {_value(gold.file)}"]
            if gold.file is not None
            else _examples("items", gold.items, config.asked, "  ")
        ),
        "  # What follows if somebody gets too many wrong: exclude (others rate instead), stop (no more tasks) or flag",
        '  # (you are told), such as {"at_least": 5, "share": 0.7, "then": "exclude"}.',
        f"  rule:{_optional(None if gold.rule is None else asdict(gold.rule))}",
        "",
        "# The shortest time in seconds between seeing a task and answering it.",
        f"minimum_seconds: {_value(config.minimum_seconds)}",
        "# A task that is not answered for so long goes to somebody else.",
        f"lease_minutes: {_value(config.lease_minutes)}",
        "# After how many items a rater is done; leave it empty for no limit.",
        f"most_ratings_per_rater:{_optional(config.most_ratings_per_rater)}",
        "",
        "# How raters come in: with links of their own, with a code that all share, from Prolific or Mechanical Turk.",
        "entry:",
        f"  links: {_value(entry.links)}",
        f"  code:{_optional(entry.code)}",
        "  # false; with tokens that Prolific signs, {verify: KEYS, study: ID}; or unverified: any id in the address.",
        f"  # KEYS: {PROLIFIC_KEYS}",
        f"  prolific: {_prolific_text(entry.prolific)}",
        f"  mturk: {_value(entry.mturk)}",
        "# What they get at the end.",
        "completion:",
        f"  code:{_optional(completion.code)}",
        f"  url:{_optional(completion.url)}",
        "# What is told once every item has its ratings: an address, which gets a POST request with JSON, or a",
        "# command, which gets the folder of the study as its last argument.",
        f"on_complete:{_optional(config.on_complete)}",
        "",
        "# For trubleu rate plan.",
        "pay:",
        f"  currency: {_value(pay.currency)}",
        f"  per_hour: {_value(pay.per_hour)}",
        f"  seconds_per_item: {_value(pay.seconds_per_item)}",
        "",
        "# The order of the items at the start; what raters must not foresee is drawn from secret.key too.",
        f"seed: {config.seed}",
    ]
    return "\n".join(lines) + "\n"


_EXAMPLES: dict[str, dict[str, Any]] = {
    "response": {"message": "how are you?", "response": "fine, and you?", "accepted": [4, 5]},
    "pair": {"message": "how are you?", "responses": ["fine", "a blue one"], "accepted": [[4, 5], [1, 2]]},
    "ranking": {"message": "how are you?", "responses": ["fine", "a blue one"], "accepted": [[1, 1], [2, 2]]},
}


def _question_lines(config: StudyConfig) -> list[str]:
    if config.kind == "ranking":
        return [
            "# The question. Its answers are ranks: 1 for the best output, the same rank for equally good ones.",
            "scale:",
            f"  question: {_value(config.questions[0].text)}",
        ]
    if len(config.questions) == 1 and not config.questions[0].name and config.questions[0].required:
        (only,) = config.questions
        return [
            "# The question, and its answers from worst to best: 2 to 11 labels. With points: 7, only the worst and",
            "# the best need one, or none. For several questions write questions: instead, a list of",
            "#   - {name: relevance, question: Is it relevant?, labels: [no, partly, yes], required: true}",
            "# and weights: NAME (of the question that weights come from) or weights: mean.",
            "scale:",
            f"  question: {_value(only.text)}",
            *_answer_lines(only, "  "),
        ]
    lines = ["# The questions about each text, each with its answers from worst to best.", "questions:"]
    for question in config.questions:
        head = [f"name: {_value(question.name)}"] if question.name else []
        head += [f"question: {_value(question.text)}", f"required: {_value(question.required)}"]
        lines += [f"  {'-' if not at else ' '} {line}" for at, line in enumerate(head)]
        lines += _answer_lines(question, "    ")
    lines += [
        "# Where weights of references come from: the name of a question, or mean for the mean of all.",
        f"weights: {_value(config.weights)}",
    ]
    return lines


def _answer_lines(question: Question, indent: str) -> list[str]:
    points = [] if question.points == len(question.labels) else [f"{indent}points: {question.points}"]
    labels = [f"{indent}  - {_value(label)}" for label in question.labels]
    return [*points, *([f"{indent}labels:", *labels] if labels else [])]


def gold_lines(items: Iterable[Item], asked: Asked) -> str:
    """Return gold items as the JSON lines that the settings can name."""
    return "".join(json_line(_record(item, asked)) + "\n" for item in items)


def _value(value: object) -> str:
    """Return a value as JSON, which is YAML; numbers without an exponent, which not all readers of YAML take."""
    if isinstance(value, float):
        return format(Decimal(repr(value)), "f").removesuffix(".0")
    # ASCII: YAML forbids some characters that JSON allows, and ends lines at others. It has no pairs of surrogates.
    return json.dumps(value) if _plain(value) else _escaped(value)


def _plain(value: object) -> bool:
    return json.dumps(value, ensure_ascii=False).isascii()


def _escaped(value: Any) -> str:
    if isinstance(value, str):
        return '"' + "".join(_character(character) for character in value) + '"'
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_value, value)) + "]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_value(key)}: {_value(entry)}" for key, entry in value.items()) + "}"
    return json.dumps(value)


def _character(character: str) -> str:
    code = ord(character)
    if character in '"\\':
        return "\\" + character
    if character.isprintable():
        return character
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _prolific_text(prolific: Prolific | Literal[False, True, "unverified"]) -> str:
    if not isinstance(prolific, Prolific):
        return _value(prolific)
    return _value({name: value for name, value in asdict(prolific).items() if value is not None})


def _optional(value: str | int | dict[str, Any] | None) -> str:
    return "" if value is None else f" {_value(value)}"


def _text(name: str, text: str) -> list[str]:
    """Return a text as a block that people can edit, where YAML gives it back as it is."""
    lines = text.split("\n")
    body = lines[:-1] if lines[-1] == "" else lines
    readable = all(character.isprintable() for line in lines for character in line)
    if not readable or not body or not body[0].strip() or body[0].startswith(" ") or not body[-1].strip():
        return [f"{name}: {_value(text)}"]
    return [f"{name}: {'|' if lines[-1] == '' else '|-'}", *(f"  {line}" if line else "" for line in body)]


def _examples(name: str, items: Iterable[Item], asked: Asked, indent: str) -> list[str]:
    entries = [f"{indent}  - {_value(_record(item, asked))}" for item in items]
    return [f"{indent}{name}:", *entries] if entries else [f"{indent}{name}: []"]


def _record(item: Item, asked: Asked) -> dict[str, Any]:
    record: dict[str, Any] = {}
    if item.context:
        record["context"] = list(item.context)
    if item.message is not None:
        record["message"] = item.message
    if len(item.texts) == 1:
        record["response"] = item.texts[0]
    else:
        record["responses"] = list(item.texts)
    if item.accepted is not None:
        number = len(asked.questions)
        each = [item.accepted[at : at + number] for at in range(0, len(item.accepted), number)]
        ranges = [_written(some, asked) for some in each]
        record["accepted"] = ranges[0] if len(ranges) == 1 else ranges
    if item.feedback:
        record["feedback"] = item.feedback
    return record


def _written(ranges: Ranges, asked: Asked) -> object:
    if len(asked.questions) == 1:
        return list(ranges[0] or ())
    named = zip(asked.questions, ranges, strict=True)
    return {question.name: list(pair) for question, pair in named if pair is not None}

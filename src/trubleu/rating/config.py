"""The settings of a study: one YAML file that explains itself, read with the line of every mistake."""

from __future__ import annotations

import hashlib
import json
import re
import shlex
import tomllib
from dataclasses import asdict, dataclass, field, replace
from fractions import Fraction
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, NamedTuple, get_args

import pydantic

from trubleu.endpoint import is_address
from trubleu.errors import DataError, UsageError, nearest, shown, without_secrets
from trubleu.files.jsonl import json_line, parse_objects
from trubleu.files.lines import iterate_lines, open_bytes, split_lines
from trubleu.rating import yaml_file
from trubleu.rating.items import POINTS, Item, Role, unstorable
from trubleu.rating.yaml_file import Document, FieldPath, SettingError, Settings, Stripped, Text, found, must, within

if TYPE_CHECKING:
    from collections.abc import Iterable

    from trubleu.files.paths import PathLike


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
    trubleu.errors.UsageError: --url rate.example.org is not an address of pages; write https://HOST/PATH
    """
    if not is_address(url) or "?" in url or "#" in url or "@" in url:
        raise UsageError(f"--url {without_secrets(url)} is not an address of pages; write https://HOST/PATH")
    return url.rstrip("/")


Ranges = tuple[tuple[int, int] | None, ...]
"""The lowest and highest right score for each text and question, text by text; None where any will do."""


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


Kind = Literal["response", "pair", "ranking"]
KINDS: tuple[Kind, ...] = get_args(Kind)
Allocation = Literal["even", "adaptive"]
FEWEST_RANKED, MOST_RANKED = 2, 8

_TEXTS = tomllib.loads(Path(__file__).with_name("texts.toml").read_text("utf-8"))
BEST_AND_WORST = ("best", "worst")
LONGEST_REASON, MOST_REASONS = 200, 9
FEWEST_POINTS, MOST_POINTS = 2, 11
MOST_QUESTIONS = 12
MEAN = "mean"
"""The weights that are the mean of all questions."""

RESERVED = (MEAN, "item", "system", "pair", "rater", "aspect", "score", "seconds", "comment")
"""What no question can be called: columns of tables of ratings."""


@dataclass(frozen=True, slots=True)
class Question(Settings):
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

    text: Annotated[Text, pydantic.Field(alias="question")] = ""
    labels: tuple[Text, ...] = tuple(_TEXTS["labels"])
    name: Annotated[
        Stripped,
        must("be at most 40 letters, digits, spaces, dots, - and _", re.compile(r"\w[\w .-]{0,39}").fullmatch),
        must(
            f"be a word other than {', '.join(RESERVED)}, which tables of ratings use",
            lambda name: name not in RESERVED,
        ),
    ] = ""
    required: bool = True
    points: Annotated[int, within(FEWEST_POINTS, MOST_POINTS)] = 0

    def __post_init__(self) -> None:
        if not self.points:
            object.__setattr__(self, "points", len(self.labels) or POINTS)

    @pydantic.model_validator(mode="before")
    @classmethod
    def _unlabelled(cls, data: dict[str, Any]) -> dict[str, Any]:
        if data.get("labels") == [] and "points" not in data:
            raise SettingError("must be texts from worst to best; to have no labels, give points", "labels")
        return {"labels": []} | data if "points" in data else data

    @pydantic.model_validator(mode="after")
    def _check(self) -> Question:
        number = len(self.labels)
        if number not in (0, FEWEST_POINTS, self.points) or not FEWEST_POINTS <= self.points <= MOST_POINTS:
            wanted = f"{FEWEST_POINTS} to {MOST_POINTS} texts from worst to best, not {number}"
            raise SettingError(f"must be {wanted}; with points, as many as these, {FEWEST_POINTS} or none", "labels")
        if len(set(self.labels)) != number:
            raise SettingError("must be different texts", "labels")
        return self

    def label(self, score: int) -> str:
        """Return what a score is called, empty if it has no name."""
        if len(self.labels) == self.points:
            return self.labels[score - 1]
        return {1: self.labels[0], self.points: self.labels[-1]}.get(score, "") if self.labels else ""

    def answer(self, score: int) -> str:
        """Return a score with what it is called."""
        return f"{score} – {label}" if (label := self.label(score)) else str(score)


class Slot(NamedTuple):
    """The place of a score in an answer: what forms call it, which text it is about, and the question."""

    name: str
    part: int
    question: Question


Consequence = Literal["exclude", "stop", "flag"]


@dataclass(frozen=True, slots=True)
class GoldRule(Settings):
    """What follows if a rater gets too many gold items wrong.

    Attributes
    ----------
    then
        ``exclude``: the ratings no longer count and are asked of others; ``stop``: there are no more tasks, and what
        was rated counts; in both cases there is no completion code. ``flag``: the lead is told.
    at_least
        How many gold items somebody must have answered before anything follows.
    share
        Of those, how many must be right, from 0 to 1.

    Examples
    --------
    >>> rule = GoldRule("exclude", at_least=5, share=0.7)
    >>> rule.is_broken(3, 5), rule.is_broken(4, 5), rule.is_broken(0, 4)
    (True, False, False)
    """

    then: Consequence
    at_least: Annotated[int, within(1, 10_000)] = 5
    share: Annotated[float, within(0.01, 1.0)] = 0.7

    def is_broken(self, right: int, total: int) -> bool:
        """Return whether so many right ones of so many are too few."""
        return total >= self.at_least and right < self.share * total - 1e-9

    def reason(self, right: int, total: int) -> str:
        """Return what the lead is told."""
        return f"{right} of {total} gold items right, below {100 * self.share:g} %"


def _read_as(model: Any) -> pydantic.GetPydanticSchema:
    """Say that a field is read as something else, of which it is made once the questions are known."""
    return pydantic.GetPydanticSchema(lambda _, handler: handler(model))


@dataclass(frozen=True, slots=True)
class _Example(Settings):
    """A gold or practice item as people write it; `_add` makes an `Item` of it."""

    context: tuple[str, ...] = ()
    message: str | None = None
    response: str | None = None
    responses: tuple[str, ...] | None = None
    accepted: Any = None
    feedback: str = ""
    id: str = ""


@dataclass(frozen=True, slots=True)
class Gold(Settings):
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

    share: Annotated[float, within(0.0, 0.9)] = 0.1
    """How many of a rater's tasks they are, from 0 to 0.9; each is used once a rater at most."""
    items: Annotated[tuple[Item, ...], _read_as(tuple[_Example, ...])] = ()
    file: Text | None = None
    rule: GoldRule | None = None
    """What follows if somebody gets too many wrong: exclude (others rate instead), stop (no more tasks) or flag (you
    are told), such as {at_least: 5, share: 0.7, then: exclude}."""

    def beside(self, number: int) -> Fraction:
        """Return how many gold items a rater gets on average beside so many others."""
        share = Fraction(str(self.share))
        return min(number * share / (1 - share), Fraction(len(self.items)))


PROLIFIC_KEYS = "https://api.prolific.com/.well-known/study/jwks.json"


@dataclass(frozen=True, slots=True)
class Prolific(Settings):
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

    verify: Annotated[
        Text,
        must(
            "be an address that begins with https://, or a file",
            lambda keys: "://" not in keys or (keys.startswith("https://") and is_address(keys)),
        ),
    ]
    study: Text | None = None
    audience: Annotated[
        str | None, must("be a host such as rate.example.org", lambda host: is_address(f"https://{host}/"))
    ] = None


@dataclass(frozen=True, slots=True)
class Entry(Settings):
    """How raters come in.

    Attributes
    ----------
    links
        With links of their own.
    code
        By anybody who knows this code; None if not.
    prolific
        From Prolific: with its signed token, or (``unverified``) with an id in the address that anybody can make up.
    mturk
        From Mechanical Turk, with an id in the address that anybody can make up.
    """

    links: bool = True
    code: Annotated[
        Stripped | None,
        must("have at least 8 characters, so nobody can guess it", lambda code: len(code) >= 8),
    ] = None
    prolific: Annotated[
        Annotated[Prolific, pydantic.Tag("signed")]
        | Annotated[bool, pydantic.Tag("any")]
        | Annotated[Literal["unverified"], pydantic.Tag("word")],
        pydantic.Discriminator(
            lambda value: {"unverified": "word"}.get(str(value), "signed" if type(value) is dict else "any")
        ),
    ] = False
    """false; with tokens that Prolific signs, {verify: KEYS, study: ID}; or unverified: any id in the address.
    KEYS: https://api.prolific.com/.well-known/study/jwks.json"""
    mturk: bool = False

    @pydantic.model_validator(mode="after")
    def _check(self) -> Entry:
        if self == Entry(links=False):
            raise ValueError("lets nobody in; set links or mturk to true, or give a code or prolific")
        if self.prolific is True:
            remedy = f"write {{verify: {PROLIFIC_KEYS}}}, or unverified"
            raise SettingError(f"would take every made-up id for somebody from Prolific; {remedy}", "prolific")
        return self


@dataclass(frozen=True, slots=True)
class Completion(Settings):
    """What raters get at the end: a code to paste, an address to go to."""

    code: Text | None = None
    url: Annotated[
        str | None, must("be an address that begins with https:// or http:// and has a host", is_address)
    ] = None


@dataclass(frozen=True, slots=True)
class Pay(Settings):
    """What raters are paid, and how long one task takes."""

    currency: Text = "USD"
    per_hour: Annotated[float, within(0.0, 1e6)] = 15.0
    seconds_per_item: Annotated[float, within(0.1, 86400.0)] = 20.0


def _questions(questions: tuple[Question, ...]) -> tuple[Question, ...]:
    if not 1 <= len(questions) <= MOST_QUESTIONS:
        raise ValueError(f"must be 1 to {MOST_QUESTIONS} questions, not {len(questions)}")
    names = [question.name for question in questions]
    for at, question in enumerate(questions if len(questions) > 1 else ()):
        for field_, value in (("name", question.name), ("question", question.text)):
            if not value:
                raise SettingError(f"has no {field_}; add it", at)
        if question.name in names[:at]:
            raise SettingError(f"is {shown(question.name)}, as of another question; choose another one", at, "name")
    return questions


def _can_be_told(told: str) -> bool:
    if "://" in told.partition(" ")[0]:
        return is_address(told)
    try:
        return bool(shlex.split(told))
    except ValueError:
        return False


@dataclass(frozen=True, slots=True)
class StudyConfig(Settings):
    """All settings of a study.

    Examples
    --------
    >>> config = StudyConfig("Good answers", "response")
    >>> config.raters, config.parts, config.questions[0].labels[-1]
    (5, 1, 'very good')
    """

    other_names: ClassVar = {"scale": "questions"}

    title: Annotated[Text, must("be without NUL and halves of surrogate pairs", lambda title: not unstorable(title))]
    """What raters see at the top."""
    kind: Kind
    """response: one text at a time; pair: the outputs of two systems side by side, each rated; ranking: several
    outputs, ranked. It cannot be changed."""
    raters: Annotated[int, within(1, 1000)] = 5
    """How many ratings each item gets. It can be raised later."""
    outputs: Annotated[int, within(FEWEST_RANKED, MOST_RANKED)] = 0
    """How many outputs a ranking has: 2 to 8. Its question has the ranks as answers, 1 for the best."""
    models_count: bool = False
    """Whether ratings by models (trubleu rate model) count towards raters; otherwise only people's do."""
    allocation: Allocation = "even"
    """Which items come first. even: all alike; adaptive: those that models are uncertain about, each with a known
    probability, for trubleu rate estimate. It is drawn when trubleu rate serve starts, and then stays."""
    questions: Annotated[
        tuple[Question, ...],
        pydantic.BeforeValidator(lambda value: value if isinstance(value, list) else [value]),
        pydantic.AfterValidator(_questions),
        pydantic.Field(validation_alias=pydantic.AliasChoices("questions", "scale")),
    ] = (Question(),)
    """The question, and its answers from worst to best: 2 to 11 labels. With points: 7, only the worst and the best
    need one, or none. For several questions write questions: instead of scale:, a list of
    - {name: relevance, question: Is it relevant?, labels: [no, partly, yes], required: true}"""
    weights: Stripped = MEAN
    """Where weights of references come from: the name of a question, or mean for the mean of all."""
    instructions: Text = ""
    """What raters read before they start, in Markdown."""
    consent: Text | None = None
    """What they agree to first, in Markdown; leave it empty if nothing is asked."""
    comments: bool = False
    """Whether they may write a comment with an answer; it stays in the log."""
    reasons: Annotated[
        tuple[Stripped, ...],
        must(
            f"be at most {MOST_REASONS} different texts of at most {LONGEST_REASON} characters",
            lambda reasons: (
                len({*reasons}) == len(reasons) <= MOST_REASONS
                and not any(len(reason) > LONGEST_REASON or unstorable(reason) for reason in reasons)
            ),
        ),
    ] = tuple(_TEXTS["reasons"])
    """Why they may say that they cannot judge; another reason can always be written."""
    practice: Annotated[tuple[Item, ...], _read_as(tuple[_Example, ...])] = ()
    """Tasks before the start, with feedback after the answer, such as
    - {message: "how are you?", response: "fine!", accepted: [4, 5], feedback: "This fits **well**."}
    - {message: "how are you?", responses: ["fine!", "a blue one"], accepted: [[4, 5], [1, 2]]}"""
    gold: Gold = field(default_factory=Gold)
    """Tasks with a known answer, mixed in unseen; they never reach results. Write them here as under practice, without
    feedback, or name a file of JSON lines beside this one: file: gold.jsonl"""
    minimum_seconds: Annotated[float, within(0.0, 3600.0)] = 0.0
    """The shortest time in seconds between seeing a task and answering it."""
    lease_minutes: Annotated[float, within(0.1, 10080.0)] = 30.0
    """A task that is not answered for so long goes to somebody else."""
    most_ratings_per_rater: Annotated[int | None, within(1, 10**9)] = None
    """After how many items a rater is done; leave it empty for no limit."""
    entry: Entry = field(default_factory=Entry)
    """How raters come in: with links of their own, with a code that all share, from Prolific or Mechanical Turk."""
    completion: Completion = field(default_factory=Completion)
    """What they get at the end."""
    on_complete: Annotated[
        Stripped | None,
        must(
            "be an address that begins with https:// or http://, or a command whose quotation marks are closed",
            _can_be_told,
        ),
    ] = None
    """What is told once every item has its ratings: an address, which gets a POST request with JSON, or a command,
    which gets the folder of the study as its last argument."""
    pay: Pay = field(default_factory=Pay)
    """For trubleu rate plan."""
    seed: Annotated[int, within(0, 2**48)] = 1
    """The order of the items at the start; what raters must not foresee is drawn from secret.key too."""

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
            asked = tuple(replace(each, text=each.text or _TEXTS[self.kind]["question"]) for each in self.questions)
            object.__setattr__(self, "questions", asked)
        if not self.instructions:
            object.__setattr__(self, "instructions", _TEXTS[self.kind]["instructions"])

    @pydantic.model_validator(mode="before")
    @classmethod
    def _fits(cls, data: dict[str, Any]) -> dict[str, Any]:
        """Refuse what does not fit the kind of study, or is said twice."""
        kind = data.get("kind")
        if kind == "ranking" and "outputs" not in data:
            raise SettingError("has no outputs; say how many outputs a ranking has")
        for other in ("questions", "weights") if kind == "ranking" else ("outputs",):
            if other in data and kind in KINDS:
                raise SettingError(f"does not fit kind: {kind}; leave it out", other)
        if "questions" in data and "scale" in data:
            raise SettingError("and scale are both given; keep one of them", "questions")
        scale = data.get("scale")
        for name in scale if kind == "ranking" and isinstance(scale, dict) else ():
            if name != "question":
                raise SettingError("does not fit kind: ranking; leave it out", "scale", name)
        return data

    @pydantic.model_validator(mode="after")
    def _check(self) -> StudyConfig:
        known = (MEAN, *(question.name for question in self.questions if question.name))
        if self.weights not in known:
            given = f"{shown(self.weights)}; {nearest(self.weights, known)}"
            raise SettingError(f"must be {MEAN} or the name of a question, not {given}", "weights")
        if self.allocation == "adaptive" and self.kind == "ranking":
            raise SettingError("must be even in a study of kind ranking, whose ranks have no mean", "allocation")
        if self.allocation == "adaptive" and self.models_count:
            raise SettingError("must be even where models_count is true: it is about what people rate", "allocation")
        return self

    @property
    def parts(self) -> int:
        """How many texts an item has."""
        return {"response": 1, "pair": 2, "ranking": self.outputs}[self.kind]

    @property
    def slots(self) -> tuple[Slot, ...]:
        """What an answer consists of: a score for each question about each text, text by text.

        Examples
        --------
        >>> [slot.name for slot in StudyConfig("T", "pair").slots]
        ['score_1', 'score_2']
        """
        several = len(self.questions) > 1
        return tuple(
            Slot(f"score_{part + 1}_{at}" if several else f"score_{part + 1}", part, question)
            for part in range(self.parts)
            for at, question in enumerate(self.questions, 1)
        )

    @property
    def examples(self) -> tuple[Item, ...]:
        """Practice and gold items."""
        return (*self.practice, *self.gold.items)


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
        start = BytesIO(stream.read(4_000_001))  # beyond what `read_yaml` takes in any encoding
    lines = [line for block in split_lines(start, str(path)) for line in block]
    return parse_config("\n".join([*lines, ""]), str(path), Path(path).parent)


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
    trubleu.errors.DataError: study.yaml:3: instruction is not a setting; did you mean instructions?
    """
    document = yaml_file.read_yaml(text, name)
    with document.mistakes():
        config = document.read(StudyConfig)
        return _with_items(config, folder or Path())


def _with_items(config: StudyConfig, folder: Path) -> StudyConfig:
    """Make items of the examples in settings that were read."""
    gold, rule = config.gold, config.gold.rule
    practice = _items(config.practice, config, "practice", ("practice",))
    items = _items(gold.items, config, "gold", ("gold", "items"))
    if gold.file is not None:
        if items:
            raise SettingError("and gold.items are both given; keep one of them", "gold", "file")
        items = read_gold(folder / gold.file, config)
    if rule is not None and len(items) < rule.at_least:
        problem = f"begins after {rule.at_least} gold items, but there are {len(items)}, each used once a rater"
        raise SettingError(f"{problem}; add some, or lower at_least", "gold", "rule")
    if rule is not None and not gold.share:
        raise SettingError("needs gold items among the tasks, but gold.share is 0; raise it", "gold", "rule")
    return replace(config, practice=practice, gold=replace(gold, items=items))


def read_gold(path: Path, config: StudyConfig) -> tuple[Item, ...]:
    """Read gold items from a file of JSON lines."""
    items: dict[str, Item] = {}
    for place, record in parse_objects(iterate_lines(path), str(path)):
        file, _, line = place.rpartition(":")
        document = Document(file, record, {(): int(line)}, "the gold item")
        with document.mistakes():
            _add(items, document.read(_Example), config, "gold", ())
    if not items:
        raise DataError(f"{path} has no gold items; add some or leave gold.file out")
    return tuple(items.values())


def _items(examples: Iterable[Any], config: StudyConfig, role: Role, path: FieldPath) -> tuple[Item, ...]:
    items: dict[str, Item] = {}
    for at, given in enumerate(examples):
        _add(items, given, config, role, (*path, at))
    return tuple(items.values())


def _add(items: dict[str, Item], given: _Example, config: StudyConfig, role: Role, path: FieldPath) -> None:
    """Make an item of what people wrote."""
    wanted, other = ("responses", "response") if config.parts > 1 else ("response", "responses")
    if getattr(given, other) is not None:
        raise SettingError(f"does not fit the kind of study; write {wanted}", *path, other)
    if role == "gold" and given.feedback:
        raise SettingError("is for practice items, so that nobody notices gold items; leave it out", *path, "feedback")
    for required in (wanted, "accepted") if role == "gold" else (wanted,):
        if getattr(given, required) is None:
            raise SettingError(f"has no {required}; add it", *path)
    texts = given.responses if given.responses is not None else (given.response or "",)
    if len(texts) != config.parts:
        raise SettingError(f"must be {config.parts} texts, not {len(texts)}", *path, wanted)
    accepted = None if given.accepted is None else _accepted(given.accepted, config, (*path, "accepted"))
    item = example(role, texts, given.context, given.message, accepted, given.feedback)
    if item.key in items:
        raise SettingError("is there twice; remove one of them", *path)
    items[item.key] = item


def _accepted(value: Any, config: StudyConfig, path: FieldPath) -> Ranges:
    """Read the right scores: a range, or one for each question by name; for several texts, also a list of these."""
    kind = dict if len(config.questions) > 1 else list
    if config.parts > 1 and isinstance(value, list) and all(isinstance(each, kind) for each in value):
        if len(value) != config.parts:
            raise SettingError(f"must be one for each of {config.parts} responses, such as {_sample(config)}", *path)
        return tuple(span for at, each in enumerate(value) for span in _ranges(each, config, (*path, at)))
    return _ranges(value, config, path) * config.parts


def _ranges(value: Any, config: StudyConfig, path: FieldPath) -> Ranges:
    if len(config.questions) == 1:
        return (_range(value, config.questions[0].points, path),)
    names = [question.name for question in config.questions]
    if not isinstance(value, dict) or not value:
        raise SettingError(f"must say which question each range is for, such as {_sample(config)}", *path)
    for name in value:
        if name not in names:
            raise SettingError(f"is not a setting; {nearest(name, names)}", *path, name)
    return tuple(_range(value.get(each.name), each.points, (*path, each.name)) for each in config.questions)


def _range(value: Any, points: int, path: FieldPath) -> tuple[int, int] | None:
    if value is None:
        return None
    known = [str(score) for score in range(1, points + 1)]
    if isinstance(value, list) and len(value) == 2 and all(str(score) in known for score in value):
        low, high = map(int, value)
        if low <= high:
            return low, high
    written = json.dumps(value).replace('"', "") if isinstance(value, list) else found(value)
    raise SettingError(f"must be the lowest and the highest score, from 1 to {points}, as [1, 2], not {written}", *path)


def _sample(config: StudyConfig) -> str:
    """Return right scores as somebody would write them."""
    one = "[1, 2]" if len(config.questions) == 1 else f"{{{config.questions[0].name}: [1, 2]}}"
    return one if config.parts == 1 else f"[{', '.join([one] * config.parts)}]"


def crowd_warnings(config: StudyConfig) -> list[str]:
    """Return what the lead of a study that is open to crowds must know, in sentences."""
    entry, gold = config.entry, config.gold
    unverified = {"Prolific": entry.prolific == "unverified", "Mechanical Turk": entry.mturk}
    names = [name for name, there in unverified.items() if there]
    found = [f"ids from {name} are not verified: anybody can make one up, rate, and get to the end" for name in names]
    if (entry.prolific or entry.mturk) and (gold.rule is None or gold.rule.then == "flag"):
        found.append("raters who get gold items wrong reach the end like others; gold.rule can exclude or stop them")
    elif gold.rule is not None and (most := config.most_ratings_per_rater) is not None:
        least, expected = gold.rule.at_least, gold.beside(most)
        if least > expected:
            gets = f"with most_ratings_per_rater: {most} a rater gets about {float(expected):.0f}"
            found.append(f"gold.rule begins after {least} gold items, but {gets}; raise gold.share or lower at_least")
    return found


def default_config_text(kind: Kind) -> str:
    """Return the settings of a new study with their defaults, and a comment on each.

    Examples
    --------
    >>> "kind: pair" in default_config_text("pair").splitlines()
    True
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
    made = asdict(config)
    made["practice"] = [_record(item, config) for item in config.practice]
    made["gold"]["items"] = [_record(item, config) for item in config.gold.items]
    del made["gold"]["file" if config.gold.file is None else "items"]
    made["questions"] = [_question_record(question, config.kind) for question in config.questions]
    (first, *_), left_out = made["questions"], set() if config.outputs else {"outputs"}
    if len(config.questions) == 1 and not {"name", "required"} & {*first}:
        made = {("scale" if name == "questions" else name): value for name, value in made.items()} | {"scale": first}
        left_out.add("weights")
    return yaml_file.settings_text(StudyConfig, {name: value for name, value in made.items() if name not in left_out})


def _question_record(question: Question, kind: Kind) -> dict[str, Any]:
    graded = kind != "ranking"
    return _said(
        name=question.name or None,
        question=question.text,
        required=question.required if question.name or not question.required else None,
        points=question.points if graded and question.points != len(question.labels) else None,
        labels=question.labels if graded and question.labels else None,
    )


def _said(**fields: object) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}


def gold_lines(config: StudyConfig) -> str:
    """Return gold items as the JSON lines that the settings can name."""
    return "".join(json_line(_record(item, config)) + "\n" for item in config.gold.items)


def _record(item: Item, config: StudyConfig) -> dict[str, Any]:
    questions, several = range(len(config.questions)), len(item.texts) > 1
    spans = [[item.accepted_at(part, at) for at in questions] for part in range(len(item.texts))]
    named = [{config.questions[at].name: list(span) for at, span in enumerate(each) if span} for each in spans]
    accepted = named if len(questions) > 1 else [list(span or ()) for (span,) in spans]
    return _said(
        context=list(item.context) or None,
        message=item.message,
        response=None if several else item.texts[0],
        responses=list(item.texts) if several else None,
        accepted=None if item.accepted is None else accepted if several else accepted[0],
        feedback=item.feedback or None,
    )

"""The settings of a study: one YAML file, read with the line of every mistake."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal, cast

from trubleu.data.files import open_bytes
from trubleu.data.weights import shown
from trubleu.errors import DataError
from trubleu.rating.addresses import is_address
from trubleu.rating.examples import example as example
from trubleu.rating.examples import read_examples, read_gold
from trubleu.rating.items import POINTS as POINTS
from trubleu.rating.items import Item, unstorable
from trubleu.rating.yaml_nodes import Value, optional, read_yaml

if TYPE_CHECKING:
    from trubleu.data.files import PathLike

Kind = Literal["response", "pair"]

_TOP = (
    "title", "kind", "raters", "scale", "instructions", "consent", "practice", "gold", "minimum_seconds",
    "lease_minutes", "entry", "completion", "most_ratings_per_rater", "pay", "seed",
)  # fmt: skip
QUESTIONS = {
    "response": "How good is this response in the conversation?",
    "pair": "How good is each of these two responses in the conversation?",
}
LABELS: tuple[str, ...] = ("very bad", "bad", "middling", "good", "very good")
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
}


@dataclass(frozen=True, slots=True)
class Scale:
    """What raters are asked, and the names of the five answers from worst to best."""

    question: str = ""
    labels: tuple[str, ...] = LABELS


@dataclass(frozen=True, slots=True)
class Gold:
    """Items with a known answer: their share among the tasks of a rater, and where they come from.

    Attributes
    ----------
    share
        How many of a rater's tasks are gold items, from 0 to 1.
    items
        The items, each used at most once a rater.
    file
        The JSON lines file that they come from, None if they are written in the settings.
    """

    share: float = 0.1
    items: tuple[Item, ...] = ()
    file: str | None = None


@dataclass(frozen=True, slots=True)
class Entry:
    """How raters come in.

    Attributes
    ----------
    links
        With links of their own.
    code
        By anybody who knows this code; None if not.
    prolific, mturk
        From Prolific or Mechanical Turk, with the parameters that these put into the address.
    """

    links: bool = True
    code: str | None = None
    prolific: bool = False
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
        ``response`` (one text at a time) or ``pair`` (two side by side).
    raters
        How many ratings each item gets.
    scale, instructions, consent
        The question with its five labels, and texts in Markdown; no consent is asked for if it is None.
    practice, gold
        Items before the start, with feedback, and items with a known answer in between.
    minimum_seconds
        The shortest time between seeing a task and answering it.
    lease_minutes
        How long a task is kept for a rater who does not answer.
    entry, completion
        How raters come in, and what they get at the end.
    most_ratings_per_rater
        After how many items a rater is done, None for no limit.
    pay
        For the plan.
    seed
        Every random order follows from it.

    Examples
    --------
    >>> config = StudyConfig("Good answers", "response")
    >>> config.raters, config.parts, config.scale.labels[-1]
    (5, 1, 'very good')
    """

    title: str
    kind: Kind
    raters: int = 5
    scale: Scale = field(default_factory=Scale)
    instructions: str = ""
    consent: str | None = None
    practice: tuple[Item, ...] = ()
    gold: Gold = field(default_factory=Gold)
    minimum_seconds: float = 0.0
    lease_minutes: float = 30.0
    entry: Entry = field(default_factory=Entry)
    completion: Completion = field(default_factory=Completion)
    most_ratings_per_rater: int | None = None
    pay: Pay = field(default_factory=Pay)
    seed: int = 1

    def __post_init__(self) -> None:
        # Frozen: what depends on the kind is set behind its back, once.
        if not self.scale.question:
            object.__setattr__(self, "scale", Scale(QUESTIONS[self.kind], self.scale.labels))
        if not self.instructions:
            object.__setattr__(self, "instructions", INSTRUCTIONS[self.kind])

    @property
    def parts(self) -> int:
        """How many texts an item has."""
        return 2 if self.kind == "pair" else 1


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
    kind = cast("Kind", fields["kind"].choice(("response", "pair")))
    parts = 2 if kind == "pair" else 1
    return StudyConfig(
        title=_title(fields["title"]),
        kind=kind,
        raters=optional(fields, "raters", lambda value: value.whole(1, 1000), 5),
        scale=optional(fields, "scale", lambda value: _scale(value, kind), Scale(QUESTIONS[kind])),
        instructions=optional(fields, "instructions", Value.some_text, INSTRUCTIONS[kind]),
        consent=optional(fields, "consent", Value.some_text, None),
        practice=optional(fields, "practice", lambda value: read_examples(value, parts, "practice"), ()),
        gold=optional(fields, "gold", lambda value: _gold(value, parts, folder or Path()), Gold()),
        minimum_seconds=optional(fields, "minimum_seconds", lambda value: value.number(0, 3600), 0.0),
        lease_minutes=optional(fields, "lease_minutes", lambda value: value.number(0.1, 10080), 30.0),
        entry=optional(fields, "entry", _entry, Entry()),
        completion=optional(fields, "completion", _completion, Completion()),
        most_ratings_per_rater=optional(fields, "most_ratings_per_rater", lambda value: value.whole(1, 10**9), None),
        pay=optional(fields, "pay", _pay, Pay()),
        seed=optional(fields, "seed", lambda value: value.whole(0, 2**48), 1),
    )


def _title(value: Value) -> str:
    title = value.some_text()
    if problem := unstorable(title):
        value.fail(f"{problem}; leave it out")
    return title


def _scale(value: Value, kind: Kind) -> Scale:
    fields = value.fields(("question", "labels"))
    labels = LABELS
    if "labels" in fields:
        labels = tuple(entry.some_text() for entry in fields["labels"].entries())
        if len(labels) != POINTS:
            fields["labels"].fail(f"must be {POINTS} texts from worst to best, not {len(labels)}")
        if len(set(labels)) != POINTS:
            fields["labels"].fail("must be five different texts")
    return Scale(optional(fields, "question", Value.some_text, QUESTIONS[kind]), labels)


def _entry(value: Value) -> Entry:
    fields = value.fields(("links", "code", "prolific", "mturk"))
    entry = Entry(
        links=optional(fields, "links", Value.truth, True),
        code=optional(fields, "code", _code, None),
        prolific=optional(fields, "prolific", Value.truth, False),
        mturk=optional(fields, "mturk", Value.truth, False),
    )
    if entry == Entry(links=False):
        value.fail("lets nobody in; set links, prolific or mturk to true, or give a code")
    return entry


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


def _gold(value: Value, parts: int, folder: Path) -> Gold:
    fields = value.fields(("share", "items", "file"))
    if "items" in fields and "file" in fields:
        fields["file"].fail("and gold.items are both given; keep one of them")
    share = optional(fields, "share", lambda value: value.number(0, 0.9), Gold().share)
    if "file" in fields:
        name = fields["file"].some_text()
        return Gold(share, read_gold(folder / name, parts), name)
    return Gold(share, optional(fields, "items", lambda value: read_examples(value, parts, "gold"), ()))

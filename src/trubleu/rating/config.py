"""The settings of a study: one YAML file that explains itself, read with the line of every mistake."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import asdict, dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast
from urllib.parse import urlsplit

from trubleu.data.reference_files import context_field, optional_text, text_field
from trubleu.errors import DataError, UsageError, nearest, shown
from trubleu.files.jsonl import json_line, kind_of, parse_objects
from trubleu.files.lines import iterate_lines, open_bytes
from trubleu.rating.items import POINTS, Item, Role, unstorable
from trubleu.rating.yaml_nodes import Value, optional, read_yaml

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

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


def read_examples(value: Value, parts: int, role: Role) -> tuple[Item, ...]:
    """Read a list of practice or gold items from the settings."""
    items: dict[str, Item] = {}
    for entry in value.entries():
        item = _example(entry, parts, role)
        if item.key in items:
            entry.fail("is there twice; remove one of them")
        items[item.key] = item
    return tuple(items.values())


def _example(value: Value, parts: int, role: Role) -> Item:
    fields = value.fields(_EXAMPLE if role == "practice" else _EXAMPLE[:-1])
    wanted, other = ("responses", "response") if parts == 2 else ("response", "responses")
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
    accepted = optional(fields, "accepted", lambda value: _accepted(value, parts), None)
    return example(role, texts, context, message, accepted, optional(fields, "feedback", Value.text, ""))


def _accepted(value: Value, parts: int) -> tuple[tuple[int, int], ...]:
    entries = value.entries()
    if parts == 2 and all(entry.is_sequence for entry in entries):
        if len(entries) != parts:
            value.fail(f"must be one range for each of the {parts} responses, as [[1, 2], [4, 5]]")
        return tuple(_range(entry) for entry in entries)
    return (_range(value),) * parts


def _range(value: Value) -> tuple[int, int]:
    entries = value.entries()
    if len(entries) != 2:
        value.fail("must be the lowest and the highest score, as [1, 2]")
    low, high = (entry.whole(1, POINTS) for entry in entries)
    if low > high:
        value.fail(f"must be the lowest and the highest score, but {low} is above {high}")
    return low, high


def example(
    role: Role,
    texts: tuple[str, ...],
    context: tuple[str, ...],
    message: str | None,
    accepted: tuple[tuple[int, int], ...] | None,
    feedback: str = "",
) -> Item:
    """Make a gold or practice item, whose key follows from what raters see."""
    digest = hashlib.sha256(repr((texts, context, message)).encode("utf-8", "surrogatepass")).hexdigest()[:16]
    return Item(f"{role}:{digest}", texts, context, message, accepted=accepted, feedback=feedback, role=role)


def read_gold(path: Path, parts: int) -> tuple[Item, ...]:
    """Read gold items from a file of JSON lines."""
    items: dict[str, Item] = {}
    for place, record in parse_objects(iterate_lines(path), str(path)):
        item = _gold_record(record, place, parts)
        if item.key in items:
            raise DataError(f"{place}: this gold item is there twice; remove one of them")
        items[item.key] = item
    if not items:
        raise DataError(f"{path} holds no gold items; add some or leave gold.file out")
    return tuple(items.values())


def _gold_record(record: Mapping[str, Any], place: str, parts: int) -> Item:
    known = ("id", *_EXAMPLE[:-1])
    if unknown := [name for name in record if name not in known]:
        raise DataError(f"{place}: {shown(unknown[0])} is no field of a gold item; {nearest(unknown[0], known)}")
    if parts == 1:
        texts: tuple[str, ...] = (text_field(record, "response", place),)
    else:
        responses = record.get("responses")
        if type(responses) is not list or len(responses) != parts or any(type(text) is not str for text in responses):
            raise DataError(f"{place}: responses must be an array of {parts} strings, not {kind_of(responses)}")
        texts = tuple(responses)
    ranges = record.get("accepted")
    if parts == 1 or (type(ranges) is list and ranges and type(ranges[0]) is not list):
        ranges = [ranges] * parts
    if type(ranges) is not list or len(ranges) != parts or not all(map(_is_range, ranges)):
        raise DataError(
            f"{place}: accepted must be the lowest and the highest score, from 1 to {POINTS}, as [1, 2]"
            + ("; for two responses also [[1, 2], [4, 5]]" if parts == 2 else "")
        )
    accepted = tuple((low, high) for low, high in ranges)
    return example("gold", texts, context_field(record, place) or (), optional_text(record, "message", place), accepted)


def _is_range(value: object) -> bool:
    return (
        type(value) is list
        and len(value) == 2
        and all(type(score) is int for score in value)
        and 1 <= value[0] <= value[1] <= POINTS
    )


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
        The order of the items at the start follows from it. What raters must not foresee follows from the secret too.

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
    fields = value.fields(("share", "items", "file", "rule"))
    if "items" in fields and "file" in fields:
        fields["file"].fail("and gold.items are both given; keep one of them")
    share = optional(fields, "share", lambda value: value.number(0, 0.9), Gold().share)
    name = optional(fields, "file", Value.some_text, None)
    if name is not None:
        items = read_gold(folder / name, parts)
    else:
        items = optional(fields, "items", lambda value: read_examples(value, parts, "gold"), ())
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
    >>> print(default_config_text("pair").splitlines()[3])
    kind: "pair"
    """
    return config_text(StudyConfig("Rate responses", kind))


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
        "# response: one text at a time; pair: the outputs of two systems side by side. It cannot be changed.",
        f"kind: {_value(config.kind)}",
        "# How many ratings each item gets. It can be raised later.",
        f"raters: {config.raters}",
        "",
        "# The question, and its five answers from worst to best.",
        "scale:",
        f"  question: {_value(config.scale.question)}",
        "  labels:",
        *(f"    - {_value(label)}" for label in config.scale.labels),
        "",
        "# What raters read before they start, in Markdown.",
        *_text("instructions", config.instructions),
        "# What they agree to first, in Markdown; leave it empty if nothing is asked.",
        *(["consent:"] if config.consent is None else _text("consent", config.consent)),
        "",
        "# Tasks before the start, with feedback after the answer, such as",
        f"#   - {_value(_EXAMPLES[config.kind] | {'feedback': 'This fits **well**.'})}",
        *_examples("practice", config.practice, ""),
        "",
        "# Tasks with a known answer, mixed in unseen; they never reach results. Write them here as under practice,",
        "# without feedback, or name a file of JSON lines beside this one: file: gold.jsonl",
        "gold:",
        "  # How many of a rater's tasks they are, from 0 to 0.9; each is used once a rater at most.",
        f"  share: {_value(gold.share)}",
        *([f"  file: {_value(gold.file)}"] if gold.file is not None else _examples("items", gold.items, "  ")),
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
}


def gold_lines(items: Iterable[Item]) -> str:
    """Return gold items as the JSON lines that the settings can name."""
    return "".join(json_line(_record(item)) + "\n" for item in items)


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


def _examples(name: str, items: Iterable[Item], indent: str) -> list[str]:
    entries = [f"{indent}  - {_value(_record(item))}" for item in items]
    return [f"{indent}{name}:", *entries] if entries else [f"{indent}{name}: []"]


def _record(item: Item) -> dict[str, Any]:
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
        ranges = [list(pair) for pair in item.accepted]
        record["accepted"] = ranges[0] if len(ranges) == 1 else ranges
    if item.feedback:
        record["feedback"] = item.feedback
    return record

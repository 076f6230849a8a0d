"""The settings of a study as a YAML file that explains itself."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from trubleu.data.jsonl import json_line
from trubleu.rating.config import StudyConfig

if TYPE_CHECKING:
    from collections.abc import Iterable

    from trubleu.rating.config import Kind
    from trubleu.rating.items import Item


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
        f"  prolific: {_value(entry.prolific)}",
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
        "# Every random order follows from it.",
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


def _optional(value: str | int | None) -> str:
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

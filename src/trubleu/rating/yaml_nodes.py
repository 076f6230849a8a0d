"""YAML and JSON with the line of every value, so that a mistake in a file of settings can be pointed at."""

from __future__ import annotations

import json
import math
import re
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

from trubleu.errors import DataError, nearest, shown
from trubleu.optional_deps import needed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

T = TypeVar("T")

_LARGEST = 1_000_000  # characters
_DEEPEST = 12
_WHOLE = re.compile(r"[-+]?[0-9]{1,15}")
_NUMBER = re.compile(r"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)")
_TRUTHS = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}
_NOTHING = {"", "~", "null"}


class Value:
    """A value of a YAML file, with its place and the path of fields that leads to it."""

    def __init__(self, node: Any, name: str, path: str, whole: str = "the file") -> None:
        self._node = node
        self._whole = whole
        self._name = name
        self.path = path

    @property
    def place(self) -> str:
        """``FILE:LINE``."""
        return f"{self._name}:{self._node.start_mark.line + 1}"

    def fail(self, problem: str) -> NoReturn:
        """Raise an error about this value."""
        raise DataError(f"{self.place}: {self.path or self._whole} {problem}")

    @property
    def is_nothing(self) -> bool:
        """Whether nothing is written here."""
        node = self._node
        return node.id == "scalar" and not node.style and node.value.lower() in _NOTHING

    @property
    def is_sequence(self) -> bool:
        """Whether this is a list."""
        return bool(self._node.id == "sequence")

    @property
    def is_mapping(self) -> bool:
        """Whether this has fields."""
        return bool(self._node.id == "mapping")

    def is_text(self, word: str) -> bool:
        """Return whether this is a certain word."""
        return bool(self._node.id == "scalar" and self._node.value == word)

    def fields(self, known: tuple[str, ...]) -> dict[str, Value]:
        """Return the fields of an object by name; empty ones are left out."""
        if self.is_nothing:
            return {}
        if self._node.id != "mapping":
            self.fail(f"must have fields ({', '.join(known)}), not {self._kind()}")
        found: dict[str, Value] = {}
        for key, node in self._node.value:
            name = key.value if key.id == "scalar" else "?"
            value = Value(node, self._name, f"{self.path}.{name}" if self.path else name)
            at = Value(key, self._name, value.path)
            if name not in known:
                at.path = shown(value.path)
                at.fail(f"is not a setting; {nearest(name, known)}")
            if name in found:
                at.fail("is given twice; keep one of them")
            found[name] = value
        return {name: value for name, value in found.items() if not value.is_nothing}

    def entries(self) -> list[Value]:
        """Return the entries of a list."""
        if self._node.id != "sequence":
            self.fail(f"must be a list, not {self._kind()}")
        return [Value(node, self._name, f"{self.path}[{index}]") for index, node in enumerate(self._node.value, 1)]

    def text(self) -> str:
        """Return a text as it is written; plain numbers are texts, too."""
        if self._node.id != "scalar":
            self.fail(f"must be a text, not {self._kind()}")
        return str(self._node.value)

    def some_text(self) -> str:
        """Return a text that is not blank."""
        text = self.text()
        if not text.strip():
            self.fail("must not be empty")
        return text

    def whole(self, least: int, most: int) -> int:
        """Return a whole number within bounds."""
        number = int(self._node.value) if self._plain(_WHOLE) else None
        if number is None or not least <= number <= most:
            self.fail(f"must be a whole number from {least:,} to {most:,}, not {self._kind()}")
        return number

    def number(self, least: float, most: float) -> float:
        """Return a number within bounds."""
        number = float(self._node.value) if self._plain(_NUMBER) else math.nan
        if not least <= number <= most:
            self.fail(f"must be a number from {least:g} to {most:g}, not {self._kind()}")
        return number

    def truth(self) -> bool:
        """Return true or false."""
        word = self._node.value.lower() if self._node.id == "scalar" and not self._node.style else ""
        if word not in _TRUTHS:
            self.fail(f"must be true or false, not {self._kind()}")
        return _TRUTHS[word]

    def choice(self, known: tuple[str, ...]) -> str:
        """Return one of some words."""
        word = self.text()
        if word not in known:
            self.fail(f"must be {' or '.join(known)}, not {shown(word)}")
        return word

    def _plain(self, pattern: re.Pattern[str]) -> bool:
        node = self._node
        return node.id == "scalar" and not node.style and pattern.fullmatch(node.value) is not None

    def _kind(self) -> str:
        match self._node.id:
            case "mapping":
                return "an object"
            case "sequence":
                return "a list"
        return "nothing" if self.is_nothing else shown(self._node.value)


def read_yaml(text: str, name: str) -> Value:
    """Return the only document of a YAML file.

    Raises
    ------
    DataError
        If the text is not YAML, is too large or too deep, or uses aliases, which could make it grow without bounds.
    """
    yaml = needed("yaml", "the settings of a study", "trubleu[rate]")
    if len(text) > _LARGEST:
        raise DataError(f"{name} has {len(text):,} characters, and settings may have {_LARGEST:,}; move texts to files")
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        _check_events(yaml, yaml.parse(text, Loader=loader), name)
        node = yaml.compose(text, Loader=loader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = f":{mark.line + 1}" if mark else ""
        raise DataError(f"{name}{line}: this is not YAML: {error.problem or error.context}; correct it") from error
    except yaml.YAMLError as error:
        raise DataError(f"{name}: this is not YAML: {' '.join(str(error).split())}; correct the file") from error
    if node is None:
        raise DataError(f"{name} is empty; write at least title and kind")
    return Value(node, name, "")


def json_value(record: dict[str, Any], place: str, whole: str) -> Value:
    """Return an object from a line of JSON at ``FILE:LINE``, to be read as one from YAML is."""
    file, _, line = place.rpartition(":")
    mark = SimpleNamespace(line=int(line) - 1)

    def node(value: Any) -> SimpleNamespace:
        if isinstance(value, dict):
            fields = [(node(key), node(each)) for key, each in value.items()]
            return SimpleNamespace(id="mapping", value=fields, start_mark=mark)
        if isinstance(value, list):
            return SimpleNamespace(id="sequence", value=[*map(node, value)], start_mark=mark)
        style, text = ('"', value) if isinstance(value, str) else (None, json.dumps(value))
        return SimpleNamespace(id="scalar", value=text, style=style, start_mark=mark)

    return Value(node(record), file, "", whole)


def _check_events(yaml: Any, events: Iterator[Any], name: str) -> None:
    depth = 0
    for event in events:
        place = f"{name}:{event.start_mark.line + 1}"
        if isinstance(event, yaml.AliasEvent):
            raise DataError(f"{place}: the alias *{event.anchor} cannot be used in settings; repeat the value")
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > _DEEPEST:
            raise DataError(f"{place}: this is nested too deeply for settings; check the brackets")


def optional(fields: dict[str, Value], name: str, read: Callable[[Value], T], default: T) -> T:
    """Return a field read in its way, or what stands for it where it is missing."""
    return read(fields[name]) if name in fields else default

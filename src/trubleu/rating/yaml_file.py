"""Settings in YAML files: read with the line of every mistake, written with a comment on each."""

from __future__ import annotations

import math
import textwrap
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, NoReturn, TypeVar

import pydantic
import yaml
from pydantic_core import ErrorDetails, core_schema

from trubleu.errors import DataError, nearest, shown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


T = TypeVar("T")

_LARGEST = 1_000_000  # characters
_DEEPEST = 12
_NOTHING = {"", "~", "null"}
_WANTED = {"string_type": "a text", "tuple_type": "a list"} | dict.fromkeys(
    ("bool_type", "bool_parsing"), "true or false"
)

FieldPath = tuple[str | int, ...]


class SettingError(ValueError):
    """What is wrong with a setting, whose path may go on from the object that it is found in."""

    def __init__(self, problem: str, *path: str | int) -> None:
        super().__init__(problem)
        self.path = path


def found(value: object) -> str:
    """Return what was written instead of the right thing, for a message."""
    return "an object" if isinstance(value, dict) else "a list" if isinstance(value, list) else shown(str(value))


def within(least: float, most: float) -> pydantic.WrapValidator:
    """Return a check that a number is between bounds; whole numbers have whole bounds."""
    kind = "a whole number" if isinstance(least, int) else "a number"

    def check(value: object, handler: pydantic.ValidatorFunctionWrapHandler) -> Any:
        try:
            number = handler(str(value))
        except pydantic.ValidationError:
            number = math.nan
        if not least <= number <= most:
            raise ValueError(f"must be {kind} from {least:,.15g} to {most:,.15g}, not {found(value)}")
        return number

    return pydantic.WrapValidator(check)


def must(be: str, holds: Callable[[Any], bool]) -> pydantic.AfterValidator:
    """Return a check of a value, with what it must do or be."""

    def check(value: Any) -> Any:
        if not holds(value):
            raise ValueError(f"must {be}, not {shown(value)}")
        return value

    return pydantic.AfterValidator(check)


_some = must("have some text", lambda text: bool(text.strip()))
Text = Annotated[str, _some]
Stripped = Annotated[str, pydantic.StringConstraints(strip_whitespace=True), _some]


class Settings:
    """The base of dataclasses that `Document.read` makes of fields; their names must be known."""

    __slots__ = ()
    __pydantic_config__ = pydantic.ConfigDict(coerce_numbers_to_str=True, use_attribute_docstrings=True)
    other_names: ClassVar[dict[str, str]] = {}

    @classmethod
    def __get_pydantic_core_schema__(
        cls, source: Any, handler: pydantic.GetCoreSchemaHandler
    ) -> core_schema.CoreSchema:
        return core_schema.no_info_before_validator_function(cls._known, handler(source))

    @classmethod
    def _known(cls, data: Any) -> dict[str, Any]:
        known = [*_schema(cls)["properties"], *cls.other_names]
        if not isinstance(data, dict):
            raise SettingError(f"must have fields ({', '.join(known)}), not {found(data)}")
        for name in data:
            if name not in known:
                raise SettingError(f"is not a setting; {nearest(name, known)}", name)
        return {name: value for name, value in data.items() if value is not None}


_adapter: Callable[[Any], pydantic.TypeAdapter[Any]] = cache(pydantic.TypeAdapter)
_schema: Callable[[Any], dict[str, Any]] = cache(lambda model: _adapter(model).json_schema())


def settings_text(model: type[Settings], data: dict[str, Any]) -> str:
    """Return settings as a YAML file, with the docstrings of the fields as comments."""
    schema = _schema(model)
    others = {name: schema["properties"][field] for name, field in model.other_names.items()}
    return "".join(_lines(schema["properties"] | others, schema["$defs"], data, "")).lstrip()


def _lines(fields: dict[str, Any], models: dict[str, Any], data: dict[str, Any], indent: str) -> Iterator[str]:
    for name, value in data.items():
        if description := fields[name].get("description"):
            yield "" if indent else "\n"
            yield textwrap.indent(description, f"{indent}# ", lambda _: True) + "\n"
        if model := fields[name].get("$ref"):
            yield f"{indent}{name}:\n"
            yield from _lines(models[model.rpartition("/")[2]]["properties"], models, value, f"{indent}  ")
        else:
            text = yaml.dump({name: value}, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=math.inf)
            yield textwrap.indent(text, indent)


class _Dumper(yaml.SafeDumper):
    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002
        """Write a value that is there twice twice: `read_yaml` refuses aliases."""
        return True

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:  # noqa: ARG002
        super().increase_indent(flow, indentless=False)


def _dump_text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    """Write a text of many lines as a block that people can edit, where YAML gives it back as it is."""
    # After a block whose last line is empty, PyYAML would end the document.
    readable = text.replace("\n", "").isprintable() and not f"\n{text}".endswith("\n\n")
    return dumper.represent_scalar(
        "tag:yaml.org,2002:str", text, '"' if not readable else "|" if "\n" in text else None
    )


_Dumper.add_representer(str, _dump_text)
_Dumper.add_representer(type(None), lambda dumper, _: dumper.represent_scalar("tag:yaml.org,2002:null", ""))


@dataclass(frozen=True)
class Document:
    """Fields, lists and texts as they are written in a file, with their lines.

    Attributes
    ----------
    name
        The file.
    data
        What is written. All scalars are texts; fields without a value are None.
    lines
        The line of each path of fields and positions; inner values may be missing.
    whole
        What messages call the whole.
    """

    name: str
    data: Any
    lines: dict[FieldPath, int]
    whole: str = "the file"

    def fail(self, path: FieldPath, problem: str) -> NoReturn:
        """Raise an error about the value at a path."""
        written = "".join(f"[{part + 1}]" if isinstance(part, int) else f".{part}" for part in path).removeprefix(".")
        while path not in self.lines:
            path = path[:-1]
        written = written if written.isprintable() and len(written) < 100 else shown(written)
        raise DataError(f"{self.name}:{self.lines[path]}: {written or self.whole} {problem}")

    def read(self, model: type[T]) -> T:
        """Return the settings; to be called within `mistakes`."""
        made: T = _adapter(model).validate_python(self.data)
        return made

    @contextmanager
    def mistakes(self) -> Iterator[None]:
        """Raise what pydantic or a check finds first as an error with its line."""
        try:
            yield
        except pydantic.ValidationError as error:
            first = error.errors()[0]
            mistake = first.get("ctx", {}).get("error")
            if first["type"] == "missing":
                self.fail(self._path(first["loc"][:-1]), f"has no {first['loc'][-1]}; add it")
            inner = mistake.path if isinstance(mistake, SettingError) else ()
            self.fail((*self._path(first["loc"]), *inner), _problem(first))
        except SettingError as error:
            self.fail(error.path, str(error))

    def _path(self, location: FieldPath) -> FieldPath:
        """Return a location without what only the model has, as the branch of a union."""
        path: FieldPath = ()
        value = self.data
        for part in location:
            if part in value if isinstance(value, dict) else isinstance(value, list) and isinstance(part, int):
                value, path = value[part], (*path, part)
        return path


def _problem(error: ErrorDetails) -> str:
    if error["type"] == "value_error":
        return str(error["ctx"]["error"])
    wanted = f"be {_WANTED[error['type']]}" if error["type"] in _WANTED else error["msg"].partition(" should ")[2]
    return f"must {wanted}, not {found(error['input'])}"


def read_yaml(text: str, name: str) -> Document:
    """Return the only document of a YAML file.

    Raises
    ------
    DataError
        If the text is not YAML, is too large or too deep, gives a field twice, or uses aliases, which could make it
        grow without bounds.
    """
    if len(text) > _LARGEST:
        raise DataError(f"{name} has {len(text):,} characters, and settings may have {_LARGEST:,}; move texts to files")
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        _check_events(yaml.parse(text, Loader=loader), name)
        node = yaml.compose(text, Loader=loader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = f":{mark.line + 1}" if mark else ""
        raise DataError(f"{name}{line}: this is not YAML: {error.problem or error.context}; correct it") from error
    except yaml.YAMLError as error:
        raise DataError(f"{name}: this is not YAML: {' '.join(str(error).split())}; correct the file") from error
    if node is None:
        raise DataError(f"{name} is empty; write at least title and kind")
    document = Document(name, None, {(): node.start_mark.line + 1})
    return replace(document, data=_value(node, (), document))


def _value(node: Any, path: FieldPath, document: Document) -> Any:
    """Return what is written, and note the lines of fields and of entries of lists."""
    if node.id == "scalar":
        return node.value
    made: dict[str | int, Any] = {}
    pairs = enumerate(node.value) if node.id == "sequence" else node.value
    for key, entry in pairs:
        name = key if isinstance(key, int) else key.value if key.id == "scalar" else "?"
        document.lines[(*path, name)] = (entry if isinstance(key, int) else key).start_mark.line + 1
        if name in made:
            document.fail((*path, name), "is given twice; keep one of them")
        empty = node.id == "mapping" and entry.id == "scalar" and not entry.style and entry.value.lower() in _NOTHING
        made[name] = None if empty else _value(entry, (*path, name), document)
    return made if node.id == "mapping" else [*made.values()]


def _check_events(events: Iterator[Any], name: str) -> None:
    depth = 0
    for event in events:
        place = f"{name}:{event.start_mark.line + 1}"
        if isinstance(event, yaml.AliasEvent):
            raise DataError(f"{place}: the alias *{event.anchor} cannot be used in settings; repeat the value")
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > _DEEPEST:
            raise DataError(f"{place}: this is nested too deeply for settings; check the brackets")

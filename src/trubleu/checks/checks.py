"""Settings of checks, and checks of many outputs at once."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, Final

from trubleu.checks.findings import KINDS, LEVELS, Finding, Level
from trubleu.checks.item import Item
from trubleu.checks.language import find_language
from trubleu.checks.lengths import find_length
from trubleu.checks.links import find_code, find_links
from trubleu.checks.marks import Mark
from trubleu.checks.markup import find_markup
from trubleu.checks.nearness import find_nearness
from trubleu.checks.negation import find_negation
from trubleu.checks.numbers import find_missing_numbers, find_numbers
from trubleu.checks.rules import compiled, find_rules
from trubleu.checks.support import find_support
from trubleu.checks.vectors import TextVectors
from trubleu.errors import UsageError, nearest
from trubleu.files.paths import name_of, read_whole

if TYPE_CHECKING:
    from collections.abc import Iterable

    from trubleu.files.paths import PathLike

FEW_WORDS: Final = 20
"""Lengths that differ by fewer words are alike."""


@dataclass(frozen=True, kw_only=True)
class Checks:
    """Which findings are looked for, and what they do.

    Parameters
    ----------
    levels
        ``off``, ``warn`` or ``fail`` for each kind of finding that shall differ from its default in `KINDS`.
    longer, shorter
        How many times as long, or what share as long, an output may be.
    contains, excludes, regex
        Texts that every output must and must not contain, and regular expressions that must match in it.

    Raises
    ------
    UsageError
        If a setting is unknown or broken.

    Examples
    --------
    >>> checks = Checks(levels={"number": "fail", "missing number": "off"})
    >>> [found.message for found in checks.find("It takes 60 days.", ["It takes 30 days."])]
    ['"60 days" is in no good reference']
    """

    levels: Mapping[str, Level] = field(default_factory=dict)
    longer: float = 2.0
    shorter: float = 0.5
    contains: Sequence[str] = ()
    excludes: Sequence[str] = ()
    regex: Sequence[str] = ()

    def __post_init__(self) -> None:
        """Check all settings."""
        for kind, level in self.levels.items():
            if kind not in KINDS:
                raise UsageError(f"there is no kind of finding {kind!r}; {nearest(kind, KINDS)}")
            if level not in LEVELS:
                raise UsageError(f"the level of {kind!r} is {level!r}; write off, warn or fail")
        for name in ("longer", "shorter"):
            value = getattr(self, name)
            number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
            if not number or not (value > 1 if name == "longer" else 0 <= value < 1):
                limits = "above 1" if name == "longer" else "from 0 to below 1"
                raise UsageError(f"{name} is {value!r}; write a number {limits}")
        for name in ("contains", "excludes", "regex"):
            texts = getattr(self, name)
            if isinstance(texts, str) or not all(isinstance(text, str) and text for text in texts):
                raise UsageError(f"{name} must be a list of texts that are not empty")
        compiled(self.regex)

    @classmethod
    def read(cls, path: PathLike) -> Checks:
        """Read settings from a TOML file.

        Raises
        ------
        UsageError
            If the file cannot be read as settings.
        """
        where = name_of(path)
        try:
            return cls.from_settings(tomllib.loads(read_whole(path).decode("utf-8")))
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise UsageError(f"{where} is not a TOML file ({error}); mend it") from error
        except UsageError as error:
            raise UsageError(f"{where}: {error}") from error

    @classmethod
    def from_settings(cls, settings: Mapping[str, Any]) -> Checks:
        """Return checks with settings as a TOML file has them: a table ``levels``, and the other parameters.

        Examples
        --------
        >>> Checks.from_settings({"levels": {"added-sentence": "off"}, "longer": 3}).levels
        {'added sentence': 'off'}
        """
        known = [each.name for each in fields(cls)]
        for name in settings:
            if name not in known:
                raise UsageError(f"there is no setting {name!r}; {nearest(name, known)}")
        levels = settings.get("levels", {})
        if not isinstance(levels, Mapping):
            raise UsageError("levels must be a table of kinds and levels")
        return cls(**{**settings, "levels": {kind_of(kind): level for kind, level in levels.items()}})

    def level(self, kind: str, *, baseline: bool) -> Level:
        """Return what a kind of finding does, with or without a baseline."""
        default = KINDS[kind]
        return self.levels.get(kind) or (default.baseline if baseline else default.alone)

    def find(
        self,
        output: str,
        references: Sequence[str],
        weights: Sequence[float] | None = None,
        question: str | None = None,
        old: str | Sequence[str] | None = None,
    ) -> list[Finding]:
        """Return the findings of one output.

        Parameters
        ----------
        output
            The output.
        references
            Good reference answers, and bad ones if there are weights.
        weights
            A weight for each reference, below 0 for a bad one.
        question
            What was asked.
        old
            An earlier output that a person has accepted, or several: what it says is not found again.
        """
        before = (old,) if isinstance(old, str) else tuple(old or ())
        return self.find_all([Item(output, references, weights, question, before)])[0]

    def find_all(self, items: Iterable[Item]) -> list[list[Finding]]:
        """Return the findings of many outputs; faster than one by one.

        Examples
        --------
        >>> items = [Item("It takes 60 days.", ["It takes 30 days."]), Item("Yes.", ["Yes."])]
        >>> [[found.kind for found in findings] for findings in Checks().find_all(items)]
        [['number', 'missing number'], []]
        """
        items = list(items)
        expressions = compiled(self.regex)
        vectors = TextVectors(text for item in items for text in (item.output, *item.known, *item.bad))
        result = []
        for item in items:
            marks = self._marks(item, vectors)
            marks += find_rules(
                item.output,
                [*self.contains, *item.contains],
                [*self.excludes, *item.excludes],
                [*expressions, *compiled(item.regex)],
            )
            result.append(self._findings(marks, baseline=bool(item.old)))
        return result

    def _marks(self, item: Item, vectors: TextVectors) -> list[Mark]:
        if item.output.strip() in {text.strip() for text in item.good}:
            return []
        if not item.output.strip():
            return [Mark("empty", "", "the output is empty")] if item.good else []
        return [
            *find_numbers(item, vectors),
            *find_missing_numbers(item),
            *find_links(item),
            *find_code(item),
            *find_negation(item, vectors),
            *find_support(item, vectors),
            *find_nearness(item),
            *find_length(item, vectors, self.longer, self.shorter, FEW_WORDS),
            *find_language(item),
            *find_markup(item),
        ]

    def _findings(self, marks: Iterable[Mark], *, baseline: bool) -> list[Finding]:
        order = list(KINDS)
        found = [
            Finding(mark.kind, mark.content, mark.message, level, mark.spans)
            for mark in marks
            if (level := self.level(mark.kind, baseline=baseline)) != "off"
        ]
        return sorted(found, key=lambda finding: order.index(finding.kind))


def kind_of(name: str) -> str:
    """Return a kind of finding from its name in settings, where hyphens and underscores may stand for spaces."""
    return name.replace("-", " ").replace("_", " ")

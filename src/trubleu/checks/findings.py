"""Findings, and which of them are new against an earlier output."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Sequence

Level = Literal["off", "warn", "fail"]
"""What a finding does: nothing, a warning, or a failure."""

LEVELS: Final[tuple[Level, ...]] = ("off", "warn", "fail")


class DefaultLevel(NamedTuple):
    """The levels of a kind of finding without settings."""

    alone: Level
    """Without an earlier output."""
    baseline: Level
    """With an earlier output that a person has accepted."""


KINDS: Final[dict[str, DefaultLevel]] = {
    "number": DefaultLevel("warn", "fail"),
    "missing number": DefaultLevel("warn", "warn"),
    "link": DefaultLevel("warn", "fail"),
    "code": DefaultLevel("warn", "fail"),
    "negation": DefaultLevel("warn", "warn"),
    "added paragraph": DefaultLevel("warn", "fail"),
    "added sentence": DefaultLevel("warn", "warn"),
    "missing sentence": DefaultLevel("warn", "warn"),
    "closer to a bad reference": DefaultLevel("fail", "fail"),
    "refusal": DefaultLevel("fail", "fail"),
    "empty": DefaultLevel("fail", "fail"),
    "longer": DefaultLevel("warn", "warn"),
    "shorter": DefaultLevel("warn", "warn"),
    "language": DefaultLevel("fail", "fail"),
    "markup": DefaultLevel("warn", "fail"),
    "contains": DefaultLevel("fail", "fail"),
    "excludes": DefaultLevel("fail", "fail"),
    "regex": DefaultLevel("fail", "fail"),
}
"""All kinds of findings, in the order in which they are shown, with their default levels."""

COMMON: Final = 0.05
"""A kind that more than this share of the accepted outputs have only warns."""


@dataclass(frozen=True)
class Finding:
    """Something that is wrong with an output, or may be.

    Attributes
    ----------
    kind
        One of `KINDS`.
    content
        What was found, normalised; two findings of one kind and content are the same finding.
    message
        One sentence for people.
    level
        ``warn`` or ``fail``.
    spans
        Where it is in the output: begin and end of each place. Empty if something is missing.
    """

    kind: str
    content: str
    message: str
    level: Level
    spans: tuple[tuple[int, int], ...] = ()

    @property
    def identity(self) -> tuple[str, str]:
        """Kind and content."""
        return self.kind, self.content


def new_findings(new: Iterable[Sequence[Finding]], old: Iterable[Sequence[Finding]]) -> list[Finding]:
    """Return the findings of an item's new outputs that none of its old outputs has, each once.

    Parameters
    ----------
    new
        The findings of each new output of the item; several if outputs were generated repeatedly.
    old
        The same of the old outputs; empty without a baseline, and then every finding is new.

    Examples
    --------
    >>> known = Finding("number", "5 day", '"5 days" is in no good reference', "warn")
    >>> other = Finding("number", "9 day", '"9 days" is in no good reference', "warn")
    >>> [found.content for found in new_findings([[known], [known, other]], [[known]])]
    ['9 day']
    """
    known = {found.identity for findings in old for found in findings}
    result: dict[tuple[str, str], Finding] = {}
    for findings in new:
        for found in findings:
            if found.identity not in known:
                result.setdefault(found.identity, found)
    return list(result.values())


def common_kinds(old: Sequence[Sequence[Finding]]) -> dict[str, int]:
    """Return the kinds that several, and more than 1 in 20, of the accepted outputs have, with their number.

    Only kinds whose default level depends on a baseline count: references and good outputs may differ in figures, so
    a new one says little where the accepted outputs have some, too.

    Parameters
    ----------
    old
        The findings of each accepted output, found without a baseline.

    Examples
    --------
    >>> figure = Finding("number", "5 day", '"5 days" is in no good reference', "warn")
    >>> common_kinds([[figure], [figure], [], []])
    {'number': 2}
    """
    counts = Counter(kind for findings in old for kind in {found.kind for found in findings})
    usual = [kind for kind, level in KINDS.items() if level.alone != level.baseline]
    return {kind: counts[kind] for kind in usual if counts[kind] > max(1, COMMON * len(old))}


def only_warned(findings: Iterable[Finding], kinds: Container[str]) -> list[Finding]:
    """Return findings of which those of some kinds only warn.

    Examples
    --------
    >>> figure = Finding("number", "5 day", '"5 days" is in no good reference', "fail")
    >>> [found.level for found in only_warned([figure], {"number": 2})]
    ['warn']
    """
    return [replace(found, level="warn") if found.kind in kinds else found for found in findings]

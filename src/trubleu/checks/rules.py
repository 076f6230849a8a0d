"""Texts that an output must or must not contain, and expressions that must match."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from trubleu.checks.marks import Mark, shortened
from trubleu.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


def compiled(expressions: Iterable[str]) -> list[re.Pattern[str]]:
    """Compile regular expressions.

    Raises
    ------
    UsageError
        If one of them is broken.
    """
    result = []
    for expression in expressions:
        try:
            result.append(re.compile(expression, re.MULTILINE))
        except re.error as error:
            raise UsageError(f"the regular expression {expression!r} is broken ({error}); mend it") from error
    return result


def find_rules(
    output: str, contains: Sequence[str], excludes: Sequence[str], expressions: Sequence[re.Pattern[str]]
) -> list[Mark]:
    """Return the rules that an output breaks."""
    found = [
        Mark("contains", text, f'"{shortened(text)}" is missing')
        for text in dict.fromkeys(contains)
        if text not in output
    ]
    for text in dict.fromkeys(excludes):
        spans = tuple(match.span() for match in re.finditer(re.escape(text), output))
        if spans:
            found.append(Mark("excludes", text, f'"{shortened(text)}" must not be there', spans))
    found += [
        Mark("regex", expression.pattern, f"nothing matches {shortened(expression.pattern)}")
        for expression in dict.fromkeys(expressions)
        if not expression.search(output)
    ]
    return found

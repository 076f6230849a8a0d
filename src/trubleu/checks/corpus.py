"""Findings of systems' outputs for a corpus of references."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trubleu.checks.checks import Checks
from trubleu.checks.item import Item

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from trubleu.checks.findings import Finding
    from trubleu.data import References


def corpus_findings(
    outputs: Mapping[str, Sequence[str]],
    references: References,
    places: Sequence[int] | None = None,
    checks: Checks | None = None,
) -> dict[str, list[list[Finding]]]:
    """Return the findings of each system's outputs; messages count as questions.

    Parameters
    ----------
    outputs
        The outputs of each system, one a segment.
    references
        The references of all segments.
    places
        Which segments to check; all if left out.
    checks
        Which findings to look for; the defaults of `Checks` if left out.

    Examples
    --------
    >>> from trubleu import References
    >>> found = corpus_findings({"A": ["It takes 60 days."]}, References.from_lists([["It takes 30 days."]]))
    >>> [finding.kind for finding in found["A"][0]]
    ['number', 'missing number']
    """
    chosen = range(len(references)) if places is None else places
    items = []
    for place in chosen:
        segment = references[place]
        texts = [reference.text for reference in segment.references]
        given = [reference.weight for reference in segment.references]
        weights = None if None in given else [weight for weight in given if weight is not None]
        items += [Item(own[place], texts, weights, segment.message) for own in outputs.values()]
    found = (checks or Checks()).find_all(items)
    return {name: found[number :: len(outputs)] for number, name in enumerate(outputs)}

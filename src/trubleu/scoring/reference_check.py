"""Summary and checks of a set of references."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from trubleu.results import SCHEMA

if TYPE_CHECKING:
    from trubleu.data import References


BINS: Final = 20
"""Bins for weights from -1 to 1, of width 0.1."""

KINDS: Final = ("no_positive", "unrated", "repeated", "contradicted", "empty")
"""Kinds of findings; see `Finding.name`."""

MOST_IDS: Final = 10
"""Maximum ids listed per finding."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WeightBin:
    """Number of references with a weight in [``low``, ``high``); the last bin includes ``high``."""

    low: float
    high: float
    references: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """A finding about references.

    Attributes
    ----------
    name
        ``no_positive``: segments without a weight above 0, which ΔBLEU refuses. ``unrated``: references without a
        weight where others have one. ``repeated``: references with the text of another one of their segment, and its
        weight. ``contradicted``: the same with another weight. ``empty``: texts of nothing but white space.
    references, segments
        How many references, and in how many segments; for ``no_positive`` all references of these segments.
    ids
        The first segments.
    """

    name: str
    references: int
    segments: int
    ids: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class OriginCount:
    """Number of references per origin; None if the origin is unknown."""

    origin: str | None
    references: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ReferenceCheck:
    """The result of `check_references`.

    Attributes
    ----------
    source
        Where the references come from.
    segments, references
        How many there are.
    fewest, mean, most
        References per segment.
    weights
        The histogram of the weights; none if there are no weights.
    findings
        One of each kind, also where there is nothing to be found.
    origins
        The origins, the most frequent first; none if no reference has one.
    """

    source: str
    segments: int
    references: int
    fewest: int
    mean: float
    most: int
    weights: tuple[WeightBin, ...]
    findings: tuple[Finding, ...]
    origins: tuple[OriginCount, ...]

    def finding(self, name: str) -> Finding:
        """Return the finding of a kind."""
        return next(finding for finding in self.findings if finding.name == name)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values for JSON."""
        return {"schema": SCHEMA, **asdict(self)}

    def _repr_html_(self) -> str:
        from trubleu.render.references import render_reference_check

        return render_reference_check(self, "html")


def check_references(references: References) -> ReferenceCheck:
    """Check a set of references.

    Examples
    --------
    >>> from trubleu import References
    >>> check = check_references(References.from_lists([["a", "a"], ["b", ""]], [[1, 0.5], [-0.2, None]]))
    >>> [(finding.name, finding.references, finding.ids) for finding in check.findings if finding.segments]
    [('no_positive', 2, ('2',)), ('unrated', 1, ('2',)), ('contradicted', 2, ('1',)), ('empty', 1, ('2',))]
    """
    counts = references.reference_counts()
    none = references.segments_without_positive()
    places = {name: Counter[int]() for name in KINDS}
    places["no_positive"].update(dict(zip(none.tolist(), counts[none].tolist(), strict=True)))
    for index, _, weights in references.repeated():
        places["repeated" if len(set(weights)) == 1 else "contradicted"][index] += len(weights)
    unrated = np.zeros(0) if references.weights is None else np.flatnonzero(np.isnan(references.weights))
    empty = [index for index, text in enumerate(references.texts) if not text or text.isspace()]
    for name, texts in (("unrated", unrated), ("empty", empty)):
        places[name].update((np.searchsorted(references.offsets, texts, side="right") - 1).tolist())
    return ReferenceCheck(
        source=references.source,
        segments=len(references),
        references=references.count,
        fewest=int(counts.min(initial=references.count)),
        mean=references.count / max(len(references), 1),
        most=int(counts.max(initial=0)),
        weights=_histogram(references),
        findings=tuple(
            Finding(
                name=name,
                references=sum(found.values()),
                segments=len(found),
                ids=tuple(references.ids[index] for index in sorted(found)[:MOST_IDS]),
            )
            for name, found in places.items()
        ),
        origins=tuple(
            OriginCount(origin=origin, references=count)
            for origin, count in Counter(references.origins or ()).most_common()
        ),
    )


def _histogram(references: References) -> tuple[WeightBin, ...]:
    if references.weights is None:
        return ()
    rated = references.weights[~np.isnan(references.weights)]
    half = BINS // 2
    # A tenth belongs to the bin that begins with it, although -0.3 * 10 may be slightly below -3.
    bins = np.minimum(np.floor(rated * half + half + 1e-9), BINS - 1).astype(np.int64)
    counts = np.bincount(bins, minlength=BINS).tolist()
    return tuple(
        WeightBin(low=(index - half) / half, high=(index - half + 1) / half, references=count)
        for index, count in enumerate(counts)
    )

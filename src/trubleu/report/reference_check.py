"""What a set of references holds, and what about it should be known before it is used."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from trubleu.report.tables import FOR_PROGRAMS, SCHEMA, Column, Table, render_tables

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from trubleu.data import References

BINS: Final = 20
"""Of the weights from -1 to 1: a tenth each."""

MOST_IDS: Final = 10
"""Ids that are listed for each finding."""

_BAR: Final = 40
_WHAT: Final = {
    "no_positive": "no positive weight",
    "unrated": "not rated yet",
    "repeated": "same text again, same weight",
    "contradicted": "same text again, other weight",
    "empty": "empty text",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class WeightBin:
    """How many references have a weight from ``low`` up to ``high``, which only the last bin includes."""

    low: float
    high: float
    references: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """Something about references that should be known.

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
    """How many references come from somewhere; None for those that do not say it."""

    origin: str | None
    references: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ReferenceCheck:
    """What `check_references` finds.

    Attributes
    ----------
    source
        Where the references come from.
    segments, references
        How many there are.
    fewest, mean, most
        References a segment.
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
        """Return everything as plain values, ready for JSON."""
        return {"schema": SCHEMA, **asdict(self)}

    def _repr_html_(self) -> str:
        return render_check(self, "html")


def check_references(references: References) -> ReferenceCheck:
    """Look through references.

    Examples
    --------
    >>> from trubleu import References
    >>> check = check_references(References.from_lists([["a", "a"], ["b", ""]], [[1, 0.5], [-0.2, None]]))
    >>> [(finding.name, finding.references, finding.ids) for finding in check.findings if finding.segments]
    [('no_positive', 2, ('2',)), ('unrated', 1, ('2',)), ('contradicted', 2, ('1',)), ('empty', 1, ('2',))]
    """
    counts = references.reference_counts()
    none = references.segments_without_positive()
    places = {name: Counter[int]() for name in _WHAT}
    places["no_positive"].update(dict(zip(none.tolist(), counts[none].tolist(), strict=True)))
    places["unrated"].update(_segments_of(references, np.flatnonzero(_unrated(references))))
    for index, _, weights in references.repeated():
        places["repeated" if len(set(weights)) == 1 else "contradicted"][index] += len(weights)
    if references.empty_count():
        empty = [index for index, text in enumerate(references.texts) if not text or text.isspace()]
        places["empty"].update(_segments_of(references, np.array(empty)))
    return ReferenceCheck(
        source=references.source,
        segments=len(references),
        references=references.count,
        fewest=int(counts.min(initial=references.count)),
        mean=references.count / max(len(references), 1),
        most=int(counts.max(initial=0)),
        weights=_histogram(references),
        findings=tuple(_finding(name, found, references) for name, found in places.items()),
        origins=tuple(
            OriginCount(origin=origin, references=count)
            for origin, count in Counter(references.origins or ()).most_common()
        ),
    )


def render_check(check: ReferenceCheck, format: str = "text", digits: int = 2) -> str:  # noqa: A002
    """Return a check in one of the formats of `trubleu.report.render_tables`.

    Parameters
    ----------
    check
        What `check_references` returns.
    format
        ``csv`` and ``json`` have the ids in rows of their own, and no bars.
    digits
        Decimals of the mean.
    """
    tables = [_counts(check)]
    if check.weights:
        tables.append(_weights(check, bars=format in ("text", "markdown", "html")))
    tables += [_findings(check), _examples(check)] if format in FOR_PROGRAMS else [_listed_findings(check)]
    if check.origins:
        tables.append(_origins(check))
    return render_tables(tables, format, digits)


def _unrated(references: References) -> np.ndarray[Any, np.dtype[np.bool_]]:
    return np.zeros(references.count, dtype=bool) if references.weights is None else np.isnan(references.weights)


def _segments_of(references: References, places: np.ndarray[Any, Any]) -> Iterable[int]:
    """Return the segment of each flat place."""
    segments: list[int] = (np.searchsorted(references.offsets, places, side="right") - 1).tolist()
    return segments


def _finding(name: str, found: Mapping[int, int], references: References) -> Finding:
    first = sorted(found)[:MOST_IDS]
    ids = tuple(references.ids[index] for index in first)
    return Finding(name=name, references=sum(found.values()), segments=len(found), ids=ids)


def _histogram(references: References) -> tuple[WeightBin, ...]:
    if references.weights is None:
        return ()
    rated = references.weights[~np.isnan(references.weights)]
    half = BINS // 2
    # Tenths belong to the bin that begins with them, though -0.3 * 10 may come out a little smaller than -3.
    bins = np.minimum(np.floor(rated * half + half + 1e-9), BINS - 1).astype(np.int64)
    counts = np.bincount(bins, minlength=BINS).tolist()
    return tuple(
        WeightBin(low=(index - half) / half, high=(index - half + 1) / half, references=count)
        for index, count in enumerate(counts)
    )


def _counts(check: ReferenceCheck) -> Table:
    columns = [
        Column("segments", kind="count"),
        Column("references", kind="count"),
        Column("fewest", "fewest a segment", "count"),
        Column("mean", kind="number"),
        Column("most", kind="count"),
    ]
    return Table("", columns, [(check.segments, check.references, check.fewest, check.mean, check.most)], name="counts")


def _weights(check: ReferenceCheck, *, bars: bool) -> Table:
    columns = [
        Column("low", "from", "signed", 1),
        Column("high", "to", "signed", 1),
        Column("references", kind="count"),
    ]
    rows: list[tuple[Any, ...]] = [(each.low, each.high, each.references) for each in check.weights]
    if bars:
        most = max(max(each.references for each in check.weights), 1)
        # Whatever is there is seen: the shortest bar is one wide.
        widths = [-(-each.references * _BAR // most) for each in check.weights]
        columns.append(Column("bar", " "))
        rows = [(*row, "█" * width) for row, width in zip(rows, widths, strict=True)]
    return Table("Weights", columns, rows, name="weights")


def _findings(check: ReferenceCheck) -> Table:
    columns = [Column("finding"), Column("references", kind="count"), Column("segments", kind="count")]
    rows = [(each.name, each.references, each.segments) for each in check.findings]
    return Table("Findings", columns, rows, name="findings")


def _examples(check: ReferenceCheck) -> Table:
    rows = [(each.name, name) for each in check.findings for name in each.ids]
    return Table("Examples", [Column("finding"), Column("id")], rows, name="examples")


def _listed_findings(check: ReferenceCheck) -> Table:
    columns = [Column("finding"), Column("references", kind="count"), Column("segments", kind="count")]
    rows = [(_WHAT[each.name], each.references, each.segments) for each in check.findings]
    # Below the table: ids may be long, and a column of them would be as wide as the longest list.
    notes = []
    for each in check.findings:
        more = f" and {each.segments - len(each.ids):,} more" if each.segments > len(each.ids) else ""
        if each.ids:
            notes.append(f"{_WHAT[each.name]}: {', '.join(each.ids)}{more}")
    return Table("Findings", columns, rows, notes, name="findings")


def _origins(check: ReferenceCheck) -> Table:
    columns = [Column("origin"), Column("references", kind="count")]
    return Table("Origins", columns, [(each.origin, each.references) for each in check.origins], name="origins")

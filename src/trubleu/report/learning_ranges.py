"""A first pass over a corpus for metrics that must know all references before they count one segment."""

from __future__ import annotations

import socket
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from trubleu.data import places
from trubleu.data.ranges import LineRange
from trubleu.engines.keeping import Kept, Packed
from trubleu.errors import UsageError, some
from trubleu.metrics.contract import Metric
from trubleu.metrics.learning import Learned, LearningMetric
from trubleu.metrics.ngram_counts import CountsOfParts, NgramCounts

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from trubleu.data import LineStream
    from trubleu.data.files import PathLike

MakeMetrics = Callable[[], Mapping[str, Metric]]
"""Makes the metrics by their names; each worker does, as what they hold need not travel."""

LearnOne = Callable[[LineRange, Mapping[str, Metric]], dict[str, NgramCounts]]
"""Counts what one range has to teach."""


@dataclass(frozen=True, slots=True)
class LearnRange:
    """Counts what the references of a range have to teach.

    Attributes
    ----------
    files
        The corpus, without outputs.
    learning
        The names of the metrics that learn.
    """

    files: LineStream
    learning: tuple[str, ...]

    def __call__(self, lines: LineRange, metrics: Mapping[str, Metric]) -> dict[str, NgramCounts]:
        """Count a range."""
        sums = {name: CountsOfParts() for name in self.learning}
        columns = len(self.files.paths)
        for references, _ in replace(lines, spans=lines.spans[:columns]).parts(self.files):
            for name, metric in learning_in_parts(metrics).items():
                sums[name].add(metric.counts(references))
        return {name: each.finish() for name, each in sums.items()}


def learning_in_parts(metrics: Mapping[str, Metric]) -> dict[str, LearningMetric]:
    """Return those metrics that learn from the references of all segments.

    Raises
    ------
    UsageError
        If what one of them learns does not add up over parts.
    """
    learning = {name: metric for name, metric in metrics.items() if metric.learns}
    if other := [name for name, metric in learning.items() if not isinstance(metric, LearningMetric)]:
        raise UsageError(
            f"{some(other)} must know the references of all segments before one is scored, and what it learns does not "
            "add up over parts of them; score whole files, without --engine, or let it learn from another corpus"
        )
    return {name: metric for name, metric in learning.items() if isinstance(metric, LearningMetric)}


def references_only(files: LineStream) -> LineStream:
    """Return a corpus without outputs and messages."""
    kept = len(files.references) + len(files.weights)
    return replace(files, systems={}, source=None, forms=files.forms[:kept], columns=())


def kept_counts(work: LearnRange, folder: PathLike, job: str) -> LearnOne:
    """Return the same with results kept in a folder that is there; ``job`` is what they depend on besides the range."""
    return Kept(
        function=work,
        folder=places.absolute(folder),
        content=partial(_content, job, len(work.files.paths)),
        pack=_pack,
        unpack=_unpack,
    )


def _content(job: str, columns: int, lines: LineRange) -> Iterator[bytes]:
    yield f"learn {job}".encode()
    yield repr((lines.first, lines.count)).encode()
    for spans in lines.spans[:columns]:
        for span in spans:
            yield span.digest()


def _pack(found: dict[str, NgramCounts]) -> Packed:
    arrays: dict[str, NDArray[Any]] = {}
    header = {}
    for name, counts in found.items():
        header[name], own = counts.plain()
        arrays |= {f"{name} {key}": array for key, array in own.items()}
    return {"learned": header}, arrays


def _unpack(header: dict[str, Any], array: Callable[[str], NDArray[Any]]) -> dict[str, NgramCounts]:
    return {
        name: NgramCounts.from_plain(values, partial(_named, array, name)) for name, values in header["learned"].items()
    }


def _named(array: Callable[[str], NDArray[Any]], name: str, key: str) -> NDArray[Any]:
    return array(f"{name} {key}")


def added_up(found: Iterable[dict[str, NgramCounts]]) -> dict[str, Learned]:
    """Add up what ranges have to teach each metric; of what is rare nothing is left, as it counts nothing."""
    sums: dict[str, CountsOfParts] = {}
    for counts in found:
        for name, each in counts.items():
            sums.setdefault(name, CountsOfParts()).add(each)
    return {name: Learned.of(each.finish()) for name, each in sums.items()}


def taught(metrics: MakeMetrics, learned: Mapping[str, Learned]) -> MakeMetrics:
    """Return what makes the same metrics with what they have learned."""
    return partial(_make, metrics, learned) if learned else metrics


def _make(metrics: MakeMetrics, learned: Mapping[str, Learned]) -> dict[str, Metric]:
    made = metrics()
    learning = learning_in_parts(made)
    return {name: learning[name].knowing(learned[name]) if name in learned else made[name] for name in made}


@dataclass(frozen=True, slots=True)
class SameMetrics:
    """Makes metrics on a worker, and sees to it that they are those of whoever asked for them.

    Attributes
    ----------
    metrics
        Makes them.
    signatures
        What they were there, as `signatures_of` tells.
    """

    metrics: MakeMetrics
    signatures: tuple[tuple[str, str], ...]

    def __call__(self) -> Mapping[str, Metric]:
        """Make them.

        Raises
        ------
        UsageError
            If they are not the same, as a file that they need is another one here.
        """
        made = self.metrics()
        check_same(made, self.signatures)
        return made


def check_same(metrics: Mapping[str, Metric], signatures: Sequence[tuple[str, str]]) -> None:
    """Refuse metrics that are not what they were where the work was begun, as a file of theirs is another one here.

    Raises
    ------
    UsageError
        If a signature differs, with the name of this node.
    """
    for (name, here), (_, there) in zip(signatures_of(metrics), signatures, strict=True):
        if here != there:
            raise UsageError(
                f"the metric {name} is {here} on the node {socket.gethostname()}, but {there} where the work was "
                "begun; let every node find the same vectors, corpora and code under the same paths"
            )


def signatures_of(metrics: Mapping[str, Metric]) -> tuple[tuple[str, str], ...]:
    """Return how each metric makes its numbers, by its name."""
    return tuple((name, str(metric.signature())) for name, metric in metrics.items())

"""Evaluation sets: outputs, references for them and ratings of them, in one folder that commands take.

They are also read from data that the field publishes, as it is published: DSTC7, MQM, SummEval, USR, the test sets of
mt-metrics-eval, and WMT's assessments and rankings.
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from trubleu.data.ratings import write_ratings
from trubleu.data.reference_files import write_references
from trubleu.errors import DataError, UsageError, shown, some
from trubleu.files.jsonl import json_line, parse_json
from trubleu.files.paths import exists, is_remote, read_whole
from trubleu.files.writer import atomic_writer, new_folder

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from fractions import Fraction

    from trubleu.data.rankings import Rankings
    from trubleu.data.references import Segment
    from trubleu.files.paths import PathLike


DESCRIPTION: Final = "set.json"
REFERENCES: Final = "references.jsonl"
OUTPUTS: Final = "outputs"
RATINGS: Final = "ratings.csv"
SCORES: Final = "scores"
SEGMENT_SCORES: Final = ".seg.score"
HUMAN: Final = "human.txt"
SCHEMA: Final = 1

_TERMS: Final = re.compile(r"(LICEN[CS]E|NOTICE)(\.\w+)?|SOURCE\.txt", re.IGNORECASE)
_UNFIT: Final = re.compile(r"[\s/\\:*?\"<>|\x00-\x1f\x7f\ud800-\udfff]+|^\.+")
"""What no name of a file can hold everywhere, and spaces."""

Scale = tuple[int, int]


def file_name(name: str) -> str:
    """Return a name that files can have everywhere: hyphens replace what does not fit.

    Examples
    --------
    >>> file_name("Nucleus (p = 0.3)")
    'Nucleus-(p-=-0.3)'
    """
    return _UNFIT.sub("-", name)


class RatingRow(NamedTuple):
    """One rating, its score as it was published: any finite number, a fraction where it was added up here."""

    item: str
    system: str
    rater: str
    score: float | Fraction
    aspect: str
    pair: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationSet:
    """Outputs of systems, references for them and ratings of them.

    Attributes
    ----------
    name
        Of its folder, where several sets are written together.
    title, task, licence
        What it is, what the systems had to do, and under what terms and by whom it was published.
    segments
        Items with their references, at least one each; none where texts are not published.
    outputs
        Each system's texts by item; a system need not have all. None where texts are not published.
    ratings, rankings
        Of these outputs; one of the two.
    human
        Official scores of systems; empty if there are none.
    aspects
        What `trubleu judge` goes by unless it is told; empty for all.
    scales
        The lowest and the highest score by aspect, for those with a fixed scale of whole numbers.
    scores
        Scores of segments by metric, and then by item and system.
    labels
        Further fields of items, such as their documents.
    files
        The raw files it was read from.
    left_out
        What the raw files hold besides, and how many of it.
    """

    name: str
    title: str
    task: str
    licence: str
    segments: Sequence[Segment]
    outputs: Mapping[str, Mapping[str, str]]
    ratings: Sequence[RatingRow] = ()
    rankings: Rankings | None = None
    human: Mapping[str, float] = field(default_factory=dict)
    aspects: tuple[str, ...] = ()
    scales: Mapping[str, Scale] = field(default_factory=dict)
    scores: Mapping[str, Mapping[tuple[str, str], float]] = field(default_factory=dict)
    labels: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    files: tuple[Path, ...] = ()
    left_out: Mapping[str, int] = field(default_factory=dict)

    def counts(self) -> dict[str, int]:
        """Return how many items, references, systems, outputs, ratings and scored metrics there are, if any."""
        counts = {
            "items": len(self.segments) or len({row.item for row in self.ratings}),
            "references": sum(len(segment.references) for segment in self.segments),
            "systems": len(self.outputs) or len({row.system for row in self.ratings}),
            "outputs": sum(map(len, self.outputs.values())),
            "ratings": len(self.ratings),
            "rankings": 0 if self.rankings is None else len(self.rankings),
            "metrics": len(self.scores),
        }
        return {what: count for what, count in counts.items() if count}


def fitting(
    segments: Iterable[Segment], outputs: Mapping[str, Mapping[str, str]], ratings: Iterable[RatingRow], source: str
) -> dict[str, Any]:
    """Return the fields of a set that holds what fits together: outputs of its items, and ratings of these outputs.

    Names of systems that no file can have everywhere get hyphens in place of what does not fit.

    Raises
    ------
    DataError
        If nothing is left, or two systems would have the same name.
    """
    kept = [segment for segment in segments if segment.references]
    items = {segment.id for segment in kept}
    left_out = Counter[str]()
    names: dict[str, str] = {}
    texts: dict[str, dict[str, str]] = {}
    for system, given in outputs.items():
        names[system] = file_name(system)
        if names[system] in texts:
            raise DataError(f"{source}: two systems would be named {names[system]}; rename {shown(system)} there")
        texts[names[system]] = {item: text for item, text in given.items() if item in items}
        left_out["outputs without a reference"] += len(given) - len(texts[names[system]])
    rated = []
    for row in ratings:
        if (name := names.get(row.system)) is not None and row.item in texts[name]:
            rated.append(row._replace(system=name))
        else:
            left_out["ratings of outputs that are not here"] += 1
    for what, found in (("reference", kept), ("output", [*filter(None, texts.values())]), ("rating", rated)):
        if not found:
            raise DataError(f"{source} has no {what} that goes with the rest; check that it is what was published")
    return {"segments": kept, "outputs": texts, "ratings": rated, "left_out": {k: n for k, n in left_out.items() if n}}


def write_sets(folder: PathLike, sets: Sequence[EvaluationSet]) -> dict[str, EvaluationSet]:
    """Write one set as a folder, or several as folders in it: all of it or nothing.

    Returns
    -------
    dict
        The sets by their folders.

    Raises
    ------
    UsageError
        If the folder holds something, or is an address.
    DataError
        If something cannot be read again or written.
    """
    if is_remote(folder):
        raise UsageError(f"{folder} is an address; a set is written to a folder of this machine")
    placed = {"": sets[0]} if len(sets) == 1 else {each.name: each for each in sets}
    if len(placed) < len(sets):
        raise DataError(f"two sets would be named {some(Counter(each.name for each in sets))}; import them one by one")
    about = [_description(each) for each in placed.values()]
    with new_folder(folder) as made:
        for (name, each), description in zip(placed.items(), about, strict=True):
            _write(made / name, each, description)
    return {str(Path(folder) / name): each for name, each in placed.items()}


def _description(each: EvaluationSet) -> dict[str, Any]:
    try:
        sums = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in each.files}
    except OSError as error:
        raise DataError(f"{error.filename} cannot be read: {error.strerror}") from error
    return {
        "schema": SCHEMA,
        **{name: getattr(each, name) for name in ("name", "title", "task", "licence")},
        "counts": each.counts(),
        "left_out": dict(each.left_out),
        "systems": list(each.outputs),
        "aspects": list(each.aspects),
        "scales": {aspect: list(scale) for aspect, scale in each.scales.items()},
        "metrics": [*each.scores],
        "sha256": sums,
    }


def terms_of(each: EvaluationSet) -> list[Path]:
    """Return the files beside the raw ones that tell licence and origin."""
    beside = (path for folder in {path.parent for path in each.files} for path in folder.iterdir())
    return sorted(path for path in beside if _TERMS.fullmatch(path.name) and path.is_file())


def _write(folder: Path, each: EvaluationSet, description: Mapping[str, Any]) -> None:
    (folder / OUTPUTS).mkdir(parents=True)
    if each.segments:
        write_references(folder / REFERENCES, each.segments, weighted=False, labels=each.labels)
    for system, texts in each.outputs.items():
        with atomic_writer(folder / OUTPUTS / f"{system}.jsonl") as file:
            there = [segment.id for segment in each.segments if segment.id in texts] or [*texts]
            file.writelines(json_line({"id": item, "text": texts[item]}) + "\n" for item in there)
    if each.rankings is not None:
        each.rankings.write(folder / RATINGS)
    else:
        columns = dict(zip(RatingRow._fields, zip(*each.ratings, strict=True), strict=True))
        if not any(columns["pair"]):
            del columns["pair"]
        write_ratings(folder / RATINGS, columns)
    if each.human:
        with atomic_writer(folder / HUMAN) as file:
            file.writelines(f"{system}\t{score!r}\n" for system, score in each.human.items())
    if each.scores:
        (folder / SCORES).mkdir()
    for metric, scores in each.scores.items():
        with atomic_writer(folder / SCORES / f"{metric}{SEGMENT_SCORES}") as file:
            labels = f"{metric}\t-\t{each.name}"
            file.writelines(f"{labels}\t{system}\t{item}\t{score!r}\n" for (item, system), score in scores.items())
    for path in terms_of(each):
        shutil.copyfile(path, folder / path.name)
    with atomic_writer(folder / DESCRIPTION) as file:
        file.write(json.dumps(description, ensure_ascii=False, indent=2) + "\n")


class SetFiles(NamedTuple):
    """The files of a set, and what its ratings are.

    Attributes
    ----------
    references, ratings
        Paths; no references where texts are not published.
    outputs
        The path for each system.
    aspects
        What to judge by unless somebody says so; empty for all.
    scales
        The lowest and the highest score by aspect.
    human
        The path of official scores, if there are any.
    scores
        Paths of segment scores of metrics.
    """

    references: str | None
    ratings: str
    outputs: dict[str, str]
    aspects: list[str]
    scales: dict[str, Scale]
    human: str | None
    scores: list[str]


def find_set(path: str) -> SetFiles | None:
    """Return the files of a set, or None if a path is no folder of a set.

    Raises
    ------
    DataError
        If the set is damaged.
    UsageError
        If it is a folder with several sets.
    """
    folder = Path(path)
    if not exists(folder / DESCRIPTION):
        if folder.is_dir() and (inside := sorted(each.parent.name for each in folder.glob(f"*/{DESCRIPTION}"))):
            raise UsageError(f"{path} holds several sets: {some(inside)}; name one, such as {folder / inside[0]}")
        return None
    text = read_whole(folder / DESCRIPTION)
    try:
        about = parse_json(text.decode())
        if about["schema"] != SCHEMA:
            raise DataError(f"{folder / DESCRIPTION} was made by another version of trubleu; import the set again")
        if unfit := [name for name in (*about["systems"], *about["metrics"]) if _UNFIT.search(name)]:
            raise DataError(f"{folder / DESCRIPTION}: no file can be named {shown(unfit[0])}; import the set again")
        outputs = {name: str(folder / OUTPUTS / f"{name}.jsonl") for name in about["systems"]}
        scales = {str(aspect): (int(low), int(high)) for aspect, (low, high) in about["scales"].items()}
        aspects = [str(aspect) for aspect in about["aspects"]]
        scores = [str(folder / SCORES / f"{name}{SEGMENT_SCORES}") for name in about["metrics"]]
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
        if isinstance(error, DataError):
            raise
        raise DataError(f"{folder / DESCRIPTION} does not describe a set; import the set again") from error
    human = str(folder / HUMAN) if exists(folder / HUMAN) else None
    references = str(folder / REFERENCES) if exists(folder / REFERENCES) else None
    return SetFiles(references, str(folder / RATINGS), outputs, aspects, scales, human, scores)

"""Exports of a study: references with weights, ratings of outputs, the log."""

from __future__ import annotations

import csv
import json
import warnings
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from itertools import combinations, groupby
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, get_args

from trubleu.data.rankings import Rankings
from trubleu.data.ratings import Ratings
from trubleu.data.reference_files import SegmentCollector
from trubleu.data.references import References
from trubleu.data.seeds import SEED_SYSTEM
from trubleu.errors import DataError, TrubleuWarning, UsageError, nearest, shown
from trubleu.files.jsonl import json_line
from trubleu.files.paths import Format, PathLike, format_to_write
from trubleu.files.tables import guarded
from trubleu.files.writer import atomic_writer
from trubleu.optional_deps import polars_module
from trubleu.rating import raters as people
from trubleu.rating import weights as weighting
from trubleu.rating.items import POINTS, Item
from trubleu.rating.raters import Rater, is_of, parse_pseudonym, pseudonym
from trubleu.rating.scheduler import shown_order
from trubleu.rating.store import queries
from trubleu.rating.weights import Text, TextWeight, WeightsFrom, by_models_only, text_weight

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from sqlalchemy import Connection

    from trubleu.rating.config import Kind, StudyConfig
    from trubleu.rating.store.queries import RatingRow
    from trubleu.rating.study import Study
    from trubleu.stats import Calibration


def _write_records(path: PathLike, form: Format, names: Sequence[str], records: Sequence[dict[str, Any]]) -> int:
    """Write records in one of the formats, and return their number; cells of CSV and TSV are safe from spreadsheets."""
    with atomic_writer(path) as stream:
        if form == "jsonl":
            stream.writelines(json_line(record) + "\n" for record in records)
            return len(records)
        # Everything in quotation marks: also a carriage return inside, which older versions of Python leave bare.
        writer = csv.writer(
            stream, delimiter="\t" if form == "tsv" else ",", lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC
        )
        writer.writerow(names)
        writer.writerows(map(_cell, record.values()) for record in records)
    return len(records)


def _cell(value: Any) -> Any:
    if isinstance(value, bool | list):
        return json.dumps(value)
    return guarded(value) if isinstance(value, str) else value


What: TypeAlias = Literal["references", "ratings", "rankings", "wide", "raw", "mturk-tasks"]

WHATS: Final[tuple[What, ...]] = get_args(What)

_KINDS: Final[dict[What, tuple[Kind, ...]]] = {
    "references": ("response",), "ratings": ("response", "pair"), "rankings": ("ranking",)
}  # fmt: skip
"""The kinds of study that each fits; the others fit all."""

FORMATS: Final[dict[What, tuple[Format, ...]]] = {
    "references": ("jsonl",),
    "ratings": ("csv", "tsv", "jsonl", "parquet"),
    "rankings": ("csv", "tsv"),
    "wide": ("csv", "tsv", "jsonl"),
    "raw": ("csv", "tsv", "jsonl"),
    "mturk-tasks": ("csv",),
}
"""What each can be written as."""

WEIGHTS_FROM: Final[tuple[WeightsFrom, ...]] = get_args(WeightsFrom)

_LOG: Final = (
    "id", "at", "kind", "rater", "item", "scores", "counted", "milliseconds", "client_milliseconds", "answered_at",
    "flipped", "note",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Exported:
    """What was written.

    Attributes
    ----------
    rows
        Segments, ratings, entries of the log or tasks.
    ratings
        Ratings that count, as far as they are part of it.
    items
        Items of the study.
    short, unrated
        How many of these have fewer ratings than was asked for, and how many of those none.
    by_model
        How many references have a model's weight.
    calibration
        How these were calibrated on people's; None if they were not.
    """

    rows: int
    ratings: int
    items: int
    short: int
    unrated: int
    by_model: int = field(default=0, repr=False)
    calibration: Calibration | None = field(default=None, repr=False, compare=False)


def export_study(
    study: Study,
    what: What,
    path: PathLike,
    *,
    labels: bool = False,
    weights: WeightsFrom = "people",
    model: str | None = None,
    unverified: bool = False,
) -> Exported:
    """Write what a study has; the file appears whole or not at all, and the same study gives the same bytes.

    Ratings of excluded raters, gold and practice items are left out everywhere but in the log.

    Parameters
    ----------
    study
        The study.
    what
        ``references``: weighted references, as every metric reads them. ``ratings``: one row a rating, as
        `trubleu.data.Ratings` reads them; a question is an aspect. ``rankings``: one row for each pair of a ranking,
        as `trubleu.data.Rankings` reads them. ``wide``: one row an answer, a column a question (in rankings: a system),
        with comments and how long it took. ``raw``: the log. ``mturk-tasks``: what is still to be rated, for Mechanical
        Turk.
    path
        The name tells the format. ``-`` is standard output, which gets JSON lines (tasks: CSV).
    labels
        Call raters by their labels, where they have some, instead of by their numbers.
    weights
        Of references. ``people``: from people's ratings that count. ``joint``: from these, and where nobody has rated,
        those of a model, calibrated on the texts that both have rated. ``model``: those of a model alone, as they are.
        With the latter two, each weight has its standard error (``weight_se``) and source (``weight_from``).
    model
        Which model, by its name or number, if several have rated.
    unverified
        Must be true for ``model``, whose weights no person has checked; the file says so.

    Raises
    ------
    UsageError
        If there is no such export, it does not fit the kind of study, or a model is to be taken unverified.
    DataError
        If the name tells no format, or the file cannot be written.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from trubleu.data import References
    >>> from trubleu.rating import Imported, Item, Study, StudyConfig, import_answers
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> items = [Item("7#1", ("fine",), message="how are you?", segment="7", reference="1")]
    >>> study = Study.create(folder / "study", StudyConfig("Answers", "response", raters=2), items)
    >>> _ = import_answers(study, [Imported("7#1", "ann", (4,)), Imported("7#1", "bob", (5,))], source="doctest")
    >>> export_study(study, "references", folder / "refs.jsonl")
    Exported(rows=1, ratings=2, items=1, short=0, unrated=0)
    >>> References.read(folder / "refs.jsonl")[0].references[0].weight
    0.75
    >>> study.close()
    """
    if what not in WHATS:
        raise UsageError(f"there is no export of {what!r}; {nearest(str(what), WHATS)}")
    _check_kind(study, what)
    form: Format = "csv" if what == "mturk-tasks" and str(path) == "-" else format_to_write(path, FORMATS[what])
    if form == "parquet":
        polars_module()
    _check_weights(what, weights, model, unverified=unverified)
    there = _Contents(study, labels=labels and what != "references", with_log=what == "raw")
    by_model, calibration, given = 0, None, there.given
    match what:
        case "references":
            chosen, calibration = (None, None) if weights == "people" else _chosen_weights(there, weights, model)
            by_model = sum(weight.source == "model" for weight in (chosen or {}).values())
            rows = _write_records(path, form, (), _references(there, chosen, unverified=unverified))
            given = [row for row in there.given if not row.model]
        case "ratings" | "rankings":
            table = _output_ratings(there) if what == "ratings" else _output_rankings(there)
            table.write(path)
            rows = len(table)
        case "wide":
            wide = _wide_rankings if study.config.kind == "ranking" else _wide_records
            rows = _write_records(path, form, *wide(there))
        case "raw":
            rows = _write_records(path, form, _LOG, _log_records(there))
        case "mturk-tasks":
            from trubleu.rating.mturk import task_records

            rows = _write_records(path, form, *task_records(study))
    short = [item for item in there.items if there.ratings[item.id] < item.wanted]
    unrated = sum(not there.ratings[item.id] for item in short)
    number = sum(row.first for row in given)
    made = Exported(rows, number, len(there.items), len(short), unrated, by_model, calibration)
    if what in ("references", "ratings", "rankings", "wide") and short:
        marked = '; they are marked "short"' if what == "references" else ""
        few = f"{made.short:,} of {made.items:,}, {made.unrated:,} of them without any{marked}"
        warnings.warn(f"items with fewer ratings than asked for: {few}", TrubleuWarning, stacklevel=2)
    if what == "references" and weights == "people" and (said := by_models_only(there.given)):
        warnings.warn(f"{said}, and hence without a weight; export --weights joint", TrubleuWarning, stacklevel=2)
    return made


class _Contents:
    """A study at one moment: items in the order of their file, ratings that count in that order, then by raters."""

    def __init__(self, study: Study, *, labels: bool = False, with_log: bool = False) -> None:
        self.study = study
        self.config = study.config
        study.store.read(lambda connection: self._read(connection, with_log))
        self.names = rater_names(self.raters, study.id, labels=labels)
        self.ratings = Counter(row.item.id for row in self.given if row.first)

    def _read(self, connection: Connection, with_log: bool) -> None:
        self.stored = queries.stored_items(connection)
        self.items = [item for item in self.stored if item.role == "item"]
        self.given = [
            row for row in queries.table(connection) if row.role == "item" and row.counted and not row.excluded
        ]
        self.raters = people.all_raters(connection)
        self.log = list(queries.log_rows(connection)) if with_log else []
        self.comments = queries.comments(connection)


def _check_weights(what: What, weights: WeightsFrom, model: str | None, *, unverified: bool) -> None:
    """Refuse weights that do not fit the export, and those that nobody has checked unless that is said."""
    if weights not in WEIGHTS_FROM:
        raise UsageError(f"there are no weights {weights!r}; {nearest(str(weights), WEIGHTS_FROM)}")
    if weights != "people" and what != "references":
        raise UsageError(f"--weights {weights} is for --as references; leave it out")
    if weights == "people" and model is not None:
        raise UsageError("--model is for --weights joint or model; add one of them, or leave it out")
    if weights != "model" and unverified:
        raise UsageError("--unverified is for --weights model; leave it out")
    if weights == "model" and not unverified:
        raise UsageError("nobody has checked a model's weights; calibrate them (--weights joint), or add --unverified")


def _chosen_weights(
    there: _Contents, weights: WeightsFrom, model: str | None
) -> tuple[dict[Text, TextWeight], Calibration | None]:
    """Return weights of which some or all are a model's."""
    config, scores = there.config, there.study.store.read(queries.model_scores)
    rated = {number for _, number in scores}
    rater = weighting.find_model([each for each in there.raters if each.id in rated], model)
    segments = {(item.id, 0): item.item.segment or item.item.key for item in there.items}
    values = {
        text: value for text, value in weighting.model_values(config, scores, rater.id).items() if text in segments
    }
    if weights == "model":
        told = f"weights are those of {shown(rater.name)} alone, which nobody has checked; each is marked as unverified"
        warnings.warn(told, TrubleuWarning, stacklevel=3)
        return {text: TextWeight(value, None, "model") for text, value in values.items()}, None
    by_people = [row for row in there.given if not row.model]
    ratings = Counter(row.text for row in by_people if not row.question)
    by_text = weighting.people_weights(config, by_people)
    return weighting.joint_weights(by_text, values, ratings=ratings, segments=segments, name=rater.name)


def exports_of(kind: Kind) -> list[What]:
    """Return what can be exported of a kind of study, tasks for Mechanical Turk apart."""
    return [what for what in WHATS[:-1] if kind in _KINDS.get(what, (kind,))]


def _check_kind(study: Study, what: What) -> None:
    """Refuse what does not fit the kind of study."""
    kind = study.config.kind
    if kind not in _KINDS.get(what, (kind,)):
        others = " or ".join(exports_of(kind)[:-2])
        raise UsageError(f"{study.folder} is a study of kind {kind}, without {what}; export --as {others}")
    if what == "mturk-tasks":
        check_mturk(study.config)


def reference_records(study: Study) -> list[dict[str, Any]]:
    """Return the segments of a study with their references: weight, ratings, and what was known of them before.

    An item with fewer ratings than were asked for has ``"short": true``; without any, its weight is None.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from trubleu.rating import Item, Study, StudyConfig
    >>> folder = pathlib.Path(tempfile.mkdtemp()) / "study"
    >>> study = Study.create(folder, StudyConfig("Answers", "response"), [Item("7", ("fine",), segment="7")])
    >>> reference_records(study)[0]["references"]
    [{'text': 'fine', 'weight': None, 'ratings': [], 'raters': [], 'origin': 'seed', 'short': True}]
    >>> study.close()
    """
    return _references(_Contents(study))


def rated_references(study: Study) -> References:
    """Return the references of a study with their weights, ratings and raters."""
    _check_kind(study, "references")
    collector = SegmentCollector(str(study.folder))
    for number, record in enumerate(_references(_Contents(study), rated=True), 1):
        collector.add(record, f"{study.folder}: segment {number}", str(number))
    return References(**collector.columns()._asdict())


def check_mturk(config: StudyConfig) -> None:
    """Refuse a study whose answers do not fit the forms of Mechanical Turk.

    Raises
    ------
    UsageError
        If it asks more than one question, or one with other than five answers.
    """
    if not _is_plain(config):
        remedy = "for other studies, let workers rate on the study's own pages (entry: mturk: true)"
        raise UsageError(f"files of Mechanical Turk hold one score from 1 to 5 for each text; {remedy}")


def _is_plain(config: StudyConfig) -> bool:
    plain = [(question.points, question.required) for question in config.questions] == [(POINTS, True)]
    return plain and config.kind != "ranking"


def _references(
    there: _Contents, chosen: Mapping[Text, TextWeight] | None = None, *, unverified: bool = False, rated: bool = False
) -> list[dict[str, Any]]:
    """Return segments with their references; ``rated`` adds the weight that each rater alone would give."""
    scores: dict[int, list[RatingRow]] = defaultdict(list)
    for row in there.given:
        if not row.model:  # those that count only do so towards what is asked for
            scores[row.item.id].append(row)
    segments: dict[str, dict[str, Any]] = {}
    for stored in there.items:
        item, rows = stored.item, scores[stored.id]
        segment = item.segment or item.key
        head: dict[str, Any] = {"id": segment, "context": list(item.context)}
        head |= {} if item.message is None else {"message": item.message}
        if segments.setdefault(segment, head | {"references": []}) | head != segments[segment]:
            raise DataError(f"two pieces of conversation have the id {shown(segment)}; export --as ratings")
        record: dict[str, Any] = {} if item.reference is None else {"id": item.reference}
        record |= {"text": item.texts[0], "weight": None}
        ratings, weight = _ratings_of(there, rows), (chosen or {}).get((stored.id, 0))
        if chosen is None:
            exact = text_weight(there.config, rows)
            record |= {"weight": None if exact is None else float(exact), **ratings}
        elif weight is not None:
            # Ratings by people would give another weight than a model's.
            record |= {"weight": weight.value, **(ratings if weight.source == "people" else {})}
        if item.reference is None:  # a triple's own response
            record["origin"] = SEED_SYSTEM
        record |= {name: value for name, value in item.extra.items() if name not in ("short", *ratings, *record)}
        if there.ratings[stored.id] < stored.wanted:
            record["short"] = True
        if rated:  # on whatever scale
            by_rater = groupby(rows, lambda row: row.rater)
            weights = ((there.names[rater], text_weight(there.config, own)) for rater, own in by_rater)
            record["rated"] = tuple((name, float(own)) for name, own in weights if own is not None)
        if weight is not None:
            record |= {"weight_se": weight.error, "weight_from": weight.source}
        if unverified:
            record["unverified"] = True
        segments[segment]["references"].append(record)
    return list(segments.values())


def _ratings_of(there: _Contents, rows: Sequence[RatingRow]) -> dict[str, Any]:
    if _is_plain(there.config):
        return {"ratings": [row.score for row in rows], "raters": [there.names[row.rater] for row in rows]}
    # Ratings of references are whole numbers from 1 to 5, one per rater.
    asked = enumerate(there.config.questions)
    scores = {each.name or "score": [row.score for row in rows if row.question == at] for at, each in asked}
    return {"scores_of_raters": scores}


def output_ratings(study: Study, *, labels: bool = False) -> Ratings:
    """Return the ratings of a study that count, one row each.

    In a study of pairs the item is the segment, and system and pair are named. Otherwise the item is that of the study
    (the id of a triple, or SEGMENT#REFERENCE) and the system is the origin of the text: ``seed`` for triples.

    Parameters
    ----------
    study
        The study.
    labels
        Call raters by their labels, where they have some.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from trubleu.rating import Imported, Item, Study, StudyConfig, import_answers
    >>> folder = pathlib.Path(tempfile.mkdtemp()) / "study"
    >>> study = Study.create(folder, StudyConfig("Answers", "response"), [Item("7", ("fine",), segment="7")])
    >>> _ = import_answers(study, [Imported("7", "ann", (4,))], source="doctest")
    >>> ratings = output_ratings(study, labels=True)
    >>> ratings.item, ratings.rater, ratings.score
    (('7',), ('ann',), (4,))
    >>> study.close()
    """
    return _output_ratings(_Contents(study, labels=labels))


def _output_ratings(there: _Contents) -> Ratings:
    questions = there.config.questions
    rows = [
        {**_what_was_rated(there, row), "score": row.score, "aspect": questions[row.question].name or None}
        for row in there.given
        if row.score is not None
    ]
    names = ("item", "system", "pair", "rater", "score", "aspect")
    columns: dict[str, Any] = {name: [row[name] for row in rows] for name in names}
    scale = (1, max(question.points for question in questions))
    return Ratings(**columns, scale=scale, source=str(there.study.folder))


def _what_was_rated(there: _Contents, row: RatingRow) -> dict[str, Any]:
    item = row.item.item
    return {
        "item": item.segment if item.systems else item.key,
        "system": item.writer(row.part),
        "pair": ":".join(item.systems) or None,
        "rater": there.names[row.rater],
    }


def _wide_records(there: _Contents) -> tuple[list[str], list[dict[str, Any]]]:
    """Return one record an answer to a text: a field for each question, None where it was left out."""
    titles = [question.name or "score" for question in there.config.questions]
    records: list[dict[str, Any]] = []
    for row in there.given:
        if not row.question:
            records.append(_what_was_rated(there, row) | dict.fromkeys(titles) | _circumstances(there, row))
        records[-1][titles[row.question]] = row.score
    return ["item", "system", "pair", "rater", *titles, "seconds", "comment"], records


def _circumstances(there: _Contents, row: RatingRow) -> dict[str, Any]:
    """Return how long an answer took, and the comment."""
    return {"seconds": row.seconds, "comment": there.comments.get((row.item.id, row.rater)) or None}


def _ranked(there: _Contents) -> Iterator[tuple[dict[str, RatingRow], Item]]:
    """Yield the ranks of each answer to a ranking by system, in the order of the item's texts."""
    for _, rows in groupby(there.given, lambda row: (row.item.id, row.rater)):
        given = list(rows)
        item = given[0].item.item
        yield dict(zip(_systems(item), given, strict=True)), item


def _systems(item: Item) -> tuple[str, ...]:
    return item.systems or tuple(str(part) for part in range(1, len(item.texts) + 1))


def _output_rankings(there: _Contents) -> Rankings:
    """Return the pairs of all rankings, as WMT publishes them."""
    names = ("segment", "system_a", "rank_a", "system_b", "rank_b", "judge", "ranking")
    pairs = [
        (item.segment or item.key, system_a, a.score, system_b, b.score, there.names[a.rater], str(number))
        for number, (ranks, item) in enumerate(_ranked(there))
        for (system_a, a), (system_b, b) in combinations(ranks.items(), 2)
    ]
    columns: dict[str, Any] = {name: [pair[at] for pair in pairs] for at, name in enumerate(names)}
    return Rankings.from_columns(**columns, source=str(there.study.folder))


def _wide_rankings(there: _Contents) -> tuple[list[str], list[dict[str, Any]]]:
    """Return one record a ranking: the rank of each system, and the order in which the rater saw them, if known."""
    systems = dict.fromkeys(system for stored in there.items for system in _systems(stored.item))
    records = []
    for ranks, item in _ranked(there):
        mine, first = [*ranks], next(iter(ranks.values()))
        here = (first.item.id, first.rater)
        order = shown_order(there.study.secret, len(mine), *here, first.flipped) if here in there.comments else ()
        records.append(
            {
                "item": item.segment or item.key,
                "rater": there.names[first.rater],
                **{f"rank_{system}": ranks[system].score if system in ranks else None for system in systems},
                "shown": ":".join(mine[part] for part in order) or None,
                **_circumstances(there, first),
            }
        )
    return ["item", "rater", *(f"rank_{system}" for system in systems), "shown", "seconds", "comment"], records


def rater_names(raters: Iterable[Rater], study: str, *, labels: bool = False) -> dict[int, str]:
    """Return what to call each rater of a study in a file: ``rater NUMBER of MARK``, or if asked for the label.

    No two have the same name: labels of several raters are not used, nor one that is itself such a name. Nobody whose
    identity was erased has a label. A model is ``model NUMBER of MARK``, which no import takes for a person.
    """
    everybody = list(raters)
    often = Counter(rater.label for rater in everybody if labels and not rater.is_model)

    def name(rater: Rater) -> str:
        _, mark = parse_pseudonym(rater.label or "") or (0, "")
        if rater.label and often[rater.label] == 1 and not rater.is_model and not is_of(mark, study):
            return rater.label
        return pseudonym(rater.id, study, rater.entry)

    return {rater.id: name(rater) for rater in everybody}


def _log_records(there: _Contents) -> list[dict[str, Any]]:
    """Return the log of a study; see `LogRow` for what its fields mean."""
    keys = {item.id: item.item.key for item in there.stored}
    return [
        {name: getattr(row, name) for name in _LOG}
        | {
            "rater": None if row.rater is None else there.names[row.rater],
            "item": None if row.item is None else keys[row.item],
            "scores": None if row.scores is None else list(row.scores),
        }
        for row in there.log
    ]

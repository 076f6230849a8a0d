"""Evaluation sets: outputs, references for them and ratings of them, in one folder that commands take.

They are also read from data that the field publishes, as it is published: DSTC7, MQM, SummEval, USR, the test sets of
mt-metrics-eval, and WMT's assessments and rankings.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
import shutil
import tomllib
from collections import Counter, defaultdict
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from trubleu.data.outputs import match_systems
from trubleu.data.rankings import Rankings, read_assessments, read_official_scores
from trubleu.data.ratings import write_ratings
from trubleu.data.reference_files import check_length, write_references
from trubleu.data.references import Reference, Segment
from trubleu.errors import DataError, UsageError, counted, nearest, shown, some
from trubleu.files.jsonl import json_line, kind_of, parse_json, parse_objects
from trubleu.files.lines import iterate_lines, read_text_lines
from trubleu.files.paths import exists, is_remote, read_whole
from trubleu.files.tables import whole
from trubleu.files.writer import atomic_writer, new_folder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

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
        Items with their references, at least one each.
    outputs
        Each system's texts by item; a system need not have all.
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
        """Return how many items, references, systems, outputs, ratings and scored metrics there are."""
        return {
            "items": len(self.segments),
            "references": sum(len(segment.references) for segment in self.segments),
            "systems": len(self.outputs),
            "outputs": sum(map(len, self.outputs.values())),
            **({"ratings": len(self.ratings)} if self.rankings is None else {"rankings": len(self.rankings)}),
            **({"metrics": len(self.scores)} if self.scores else {}),
        }


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
    write_references(folder / REFERENCES, each.segments, weighted=False, labels=each.labels)
    for system, texts in each.outputs.items():
        with atomic_writer(folder / OUTPUTS / f"{system}.jsonl") as file:
            there = (segment.id for segment in each.segments if segment.id in texts)
            file.writelines(json_line({"id": item, "text": texts[item]}) + "\n" for item in there)
    if each.rankings is not None:
        each.rankings.write(folder / RATINGS)
    else:
        columns = zip(*each.ratings, strict=True)
        write_ratings(folder / RATINGS, dict(zip(RatingRow._fields, columns, strict=True)))
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
        Paths.
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

    references: str
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
    return SetFiles(str(folder / REFERENCES), str(folder / RATINGS), outputs, aspects, scales, human, scores)


FIVE_POINTS: Final = (1, 5)
_LARGEST: Final = 1e15


@dataclass(frozen=True, slots=True)
class Published:
    """A kind of published data.

    Attributes
    ----------
    title, task, licence
        As in `EvaluationSet`.
    files
        What there must be, in words.
    read
        Yields the sets in a file or folder: a name, the raw files, and the other fields.
    options
        What ``read`` takes besides the path.
    """

    title: str
    task: str
    licence: str
    files: str
    read: Callable[..., Iterator[tuple[str, Sequence[Path], dict[str, Any]]]]
    options: Sequence[str] = ()


def read_published(
    kind: str, source: PathLike, *, language_pair: str | None = None, reference: str | None = None
) -> list[EvaluationSet]:
    """Read published data from its raw files.

    Parameters
    ----------
    kind
        ``dstc7``, ``mtme``, ``mqm``, ``wmt-da``, ``wmt-rr``, ``summeval``, ``usr`` or ``tasks``.
    source
        The folder with the raw files, or one file. Text files may be compressed with gzip or zstd.
    language_pair
        For ``mtme``, the only language pair to read, such as ``en-de``.
    reference
        For ``mtme``, the name of the references to score against; None for those that most metrics used.

    Returns
    -------
    list
        One set, or one for each file or language pair of the folder.

    Raises
    ------
    UsageError
        If there is no such kind, or an option is not for it.
    DataError
        If a file is missing or not what was published, with its line.
    """
    if kind not in PUBLISHED:
        raise UsageError(f"there is no reader for {shown(kind)}; {nearest(kind, PUBLISHED)}")
    about, path = PUBLISHED[kind], Path(source)
    given = {"language_pair": language_pair, "reference": reference}
    given = {name: value for name, value in given.items() if value is not None}
    for name in given:
        if name not in about.options:
            fitting_kinds = " and ".join(each for each in PUBLISHED if name in PUBLISHED[each].options)
            raise UsageError(f"{name.replace('_', ' ')}: only {fitting_kinds} can be read with it, not {kind}")
    if not exists(path):
        raise DataError(f"there is no {path}; import {kind} takes {about.files}")
    sets = []
    for name, files, fields in about.read(path, **given):
        title = about.title if name == kind else f"{about.title} {name}"
        sets.append(
            EvaluationSet(name=name, title=title, task=about.task, licence=about.licence, files=tuple(files), **fields)
        )
    if not sets:
        raise DataError(f"{path} holds nothing that import {kind} reads; it takes {about.files}")
    return sets


def _dstc7(source: Path) -> Iterator[tuple[str, Sequence[Path], dict[str, Any]]]:
    names = ("context", "gold_responses", "system_responses", "human-eval-per-judge")
    files = [_within(source, f"dstc7-task2-{name}.tsv", "dstc7") for name in names]
    contexts = {row["InstanceID"]: row["Context"] for _, row in _rows(files[0], ("InstanceID", "Context"))}
    segments, without = [], 0
    for place, line in _lines(files[1], "InstanceID\t"):
        item, *golds = line.split("\t")
        if item not in contexts:
            raise DataError(f"{place}: the instance {shown(item)} is not in {files[0]}; take both of one release")
        turns = contexts[item].split(" EOS ")
        texts = dict.fromkeys(text for text in golds if text.strip())
        without += not texts
        references = tuple(Reference(text, origin="gold") for text in texts)
        segments.append(Segment(item, references, turns[-1], tuple(turns[:-1])))
    outputs: _Outputs = defaultdict(dict)
    for place, row in _rows(files[2], ("SystemID", "InstanceID", "Response")):
        _put(outputs, row["SystemID"], row["InstanceID"], row["Response"], place)
    ratings = []
    aspects = ("Relevance", "Informativeness")
    for place, row in _rows(files[3], ("JudgeID", "InstanceID", "SystemID", *aspects)):
        for aspect in aspects:
            score = whole(row[aspect])
            if not isinstance(score, int) or not 1 <= score <= 5:
                raise DataError(f"{place}: {aspect} must be a whole number from 1 to 5, not {shown(row[aspect])}")
            ratings.append(RatingRow(row["InstanceID"], row["SystemID"], row["JudgeID"], score, aspect))
    fields = fitting(segments, outputs, ratings, str(source))
    if without:
        fields["left_out"] = {"items without a reference": without, **fields["left_out"]}
    yield "dstc7", files, {**fields, "scales": dict.fromkeys(aspects, FIVE_POINTS)}


HUMAN_TRANSLATION: Final = re.compile(r"ref([-_.]?[A-Z0-9])?|Human-[A-Z](\.\d+)?")
"""How MQM files call the people among the systems."""

_SPAN: Final = re.compile("</?v>")


def _mqm(source: Path) -> Iterator[tuple[str, Sequence[Path], dict[str, Any]]]:
    wanted = ("system", "doc", "rater", "source", "target", "category", "severity")
    for path in _all(source, "*.tsv*"):
        header = next(iterate_lines(path), "").split("\t")
        if source.is_dir() and not {"category", "severity"} <= {*header}:
            continue  # such as averages, which are published beside the errors
        number = "globalSegId" if "globalSegId" in header else "seg_id"
        outputs: _Outputs = defaultdict(dict)
        sources: dict[str, str] = {}
        sums: dict[tuple[str, str, str], int | Fraction] = defaultdict(int)
        for place, row in _rows(path, (*wanted, number)):
            item = f"{row['doc']}:{row[number]}"
            sources.setdefault(item, _SPAN.sub("", row["source"]))
            _put(outputs, row["system"], item, _SPAN.sub("", row["target"]), place)
            try:
                sums[item, row["system"], row["rater"]] -= mqm_weight(row["category"], row["severity"])
            except KeyError:
                raise DataError(
                    f"{place}: the severity {shown(row['severity'])} is not known; it is Major, Minor, Neutral or "
                    "No-error"
                ) from None
        people = [name for name in outputs if HUMAN_TRANSLATION.fullmatch(name)]
        if not people:
            raise DataError(
                f"{path} has no human translation among its systems, which would be called ref, refA, … or Human-A; "
                f"they are {some(outputs)}"
            )
        translations = {name: outputs.pop(name) for name in people}
        segments = [
            Segment(
                item,
                tuple(Reference(each[item], origin=name) for name, each in translations.items() if item in each),
                message,
            )
            for item, message in sources.items()
        ]
        rows = [RatingRow(item, system, rater, score, "mqm") for (item, system, rater), score in sums.items()]
        yield _stem(path), [path], fitting(segments, outputs, rows, str(path))


def mqm_weight(category: str, severity: str) -> int | Fraction:
    """Return what an error counts, as Freitag and others (2021) have it, exactly.

    Raises
    ------
    KeyError
        If the severity is not known.

    Examples
    --------
    >>> mqm_weight("Fluency/Punctuation", "Minor"), mqm_weight("Accuracy/Omission", "Major")
    (Fraction(1, 10), 5)
    """
    severity = severity.lower()
    if category.lower().startswith("non-translation") and severity in ("minor", "major"):
        return 25
    if category.lower() == "fluency/punctuation" and severity == "minor":
        return Fraction(1, 10)
    return {"no-error": 0, "neutral": 0, "minor": 1, "major": 5}[severity]


_KINDS: Final = ("reference", "mt-system", "source", "human")


def _wmt_da(source: Path) -> Iterator[tuple[str, Sequence[Path], dict[str, Any]]]:
    for path in _all(source, "*.human.*"):
        match = re.fullmatch(r"(.+)\.human\.([a-z]+-[a-z]+)(\.gz|\.zst)?", path.name)
        if match is None:
            raise DataError(f"{path}: the name must end in .human and a language pair, such as .human.de-en")
        start, pair, _ = match.groups()
        files = [_within(path.parent, f"{start}.{kind}.{pair}", "wmt-da") for kind in _KINDS]
        texts = [read_text_lines(file) for file in files[:-1]]
        scores = read_assessments(path)
        for file, lines in zip(files, texts, strict=False):
            check_length(str(file), len(lines), str(path), len(scores))
        items = [str(number) for number in range(1, len(scores) + 1)]
        segments = [
            Segment(item, (Reference(reference),), message)
            for item, reference, message in zip(items, texts[0], texts[2], strict=True)
        ]
        rows = [
            RatingRow(item, "mt-system", "mean", score, "da")
            for item, score in zip(items, scores, strict=True)
            if not math.isnan(score)
        ]
        outputs = {"mt-system": dict(zip(items, texts[1], strict=True))}
        yield f"{start.removeprefix('DAseg.')}.{pair}", files, fitting(segments, outputs, rows, str(path))


_LANGUAGES: Final = {"cs": "ces", "de": "deu", "en": "eng", "fi": "fin", "fr": "fra", "hi": "hin", "ru": "rus"}


def _wmt_rr(source: Path) -> Iterator[tuple[str, Sequence[Path], dict[str, Any]]]:
    for folder in sorted(path for path in (source / "system-outputs").glob("*-*") if path.is_dir()):
        first, second = folder.name.split("-", 1)
        pair = f"{_LANGUAGES.get(first, first)}-{_LANGUAGES.get(second, second)}"
        files = [
            _only(source, f"references/*-{first}{second}-ref.{second}*"),
            _only(source, f"judgements/*.{pair}.csv*"),
            _only(source, f"official_scores/*.{pair}.txt*"),
        ]
        references = read_text_lines(files[0])
        segments = [Segment(str(number), (Reference(text),)) for number, text in enumerate(references, 1)]
        outputs: dict[str, dict[str, str]] = {}
        for path in (systems := [path for path in _all(folder, "*") if not path.name.startswith(".")]):
            lines = read_text_lines(path)
            check_length(str(path), len(lines), str(files[0]), len(references))
            name = file_name(path.name.removesuffix(f".{folder.name}"))
            outputs[name] = {segment.id: text for segment, text in zip(segments, lines, strict=True)}
        rankings, human = Rankings.read(files[1]), read_official_scores(files[2])
        names = {**match_systems(rankings.systems, outputs), **match_systems(human, outputs)}
        ranked = replace(rankings, systems=tuple(names.get(each, each) for each in rankings.systems))
        official = {names.get(system, system): score for system, score in human.items()}
        contents = {"segments": segments, "outputs": outputs, "rankings": ranked, "human": official}
        yield folder.name, [*files, *systems], contents


def _only(folder: Path, pattern: str) -> Path:
    found = sorted(folder.glob(pattern))
    if len(found) != 1:
        raise DataError(f"{folder} has {counted(len(found), 'file')} like {pattern}, and import wmt-rr takes one")
    return found[0]


_SUMMARY_ASPECTS: Final = ("coherence", "consistency", "fluency", "relevance")


def _summeval(source: Path) -> Iterator[tuple[str, Sequence[Path], dict[str, Any]]]:
    for path in _all(source, "model_annotations.aligned*.jsonl*"):
        references: dict[str, dict[str, None]] = defaultdict(dict)
        articles: dict[str, str | None] = {}
        outputs: _Outputs = defaultdict(dict)
        ratings = []
        for place, record in parse_objects(iterate_lines(path), str(path)):
            item, system = _field(record, "id", str, place), _field(record, "model_id", str, place)
            texts = _strings(record, "references", place)
            references[item] |= dict.fromkeys(text for text in texts if text.strip())
            # Articles are only in files that were paired with CNN/DailyMail.
            articles[item] = record.get("text") if isinstance(record.get("text"), str) else None
            _put(outputs, system, item, _field(record, "decoded", str, place), place)
            for who, prefix in (("expert", ""), ("turker", "crowd-")):
                annotations = _field(record, f"{who}_annotations", list, place)
                for number, given in enumerate(annotations, 1):
                    if not isinstance(given, dict):
                        raise DataError(f"{place}: {who}_annotations must hold objects, not {kind_of(given)}")
                    ratings += [
                        RatingRow(item, system, f"{who}{number}", _number(given, aspect, place), prefix + aspect)
                        for aspect in _SUMMARY_ASPECTS
                    ]
        segments = [
            Segment(item, tuple(Reference(text) for text in texts), articles[item])
            for item, texts in references.items()
        ]
        scales = {prefix + aspect: FIVE_POINTS for prefix in ("", "crowd-") for aspect in _SUMMARY_ASPECTS}
        fields = fitting(segments, outputs, ratings, str(path))
        yield _stem(path), [path], {**fields, "aspects": _SUMMARY_ASPECTS, "scales": scales}


_USR_SCALES: Final = {
    "Understandable": (0, 1),
    "Natural": (1, 3),
    "Maintains Context": (1, 3),
    "Engaging": (1, 3),
    "Uses Knowledge": (0, 1),
    "Overall": FIVE_POINTS,
}


def _usr(source: Path) -> Iterator[tuple[str, Sequence[Path], dict[str, Any]]]:
    for path in _all(source, "*usr*.json*"):
        try:
            entries = parse_json("\n".join(iterate_lines(path)))
        except (ValueError, RecursionError) as error:
            if isinstance(error, DataError):
                raise
            raise DataError(f"{path}: this is not JSON: {error}; take the file as it was published") from error
        if not isinstance(entries, list):
            raise DataError(f"{path} must hold an array of contexts, not {kind_of(entries)}")
        segments, ratings = [], []
        outputs: _Outputs = defaultdict(dict)
        for number, entry in enumerate(entries, 1):
            place = f"{path}, context {number}"
            if not isinstance(entry, dict):
                raise DataError(f"{place} must be an object, not {kind_of(entry)}")
            item = str(number)
            lines = (turn.strip() for turn in _field(entry, "context", str, place).split("\n"))
            turns = [turn for turn in lines if turn]
            references = []
            for each in _field(entry, "responses", list, place):
                if not isinstance(each, dict):
                    raise DataError(f"{place}: responses must hold objects, not {kind_of(each)}")
                system = _field(each, "model", str, place)
                text = _field(each, "response", str, place).strip()
                if system == "Original Ground Truth":
                    references.append(Reference(text, origin="seed"))
                    continue
                _put(outputs, system, item, text, place)
                for aspect in _USR_SCALES:
                    scores = _field(each, aspect, list, f"{place}, {system}")
                    ratings += [
                        RatingRow(item, system, f"annotator{rater}", _finite(score, aspect, place), aspect)
                        for rater, score in enumerate(scores, 1)
                    ]
            segments.append(Segment(item, tuple(references), turns[-1] if turns else None, tuple(turns[:-1])))
        fields = fitting(segments, outputs, ratings, str(path))
        yield _stem(path), [path], {**fields, "aspects": ("Overall",), "scales": _USR_SCALES}


def _tasks(source: Path) -> Iterator[tuple[str, Sequence[Path], dict[str, Any]]]:
    for path in _all(source, "*.jsonl*"):
        records = list(parse_objects(iterate_lines(path), str(path)))
        keys = [(_field(each, "seg", str, place), _field(each, "system", str, place)) for place, each in records]
        # Where a system has several outputs for one source, each output is an item of its own.
        alone = len({*keys}) < len(keys)
        segments: dict[str, Segment] = {}
        outputs: _Outputs = defaultdict(dict)
        ratings = []
        for (place, record), (seg, system) in zip(records, keys, strict=True):
            item = _field(record, "id", str, place) if alone else seg
            texts = _strings(record, "refs", place)
            extra = _object(record.get("extra"))
            message = extra["source"] if isinstance(extra.get("source"), str) else None
            references = tuple(Reference(text) for text in texts if text.strip())
            if segments.setdefault(item, Segment(item, references, message)).references != references:
                raise DataError(f"{place}: {shown(item)} has other references than above; one item has the same ones")
            _put(outputs, system, item, _field(record, "output", str, place), place)
            ratings.append(RatingRow(item, system, "mean", _number(record, "human", place), "overall"))
            parts = _object(extra.get("human"))
            ratings += [RatingRow(item, system, "mean", _number(parts, part, place), part) for part in parts]
        yield _stem(path), [path], {**fitting(segments.values(), outputs, ratings, str(path)), "aspects": ("overall",)}


def _mtme(source: Path, **options: str) -> Iterator[tuple[str, Sequence[Path], dict[str, Any]]]:
    from trubleu.data.mtme import read_mtme

    return read_mtme(source, **options)


_ABOUT: Final = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
_READERS: Final = {
    "dstc7": _dstc7,
    "mtme": _mtme,
    "mqm": _mqm,
    "wmt-da": _wmt_da,
    "wmt-rr": _wmt_rr,
    "summeval": _summeval,
    "usr": _usr,
    "tasks": _tasks,
}

PUBLISHED: Final = {kind: Published(**_ABOUT[kind], read=read) for kind, read in _READERS.items()}
"""What can be imported, as ``sets.toml`` describes it."""

_Outputs = defaultdict[str, dict[str, str]]


def _all(source: Path, pattern: str) -> list[Path]:
    """Return the one file that was given, or those of a folder."""
    if not source.is_dir():
        return [source]
    return sorted(path for path in source.glob(pattern) if path.is_file())


def _within(folder: Path, name: str, kind: str) -> Path:
    for ending in ("", ".gz", ".zst"):
        if (path := folder / (name + ending)).is_file():
            return path
    raise DataError(f"{folder} has no {name}; import {kind} takes {PUBLISHED[kind].files}")


def _stem(path: Path) -> str:
    return path.name.partition(".")[0]


def _lines(path: Path, start: str) -> Iterator[tuple[str, str]]:
    """Yield the lines below the first, each with its place."""
    for number, line in enumerate(iterate_lines(path), 1):
        if number == 1 and not line.startswith(start):
            raise DataError(f"{path}:1: the first line must begin with {start.rstrip()}, not with {shown(line)}")
        if number > 1 and line:
            yield f"{path}:{number}", line


def _rows(path: Path, wanted: Iterable[str]) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield the rows of a table with tabs and without quotation marks, each with its place."""
    header = next(iterate_lines(path), "").split("\t")
    for name in wanted:
        if name not in header:
            raise DataError(f"{path}:1: the column {name} is missing; there are {some(header)}")
    for place, line in _lines(path, ""):
        row = line.split("\t")
        if len(row) != len(header):
            raise DataError(f"{place}: this line has {counted(len(row), 'field')} but the first has {len(header)}")
        yield place, dict(zip(header, row, strict=True))


def _put(outputs: _Outputs, system: str, item: str, text: str, place: str) -> None:
    if not system.strip() or not item.strip():
        raise DataError(f"{place}: a system and an item must have names")
    if outputs[system].setdefault(item, text) != text:
        raise DataError(f"{place}: {system} has another output for {shown(item)} above; it must have one")


def _field(record: Mapping[str, Any], name: str, kind: type, place: str) -> Any:
    value = record.get(name)
    if kind is str and isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if not isinstance(value, kind):
        words = "a string" if kind is str else "an array"
        found = "is missing" if name not in record else f"must be {words}, not {kind_of(value)}"
        raise DataError(f"{place}: the field {name} {found}")
    return value


def _strings(record: Mapping[str, Any], name: str, place: str) -> list[str]:
    texts: list[str] = _field(record, name, list, place)
    if not all(isinstance(text, str) for text in texts):
        raise DataError(f"{place}: {name} must be an array of strings")
    return texts


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _number(record: Mapping[str, Any], name: str, place: str) -> float:
    if name not in record:
        raise DataError(f"{place}: the field {name} is missing")
    return _finite(record[name], name, place)


def _finite(value: Any, name: str, place: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= _LARGEST:
        raise DataError(f"{place}: {name} must be a finite number, not {kind_of(value)}")
    return value

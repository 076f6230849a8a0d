"""Readers of data that the field publishes, as it is published: each makes evaluation sets of raw files."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from trubleu.data.esa import read_esa
from trubleu.data.mqm import read_mqm
from trubleu.data.mtme import read_mtme
from trubleu.data.outputs import match_systems
from trubleu.data.rankings import Rankings, read_assessments, read_official_scores
from trubleu.data.raw import (
    ABOUT,
    OutputTexts,
    field_of,
    file_within,
    files_of,
    finite_number,
    lines_below,
    number_of,
    object_of,
    put_output,
    stem,
    strings_of,
    table_rows,
)
from trubleu.data.reference_files import check_length
from trubleu.data.references import Reference, Segment
from trubleu.data.sets import EvaluationSet, RatingRow, file_name, fitting
from trubleu.errors import DataError, UsageError, counted, nearest, shown
from trubleu.files.jsonl import kind_of, parse_json, parse_objects
from trubleu.files.lines import iterate_lines, read_text_lines
from trubleu.files.paths import exists
from trubleu.files.tables import whole

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from trubleu.files.paths import PathLike

FIVE_POINTS: Final = (1, 5)


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
        ``dstc7``, ``mtme``, ``mqm``, ``esa``, ``wmt-da``, ``wmt-rr``, ``summeval``, ``usr`` or ``tasks``.
    source
        The folder with the raw files, or one file. Text files may be compressed with gzip or zstd.
    language_pair
        For ``mtme``, ``esa`` and ``wmt-da``, the only language pair to read, such as ``en-de``.
    reference
        The references to score against: for ``mtme`` their name (None for those that most metrics used), for ``mqm`` a
        file of them, line N for segment N (None for human translations among the systems).

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
            fitting_kinds = ", ".join(each for each in PUBLISHED if name in PUBLISHED[each].options)
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
    files = [file_within(source, f"dstc7-task2-{name}.tsv", "dstc7") for name in names]
    contexts = {row["InstanceID"]: row["Context"] for _, row in table_rows(files[0], ("InstanceID", "Context"))}
    segments, without = [], 0
    for place, line in lines_below(files[1], "InstanceID\t"):
        item, *golds = line.split("\t")
        if item not in contexts:
            raise DataError(f"{place}: the instance {shown(item)} is not in {files[0]}; take both of one release")
        turns = contexts[item].split(" EOS ")
        texts = dict.fromkeys(text for text in golds if text.strip())
        without += not texts
        references = tuple(Reference(text, origin="gold") for text in texts)
        segments.append(Segment(item, references, turns[-1], tuple(turns[:-1])))
    outputs: OutputTexts = defaultdict(dict)
    for place, row in table_rows(files[2], ("SystemID", "InstanceID", "Response")):
        put_output(outputs, row["SystemID"], row["InstanceID"], row["Response"], place)
    ratings = []
    aspects = ("Relevance", "Informativeness")
    for place, row in table_rows(files[3], ("JudgeID", "InstanceID", "SystemID", *aspects)):
        for aspect in aspects:
            score = whole(row[aspect])
            if not isinstance(score, int) or not 1 <= score <= 5:
                raise DataError(f"{place}: {aspect} must be a whole number from 1 to 5, not {shown(row[aspect])}")
            ratings.append(RatingRow(row["InstanceID"], row["SystemID"], row["JudgeID"], score, aspect))
    fields = fitting(segments, outputs, ratings, str(source))
    if without:
        fields["left_out"] = {"items without a reference": without, **fields["left_out"]}
    yield "dstc7", files, {**fields, "scales": dict.fromkeys(aspects, FIVE_POINTS)}


_KINDS: Final = ("reference", "mt-system", "source", "human")


def _wmt_da(source: Path, *, language_pair: str | None = None) -> Iterator[tuple[str, Sequence[Path], dict[str, Any]]]:
    if not source.is_dir() and ".csv" in source.name:
        yield from read_esa(source, language_pair=language_pair, aspect="da")
        return
    for path in files_of(source, "*.human.*"):
        match = re.fullmatch(r"(.+)\.human\.([a-z]+-[a-z]+)(\.gz|\.zst)?", path.name)
        if match is None:
            raise DataError(f"{path}: the name must end in .human and a language pair, such as .human.de-en")
        start, pair, _ = match.groups()
        if language_pair not in (None, pair):
            continue
        files = [file_within(path.parent, f"{start}.{kind}.{pair}", "wmt-da") for kind in _KINDS]
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
        for path in (systems := [path for path in files_of(folder, "*") if not path.name.startswith(".")]):
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
    for path in files_of(source, "model_annotations.aligned*.jsonl*"):
        references: dict[str, dict[str, None]] = defaultdict(dict)
        articles: dict[str, str | None] = {}
        outputs: OutputTexts = defaultdict(dict)
        ratings = []
        for place, record in parse_objects(iterate_lines(path), str(path)):
            item, system = field_of(record, "id", str, place), field_of(record, "model_id", str, place)
            texts = strings_of(record, "references", place)
            references[item] |= dict.fromkeys(text for text in texts if text.strip())
            # Articles are only in files that were paired with CNN/DailyMail.
            articles[item] = record.get("text") if isinstance(record.get("text"), str) else None
            put_output(outputs, system, item, field_of(record, "decoded", str, place), place)
            for who, prefix in (("expert", ""), ("turker", "crowd-")):
                annotations = field_of(record, f"{who}_annotations", list, place)
                for number, given in enumerate(annotations, 1):
                    if not isinstance(given, dict):
                        raise DataError(f"{place}: {who}_annotations must hold objects, not {kind_of(given)}")
                    ratings += [
                        RatingRow(item, system, f"{who}{number}", number_of(given, aspect, place), prefix + aspect)
                        for aspect in _SUMMARY_ASPECTS
                    ]
        segments = [
            Segment(item, tuple(Reference(text) for text in texts), articles[item])
            for item, texts in references.items()
        ]
        scales = {prefix + aspect: FIVE_POINTS for prefix in ("", "crowd-") for aspect in _SUMMARY_ASPECTS}
        fields = fitting(segments, outputs, ratings, str(path))
        yield stem(path), [path], {**fields, "aspects": _SUMMARY_ASPECTS, "scales": scales}


_USR_SCALES: Final = {
    "Understandable": (0, 1),
    "Natural": (1, 3),
    "Maintains Context": (1, 3),
    "Engaging": (1, 3),
    "Uses Knowledge": (0, 1),
    "Overall": FIVE_POINTS,
}


def _usr(source: Path) -> Iterator[tuple[str, Sequence[Path], dict[str, Any]]]:
    for path in files_of(source, "*usr*.json*"):
        try:
            entries = parse_json("\n".join(iterate_lines(path)))
        except (ValueError, RecursionError) as error:
            if isinstance(error, DataError):
                raise
            raise DataError(f"{path}: this is not JSON: {error}; take the file as it was published") from error
        if not isinstance(entries, list):
            raise DataError(f"{path} must hold an array of contexts, not {kind_of(entries)}")
        segments, ratings = [], []
        outputs: OutputTexts = defaultdict(dict)
        for number, entry in enumerate(entries, 1):
            place = f"{path}, context {number}"
            if not isinstance(entry, dict):
                raise DataError(f"{place} must be an object, not {kind_of(entry)}")
            item = str(number)
            lines = (turn.strip() for turn in field_of(entry, "context", str, place).split("\n"))
            turns = [turn for turn in lines if turn]
            references = []
            for each in field_of(entry, "responses", list, place):
                if not isinstance(each, dict):
                    raise DataError(f"{place}: responses must hold objects, not {kind_of(each)}")
                system = field_of(each, "model", str, place)
                text = field_of(each, "response", str, place).strip()
                if system == "Original Ground Truth":
                    references.append(Reference(text, origin="seed"))
                    continue
                put_output(outputs, system, item, text, place)
                for aspect in _USR_SCALES:
                    scores = field_of(each, aspect, list, f"{place}, {system}")
                    ratings += [
                        RatingRow(item, system, f"annotator{rater}", finite_number(score, aspect, place), aspect)
                        for rater, score in enumerate(scores, 1)
                    ]
            segments.append(Segment(item, tuple(references), turns[-1] if turns else None, tuple(turns[:-1])))
        fields = fitting(segments, outputs, ratings, str(path))
        yield stem(path), [path], {**fields, "aspects": ("Overall",), "scales": _USR_SCALES}


def _tasks(source: Path) -> Iterator[tuple[str, Sequence[Path], dict[str, Any]]]:
    for path in files_of(source, "*.jsonl*"):
        records = list(parse_objects(iterate_lines(path), str(path)))
        keys = [(field_of(each, "seg", str, place), field_of(each, "system", str, place)) for place, each in records]
        # Where a system has several outputs for one source, each output is an item of its own.
        alone = len({*keys}) < len(keys)
        segments: dict[str, Segment] = {}
        outputs: OutputTexts = defaultdict(dict)
        ratings = []
        for (place, record), (seg, system) in zip(records, keys, strict=True):
            item = field_of(record, "id", str, place) if alone else seg
            texts = strings_of(record, "refs", place)
            extra = object_of(record.get("extra"))
            message = extra["source"] if isinstance(extra.get("source"), str) else None
            references = tuple(Reference(text) for text in texts if text.strip())
            if segments.setdefault(item, Segment(item, references, message)).references != references:
                raise DataError(f"{place}: {shown(item)} has other references than above; one item has the same ones")
            put_output(outputs, system, item, field_of(record, "output", str, place), place)
            ratings.append(RatingRow(item, system, "mean", number_of(record, "human", place), "overall"))
            parts = object_of(extra.get("human"))
            ratings += [RatingRow(item, system, "mean", number_of(parts, part, place), part) for part in parts]
        yield stem(path), [path], {**fitting(segments.values(), outputs, ratings, str(path)), "aspects": ("overall",)}


_READERS: Final = {
    "dstc7": _dstc7,
    "mtme": read_mtme,
    "mqm": read_mqm,
    "esa": read_esa,
    "wmt-da": _wmt_da,
    "wmt-rr": _wmt_rr,
    "summeval": _summeval,
    "usr": _usr,
    "tasks": _tasks,
}

PUBLISHED: Final = {kind: Published(**ABOUT[kind], read=read) for kind, read in _READERS.items()}
"""What can be imported, as ``published.toml`` describes it."""

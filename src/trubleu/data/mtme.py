"""The layout of mt-metrics-eval: test sets of WMT's metrics tasks with human scores and scores of metrics."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final

from trubleu.data.ratings import MEAN
from trubleu.data.reference_files import check_length
from trubleu.data.references import Reference, Segment
from trubleu.data.sets import RatingRow, file_name, fitting
from trubleu.data.weights import exact
from trubleu.errors import DataError, UsageError, counted, nearest, shown, some
from trubleu.files.jsonl import parse_json
from trubleu.files.lines import iterate_lines, read_text_lines
from trubleu.files.tables import finite

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

GOLD: Final = ("mqm", "esa", "da-sqm", "wmt-appraise", "wmt", "wmt-raw")
"""Human scores that the metrics tasks judge by, the first that a language pair has."""

_NO_REFERENCE: Final = "src"


def read_mtme(
    source: Path, *, language_pair: str | None = None, reference: str | None = None
) -> Iterator[tuple[str, Sequence[Path], dict[str, Any]]]:
    """Yield the sets of a folder of test sets, or of one of them, one for each language pair that people scored.

    Parameters
    ----------
    source
        The folder, which holds ``sources`` or folders that do.
    language_pair
        The only one to read, such as ``en-de``; None for all.
    reference
        The name of the references; None for those that most metrics used.
    """
    folders = [source] if (source / "sources").is_dir() else sorted(path.parent for path in source.glob("*/sources"))
    pairs = {(each, path.stem): path for each in folders for path in sorted((each / "sources").glob("*-*.txt"))}
    known = dict.fromkeys(pair for _, pair in pairs)
    if language_pair is not None and language_pair not in known and known:
        raise UsageError(f"{source} has no language pair {shown(language_pair)}; {nearest(language_pair, known)}")
    for (folder, pair), sources in pairs.items():
        people = sorted((folder / "human-scores").glob(f"{pair}.*.seg.*"))
        if language_pair in (None, pair) and (people or language_pair):
            if not people:
                raise DataError(f"{folder / 'human-scores'} has no {pair}.NAME.seg.score; a set needs human scores")
            yield f"{folder.resolve().name}.{pair}", *_language_pair(folder, pair, sources, people, reference)


def _language_pair(
    folder: Path, pair: str, sources: Path, people: Sequence[Path], reference: str | None
) -> tuple[list[Path], dict[str, Any]]:
    messages = read_text_lines(sources)
    items = [str(number) for number in range(1, len(messages) + 1)]

    def texts(path: Path) -> list[str]:
        lines = read_text_lines(path)
        check_length(str(path), len(lines), str(sources), len(messages))
        return lines

    references = {path.name.split(".")[-2]: path for path in sorted((folder / "references").glob(f"{pair}.*.txt"))}
    outputs = {path.stem: path for path in sorted((folder / "system-outputs" / pair).glob("*.txt"))}
    if not references or not outputs:
        lacking = f"references/{pair}.NAME.txt" if not references else f"system-outputs/{pair}/SYSTEM.txt"
        raise DataError(f"{folder} has no {lacking}; take the whole folder of the test set")
    metrics = sorted((folder / "metric-scores" / pair).glob("*.seg.score"))
    used = {path: tuple(path.name.removesuffix(".seg.score").rpartition("-")[2].split(".")) for path in metrics}
    chosen = reference or _usual(used.values(), references)
    if chosen not in references:
        raise UsageError(f"{folder} has no references {shown(chosen)} of {pair}; {nearest(chosen, references)}")
    translations = texts(references[chosen])
    left_out = Counter[str]()
    rows: list[RatingRow] = []
    aspects: dict[str, None] = {}
    for path in people:
        name, level, kind = path.name.removeprefix(f"{pair}.").rsplit(".", 2)
        if (level, kind) not in (("seg", "score"), ("seg", "rating")):
            continue
        aspects[name] = None
        for row in (_ratings if kind == "rating" else _scores)(path, items, outputs):
            if row.system == chosen:
                left_out[f"ratings of {chosen}, the reference"] += 1
            else:
                rows.append(row._replace(score=exact(row.score), aspect=name))
    kept = {name: dict(zip(items, texts(path), strict=True)) for name, path in outputs.items() if name != chosen}
    segments = [
        Segment(item, (Reference(text, origin=chosen),), message)
        for item, text, message in zip(items, translations, messages, strict=True)
    ]
    fields = fitting(segments, kept, rows, str(folder))
    rated = {(row.item, row.system) for row in fields["ratings"]}
    scores: dict[str, dict[tuple[str, str], float]] = {}
    read = []
    for path, names in used.items():
        if names not in ((chosen,), (_NO_REFERENCE,)):
            left_out["metrics with other references"] += 1
            continue
        read.append(path)
        base = path.name.removesuffix(".seg.score").rpartition("-")[0]
        found = (row for row in _scores(path, items, outputs) if row.system != chosen)
        given = {(row.item, file_name(row.system)): float(row.score) for row in found}
        if rated <= given.keys():
            scores[f"{base}-{names[0]}" if base in scores else base] = given
        else:
            left_out["metrics without scores of all rated outputs"] += 1
    coarse = [
        path
        for path in (*(folder / "human-scores").glob(f"{pair}.*.score"), *(folder / "metric-scores" / pair).glob("*"))
        if path.name.endswith((".sys.score", ".domain.score", ".doc.score"))
    ]
    left_out["files of scores of systems, domains or documents"] += len(coarse)
    others = [name for name in references if name != chosen]
    left_out[f"references ({some(others)})"] += len(others)
    labels = _documents(folder / "documents" / f"{pair}.docs", sources, items)
    files = [sources, references[chosen], *outputs.values(), *people, *read]
    return files, {
        **fields,
        "scores": scores,
        "labels": labels,
        "aspects": (next((name for name in GOLD if name in aspects), next(iter(aspects))),),
        "left_out": {**fields["left_out"], **{what: count for what, count in left_out.items() if count}},
    }


def _usual(used: Iterable[tuple[str, ...]], references: Iterable[str]) -> str:
    """Return the references that most metrics used, the first by name if there are several."""
    counts = Counter(names[0] for names in used if len(names) == 1)
    return max(references, key=lambda name: counts[name])


def _scores(path: Path, items: Sequence[str], systems: Iterable[str]) -> Iterator[RatingRow]:
    """Yield the scores of a file, SYSTEM and SCORE per line, of each system all segments in order."""
    for place, item, system, (text, *more) in _blocks(path, items, systems):
        if more or (score := finite(text)) is None:
            given = " ".join((text, *more))
            raise DataError(f"{place}: expected SYSTEM SCORE, with a finite number or None, not {system} {given}")
        yield RatingRow(item, system, MEAN, score, "")


def _ratings(path: Path, items: Sequence[str], systems: Iterable[str]) -> Iterator[RatingRow]:
    """Yield ratings by errors: SYSTEM, JSON with the errors and their scores, and maybe RATER per line, with tabs."""
    for place, item, system, (text, *rater) in _blocks(path, items, systems):
        try:
            total = sum((exact(error["score"]) for error in parse_json(text)["errors"]), Fraction())
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise DataError(
                f'{place}: expected JSON such as {{"errors": [{{"score": 5}}]}}, not {shown(text)}'
            ) from error
        yield RatingRow(item, system, rater[0] if rater else MEAN, -total, "")


def _blocks(path: Path, items: Sequence[str], systems: Iterable[str]) -> Iterator[tuple[str, str, str, list[str]]]:
    """Yield the place, item, system and other fields of each line that is not None, and check that all are there."""
    known = frozenset(systems)
    seen = Counter[str]()
    for number, line in enumerate(iterate_lines(path), 1):
        place = f"{path}:{number}"
        system, *fields = line.split("\t") if "\t" in line else line.split(maxsplit=1) or [""]
        if not fields:
            raise DataError(f"{place}: expected SYSTEM SCORE, not {shown(line)}")
        if system not in known:
            raise DataError(f"{place}: there is no output of {shown(system)}; {nearest(system, sorted(known))}")
        if seen[system] == len(items):
            raise DataError(f"{place}: expected {counted(len(items), 'score')} of {system}, one per segment, got more")
        if fields != ["None"]:
            yield place, items[seen[system]], system, fields
        seen[system] += 1
    for system, count in seen.items():
        if count < len(items):
            raise DataError(
                f"{path}: expected {counted(len(items), 'score')} of {system}, one per segment, got {count:,}"
            )


def _documents(path: Path, sources: Path, items: Sequence[str]) -> dict[str, dict[str, str]]:
    """Return the domain and the document of each segment, where a file says so."""
    if not path.is_file():
        return {}
    lines = read_text_lines(path)
    check_length(str(path), len(lines), str(sources), len(items))
    labels = {}
    for number, (item, line) in enumerate(zip(items, lines, strict=True), 1):
        fields = line.split()
        if len(fields) != 2:
            raise DataError(f"{path}:{number}: expected DOMAIN DOCUMENT, not {shown(line)}")
        labels[item] = dict(zip(("domain", "document"), fields, strict=True))
    return labels

"""One language pair of the WMT protocol, from files or from Python, aligned as numbers."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field, fields, replace
from glob import glob
from itertools import compress
from os.path import isfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from trubleu.data import (
    Rankings,
    References,
    SegmentScores,
    SystemScores,
    name_systems,
    read_assessments,
    read_official_scores,
    read_outputs,
)
from trubleu.data.outputs import match_systems
from trubleu.errors import DataError, UsageError, counted, nearest, some
from trubleu.files.compression import without_suffix
from trubleu.files.lines import read_text_lines
from trubleu.files.paths import check_standard_input_once, is_remote, is_standard, name_of, unreadable
from trubleu.judge.wmt.tau import RankedPairs
from trubleu.metrics.dbleu import all_rated

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from trubleu.judge.report import Notes
    from trubleu.judge.wmt.results import Identical


_LARGEST: Final = int(np.iinfo(np.int64).max)


@dataclass(frozen=True, slots=True, kw_only=True)
class WmtTask:
    """One language pair: systems, and what people think of them. What is not given is not computed.

    Attributes
    ----------
    language_pair
        What it is called in rows.
    outputs
        The texts of each system, one per segment.
    references
        What metrics compare outputs with; not needed if all scores come from files.
    human
        The official human score of each system, higher is better.
    rankings
        Pairs of outputs that people ranked.
    assessments
        For each assessed system one number per segment, NaN for an output that was not assessed.
    segment_scores, system_scores
        Other metrics' scores.
    testset
        What the segments are called in files of scores.
    aliases
        Other names of systems, such as those of their files.
    left_out
        The names of segments that were taken away; what files say of them is passed over.
    """

    language_pair: str
    outputs: Mapping[str, Sequence[str]]
    references: References | None = None
    human: Mapping[str, float] | None = None
    rankings: Rankings | None = None
    assessments: Mapping[str, Sequence[float]] | None = None
    segment_scores: Sequence[SegmentScores] = ()
    system_scores: Sequence[SystemScores] = ()
    testset: str = ""
    aliases: Mapping[str, str] = field(default_factory=dict)
    left_out: frozenset[str] = frozenset()

    @property
    def systems(self) -> tuple[str, ...]:
        """The names of the systems."""
        return tuple(self.outputs)

    @property
    def segments(self) -> int:
        """How many segments there are."""
        if self.references is not None:
            return len(self.references)
        return len(next(iter(self.outputs.values()), ()))

    def places(self) -> Mapping[str, int]:
        """Return the place of each segment by its name."""
        if self.references is not None:
            return self.references.positions()
        return {str(number + 1): number for number in range(self.segments)}

    def check(self) -> None:
        """Refuse a task whose parts do not fit together."""
        if not self.outputs:
            raise UsageError(f"{self.language_pair} has no outputs of systems; give some")
        for system, texts in self.outputs.items():
            if len(texts) != self.segments:
                raise DataError(
                    f"{self.language_pair}: {system} has {counted(len(texts), 'output')} for "
                    f"{counted(self.segments, 'segment')}; "
                    "give one for each"
                )
        assessments = self.assessments or {}
        for name in self.found(assessments):
            if len(assessments[name]) != self.segments:
                raise DataError(
                    f"{self.language_pair}: {name} has {len(assessments[name])} assessments for {self.segments} "
                    "segments; give one number for each"
                )

    def rated(self, unrated_as: float | None, notes: Notes) -> WmtTask:
        """Return the task without the segments that have no reference of positive weight, which ΔBLEU cannot score.

        They are taken away for every metric, whether it looks at weights or not, so that all are judged by the same.

        Parameters
        ----------
        unrated_as
            The weight of references that are not rated yet; they are refused without one.
        notes
            Told how many segments are left out.
        """
        if self.references is None or not self.references.weighted():
            return self
        references = all_rated(self.references, unrated_as)
        kept = references.best_weights() > 0
        if kept.all():
            return self if references is self.references else replace(self, references=references)
        if not kept.any():
            raise DataError(f"no segment of {references.source} has a reference of positive weight; add some")
        what = "segments without a reference of positive weight, left out for every metric"
        notes.count(f"{self.language_pair}: {what}", int(np.count_nonzero(~kept)))
        mask = kept.tolist()
        assessments = self.assessments
        if assessments is not None:
            assessments = {name: list(compress(values, mask)) for name, values in assessments.items()}
        return replace(
            self,
            outputs={system: list(compress(texts, mask)) for system, texts in self.outputs.items()},
            references=references.take(kept),
            assessments=assessments,
            left_out=frozenset(compress(references.ids, (~kept).tolist())),
        )

    def found(self, names: Iterable[str]) -> dict[str, int]:
        """Return the place of the system that each name means; names that mean none are left out."""
        given = list(dict.fromkeys(names))
        place = {system: index for index, system in enumerate(self.outputs)}
        known = match_systems(given, place)
        unused = {alias: system for alias, system in self.aliases.items() if system not in known.values()}
        others = match_systems([name for name in given if name not in known], unused)
        return {name: place[system] for name, system in known.items()} | {
            name: place[unused[alias]] for name, alias in others.items()
        }

    def human_scores(self, notes: Notes) -> NDArray[np.float64] | None:
        """Return the human score of each system, NaN where there is none."""
        if self.human is None:
            return None
        known = self.found(self.human)
        if unknown := [name for name in self.human if name not in known]:
            notes.warn(f"{self.language_pair}: people scored systems that have no outputs here: {some(unknown)}")
        scores = np.full(len(self.outputs), np.nan)
        for name, place in known.items():
            scores[place] = self.human[name]
        if missing := [system for system, score in zip(self.systems, scores, strict=True) if np.isnan(score)]:
            notes.warn(f"{self.language_pair}: no human score at the system level, left out: {some(missing)}")
        return scores

    def ranked_pairs(self, identical: Identical, notes: Notes) -> RankedPairs | None:
        """Return the rankings of systems and segments that are here."""
        if self.rankings is None:
            return None
        rankings = self._own_rankings(self.rankings)
        systems, segments = self.found(rankings.systems), self.places()
        place_of_system = _places(rankings.systems, systems)
        place_of_segment = _places(rankings.segments, segments)
        a, b = place_of_system[rankings.system_a], place_of_system[rankings.system_b]
        segment = place_of_segment[rankings.segment]
        if unknown := [name for name in rankings.systems if name not in systems]:
            rows = int(np.count_nonzero((a < 0) | (b < 0)))
            notes.count(f"{self.language_pair}: rankings left out, as there are no outputs of {some(unknown)}", rows)
        if unknown := [name for name in rankings.segments if name not in segments and name not in self.left_out]:
            strange = set(unknown)
            rows = int(np.array([name in strange for name in rankings.segments])[rankings.segment].sum())
            notes.count(f"{self.language_pair}: rankings left out, as there is no segment {some(unknown)}", rows)
        here = (a >= 0) & (b >= 0) & (segment >= 0)
        pairs = RankedPairs(
            segment=segment,
            a=a,
            b=b,
            human=np.sign(rankings.rank_a - rankings.rank_b).astype(np.int64),
            ranking=rankings.ranking * max(1, len(rankings.judges)) + rankings.judge,
        ).where(here)
        if identical == "collapsed":
            pairs, contradictions = pairs.collapsed(self._equal_texts())
            if contradictions:
                what = "pairs of texts left out, as a judge ranked the same two texts both ways"
                notes.count(f"{self.language_pair}: {what}", contradictions)
        elif repeated := _repeated_rows(rankings, here):
            what = "rankings that repeat another row, judge and ranking included, and are counted again"
            notes.count(f"{self.language_pair}: {what}", repeated)
        return pairs

    def _own_rankings(self, rankings: Rankings) -> Rankings:
        if len(rankings.language_pairs) < 2:
            return rankings
        if self.language_pair not in rankings.language_pairs:
            raise DataError(
                f"{rankings.source} has rankings of {some(rankings.language_pairs)}, and none is called "
                f"{self.language_pair}; name the language pair as they do"
            )
        return rankings.select(self.language_pair)

    def _equal_texts(self) -> NDArray[np.int64]:
        numbers: dict[str, int] = {}
        rows = [[numbers.setdefault(text, len(numbers)) for text in texts] for texts in self.outputs.values()]
        return np.array(rows, dtype=np.int64)

    def assessed(self, notes: Notes) -> NDArray[np.float64] | None:
        """Return ``float64[systems, segments]`` of assessments, NaN where there is none."""
        if self.assessments is None:
            return None
        known = self.found(self.assessments)
        if unknown := [name for name in self.assessments if name not in known]:
            notes.warn(f"{self.language_pair}: assessments of systems that have no outputs here: {some(unknown)}")
        table = np.full((len(self.outputs), self.segments), np.nan)
        for name, place in known.items():
            table[place] = self.assessments[name]
        return table


def _places(names: Sequence[str], known: Mapping[str, int]) -> NDArray[np.int64]:
    return np.array([known.get(name, -1) for name in names], dtype=np.int64)


def _repeated_rows(rankings: Rankings, among: NDArray[np.bool_]) -> int:
    """Return how many of some rows are the same as an earlier one."""
    key = np.zeros(int(np.count_nonzero(among)), dtype=np.int64)
    for name in ("ranking", "judge", "segment", "system_a", "system_b", "rank_a", "rank_b"):
        column = getattr(rankings, name)[among]
        # One number a row is found by one sort; numbered anew where it would outgrow 64 bits.
        if (int(key.max(initial=0)) + 1) * (int(column.max(initial=0)) + 1) > _LARGEST:
            key, column = (np.unique(each, return_inverse=True)[1] for each in (key, column))
        key = key * (int(column.max(initial=0)) + 1) + column
    key.sort()
    return int(np.count_nonzero(key[1:] == key[:-1]))


SYSTEM_SCORES: Final = ".sys.score"
"""What the name of a file with scores of systems ends in; all other files have scores of segments."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskFiles:
    """The files of one language pair.

    Attributes
    ----------
    references
        One file in any format that `References.read` knows, or several with one reference per line.
    weights
        Of references in several files.
    source
        What was translated, one text per line.
    outputs
        ``PATH`` or ``NAME=PATH`` for each system.
    human, rankings
        Official scores of systems, and ranked pairs of outputs.
    assessments
        ``NAME=PATH`` for each system, or one ``PATH`` where there is one system.
    scores
        Other metrics' scores.
    testset
        What the segments are called in files of scores; empty if that does not matter.
    """

    references: str | tuple[str, ...] = ()
    weights: tuple[str, ...] = ()
    source: str | None = None
    outputs: tuple[str, ...] = ()
    human: str | None = None
    rankings: str | None = None
    assessments: tuple[str, ...] = ()
    scores: tuple[str, ...] = ()
    testset: str = ""

    def read(self, language_pair: str | None = None) -> WmtTask:
        """Read everything.

        Parameters
        ----------
        language_pair
            What it is called; if not given, what the files of scores or the rankings call it.

        Raises
        ------
        UsageError, DataError
            If a file is missing or cannot be used.
        """
        paths = name_systems(self.outputs)
        assessed = self._assessed(paths)
        listed = [self.references] if isinstance(self.references, str) else self.references
        single = [path for path in (self.source, self.human, self.rankings) if path is not None]
        check_standard_input_once([*listed, *self.weights, *single, *assessed.values(), *self.scores, *paths.values()])
        references = self._references()
        rankings = None if self.rankings is None else Rankings.read(self.rankings)
        scores = [_read_scores(path) for path in self.scores]
        return WmtTask(
            language_pair=language_pair or _common_pair(scores, rankings),
            outputs=self._texts(paths, references),
            references=references,
            human=None if self.human is None else read_official_scores(self.human),
            rankings=rankings,
            assessments={name: read_assessments(path) for name, path in assessed.items()} if assessed else None,
            segment_scores=[each for each in scores if isinstance(each, SegmentScores)],
            system_scores=[each for each in scores if isinstance(each, SystemScores)],
            testset=self.testset,
            aliases=_aliases(paths),
        )

    def _references(self) -> References | None:
        if not self.references:
            return None
        if isinstance(self.references, str):
            references = References.read(self.references)
        else:
            references = References.read_parallel(self.references, self.weights)
        if self.source is not None:
            what = f"lines in {name_of(self.source)}"
            references = references.with_messages(read_text_lines(self.source), what=what)
        return references

    def _texts(self, paths: Mapping[str, str], references: References | None) -> dict[str, list[str]]:
        if references is None:
            return {name: read_text_lines(path) for name, path in paths.items()}
        return {system.name: system.texts for system in read_outputs(self.outputs, references)}

    def _assessed(self, paths: Mapping[str, str]) -> dict[str, str]:
        found: dict[str, str] = {}
        for written in self.assessments:
            name, equals, path = written.partition("=")
            if not equals or is_remote(written) or isfile(written):  # noqa: PTH113 - as in `parse_system`
                if len(paths) != 1:
                    raise UsageError(
                        f"{written} has assessments, but not of which of the {len(paths)} systems; write NAME=FILE"
                    )
                name, path = next(iter(paths)), written
            if name in found:
                raise UsageError(f"there are two files of assessments of {name}; give one")
            found[name] = path
        return found


def read_tasks(path: str, scores: Sequence[str] = ()) -> list[WmtTask]:
    """Read the language pairs that a TOML file describes, one a table.

    A table is named as the language pair and has the fields of `TaskFiles`; ``references``, ``outputs``,
    ``assessments`` and ``scores`` are one string or a list of them. Paths are relative to the file; in ``outputs`` and
    ``scores``, ``*``, ``?`` and ``[…]`` stand for the files that there are.

    Parameters
    ----------
    path
        The file.
    scores
        Files of scores, besides those in the file; each is of the language pairs that it names.

    Raises
    ------
    DataError
        If the file cannot be read, has a field that is not known, or names a file that is not there.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> for name, text in {"ref.en": "a b", "A.txt": "a b", "B.txt": "a c", "people.txt": "A 1.0\\nB 0.5"}.items():
    ...     _ = (folder / name).write_text(text + "\\n")
    >>> text = '[de-en]\\nreferences = "ref.en"\\noutputs = "[AB].txt"\\nhuman = "people.txt"\\n'
    >>> _ = (folder / "tasks.toml").write_text(text)
    >>> [(task.language_pair, task.systems) for task in read_tasks(str(folder / "tasks.toml"))]
    [('de-en', ('A', 'B'))]
    """
    try:
        document = tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise DataError(unreadable(path, error)) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise DataError(f"{path} is not TOML: {error}") from error
    if not document:
        raise DataError(f"{path} names no language pair; write a table for each, such as [de-en]")
    folder = Path(path).parent
    files = {pair: _task_files(pair, table, path, folder) for pair, table in document.items()}
    tasks = [each.read(pair) for pair, each in files.items()]
    for shared in scores:
        tasks = _with_scores(tasks, shared, path)
    return tasks


def _with_scores(tasks: Sequence[WmtTask], path: str, listed_in: str) -> list[WmtTask]:
    """Return tasks with a file of scores added to those whose language pair it has."""
    scores = _read_scores(path)
    pairs = [pair for pair in scores.language_pairs() if pair]
    if not pairs and len(tasks) > 1:
        raise UsageError(
            f"{path} does not say of which language pair its scores are; name the file below one of {listed_in}"
        )
    if pairs and not any(task.language_pair in pairs for task in tasks):
        raise UsageError(f"{path} has scores of {some(pairs)}, which {listed_in} does not name; use the same names")
    return [_added(task, scores) if not pairs or task.language_pair in pairs else task for task in tasks]


def _added(task: WmtTask, scores: SegmentScores | SystemScores) -> WmtTask:
    if isinstance(scores, SegmentScores):
        return replace(task, segment_scores=[*task.segment_scores, scores])
    return replace(task, system_scores=[*task.system_scores, scores])


def _read_scores(path: str) -> SegmentScores | SystemScores:
    of_systems = not is_standard(path) and without_suffix(path).endswith(SYSTEM_SCORES)
    return SystemScores.read(path) if of_systems else SegmentScores.read(path)


_LISTS: Final = ("weights", "outputs", "assessments", "scores")
_KNOWN: Final = tuple(file_field.name for file_field in fields(TaskFiles))


def _task_files(pair: str, table: Any, path: str, folder: Path) -> TaskFiles:
    if not isinstance(table, dict):
        raise DataError(f"{path}: {pair} stands outside a table; write it below the name of a language pair: [de-en]")
    given: dict[str, Any] = {}
    for name, value in table.items():
        place = f"{path}: {name} of {pair}"
        if name not in _KNOWN:
            raise DataError(f"{path}: [{pair}] has a field {name}, which is not known; {nearest(name, _KNOWN)}")
        if name == "testset":
            given[name] = _strings(value, place, single=True)[0]
        elif name == "assessments" and isinstance(value, dict):
            given[name] = tuple(
                f"{system}={_beside(folder, _strings(file, place, single=True)[0])}" for system, file in value.items()
            )
        elif name in ("outputs", "scores"):
            given[name] = tuple(_globbed(folder, _strings(value, place), place))
        elif name in _LISTS or (name == "references" and not isinstance(value, str)):
            given[name] = tuple(_beside(folder, each) for each in _strings(value, place))
        else:
            given[name] = _beside(folder, _strings(value, place, single=True)[0])
    if "outputs" not in given:
        raise DataError(f"{path}: [{pair}] has no outputs; name the systems' files")
    return TaskFiles(**given)


def _strings(value: Any, place: str, *, single: bool = False) -> list[str]:
    texts = [value] if isinstance(value, str) else value
    if not isinstance(texts, list) or not texts or not all(isinstance(text, str) and text for text in texts):
        raise DataError(f"{place} must be {'a string' if single else 'a string or a list of strings'}")
    if single and len(texts) != 1:
        raise DataError(f"{place} must be one string, not {len(texts)}")
    return texts


def _beside(folder: Path, written: str) -> str:
    """Return ``PATH`` or ``NAME=PATH`` with the path relative to the folder; addresses are what they are."""
    if is_remote(written):
        return written
    whole = folder / written
    name, equals, path = written.partition("=")
    if equals and not isfile(whole):  # noqa: PTH113 - as in `parse_system`
        return written if is_remote(path) else f"{name}={folder / path}"
    return str(whole)


def _globbed(folder: Path, written: Iterable[str], place: str) -> list[str]:
    found: list[str] = []
    for each in written:
        if not any(sign in each for sign in "*?[") or is_remote(each) or isfile(folder / each):  # noqa: PTH113
            found.append(_beside(folder, each))
            continue
        matches = sorted(name for name in glob(each, root_dir=folder) if isfile(folder / name))  # noqa: PTH113, PTH207
        if not matches:
            raise DataError(f"{place}: no file is named like {each}")
        found += [str(folder / name) for name in matches]
    return found


def _common_pair(scores: Sequence[SegmentScores | SystemScores], rankings: Rankings | None) -> str:
    """Return what the files call the language pair, or ``all`` if none of them says."""
    named = dict.fromkeys(pair for each in scores for pair in each.language_pairs() if pair)
    if len(named) > 1:
        raise UsageError(f"the files of scores are of {some(named)}; say which language pair is meant")
    if named:
        return next(iter(named))
    pairs = rankings.language_pairs if rankings is not None else ()
    if len(pairs) > 1:
        raise UsageError(f"the rankings are of {some(pairs)}; say which language pair is meant")
    return next((pair for pair in pairs if pair), "all")


def _aliases(paths: Mapping[str, str]) -> dict[str, str]:
    """Return the names of systems' files, where they differ from the systems' names and from each other."""
    names: dict[str, list[str]] = {}
    for system, path in paths.items():
        if not is_standard(path):
            names.setdefault(without_suffix(Path(path).name), []).append(system)
    return {name: owners[0] for name, owners in names.items() if len(owners) == 1 and name not in paths}

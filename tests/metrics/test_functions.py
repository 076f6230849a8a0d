"""Plain functions as metrics, one segment at a time or all at once, in Python and on the command line."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import trubleu
from trubleu.cli import main
from trubleu.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

MODULE = """
def overlap(output, references):
    words = set(output.split())
    return max(len(words & set(each.split())) / max(len(words), 1) for each in references)

def overlaps(outputs, references):
    return [overlap(*each) for each in zip(outputs, references)]

def copied(output, references, source, factor=1.0):
    return factor * (output == source)
copied.higher_is_better = False

def many(outputs, references, sources):
    return [float(one == other) for one, other in zip(outputs, sources)]

def broken(output, references):
    return float("nan")

def text(output, references):
    return "good"

def few(outputs, references):
    return [1.0]

def odd(outputs, references, source):
    return [1.0] * len(outputs)

NUMBER = 3
"""


def overlap(output: str, references: Sequence[str]) -> float:
    words = set(output.split())
    return max(len(words & set(each.split())) / max(len(words), 1) for each in references)


def overlaps(outputs: Sequence[str], references: Sequence[Sequence[str]]) -> list[float]:
    return [overlap(output, own) for output, own in zip(outputs, references, strict=True)]


words = st.lists(st.sampled_from(["a", "b", "c"]), min_size=1, max_size=4).map(" ".join)
rows = st.lists(st.tuples(words, st.lists(words, min_size=1, max_size=3)), min_size=1, max_size=6)


@given(rows)
def test_the_score_is_the_mean(corpus: list[tuple[str, list[str]]]) -> None:
    outputs, references = zip(*corpus, strict=True)
    expected = [overlap(*row) for row in corpus]
    for function in (overlap, overlaps):
        metric = trubleu.metric(function)
        assert metric.corpus(outputs, references).score == pytest.approx(np.mean(expected), abs=1e-12)
        assert metric.segments(outputs, references).tolist() == expected


def test_what_python_may_say() -> None:
    metric = trubleu.metric(overlap, name="mine", higher_is_better=False)
    assert (metric.name, metric.higher_is_better) == ("mine", False)
    signature = str(metric.signature([["a"]]))
    assert signature.startswith(f"mine|nrefs:1|function:{overlap.__module__}.overlap|code:")
    assert signature != str(trubleu.metric(overlaps, name="mine").signature([["a"]]))
    with pytest.raises(UsageError, match="a metric is a name such as bleu-4, a Metric, or a function of an output and"):
        trubleu.metric(3)  # type: ignore[arg-type]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / f"m_{tmp_path.name}.py").write_text(MODULE)
    for name, text in (("ref", "a b\nc d\n"), ("A", "a b\nx\n"), ("B", "q\nc e\n"), ("source", "u\nx\n")):
        (tmp_path / f"{name}.txt").write_text(text)
    return tmp_path


def scored(folder: Path, capsys: pytest.CaptureFixture[str], function: str, *options: str) -> Any:
    module = f"m_{folder.name}"
    arguments = ["score", "--ref", "ref.txt", "A.txt", "B.txt", "-m", f"{module}:{function}", "-f", "json", *options]
    code = main(arguments)
    out, err = capsys.readouterr()
    if code:
        assert (code, out) == (2, "")
        return err
    return {row["system"]: row["score"] for row in json.loads(out)["scores"]}


def test_the_command(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert scored(folder, capsys, "overlap", "--ci", "--test") == {"A": 0.5, "B": 0.25}
    assert scored(folder, capsys, "overlaps") == {"A": 0.5, "B": 0.25}
    assert scored(folder, capsys, "copied", "--source", "source.txt") == {"A": 0.5, "B": 0.0}
    assert scored(folder, capsys, "copied[factor=4.0]", "--source", "source.txt") == {"A": 2.0, "B": 0.0}
    assert scored(folder, capsys, "many", "--source", "source.txt") == {"A": 0.5, "B": 0.0}


def test_on_worker_processes(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert scored(folder, capsys, "overlap", "--engine", "local:2") == {"A": 0.5, "B": 0.25}


@pytest.mark.parametrize(
    ("function", "message"),
    [
        ("broken", "broken returned nan for the segment 1; it must return a finite number"),
        ("text", "text returned 'good' for the segment 1; it must return a finite number"),
        ("few", "few returned 1 score for 2 outputs; return one for each"),
        ("odd", "odd must call its parameter sources, as the first is called outputs"),
        ("copied", "copied needs the sources of all segments; give --source FILE, or messages in --refs"),
        ("copied[size=3]", "has no option size; known: factor"),
        ("NUMBER", "is neither a class derived from trubleu.Metric nor a function of an output and its references"),
    ],
)
def test_mistakes(folder: Path, capsys: pytest.CaptureFixture[str], function: str, message: str) -> None:
    assert message in scored(folder, capsys, function)


def test_errors_have_their_direction(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    module = f"m_{folder.name}"
    call = ["compare", "--ref", "ref.txt", "A.txt", "B.txt", "--source", "source.txt", "-m", f"{module}:copied"]
    assert main([*call, "--resamples", "50"]) == 0
    assert capsys.readouterr().out.startswith(f"By {module}:copied, B (0.00) is better than A (0.50)")

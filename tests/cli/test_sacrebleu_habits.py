"""What people type who know sacreBLEU."""

from __future__ import annotations

import json
import re
import shlex
from typing import TYPE_CHECKING

import pytest
import sacrebleu

import trubleu
from trubleu.cli import main
from trubleu.errors import UsageError

if TYPE_CHECKING:
    from pathlib import Path

BLEU, CHRF, TER = "50.00", "55.79", "25.00"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ref.txt").write_text("the cat sat on the mat\nhello there\n")
    (tmp_path / "sys.txt").write_text("the cat sat on a mat\nhi there\n")
    return tmp_path


@pytest.mark.parametrize(
    ("command", "printed"),
    [
        ("score ref.txt -i sys.txt -m bleu chrf ter -b", [BLEU, CHRF, TER]),
        ("score -m bleu chrf ter -b -i sys.txt --ref ref.txt", [BLEU, CHRF, TER]),
        ("score --ref ref.txt -m bleu chrf sys.txt -b", [BLEU, CHRF]),
        ("score --ref ref.txt sys.txt -m bleu,chrf -b", [BLEU, CHRF]),
        ("score --ref ref.txt sys.txt --metrics bleu chrf -b", [BLEU, CHRF]),
        ("score --ref ref.txt sys.txt --metric=bleu,ter -b", [BLEU, TER]),
        ("score --ref ref.txt sys.txt -m BLEU chrF TER -b", [BLEU, CHRF, TER]),
        ("score --ref ref.txt sys.txt -m bleu4 chrF2 -b", [BLEU, CHRF]),
        ("score --ref ref.txt sys.txt -m 'bleu[smoothing=floor,tokenize=none],chrf' -b", [BLEU, CHRF]),
        ("score --ref ref.txt sys.txt -m bleu -b -w 4", ["50.0000"]),
        ("score --ref ref.txt sys.txt -m bleu -b -tok none -lc -s floor -sv 0.01", [BLEU]),
        ("score ref.txt ref.txt -i a=sys.txt b=sys.txt -m bleu -b", [BLEU, BLEU]),
    ],
)
def test_commands(command: str, printed: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(shlex.split(command)) == 0
    assert capsys.readouterr().out.split() == printed


def test_a_file_is_a_file_though_a_metric_has_its_name(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "chrf").write_text((folder / "sys.txt").read_text())
    assert main(shlex.split("score --ref ref.txt -m bleu chrf -b")) == 0
    assert capsys.readouterr().out.split() == [BLEU]


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("score ref.txt sys.txt -m bleu", "as in sacreBLEU: REFERENCE … -i OUTPUTS"),
        ("score --ref ref.txt sys.txt --paired-bs", "sacreBLEU's --paired-bs is --test --method bootstrap here"),
        ("score --ref ref.txt sys.txt --smooth-method exp", "is --smoothing here"),
        ("score --ref ref.txt sys.txt -sl", "is --segments here"),
        ("score -t wmt17 -l en-de -i sys.txt", "test sets are not downloaded"),
        ("score --ref ref.txt sys.txt -m chrf --chrf-word-order 2", "-m chrf\\+\\+"),
        ("score --ref ref.txt sys.txt -m 'bleu[smooth_method=exp]'", "it is called smoothing= here"),
        ("score --ref ref.txt sys.txt -m bleu blue", "cannot be read|blue"),
        ("score --ref ref.txt ref.txt -i sys.txt", "leave -i out"),
        ("score --ref ref.txt sys.txt -b --ci", "-b prints only scores"),
        ("score --ref ref.txt sys.txt -m chrf4", "chrf has no order"),
    ],
)
def test_what_is_called_something_else(command: str, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    try:
        code = main(shlex.split(command))
    except SystemExit as left:
        code = int(str(left.code))
    said = capsys.readouterr().err
    assert code == 2
    assert said.count("\n") == 1
    assert re.search(message, said), said


def test_parts_and_signatures(capsys: pytest.CaptureFixture[str]) -> None:
    command = ["score", "--ref", "ref.txt", "sys.txt", "-m", "bleu", "chrf", "ter", "nist"]
    assert main([*command, "--signature", "sacrebleu"]) == 0
    said = capsys.readouterr().out
    outputs, references = ["the cat sat on a mat", "hi there"], [["the cat sat on the mat", "hello there"]]
    for name, metric in {"bleu": sacrebleu.BLEU(), "chrf": sacrebleu.CHRF(), "ter": sacrebleu.TER()}.items():
        metric.corpus_score(outputs, references)
        assert f"{name}: {metric.get_signature()}\n" in said
    assert "nist: nist-5|nrefs:1|" in said
    assert "bleu: 75.0/50.0/50.0/33.3, BP 1.000, ratio 1.000, hyp_len 8, ref_len 8\n" in said
    assert "ter: edits 2, ref_len 8\n" in said
    assert main([*command, "--format", "json"]) == 0
    parts = {row["metric"]: row["parts"] for row in json.loads(capsys.readouterr().out)["scores"]}
    assert parts["bleu"]["precisions"] == pytest.approx([75, 50, 50, 100 / 3])
    precision, recall = parts["chrf"]["precision"], parts["chrf"]["recall"]
    assert 5 * precision * recall / (4 * precision + recall) == pytest.approx(float(CHRF), abs=0.01)
    assert parts["ter"] == {"edits": 2, "reference_length": 8}
    assert parts["nist"] == {}


def test_lower_case_is_for_bleu_alone(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "upper.txt").write_text((folder / "ref.txt").read_text().upper())
    assert main(["score", "--ref", "ref.txt", "upper.txt", "-m", "bleu", "chrf", "-lc", "-b"]) == 0
    bleu, chrf = map(float, capsys.readouterr().out.split())
    assert bleu == 100
    assert chrf < 20
    assert main(["score", "--ref", "ref.txt", "upper.txt", "-m", "chrf", "-lc", "-b"]) == 2


def test_swapped_files_are_noticed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["score", "--ref", "sys.txt", "ref.txt", "-m", "bleu", "-b"]) == 0
    assert "are they swapped?" in capsys.readouterr().err
    assert main(["score", "--ref", "ref.txt", "sys.txt", "-m", "bleu", "-b"]) == 0
    assert "swapped" not in capsys.readouterr().err


@pytest.mark.parametrize(
    ("option", "ours"),
    [("smooth_method", "smoothing"), ("max_ngram_order", "order"), ("tok", "tokenize"), ("lc", "lowercase")],
)
def test_options_in_python(option: str, ours: str) -> None:
    with pytest.raises(UsageError, match=f"it is called {ours}= here"):
        trubleu.metric("bleu", **{option: "x"})

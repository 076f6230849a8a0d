"""``trubleu scores describe``: what is found out of how scores were made."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING

import pytest

from trubleu.cli import main
from trubleu.data import SegmentScores

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
    (tmp_path / "comet.json").write_text('{"A.txt": [{"COMET": 0.5}, {"COMET": 0.75}]}')
    (tmp_path / "A.txt").write_text("0.5\n0.75\n")
    (tmp_path / "model.ckpt").write_bytes(b"weights")
    for name in ("unbabel_comet-2.2.2", "torch-2.4.1+cu121", "requests-2.32.0", "transformers-4.44.0"):
        (tmp_path / "env/lib/python3.11/site-packages" / f"{name}.dist-info").mkdir(parents=True)
    return tmp_path


def described(folder: Path, name: str, *options: str) -> dict[str, str]:
    assert main(["scores", "describe", name, *options]) == 0
    found: dict[str, str] = json.loads((folder / f"{name}.json").read_text())
    assert found["sha256"] == hashlib.sha256((folder / name).read_bytes()).hexdigest()
    assert found["number"] == "2"
    return {key: value for key, value in found.items() if key not in ("sha256", "number")}


def test_what_is_found_out(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert described(folder, "comet.json") == {}
    out = capsys.readouterr().out
    assert "not known: model, weights, precision (--model, --weights, --precision)\n" in out
    options = ("--model", "a/b", "--weights", "model.ckpt", "--environment", "env", "--precision", "fp16")
    assert described(folder, "comet.json", *options) == {
        "model": "a/b",
        "weights": hashlib.sha256(b"weights").hexdigest(),
        "unbabel-comet": "2.2.2",
        "torch": "2.4.1+cu121",
        "transformers": "4.44.0",
        "precision": "fp16",
    }
    assert "not known" not in capsys.readouterr().out
    about = SegmentScores.read(folder / "comet.json").about
    assert (about["model"], about["precision"]) == ("a/b", "fp16")
    assert described(folder, "A.txt") == {}  # numbers need no name here


def test_a_sidecar_of_an_older_file_is_written_again(folder: Path) -> None:
    described(folder, "comet.json", "--model", "a/b")
    (folder / "comet.json").write_text('{"A.txt": [{"COMET": 0.5}, {"COMET": 1.0}]}')
    assert described(folder, "comet.json") == {}


def test_models_in_the_cache_of_hugging_face(folder: Path) -> None:
    model = folder / "hub" / "models--a--b"
    digest = hashlib.sha256(b"x" * 100).hexdigest()
    for name in ("refs", "blobs", "snapshots/c0ffee/checkpoints"):
        (model / name).mkdir(parents=True)
    (model / "refs/main").write_text("c0ffee")
    (model / "blobs" / digest).write_bytes(b"x" * 100)
    (model / "snapshots/c0ffee/README.md").write_text("short")
    (model / "snapshots/c0ffee/checkpoints/model.ckpt").symlink_to(model / "blobs" / digest)
    assert described(folder, "comet.json", "--model", "a/b") == {
        "model": "a/b",
        "revision": "c0ffee",
        "weights": digest,
    }


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("nowhere.txt",), "nowhere.txt"),
        (("comet.json", "--environment", "hub"), "hub is not the folder of a Python environment, such as .venv"),
        (("comet.json", "--weights", "none.ckpt"), "none.ckpt"),
        (("comet.json", "--model", "a|b"), "model must be a number, or a text of one line without |, not the string"),
        (("-",), "-"),
    ],
)
def test_mistakes(folder: Path, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], message: str) -> None:
    assert main(["scores", "describe", *arguments]) == 2
    assert message in capsys.readouterr().err
    assert not (folder / "comet.json.json").exists()

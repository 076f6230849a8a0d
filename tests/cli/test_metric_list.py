"""``trubleu score --list-metrics``, and metrics that must know all references, as their users call them."""

from __future__ import annotations

import csv
import io
import json
import re
from typing import TYPE_CHECKING

import pytest

from trubleu.cli import main
from trubleu.errors import UsageError
from trubleu.metrics import Meteor, describe, metric, names
from trubleu.metrics.options import OPTIONS, SHARED

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    monkeypatch.chdir(tmp_path)

    def call(*arguments: str) -> tuple[int, str, str]:
        try:
            code = main(["score", *arguments])
        except SystemExit as stop:  # argparse leaves this way
            code = int(stop.code or 0)
        out, err = capsys.readouterr()
        return code, out, err

    return call


def test_every_metric_is_described() -> None:
    described = describe()
    assert [each.name for each in described] == list(names())
    by_name = {each.name: each for each in described}
    assert len({each.purpose for each in described}) == len(described)
    for name, each in by_name.items():
        assert 10 < len(each.purpose) < 100
        if "vec" not in name:
            made = metric(name)
            assert made.higher_is_better == each.higher_is_better
            assert made.uses_weights == ("weights" in each.needs)
            assert made.needs_source == ("source" in each.needs)
            assert made.learns == ("all segments at once" in each.needs)
            assert (made.with_order(2) is not None) == (each.order is not None)
            plain = each.order is None or name == "trubleu"
            assert made.name == (name if plain else f"{name}-{each.order}")
    assert by_name["dbleu2vec-f"].needs == ("weights", "vectors", "trubleu[ready]")
    assert "recall" not in by_name["bleu2vec-f"].options  # the name settles it
    assert by_name["ibleu"].options["alpha"] == 0.9


def test_some_metrics_are_described_by_name() -> None:
    assert [each.name for each in describe("ter", "bleu")] == ["ter", "bleu"]
    with pytest.raises(UsageError, match=r"there is no metric 'blue'; did you mean bleu"):
        describe("blue")


def test_the_list_needs_neither_systems_nor_references(run: Run) -> None:
    code, out, err = run("--list-metrics")
    assert (code, err) == (0, "")
    for name in names():
        assert any(line.split()[0] == name for line in out.splitlines() if line)
    assert "lower" in next(line for line in out.splitlines() if line.startswith("ter "))


@pytest.mark.parametrize("form", ["json", "csv", "markdown", "latex"])
def test_the_list_comes_in_every_format(run: Run, form: str, tmp_path: Path) -> None:
    code, out, _ = run("--list-metrics", "--format", form)
    assert code == 0
    if form in ("json", "csv"):
        rows = json.loads(out)["metrics"] if form == "json" else list(csv.DictReader(io.StringIO(out)))
        assert [row["metric"] for row in rows] == list(names())
        assert [str(row["order"]) for row in (rows[0], rows[2])] == ["3", "4"]
    assert run("--list-metrics", "--format", form, "--out", "list")[0] == 0
    assert (tmp_path / "list").read_text() == out.replace("\r\n", "\n")


def test_the_options_of_one_metric(run: Run) -> None:
    code, out, _ = run("--list-metrics", "cider-d", "--format", "json")
    assert code == 0
    rows = json.loads(out)["options"]
    options = {row["option"]: row["default"] for row in rows}
    assert options == {"tokenize": "13a", "lowercase": "false", "stem": "false", "corpus": None, "sigma": "6.0"}
    takes = {row["option"]: row["takes"] for row in rows}
    assert (takes["stem"], takes["sigma"]) == ("true or false", "a number above 0")
    assert run("--list-metrics", "cider-d-2", "--format", "json")[1] == out
    assert "there is no metric 'nothing'" in run("--list-metrics", "nothing")[2]


def test_every_option_is_declared_once_and_used() -> None:
    used = {option for each in describe() for option in each.options}
    assert used == set(OPTIONS)
    assert set(SHARED) <= used


@pytest.mark.parametrize("option", [name for name in SHARED if OPTIONS[name].default])
def test_the_help_names_every_default(option: str) -> None:
    declared = OPTIONS[option]
    usual, *others = declared.default.split("; ")
    for each in describe():
        default = each.options.get(option)
        if default in (None, False) or each.name in declared.in_brackets:
            continue
        if not declared.placeholder:
            assert re.search(rf"(?<![\w-]){each.name}\b", usual)
        else:
            own = [
                text
                for text in others
                if re.search(rf"(?<![\w-]){each.name.removesuffix('-f')}\b", text.partition(":")[0])
            ]
            assert str(default) in (own[0] if own else usual), each.name


def test_every_option_says_what_it_takes(run: Run) -> None:
    for name in names():
        code, out, _ = run("--list-metrics", name, "--format", "json")
        assert code == 0
        for row in json.loads(out)["options"]:
            assert row["takes"], (name, row)


@pytest.mark.parametrize(
    ("name", "option"), [("bleu", "smoothing"), ("sbleu", "variant"), ("dbleu", "definition"), ("dbleu", "no_positive")]
)
def test_what_an_option_takes_is_true(run: Run, name: str, option: str) -> None:
    rows = json.loads(run("--list-metrics", name, "--format", "json")[1])["options"]
    [takes] = [row["takes"] for row in rows if row["option"] == option]
    for value in re.split(", | or ", takes):
        metric(name, **{option: value})


def test_the_list_fits_a_terminal(run: Run) -> None:
    for line in run("--list-metrics")[1].splitlines():
        assert len(line) <= 104


@pytest.mark.parametrize(
    ("more", "named"),
    [
        (("-m", "bleu"), "--metric"),
        (("--ref", "r"), "--ref"),
        (("bleu", "s", "--ci", "--seed", "3"), "outputs, --ci, --seed"),
        (("--lowercase", "--unrated-as", "0"), "--lowercase, --unrated-as"),
    ],
)
def test_a_list_beside_scores_is_refused(run: Run, more: tuple[str, ...], named: str) -> None:
    code, out, err = run("--list-metrics", *more)
    assert (code, out) == (2, "")
    assert f"--list-metrics scores nothing; leave out {named}\n" in err


def test_nothing_to_score(run: Run, tmp_path: Path) -> None:
    (tmp_path / "r").write_text("a\n")
    code, _, err = run("--ref", "r")
    assert code == 2
    assert "there is nothing to score; name a file of outputs, or list the metrics with --list-metrics" in err


def test_large_files_are_read_whole_for_metrics_that_learn(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "r").write_text("".join(f"the {i % 7} cat sat on {i % 3} mats\n" for i in range(50)))
    (tmp_path / "s").write_text("".join(f"the {i % 5} cat sat on {i % 4} mats\n" for i in range(50)))
    call = ["--ref", "r", "s", "-m", "bleu-2", "-m", "nist", "-m", "cider-d", "--ci", "--resamples", "50"]
    call += ["--format", "json"]
    whole = run(*call)
    monkeypatch.setattr("trubleu.data.corpus.WORTH_STREAMING", 1)
    monkeypatch.setattr("trubleu.data.corpus.PART", 16)
    assert run(*call) == whole
    assert whole[0] == 0
    # With a corpus to learn from there is nothing to wait for.
    with_corpus = run(*call, "--corpus", "r")
    assert [row["score"] for row in json.loads(with_corpus[1])["scores"]] == [
        row["score"] for row in json.loads(whole[1])["scores"]
    ]


def test_the_corpus_is_kept_and_must_change_something(run: Run, tmp_path: Path) -> None:
    for name in ("r", "s", "c"):
        (tmp_path / name).write_text("a b\nc d\n")
    code, _, err = run("--ref", "r", "s", "-m", "nist", "--corpus", "c", "--out", "c")
    assert code == 2
    assert "c is read by this command and would be lost" in err
    code, _, err = run("--ref", "r", "s", "-m", "bleu", "--corpus", "c")
    assert code == 2
    assert "--corpus has no effect" in err
    assert "there is no file x to learn from" in run("--ref", "r", "s", "-m", "nist", "--corpus", "x")[2]


def test_one_segment_is_too_few_for_cider(run: Run, tmp_path: Path) -> None:
    (tmp_path / "r").write_text("a b\n")
    code, out, err = run("--ref", "r", "r", "-m", "cider")
    assert (code, out) == (2, "")
    assert "there is one segment only" in err


@pytest.mark.parametrize("name", ["nist", "cider"])
def test_an_empty_corpus_is_refused(run: Run, tmp_path: Path, name: str) -> None:
    (tmp_path / "r").write_text("a b\nc d\n")
    (tmp_path / "empty").touch()
    code, out, err = run("--ref", "r", "r", "-m", name, "--corpus", "empty")
    assert (code, out) == (2, "")
    assert "empty has no segments to learn from; name references with corpus=" in err


def test_a_metric_is_made_once(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []

    class Counted(Meteor):
        """One that tells when it is made, as a WordNet is read then."""

        def __init__(self, *, stemmer: str = "porter") -> None:
            made.append(stemmer)
            super().__init__(stemmer=stemmer)

    monkeypatch.setattr("trubleu.metrics.Meteor", Counted)
    (tmp_path / "r").write_text("a b\nc d\n")
    assert run("--ref", "r", "r", "-m", "meteor", "-m", "meteor[stemmer=none]")[0] == 0
    assert made == ["porter", "none"]

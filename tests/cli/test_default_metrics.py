"""What commands score by if no metric is named, weights or not, and where the ready vectors are not installed."""

from __future__ import annotations

import inspect
import json
import re
from pathlib import Path
from typing import Any

import pytest

import trubleu
from trubleu.cli import build_parser, main
from trubleu.errors import MissingExtraError
from trubleu.metrics.defaults import DEFAULT_METRIC, DEFAULTS, default_metrics, default_text
from trubleu.metrics.registry import parse
from trubleu.vectors import ready

GOOD = ["the food was great", "it was so loud", "we will be back", "See you at seven"]
BAD = ["i do not know", "it was loud", "i do not know", "why not"]
REFERENCES = [["the food was excellent", "i do not know"], ["it was loud"], ["we will come back"], ["see you at eight"]]
WEIGHTS = [[1.0, -0.5], [0.8], [0.9], [0.7]]
RATINGS = [("good", "ann", 4), ("good", "bob", 5), ("bad", "ann", 2), ("bad", "bob", 1)]
REMEDY = "pip install 'trubleu[ready]', or use bleu-4, which needs no vectors (on the command line: -m bleu-4)"

WEIGHTED = ("--refs", "weighted.jsonl")
PLAIN = ("--refs", "plain.jsonl")
ONE = ("--ref", "one.txt")


@pytest.fixture(autouse=True)
def _files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    trubleu.References.from_lists(REFERENCES, WEIGHTS).write("weighted.jsonl")
    trubleu.References.from_lists(REFERENCES).write("plain.jsonl")
    Path("one.txt").write_text("".join(f"{texts[0]}\n" for texts in REFERENCES))
    for name, texts in (("good", GOOD), ("bad", BAD)):
        Path(f"{name}.txt").write_text("\n".join(texts) + "\n")
    rated = [f"{place + 1},{name},{rater},{rating}" for place in range(4) for name, rater, rating in RATINGS]
    Path("ratings.csv").write_text("\n".join(["item,system,rater,score", *rated]) + "\n")
    Path("human.txt").write_text("good 0.9 (1, 1)\nbad 0.1 (2, 2)\nthird 0.2 (3, 3)\n")
    Path("third.txt").write_text("the food\nit was\nwe will\nno\n")


@pytest.fixture
def _without_vectors(monkeypatch: pytest.MonkeyPatch) -> Any:
    ready.ready_vectors.cache_clear()
    monkeypatch.setattr(ready, "find_spec", lambda _name: None)
    yield
    ready.ready_vectors.cache_clear()


def called(*arguments: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    code = main(arguments)
    out, err = capsys.readouterr()
    return code, out, err


def rows(table: str, *arguments: str, capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    code, out, err = called(*arguments, "--format", "json", "--quiet", capsys=capsys)
    assert (code, err) == (0, "")
    found: list[dict[str, Any]] = json.loads(out)[table]
    return found


def metrics(table: str, *arguments: str, capsys: pytest.CaptureFixture[str]) -> tuple[str, ...]:
    """Return the metrics of a table in their order."""
    return tuple(dict.fromkeys(row["metric"] for row in rows(table, *arguments, capsys=capsys)))


DRAWN = ("--unit", "2", "--draws", "3", "--resamples", "3", "--sweeps", "none")
PAIRS = ("judge", "pairs", "--ratings", "ratings.csv", *DRAWN, "good.txt", "bad.txt")
OFFICIAL = ("judge", "ratings", "--human", "human.txt", "--resamples", "5", "good.txt", "bad.txt", "third.txt")
COMPARE = ("compare", "good.txt", "bad.txt", "--resamples", "20")

CALLS = [
    ("score", "scores", ("score", "good.txt")),
    ("score", "scores", ("score", "good.txt", "--engine", "local:2")),
    ("compare", "scores", COMPARE),
    ("judge pairs", "correlations", PAIRS),
    ("judge ratings", "signatures", OFFICIAL),
]


@pytest.mark.parametrize(("command", "table", "call"), CALLS)
def test_the_metrics_of_a_command(
    command: str, table: str, call: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    for references, weighted in ((WEIGHTED, True), (PLAIN, False), (ONE, False)):
        found = metrics(table, *call, *references, capsys=capsys)
        assert found == default_metrics(command, weighted=weighted)
        assert found[0] == DEFAULT_METRIC == "trubleu"
        assert ("dbleu-2" in found) == weighted


def test_the_numbers_are_those_of_the_metrics_by_name(capsys: pytest.CaptureFixture[str]) -> None:
    references = trubleu.References.from_lists(REFERENCES, WEIGHTS)
    found = rows("scores", "score", *WEIGHTED, "good.txt", capsys=capsys)
    assert {row["metric"]: row["score"] for row in found} == {
        name: trubleu.metric(name).corpus(GOOD, references).score for name in ("trubleu", "bleu-4", "dbleu-2")
    }


def test_explain_has_one(capsys: pytest.CaptureFixture[str]) -> None:
    for references, weighted in ((WEIGHTED, True), (PLAIN, False)):
        [name] = default_metrics("explain", weighted=weighted)
        code, out, err = called("explain", *references, "good.txt", "--segment", "1", capsys=capsys)
        assert (code, err) == (0, "")
        assert name in out


def test_pooled_outputs_have_weights(capsys: pytest.CaptureFixture[str]) -> None:
    found = metrics("correlations", *PAIRS, "--pool-outputs", *ONE, capsys=capsys)
    assert found == default_metrics("judge pairs", weighted=True)


def test_python_has_the_same_one() -> None:
    assert inspect.signature(trubleu.corpus_score).parameters["metric"].default == DEFAULT_METRIC
    found = trubleu.corpus_score(GOOD, REFERENCES, weights=WEIGHTS)
    assert found == trubleu.TruBleu().corpus(GOOD, trubleu.References.from_lists(REFERENCES, WEIGHTS))
    assert trubleu.corpus_score(GOOD, REFERENCES, lowercase=False).signature.to_dict()["case"] == "mixed"


@pytest.mark.parametrize("command", DEFAULTS)
def test_help_names_them(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        build_parser().parse_args([*command.split(), "--help"])
    assert f"(default: {default_text(command)})" in re.sub(r"\s+", " ", capsys.readouterr().out)
    for weighted in (True, False):
        for name in default_metrics(command, weighted=weighted):
            parse(name)
            assert name in default_text(command)


# Options for all metrics


@pytest.mark.parametrize(
    ("option", "part", "having"),
    [
        (("--tokenize", "13a"), "tok:13a", {"trubleu", "bleu-4", "dbleu-2"}),
        (("--lowercase",), "case:lc", {"trubleu", "bleu-4", "dbleu-2"}),
        (("--no-positive", "skip"), "nopos:skip", {"trubleu", "dbleu-2"}),
        (("--unrated-as", "0.5"), "unrated:0.5", {"trubleu", "dbleu-2"}),
        (("--smoothing", "floor"), "smooth:floor[0.1]", {"bleu-4", "dbleu-2"}),
        (("--definition", "fork2019"), "def:fork2019", {"dbleu-2"}),
    ],
)
def test_options_reach_those_that_take_them(
    option: tuple[str, ...], part: str, having: set[str], capsys: pytest.CaptureFixture[str]
) -> None:
    found = rows("scores", "score", *WEIGHTED, "good.txt", *option, capsys=capsys)
    assert {row["metric"] for row in found if part in row["signature"].split("|")} == having


def test_trubleu_lowercases_without_being_told(capsys: pytest.CaptureFixture[str]) -> None:
    found = {row["metric"]: row["signature"] for row in rows("scores", "score", *ONE, "good.txt", capsys=capsys)}
    assert "case:lc" in found["trubleu"]
    assert "case:mixed" in found["bleu-4"]


def test_vectors_of_ones_own(capsys: pytest.CaptureFixture[str]) -> None:
    Path("own.vec").write_text("3 2\nfood 1 2\ngreat 2 1\nexcellent 2 2\n")
    found = rows("scores", "score", *ONE, "good.txt", "--vectors", "own.vec", capsys=capsys)
    assert "vec:word2vec:own-" in found[0]["signature"]


def test_an_option_that_none_of_them_takes(capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = called("score", *ONE, "good.txt", "--definition", "paper", capsys=capsys)
    assert (code, err) == (2, "trubleu: --definition has no effect on these metrics; leave it out\n")


# How to read it

SINGLE = "trubleu: 100 means equality with the reference; near misses earn partial credit (see trubleu explain)"
SEVERAL = (
    "trubleu: near misses earn partial credit (see trubleu explain); with several references, 100 needs equality with "
    "all good ones, so use it to compare systems"
)


@pytest.mark.parametrize("call", [("score", "good.txt", "bad.txt"), COMPARE])
def test_people_are_told_how_to_read_it(call: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    for references, note in ((ONE, SINGLE), (PLAIN, SEVERAL), (WEIGHTED, SEVERAL)):
        for form in ("text", "markdown", "latex"):
            code, out, err = called(*call, *references, "--format", form, "--quiet", capsys=capsys)
            assert (code, err) == (0, "")
            assert re.sub(r"\\", "", out).count(note) == 1
        for form in ("json", "csv"):
            assert "near misses" not in called(*call, *references, "--format", form, "--quiet", capsys=capsys)[1]


def test_two_of_the_kind_have_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    named = ("-m", "trubleu", "-m", "trubleu[beta=1]", "-m", "bleu-4")
    out = called("score", *ONE, "good.txt", *named, capsys=capsys)[1]
    assert SINGLE.replace("trubleu:", "trubleu, trubleu[beta=1]:", 1) in out.splitlines()


def test_what_has_nothing_to_say(capsys: pytest.CaptureFixture[str]) -> None:
    out = called("score", *ONE, "good.txt", "-m", "bleu-4", capsys=capsys)[1]
    assert "near misses" not in out
    assert trubleu.metric("bleu-4").reading("1") is None


# Without the ready vectors


@pytest.mark.usefixtures("_without_vectors")
@pytest.mark.parametrize(
    "call", [("score", "good.txt"), ("score", "good.txt", "-m", "trubleu"), COMPARE, PAIRS, OFFICIAL]
)
def test_the_message_says_what_to_install_and_what_to_use(
    call: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = called(*call, *ONE, "--quiet", capsys=capsys)
    assert (code, out) == (2, "")
    assert err == f"trubleu: the ready vectors need the package wordllama; install it with: {REMEDY}\n"


@pytest.mark.usefixtures("_without_vectors")
def test_python_says_so_too(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(MissingExtraError, match=re.escape(REMEDY)):
        trubleu.corpus_score(GOOD, REFERENCES)
    assert called("score", *ONE, "good.txt", "-m", "bleu-4", capsys=capsys)[0] == 0


@pytest.mark.usefixtures("_without_vectors")
def test_an_engine_says_so_too(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = called("score", *ONE, "good.txt", "--engine", "local:2", "--quiet", capsys=capsys)
    assert (code, out) == (2, "")
    assert REMEDY in err

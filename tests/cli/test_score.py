"""``trubleu score`` as its users call it."""

from __future__ import annotations

import gzip
import io
import json
import os
import re
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

import trubleu
from trubleu.cli import main

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

REFERENCES = [
    {
        "id": "x",
        "references": [{"text": "the food was great", "weight": 1.0}, {"text": "i do not know", "weight": -0.5}],
    },
    {"id": "y", "references": [{"text": "it was loud", "weight": 0.8}, {"text": "so so loud it was", "weight": 0.6}]},
    {"id": "z", "references": [{"text": "we will come back", "ratings": [5, 4, 5]}]},
]
GOOD = ["the food was great", "it was so loud", "we will be back"]
BAD = ["i do not know", "i do not know", "i do not know"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "refs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in REFERENCES))
    (tmp_path / "good.txt").write_text("\n".join(GOOD) + "\n")
    (tmp_path / "bad.txt").write_text("\n".join(BAD) + "\n")
    (tmp_path / "plain.txt").write_text("the food was good\nit was loud\nwe will be back\n")
    return tmp_path


@pytest.fixture
def run(folder: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    def call(*arguments: str) -> tuple[int, str, str]:
        try:
            code = main(["score", *arguments])
        except SystemExit as stop:  # argparse leaves this way
            code = int(stop.code or 0)
        out, err = capsys.readouterr()
        return code, out, err

    return call


def scores(out: str) -> dict[tuple[str, str], dict[str, Any]]:
    return {(row["system"], row["metric"]): row for row in json.loads(out)["scores"]}


def test_table_has_a_row_a_system_and_a_column_a_metric(run: Callable[..., tuple[int, str, str]]) -> None:
    code, out, err = run("--refs", "refs.jsonl", "good.txt", "B=bad.txt", "-m", "bleu-2", "-m", "dbleu-2", "-m", "ter")
    assert (code, err) == (0, "")
    header, rule, good, bad = out.splitlines()[:4]
    assert header.split() == ["system", "bleu-2", "dbleu-2", "ter", "↓"]
    assert set(rule) == {"-", " "}
    references = trubleu.References.read("refs.jsonl")
    for line, name, texts in ((good, "good", GOOD), (bad, "B", BAD)):
        expected = [trubleu.metric(m).corpus(texts, references).score for m in ("bleu-2", "dbleu-2", "ter")]
        assert line.split() == [name, *(f"{score:.2f}" for score in expected)]
    assert "dbleu-2|nrefs:var|" in out


def test_json_rows_are_flat_and_complete(run: Callable[..., tuple[int, str, str]]) -> None:
    options = ("--ci", "--test", "--baseline", "good", "--seed", "7", "--resamples", "500", "--format", "json")
    code, out, _ = run("--refs", "refs.jsonl", "good.txt", "bad.txt", "-m", "bleu-2", "-m", "dbleu-2", *options)
    document = json.loads(out)
    assert code == 0
    assert document["schema"] == 1
    assert [(row["system"], row["metric"]) for row in document["scores"]] == [
        ("good", "bleu-2"),
        ("good", "dbleu-2"),
        ("bad", "bleu-2"),
        ("bad", "dbleu-2"),
    ]
    for row in document["scores"]:
        assert list(row) == ["schema", "system", "metric", "score", "low", "high", "signature", "parts"]
        assert row["low"] <= row["score"] <= row["high"]
        assert "|bs:500|seed:7|" in row["signature"]
    for row in document["tests"]:
        fields = "schema metric a b test exact n seed difference low high effect p p_holm differing smallest_p verdict"
        assert list(row) == fields.split()
        assert (row["a"], row["b"], row["test"], row["exact"], row["seed"]) == ("bad", "good", "randomisation", True, 7)
        assert (row["n"], row["smallest_p"]) == {2: (4, 0.5), 3: (8, 0.25)}[row["differing"]]
        assert row["verdict"] == "too few segments differ"
    by_name = scores(out)
    difference = by_name["bad", "dbleu-2"]["score"] - by_name["good", "dbleu-2"]["score"]
    assert document["tests"][1]["difference"] == pytest.approx(difference)


def test_same_seed_same_bytes_and_another_seed_another_interval(run: Callable[..., tuple[int, str, str]]) -> None:
    call = ("--refs", "refs.jsonl", "good.txt", "-m", "dbleu-2", "--ci", "--format", "json", "--resamples", "200")
    first, again, other = run(*call)[1], run(*call)[1], run(*call, "--seed", "8")[1]
    assert first == again != other


def test_without_baseline_all_pairs_are_tested(run: Callable[..., tuple[int, str, str]]) -> None:
    call = ("--refs", "refs.jsonl", "good.txt", "bad.txt", "c=good.txt", "--test")
    code, out, _ = run(*call, "--resamples", "99", "--format", "json", "-m", "dbleu-4")
    tests = json.loads(out)["tests"]
    assert code == 0
    assert [(row["a"], row["b"]) for row in tests] == [("good", "bad"), ("good", "c"), ("bad", "c")]
    assert {row["test"] for row in tests} == {"randomisation"}
    assert tests[1]["p"] == tests[1]["p_holm"] == 1.0
    assert tests[1]["effect"] == 0.0


def test_stars_mark_what_differs_from_the_baseline(folder: Path, run: Callable[..., tuple[int, str, str]]) -> None:
    (folder / "r").write_text("a b c d\n" * 40)
    (folder / "same").write_text("a b c d\n" * 40)
    (folder / "worse").write_text("a x c d\n" * 40)
    code, out, _ = run("--ref", "r", "same", "worse", "copy=same", "--test", "--baseline", "same", "-m", "bleu-1")
    lines = out.splitlines()
    assert code == 0
    assert lines[2].split() == ["same", "(baseline)", "100.00"]
    assert lines[3].split() == ["worse", "75.00***"]
    assert lines[4].split() == ["copy", "100.00"]


def test_two_plain_files_and_typed_weights(folder: Path, run: Callable[..., tuple[int, str, str]]) -> None:
    (folder / "a").write_text("the food was great\nit was loud\n")
    (folder / "b").write_text("i do not know\n\n")
    (folder / "wa").write_text("1\n0.8\n")
    (folder / "wb").write_text("-0.5\n\n")
    (folder / "s").write_text("the food was great\nit was so loud\n")
    code, out, err = run(
        *("--ref", "a", "--ref", "b", "--weight", "wa", "--weight", "wb", "s", "-m", "dbleu-2", "--format", "json")
    )
    expected = trubleu.corpus_score(
        ["the food was great", "it was so loud"],
        [["the food was great", "i do not know"], ["it was loud"]],
        "dbleu-2",
        weights=[[1.0, -0.5], [0.8]],
    )
    assert (code, err) == (0, "")
    assert scores(out)["s", "dbleu-2"]["score"] == expected.score


def test_segments_as_text_and_json(run: Callable[..., tuple[int, str, str]]) -> None:
    call = ("--refs", "refs.jsonl", "good.txt", "bad.txt", "-m", "bleu-1", "-m", "sdbleu-1", "--segments")
    code, out, _ = run(*call, "--format", "json")
    rows = json.loads(out)["segments"]
    references = trubleu.References.read("refs.jsonl")
    assert code == 0
    assert len(rows) == 3 * 2 * 2
    for system, texts in (("good", GOOD), ("bad", BAD)):
        for name in ("bleu-1", "sdbleu-1"):
            expected = trubleu.metric(name).segments(texts, references).tolist()
            found = [row for row in rows if row["system"] == system and row["metric"] == name]
            assert [row["id"] for row in found] == ["x", "y", "z"]
            assert [row["score"] for row in found] == expected
    text = run(*call)[1]
    assert [line.split()[:2] for line in text.split("\n\n")[1].splitlines()[2:]] == [
        [segment, system] for system in ("good", "bad") for segment in "xyz"
    ]


def test_skipped_segments_have_no_score(folder: Path, run: Callable[..., tuple[int, str, str]]) -> None:
    rows = [
        {"id": "x", "references": [{"text": "a", "weight": -1}]},
        {"id": "y", "references": [{"text": "b", "weight": 1}]},
    ]
    (folder / "np.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "s.txt").write_text("a\nb\n")
    code, out, _ = run(
        *("--refs", "np.jsonl", "s.txt", "-m", "dbleu-1", "--no-positive", "skip", "--segments", "--format", "json")
    )
    assert code == 0
    assert [row["score"] for row in json.loads(out)["segments"]] == [None, 100.0]
    assert scores(out)["s", "dbleu-1"]["score"] == 100.0


def test_outputs_as_json_lines_are_joined_by_id(folder: Path, run: Callable[..., tuple[int, str, str]]) -> None:
    rows = [{"id": name, "text": text} for name, text in zip("xyz", GOOD, strict=True)]
    (folder / "shuffled.jsonl").write_text("".join(json.dumps(row) + "\n" for row in reversed(rows)))
    out = run("--refs", "refs.jsonl", "good.txt", "shuffled.jsonl", "-m", "bleu-4", "--format", "json")[1]
    assert scores(out)["good", "bleu-4"]["score"] == scores(out)["shuffled", "bleu-4"]["score"]


def test_gzip_and_standard_input(
    folder: Path, run: Callable[..., tuple[int, str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "zipped.txt.gz").write_bytes(gzip.compress((folder / "good.txt").read_bytes()))
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO((folder / "good.txt").read_bytes())))
    out = run("--refs", "refs.jsonl", "zipped.txt.gz", "-", "-m", "bleu-4", "--format", "json")[1]
    assert scores(out)["zipped", "bleu-4"]["score"] == scores(out)["stdin", "bleu-4"]["score"]


def test_files_may_stand_between_options(run: Callable[..., tuple[int, str, str]]) -> None:
    code, out, _ = run("good.txt", "--refs", "refs.jsonl", "bad.txt", "-m", "bleu-1", "c=good.txt", "--format", "json")
    assert code == 0
    assert [system for system, _ in scores(out)] == ["good", "bad", "c"]


def test_options_for_all_metrics_and_in_brackets(run: Callable[..., tuple[int, str, str]]) -> None:
    call = ("--refs", "refs.jsonl", "good.txt", "--tokenize", "words", "--lowercase", "--smoothing", "add-k")
    code, out, _ = run(*call, "-m", "bleu-2", "-m", "bleu-2[tokenize=char]", "-m", "chrf", "--format", "json")
    signatures = {metric: row["signature"] for (_, metric), row in scores(out).items()}
    assert code == 0
    assert "case:lc|eff:no|tok:words-3|smooth:add-k[1]" in signatures["bleu-2"]
    assert "tok:char" in signatures["bleu-2[tokenize=char]"]
    assert "case:lc" in signatures["chrf"]


def test_many_systems_are_scored_from_prepared_references(
    run: Callable[..., tuple[int, str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    prepared = []
    real = trubleu.References.prepare

    def spy(self: trubleu.References, **options: Any) -> trubleu.PreparedReferences:
        prepared.append(options["lowercase"])
        return real(self, **options)

    monkeypatch.setattr(trubleu.References, "prepare", spy)
    systems = [f"s{i}=good.txt" for i in range(8)]
    call = ("--refs", "refs.jsonl", *systems, "-m", "bleu-2", "-m", "dbleu-3", "-m", "chrf", "--format", "json")
    many = scores(run(*call)[1])
    assert prepared == [False]
    one = scores(run("--refs", "refs.jsonl", "good.txt", "-m", "bleu-2", "-m", "dbleu-3", "--format", "json")[1])
    assert prepared == [False]
    for metric in ("bleu-2", "dbleu-3"):
        assert {many[f"s{i}", metric]["score"] for i in range(8)} == {one["good", metric]["score"]}


def test_large_files_are_streamed_to_the_same_bytes(
    folder: Path, run: Callable[..., tuple[int, str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "a").write_text("".join(f"the {i % 7} cat sat on {i % 3} mats\n" for i in range(50)))
    (folder / "b").write_text("".join("\n" if i % 5 else f"no {i}\n" for i in range(50)))
    (folder / "wa").write_text("0.5\n" * 50)
    (folder / "wb").write_text("".join("\n" if i % 2 else "-0.5\n" for i in range(50)))
    (folder / "s").write_text("".join(f"the {i % 5} cat sat on {i % 4} mats\n" for i in range(50)))
    (folder / "t").write_text("".join(f"no {i}\n" for i in range(50)))
    call = ["--ref", "a", "--ref", "b", "--weight", "wa", "--weight", "wb", "s", "t", "-m", "bleu-2", "-m", "dbleu-2"]
    call += ["-m", "sdbleu-2", "-m", "chrf", "--ci", "--test", "--resamples", "200", "--format", "json"]
    whole = run(*call)
    monkeypatch.setattr("trubleu.data.corpus.WORTH_STREAMING", 1)
    monkeypatch.setattr("trubleu.data.corpus.PART", 16)
    monkeypatch.setattr("trubleu.scoring.systems.score_systems", None)
    streamed = run(*call)
    assert whole == streamed
    assert whole[0] == 0
    assert "empty references in a, b, each counted as a reference of length 0: 20\n" in streamed[2]


def test_text_without_spaces_is_told_once(
    folder: Path, run: Callable[..., tuple[int, str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "zh").write_text("".join(f"今天的天气非常好{i}\n" for i in range(50)))
    (folder / "out").write_text("".join(f"今天的天气真的很好{i}\n" for i in range(50)))
    call = ["--ref", "zh", "a=out", "b=out", "-m", "bleu-2", "-m", "sbleu-2", "-m", "chrf"]
    whole = run(*call)
    assert whole[2].startswith("trubleu: warning: the tokenizer 13a does not split Chinese, Japanese, Thai, ")
    assert whole[2].endswith("; use the tokenizer words or char, or zh for Chinese\n")
    assert whole[2].count("\n") == 1
    assert run(*call, "--tokenize", "words")[2] == ""
    monkeypatch.setattr("trubleu.data.corpus.WORTH_STREAMING", 1)
    monkeypatch.setattr("trubleu.data.corpus.PART", 16)
    monkeypatch.setattr("trubleu.scoring.systems.score_systems", None)
    assert run(*call) == whole


def test_blocks_are_said(run: Callable[..., tuple[int, str, str]], monkeypatch: pytest.MonkeyPatch) -> None:
    call = ("--refs", "refs.jsonl", "good.txt", "-m", "bleu-1", "--ci", "--resamples", "50")
    assert "blocks" not in run(*call)[1]
    monkeypatch.setattr("trubleu.stats.sample.BLOCK_THRESHOLD", 2)
    monkeypatch.setattr("trubleu.stats.sample.BLOCK_COUNT", 2)
    out = run(*call)[1]
    assert "percentile bootstrap of 2 blocks of segments" in out
    assert "|blocks:2|" in out


def test_delta_bleu_without_weights_is_said(run: Callable[..., tuple[int, str, str]]) -> None:
    assert (
        "have no weights, so all weigh 1 and dbleu-2 is BLEU"
        in run("--ref", "plain.txt", "good.txt", "-m", "dbleu-2")[2]
    )


def test_json_outputs_are_known_by_their_first_line(
    folder: Path, run: Callable[..., tuple[int, str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = "".join(json.dumps({"id": name, "text": text}) + "\n" for name, text in zip("xyz", GOOD, strict=True))
    (folder / "unnamed.txt").write_text(rows)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(rows.encode())))
    found = scores(run("--refs", "refs.jsonl", "good.txt", "unnamed.txt", "-", "-m", "bleu", "--format", "json")[1])
    assert len({row["score"] for row in found.values()}) == 1


def test_a_full_disk_behind_standard_output_is_a_sentence(folder: Path) -> None:
    call = [sys.executable, "-m", "trubleu", "score", "--ref", "plain.txt", "good.txt"]
    with open("/dev/full", "w") as full:  # noqa: PTH123
        done = subprocess.run(call, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr == "trubleu: the output cannot be written: No space left on device\n"


def test_own_metric_from_the_current_folder(folder: Path, run: Callable[..., tuple[int, str, str]]) -> None:
    (folder / "mine_metric.py").write_text(
        "import numpy as np\n"
        "import trubleu\n"
        "class Length(trubleu.Metric):\n"
        "    def __init__(self, unit: int = 1):\n"
        "        self.name, self.unit = 'length', unit\n"
        "    def statistics(self, outputs, references, *, threads=None, progress=None):\n"
        "        return np.array([[len(o.split()) / self.unit, 1.0] for o in outputs])\n"
        "    def score(self, statistics):\n"
        "        return statistics[..., 0] / statistics[..., 1]\n"
        "    def signature(self, references=None):\n"
        "        return trubleu.Signature('length', (('unit', str(self.unit)),))\n"
    )
    out = run("--refs", "refs.jsonl", "good.txt", "-m", "mine_metric:Length[unit=2]", "--ci", "--format", "json")[1]
    row = scores(out)["good", "mine_metric:Length[unit=2]"]
    assert row["score"] == pytest.approx(2.0)
    assert "unit:2" in row["signature"]


def test_out_is_written_whole_and_replaces(folder: Path, run: Callable[..., tuple[int, str, str]]) -> None:
    (folder / "table.txt").write_text("old")
    code, out, _ = run("--refs", "refs.jsonl", "good.txt", "--out", "table.txt")
    assert (code, out) == (0, "")
    assert (folder / "table.txt").read_text().startswith("system")
    assert not [path for path in folder.iterdir() if path.name.startswith(".")]


def test_warnings_are_sentences_told_once_and_not_when_quiet(
    folder: Path, run: Callable[..., tuple[int, str, str]]
) -> None:
    (folder / "holes.txt").write_text("the food\n\nwe will\n")
    call = ("--ref", "holes.txt", "good.txt", "bad.txt", "-m", "bleu-1", "-m", "chrf")
    err = run(*call)[2]
    assert err == ("trubleu: warning: empty references in holes.txt, each counted as a reference of length 0: 1\n")
    assert run(*call, "--quiet")[2] == ""


def test_duplicates_with_different_weights_are_told(folder: Path, run: Callable[..., tuple[int, str, str]]) -> None:
    row = {"references": [{"text": "a", "weight": 1}, {"text": "a", "weight": 0.5}]}
    (folder / "twice.jsonl").write_text(json.dumps(row))
    (folder / "s.txt").write_text("a\n")
    code, out, err = run("--refs", "twice.jsonl", "s.txt", "-m", "dbleu-1", "-m", "sdbleu-1", "--format", "json")
    assert code == 0
    assert err.count("repeat another one's text with a different weight, of which the largest counts: 2") == 1
    assert scores(out)["s", "dbleu-1"]["score"] == 100.0


BAD_CALLS: list[tuple[list[str], str]] = [
    (["--refs", "refs.jsonl", "two.txt"], "two.txt has 2 lines but refs.jsonl has 3 segments"),
    (["--refs", "refs.jsonl", "unknown.jsonl"], "unknown.jsonl:2: the id 'q' is not in refs.jsonl"),
    (["--refs", "refs.jsonl", "double.jsonl"], "double.jsonl:2: the id 'x'"),
    (["--refs", "doubled.jsonl", "good.txt"], "doubled.jsonl:2: the id 'x'"),
    (["--refs", "heavy.jsonl", "good.txt"], "heavy.jsonl:1: .*weight must be from -1 to 1"),
    (["--refs", "nan.jsonl", "good.txt"], "nan.jsonl:1"),
    (["--refs", "null.jsonl", "one.txt", "-m", "dbleu-2"], "not rated yet, in segments n; rate them with trubleu rate"),
    (["--refs", "none.jsonl", "good.txt"], "none.jsonl:1"),
    (
        ["--refs", "negative.jsonl", "one.txt", "-m", "dbleu-2"],
        "without a reference of positive weight: n; .*--no-positive skip",
    ),
    (["--ref", "latin.txt", "good.txt"], "latin.txt:2: byte 6 .0xe9. is not valid UTF-8"),
    (["--refs", "broken.jsonl", "good.txt"], "broken.jsonl:1: this is not JSON"),
    (["--refs", "refs.jsonl", "good.txt", "-m", "dblue-2"], "there is no metric 'dblue'; did you mean dbleu"),
    (["--refs", "refs.jsonl", "good.txt", "--tokenize", "13"], "there is no tokenizer '13'; did you mean 13a"),
    (["--refs", "refs.jsonl", "good.txt", "-m", "bleu-10"], "the order is 10, but must be a whole number from 1 to 9"),
    (["--refs", "refs.jsonl", "good.txt", "-m", "bleu-0"], "the order is 0"),
    (["--refs", "refs.jsonl", "folder"], "folder is a folder"),
    (["--refs", "folder", "good.txt"], "folder is a folder"),
    (["--refs", "missing.jsonl", "good.txt"], "missing.jsonl: there is no such file"),
    (["--refs", "refs.jsonl", "good.txt", "--out", "no/where.txt"], "no/where.txt cannot be written"),
    (["--refs", "refs.jsonl", "good.txt", "--out", "folder"], "folder cannot be written"),
    (["--refs", "refs.jsonl", "good.txt", "good.txt"], "two systems are named good"),
    (["--refs", "refs.jsonl", "good.txt", "-m", "bleu", "-m", "bleu"], "the metric bleu is given twice"),
    (["--refs", "refs.jsonl", "good.txt", "-m", "chrf-2"], "chrf has no order"),
    (["--refs", "refs.jsonl", "good.txt", "-m", "bleu[tokenise=chat]"], "no option tokenise; did you mean tokenize"),
    (["--refs", "refs.jsonl", "good.txt", "-m", "ter", "--tokenize", "chat"], "--tokenize has no effect"),
    (["--refs", "refs.jsonl", "good.txt", "--test"], "a test needs at least two systems"),
    (["--refs", "refs.jsonl", "good.txt", "--baseline", "good"], "--baseline needs --test"),
    (["--refs", "refs.jsonl", "good.txt", "bad.txt", "--test", "--baseline", "god"], "'god' .*did you mean good"),
    (["--refs", "refs.jsonl", "good.txt", "--ci", "--resamples", "0"], "resamples must be 1 or more"),
    (["--refs", "refs.jsonl", "good.txt", "--ci", "--confidence", "95"], "confidence must be between 0 and 1"),
    (["--refs", "refs.jsonl", "good.txt", "--threads", "0"], "threads must be a whole number from 1 to 10,000"),
    (["--refs", "refs.jsonl", "good.txt", "--threads", "99999999999"], "threads must be a whole number"),
    (["--refs", "refs.jsonl", "good.txt", "--ci", "--resamples", "1000000000000"], "resamples must be at most"),
    (["--refs", "refs.jsonl", "good.txt", "-m", "json:loads"], "json:loads is not a metric"),
    (["--refs", "refs.jsonl", "good.txt", "-m", "BLUE-4"], "did you mean bleu"),
    (["--ref", "plain.txt", "--weight", "w.txt", "good.txt", "-m", "bleu-2"], "--weight has no effect"),
    (["--ref", "refs.jsonl", "good.txt"], "refs.jsonl holds whole segments, .* give it with --refs"),
    (["--refs", "refs.jsonl", "good.txt", "--out", "good.txt"], "good.txt is read by this command"),
    (["--refs", "refs.jsonl", "good.txt", "--out", "./refs.jsonl"], "refs.jsonl is read by this command"),
    (["--refs", "refs.jsonl", "good.txt", "--digits", "99"], "--digits 99"),
    (["--refs", "refs.jsonl", "good.txt", "--weight", "w"], "--weight goes with --ref"),
    (["good.txt"], "references are given with --refs FILE"),
    (["--refs", "refs.jsonl", "--ref", "plain.txt", "good.txt"], "--refs and --ref both name references"),
    (["--refs", "-", "-"], "can be read only once"),
    (["--refs", "refs.jsonl", "good.txt", "--frobnicate"], "there is no option --frobnicate; see trubleu score --help"),
    (["--refs", "refs.jsonl", "good.txt", "--smoth=exp"], r"--smoth=exp \(did you mean --smoothing\?\); see trubleu s"),
    (["--refs", "refs.jsonl", "good.txt", "--seed", "x"], "--seed.*invalid int value"),
    (["--refs", "refs.jsonl", "good.txt", "-m", "nowhere.at.all:Metric"], "there is no module nowhere"),
    (["--refs", "empty.jsonl", "empty.txt", "--ci"], "there are no segments"),
]


@pytest.mark.parametrize(("arguments", "message"), BAD_CALLS)
def test_bad_input_is_one_sentence_and_exit_code_2(
    arguments: list[str], message: str, folder: Path, run: Callable[..., tuple[int, str, str]]
) -> None:
    one = '{"id": "n", "references": [{"text": "a", "weight": WEIGHT}]}'
    files = {
        "two.txt": "a\nb\n",
        "one.txt": "a\n",
        "unknown.jsonl": '{"id": "x", "text": "a"}\n{"id": "q", "text": "a"}\n',
        "double.jsonl": '{"id": "x", "text": "a"}\n{"id": "x", "text": "a"}\n',
        "doubled.jsonl": '{"id": "x", "references": [{"text": "a"}]}\n' * 2,
        "heavy.jsonl": one.replace("WEIGHT", "1.5"),
        "nan.jsonl": one.replace("WEIGHT", "NaN"),
        "null.jsonl": one.replace("WEIGHT", "null"),
        "negative.jsonl": one.replace("WEIGHT", "-0.5"),
        "none.jsonl": '{"id": "n", "references": []}\n',
        "broken.jsonl": '{"id": "n", \n',
        "empty.jsonl": "",
        "w.txt": "1\n1\n1\n",
        "empty.txt": "",
    }
    for name, content in files.items():
        (folder / name).write_text(content)
    (folder / "latin.txt").write_bytes("ok\ncafé\nok\n".encode("latin-1"))
    (folder / "folder").mkdir()
    before = sorted(path.name for path in folder.iterdir())
    code, out, err = run(*arguments)
    assert code == 2
    assert out == ""
    assert err.startswith("trubleu: ")
    assert err.count("\n") == 1
    assert "Traceback" not in err
    assert re.search(message, err)
    assert sorted(path.name for path in folder.iterdir()) == before


def test_an_empty_corpus_scores_0_with_a_warning(folder: Path, run: Callable[..., tuple[int, str, str]]) -> None:
    (folder / "none.txt").write_text("")
    code, out, err = run(
        "--ref", "none.txt", "s=none.txt", "-m", "bleu", "-m", "sbleu", "-m", "chrf", "--format", "json"
    )
    assert code == 0
    assert [row["score"] for row in json.loads(out)["scores"]] == [0.0, 0.0, 0.0]
    assert "there are no segments" in err


def test_module_version_and_help() -> None:
    def call(*arguments: str) -> str:
        return subprocess.run(
            [sys.executable, "-m", "trubleu", *arguments], capture_output=True, text=True, check=True
        ).stdout

    assert call("--version") == f"trubleu {trubleu.__version__}\n"
    assert "score" in call("--help")
    assert "dbleu-2[tokenize=chat]" in call("score", "--help")


def test_a_closed_pipe_is_no_error(folder: Path) -> None:
    (folder / "r.txt").write_text("a b\n" * 20_000)
    (folder / "s.txt").write_text("a c\n" * 20_000)
    command = f"{sys.executable} -m trubleu score --ref r.txt s=s.txt -m bleu-1 --segments | head -n 1"
    done = subprocess.run(["bash", "-o", "pipefail", "-c", command], capture_output=True, text=True, check=False)
    assert done.stdout.startswith("system")
    assert done.stderr == ""


# Presses Ctrl-C when resamples have been drawn for a while, which only the process itself knows.
INTERRUPTED = """
import os, signal, sys, threading
from trubleu.cli import main
from trubleu.stats.bootstrap import Resampling

usual = Resampling.sums_of_each

def begun(self, *arguments):
    threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
    return usual(self, *arguments)

Resampling.sums_of_each = begun
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.skipif(os.name != "posix", reason="signals are sent the POSIX way")
def test_interrupt_leaves_the_old_file(folder: Path) -> None:
    (folder / "r.txt").write_text("the cat sat on the mat and looked at the dog\n" * 3000)
    (folder / "s.txt").write_text("the cat sat on a mat and looked at a dog\n" * 3000)
    (folder / "out.txt").write_text("old")
    files = ["--ref", "r.txt", "s=s.txt", "--out", "out.txt"]
    arguments = ["score", *files, "-m", "chrf", "--ci", "--resamples", "2000000"]
    command = [sys.executable, "-c", INTERRUPTED, *arguments]
    done = subprocess.run(command, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 130
    assert done.stderr == "trubleu: interrupted; nothing was written\n"
    assert (folder / "out.txt").read_text() == "old"
    assert sorted(path.name for path in folder.iterdir() if "out" in path.name) == ["out.txt"]


def test_intervals_that_know_of_raters(folder: Path, run: Callable[..., tuple[int, str, str]]) -> None:
    rows = [
        {"references": [{"text": f"the cat number {n}", "ratings": [5, 4 - n % 2, 3], "raters": ["x", "y", "z"]}]}
        for n in range(8)
    ]
    (folder / "rated.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "sys.txt").write_text("".join(f"a cat number {n}\n" for n in range(8)))
    system = str(folder / "sys.txt")
    common = ("--refs", str(folder / "rated.jsonl"), "-m", "dbleu-2", "--format", "json", "--ci")
    code, out, _ = run(*common, "ratings", system)
    assert code == 0
    row = json.loads(out)["scores"][0]
    assert 0 <= row["ratings_share"] <= 1
    assert "errors:ratings" in row["signature"]
    code, out, _ = run(*common, system)  # a file after --ci is a file
    assert code == 0
    assert "ratings_share" not in json.loads(out)["scores"][0]
    code, out, _ = run(*common[:4], "--ci", "ratings", "--test", system, f"b={system}")
    assert code == 0
    assert "tests: paired bootstrap, as ratings are resampled too, 10,000 draws" in out
    for more, message in (
        (("--test", "--method", "randomisation"), "--ci ratings goes with --method bootstrap"),
        (("--engine", "local:2"), "--ci ratings needs files that are read whole"),
        (("--method", "bootstrap"), "--method needs --test; add it, or remove --method"),
    ):
        code, _, err = run(*common, "ratings", system, *more)
        assert code == 2
        assert message in err


@pytest.mark.parametrize("method", ["randomisation", "bootstrap"])
@pytest.mark.parametrize("style", ["text", "markdown", "latex", "json", "csv"])
def test_few_segments_get_no_stars(
    folder: Path, run: Callable[..., tuple[int, str, str]], method: str, style: str
) -> None:
    (folder / "r").write_text("a b c d\n" * 6)
    (folder / "good").write_text("a b c d\n" * 6)
    (folder / "bad").write_text("a x c d\n" * 5 + "a b c d\n")
    common = ("--ref", "r", "good", "bad", "-m", "bleu-1", "-m", "ter", "--method", method, "--format", style)
    for more in (("--test", "--baseline", "good"), ("--ci", "--test")):
        code, out, _ = run(*common, *more)
        assert code == 0
        assert "too few segments differ" in out
        assert "fewer than 20 segments are too narrow; these are from 6" in out
        assert not re.search(r"\d(\*|\\\*|\$\^\{\*)", out)
    if style == "json":
        assert {row["verdict"] for row in json.loads(out)["tests"]} == {"too few segments differ"}
        note = "too few segments differ for a verdict: good and bad (5 by bleu-1, p (Holm) at least 0.062, 5 by ter"
        assert note in out


def test_six_segments_that_differ_are_enough(folder: Path, run: Callable[..., tuple[int, str, str]]) -> None:
    (folder / "r").write_text("a b c d\n" * 6)
    (folder / "good").write_text("a b c d\n" * 6)
    (folder / "bad").write_text("a x c d\n" * 6)
    code, out, _ = run("--ref", "r", "good", "bad", "-m", "bleu-1", "-m", "ter", "--test", "--format", "json")
    assert code == 0
    assert [(row["p_holm"], row["verdict"]) for row in json.loads(out)["tests"]] == [(2 / 64, "a is better")] * 2
    code, out, _ = run("--ref", "r", "bad", "good", "x=bad", "-m", "ter", "--test", "--format", "json")
    verdicts = [row["verdict"] for row in json.loads(out)["tests"]]
    assert verdicts == ["too few segments differ"] * 3


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--ref", "all"), "the files of all do not hold the same: "),
        (
            ("--ref", "tables"),
            "tables holds tables (a.csv), which are read whole; name one table",
        ),
        (
            ("--ref", "texts", "--scale", "0:1"),
            "do not work here, as texts is a folder, whose files are",
        ),
        (("--ref", "texts", "-m", "self-bleu"), "texts is a folder, but a file is needed"),
    ],
)
def test_a_folder_that_is_no_reference(
    folder: Path, run: Callable[..., tuple[int, str, str]], options: tuple[str, ...], message: str
) -> None:
    for name in ("all/a.txt", "all/deep/b.tex", "tables/a.csv", "texts/a.txt"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("text\na\n")
    code, out, err = run(*options, "good.txt")
    assert (code, out) == (2, "")
    assert err.startswith("trubleu: ")
    assert err.count("\n") == 1
    assert message in err
    assert "engine" not in err

"""``trubleu judge wmt`` as its users call it."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import numpy as np
import pytest

from trubleu.cli import main

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Run = Callable[..., tuple[int, str, str]]

HEADER = "srclang,trglang,segmentId,judgeID,system1Id,system1rank,system2Id,system2rank,rankingID"
SYSTEMS = {"A": 0.9, "B": 0.7, "C": 0.5, "D": 0.2}
SEGMENTS = 25
OUTPUTS = tuple(f"out/news.{name}.de-en" for name in SYSTEMS)


def words(quality: float, rng: np.random.Generator) -> list[str]:
    return [
        " ".join(f"w{s}{i}" if rng.random() < quality else f"x{rng.integers(5)}" for i in range(7))
        for s in range(SEGMENTS)
    ]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(1)
    (tmp_path / "out").mkdir()
    for path, quality in zip(OUTPUTS, SYSTEMS.values(), strict=True):
        (tmp_path / path).write_text("\n".join(words(quality, rng)) + "\n")
    (tmp_path / "ref.txt").write_text("\n".join(words(1.0, rng)) + "\n")
    (tmp_path / "people.txt").write_text(
        "".join(f"news.{name}.de-en.txt {quality:.2f} (1, 2)\n" for name, quality in SYSTEMS.items())
    )
    rows = [
        f"deu,eng,{s + 1},j{s % 2},news.{a}.de-en.txt,{i + 1},news.{b}.de-en.txt,{j + 1 if s % 5 else i + 1},{s}"
        for s in range(SEGMENTS)
        for i, a in enumerate(SYSTEMS)
        for j, b in enumerate(SYSTEMS)
        if i < j
    ]
    (tmp_path / "rank.csv").write_text("\n".join([HEADER, *rows]) + "\n")
    (tmp_path / "da.txt").write_text("".join(f"{value:.3f}\n" for value in rng.normal(size=SEGMENTS)))
    (tmp_path / "tasks.toml").write_text(
        "".join(
            f'[{pair}]\nreferences = "ref.txt"\noutputs = "out/*"\nhuman = "people.txt"\nrankings = "rank.csv"\n'
            for pair in ("de-en", "fr-en")
        )
    )

    def call(*arguments: str) -> tuple[int, str, str]:
        try:
            code = main(["judge", "wmt", *arguments])
        except SystemExit as stop:  # argparse leaves this way
            code = int(stop.code or 0)
        out, err = capsys.readouterr()
        return code, out, err

    return call


REF = ("--ref", "ref.txt", "--resamples", "40")
ALL = (*REF, "--human", "people.txt", "--rankings", "rank.csv", "--assessments", "news.B=da.txt", *OUTPUTS)


def test_one_language_pair(run: Run) -> None:
    code, out, err = run(*ALL)
    assert (code, err) == (0, "")
    assert "System level: Pearson r\nmetric                                   deu-eng\n" in out
    assert "Segment level, ranked pairs: τ wmt14\n" in out
    assert "Segment level, direct assessments: Pearson r\n" in out
    assert "bleu-4: bleu-4|nrefs:1|" in out
    assert "sbleu-4[variant=sacrebleu]: sbleu-4|nrefs:1|" in out
    assert "40 resamples, seed 12345" in out


def below_verdict(out: str) -> list[str]:
    return out.partition("\n\n")[2].splitlines()


def test_the_verdict_comes_first(run: Run) -> None:
    code, out, _ = run("--tasks", "tasks.toml", "-m", "chrf", "-m", "bleu-2", "--resamples", "100")
    assert code == 0
    first, second, empty, *_ = out.splitlines()
    assert first.startswith("System level: ")
    assert " agrees best with people, Pearson r .9" in first
    assert second.startswith("Segment level, ranked pairs: ")
    assert " significantly better than " in second
    assert empty == ""
    code, out, _ = run("--tasks", "tasks.toml", "-m", "bleu-2", "-m", "bleu-3", "--resamples", "100")
    assert out.splitlines()[1].endswith(", with the same value as bleu-3.")
    code, out, _ = run("--tasks", "tasks.toml", "-m", "bleu-2", "-m", "nist-2", "--resamples", "100")
    assert re.search(r"not significantly better than nist-2\. .*would settle", out.splitlines()[1])
    code, out, _ = run("--ref", "ref.txt", "--human", "people.txt", "-m", "chrf", *OUTPUTS, "--resamples", "10")
    assert code == 0
    assert out.splitlines()[0].endswith("; there is no other metric to compare it with.")


def test_a_page(run: Run, tmp_path: Path) -> None:
    call = ("--tasks", "tasks.toml", "-m", "chrf", "-m", "bleu-2", "--resamples", "20")
    assert run(*call, "--format", "html", "--out", "page.html")[0] == 0
    page = (tmp_path / "page.html").read_text()
    assert page.count("<figure") == 2
    assert "agrees best with people" in page
    assert "Before you trust these numbers" in page
    assert "<td" in page


def test_what_is_not_given_is_not_computed(run: Run) -> None:
    for given, levels in (
        (("--human", "people.txt"), {"system"}),
        (("--rankings", "rank.csv"), {"rankings"}),
        (("--assessments", "news.A=da.txt", "--assessments", "news.C=da.txt"), {"assessments"}),
    ):
        code, out, err = run(*REF, *given, *OUTPUTS, "--format", "json", "-m", "bleu")
        assert (code, err) == (0, "")
        assert {row["level"] for row in json.loads(out)["agreements"]} == levels


def test_files_may_stand_between_options_and_one_system_needs_no_name(run: Run) -> None:
    code, out, err = run(
        OUTPUTS[0], "--ref", "ref.txt", "--assessments", "da.txt", "-m", "chrf", "--language-pair", "x"
    )
    assert (code, err) == (0, "")
    assert "chrf  " in out
    assert " x\n" in out


def test_any_name_will_do_for_a_language_pair(run: Run) -> None:
    code, out, err = run(*ALL, "--language-pair", "metric", "-m", "bleu")
    assert (code, err) == (0, "")
    assert below_verdict(out)[1].split() == ["metric", "metric"]


def test_several_language_pairs(run: Run) -> None:
    code, out, err = run("--tasks", "tasks.toml", "-m", "bleu", "-m", "chrf", "--resamples", "40", "--digits", "1")
    assert (code, err) == (0, "")
    first = below_verdict(out)[1].split()
    assert first == ["metric", "de-en", "fr-en", "average"]
    assert "average        chrf" in out


def test_scores_are_written_and_read_back(run: Run, tmp_path: Path) -> None:
    code, out, err = run(*ALL, "-m", "bleu", "-m", "ter", "--write-scores", "ours", "--format", "json")
    assert (code, err) == (0, "")
    assert (tmp_path / "ours.seg.score.gz").exists()
    files = ("--scores", "ours.seg.score.gz", "--scores", "ours.sys.score.gz", "--lower-is-better", "ter")
    code, again, err = run(*ALL[2:], *files, "--format", "json")
    assert (code, err) == (0, "")
    before, after = (
        {(row["level"], row["metric"], row["statistic"]): row["value"] for row in json.loads(text)["agreements"]}
        for text in (out, again)
    )
    assert after == before
    code, beside, err = run(*ALL, *files, "-m", "chrf", "--format", "csv", "--out", "rows.csv")
    assert (code, beside, err) == (0, "", "")
    assert {line.split(",")[3] for line in (tmp_path / "rows.csv").read_text().splitlines()[1:25]} >= {"bleu", "chrf"}


def test_warnings_are_sentences(run: Run, tmp_path: Path) -> None:
    with (tmp_path / "rank.csv").open("a") as file:
        file.write("deu,eng,1,j,news.A.de-en.txt,1,alien,2,99\n")
    code, out, err = run(*ALL)
    message = "deu-eng: rankings left out, as there are no outputs of alien: 1"
    assert (code, err) == (0, f"trubleu: warning: {message}\n")
    assert message in out
    code, _, err = run(*ALL, "--quiet")
    assert (code, err) == (0, "")


def test_one_system_only(run: Run) -> None:
    code, out, err = run(*REF, "--human", "people.txt", OUTPUTS[0], "-m", "bleu")
    assert code == 0
    assert "all, system level: a correlation needs at least 3 systems and there is 1, so it is undefined" in err
    assert "people scored systems that have no outputs here: news.B.de-en.txt, news.C.de-en.txt" in err
    assert below_verdict(out)[3].split() == ["bleu", "–"]
    assert out.startswith("System level: Pearson r is undefined for every metric.")
    assert "nan" not in out.lower()


def test_shuffled_rankings_print_the_same(run: Run, tmp_path: Path) -> None:
    _, before, _ = run(*ALL, "--format", "json")
    header, *rows = (tmp_path / "rank.csv").read_text().splitlines()
    np.random.default_rng(3).shuffle(rows)
    (tmp_path / "rank.csv").write_text("\n".join([header, *rows]) + "\n")
    assert run(*ALL, "--format", "json")[1] == before


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "there are no outputs; name the systems' files, or give --tasks FILE.toml"),
        ((*REF, *OUTPUTS), "there is nothing to judge by; give --human, --rankings or --assessments"),
        (("--human", "people.txt", *OUTPUTS), "metrics need references; give --refs FILE, or one or more --ref FILE"),
        ((*ALL, "--refs", "ref.txt"), "--refs and --ref both name references; give one of the two"),
        ((*ALL[2:], "--refs", "ref.txt", "--weight", "w"), "--weight goes with --ref"),
        (("--tasks", "tasks.toml", *OUTPUTS), "out/news.A.de-en is of one language pair; with --tasks it belongs into"),
        (("--tasks", "tasks.toml", "--human", "people.txt"), "--human is of one language pair"),
        (("--tasks", "tasks.toml", "--language-pair", "x"), "--language-pair is of one language pair"),
        (("--tasks", "none.toml"), "none.toml: there is no such file"),
        ((*ALL, "--tau", "wmt11"), "there is no variant 'wmt11' of τ; did you mean"),
        ((*ALL, "-m", "blue"), "there is no metric 'blue'; did you mean bleu"),
        (
            (*ALL, "--assessments", "da.txt"),
            "da.txt has assessments, but not of which of the 4 systems; write NAME=FILE",
        ),
        ((*ALL, "--lower-is-better", "ter"), "lower is better for ter, but no file has scores of it"),
        ((*ALL, "--write-scores", "no/where"), "no/where.seg.score.gz cannot be written: there is no folder no"),
        ((*ALL, "--out", "rank.csv"), "rank.csv is read by this command and would be lost"),
        ((*ALL, "--confidence", "2"), "confidence must be between 0 and 1"),
        ((*ALL, "--resamples", "-3"), "resamples must be 1 or more, not -3"),
        ((*ALL, "--identical", "merged"), "invalid choice: 'merged'"),
        ((*ALL, "--source", "ref.txt", "-m", "bleu"), "--source has no effect"),
        ((*ALL, "--scores", "people.txt"), "people.txt:1: this line has"),
    ],
)
def test_bad_calls(run: Run, arguments: tuple[str, ...], message: str) -> None:
    code, out, err = run(*arguments)
    assert (code, out) == (2, "")
    assert err.startswith("trubleu: ")
    assert message in err
    assert "Traceback" not in err
    assert err.count("\n") == 1


@pytest.mark.parametrize("people", [("--rankings", "rank.csv"), ("--assessments", "news.B=da.txt")])
def test_scores_of_systems_cannot_be_held_against_judgements_of_segments(
    run: Run, tmp_path: Path, people: tuple[str, ...]
) -> None:
    rows = [f"mine\tdeu-eng\tnews\tnews.{name}.de-en\t{place}\n" for place, name in enumerate(SYSTEMS)]
    (tmp_path / "mine.sys.score").write_text("".join(rows))
    code, out, err = run(*people, "--scores", "mine.sys.score", *OUTPUTS)
    assert (code, out) == (2, "")
    assert "deu-eng: rankings and assessments are of segments, but all scores are of whole systems; give -m" in err


def test_nothing_of_our_own_to_write(run: Run) -> None:
    run(*ALL, "--write-scores", "ours")
    code, _, err = run(*ALL[2:], "--scores", "ours.seg.score.gz", "--write-scores", "again")
    assert (code, err) == (
        2,
        "trubleu: --write-scores writes scores that are computed here, and there are none; name a metric\n",
    )


def test_segments_without_a_positive_weight_are_left_out(run: Run, tmp_path: Path) -> None:
    (tmp_path / "w.txt").write_text("0.8\n" * (SEGMENTS - 2) + "0\n-0.5\n")
    code, out, err = run(*ALL, "--weight", "w.txt", "-m", "dbleu-2", "-m", "bleu", "--format", "json")
    message = "deu-eng: segments without a reference of positive weight, left out for every metric: 2"
    assert (code, err) == (0, f"trubleu: warning: {message}\n")
    document = json.loads(out)
    assert {row["n"] for row in document["agreements"] if row["level"] == "assessments"} == {SEGMENTS - 2}
    assert message in [row["note"] for row in document["notes"]]
    assert [row["resamples"] for row in document["setting"]] == [40]


@pytest.mark.parametrize("metric", ["dbleu-2", "bleu"])
def test_references_that_are_not_rated_yet(run: Run, tmp_path: Path, metric: str) -> None:
    lines = [
        json.dumps({"id": str(s + 1), "references": [{"text": text, "weight": None if s == 1 else 0.5}]})
        for s, text in enumerate((tmp_path / "ref.txt").read_text().splitlines())
    ]
    (tmp_path / "refs.jsonl").write_text("\n".join(lines) + "\n")
    given = ("--refs", "refs.jsonl", *ALL[2:], "-m", metric, "--format", "json")
    code, out, err = run(*given)
    assert (code, out) == (2, "")
    assert "not rated yet, in segments 2; rate them with trubleu rate, or give them a weight with --unrated-as W" in err
    code, out, err = run(*given, "--unrated-as", "0.5")
    assert (code, err) == (0, "")
    assert json.loads(out)["setting"][0]["unrated_as"] == 0.5
    code, _, err = run(*ALL, "-m", "bleu", "--unrated-as", "0.5")
    assert (code, err) == (2, "trubleu: --unrated-as has no effect on these metrics; leave it out\n")


def test_assessments_may_be_missing(run: Run, tmp_path: Path) -> None:
    lines = (tmp_path / "da.txt").read_text().splitlines()
    (tmp_path / "da.txt").write_text("\n".join(["", "NA", *lines[2:]]) + "\n")
    code, out, err = run(*REF, "--assessments", "news.A=da.txt", *OUTPUTS, "-m", "bleu", "--format", "json")
    assert (code, err) == (0, "")
    assert {row["n"] for row in json.loads(out)["agreements"]} == {SEGMENTS - 2}


def test_weighted_references_and_delta_bleu(run: Run, tmp_path: Path) -> None:
    (tmp_path / "w.txt").write_text("0.8\n" * SEGMENTS)
    code, _, err = run(*ALL, "--weight", "w.txt", "-m", "dbleu-2")
    assert (code, err) == (0, "")
    code, _, err = run(*ALL, "-m", "dbleu-2")
    assert code == 0
    assert "the references have no weights, so all weigh 1 and dbleu-2 is BLEU" in err

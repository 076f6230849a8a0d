"""Official scores, assessments, and systems under other people's names."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trubleu.data import match_systems, read_assessments, read_official_scores
from trubleu.errors import DataError

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    "text",
    [
        "A.1 0.5 (1.0, 1.0)\n+++++\nB -2e-1 (2.0, 3.0)\n",
        "A.1\t0.5\t(1, 2)\nB\t-0.2\n",
        "\n  A.1   0.5\n++\n\nB\t-0.2\r\n",
    ],
)
def test_official_scores(tmp_path: Path, text: str) -> None:
    (tmp_path / "o.txt").write_text(text, newline="")
    assert list(read_official_scores(tmp_path / "o.txt").items()) == [("A.1", 0.5), ("B", -0.2)]


def test_names_with_spaces(tmp_path: Path) -> None:
    (tmp_path / "o.txt").write_text("online A\t0.5 (1.0, 1.0)\n")
    assert read_official_scores(tmp_path / "o.txt") == {"online A": 0.5}
    (tmp_path / "o.txt").write_text("online A 0.5\n")
    with pytest.raises(
        DataError, match=r"o\.txt:1: a line must be NAME SCORE \(LOW, HIGH\) or plus signs, not 'online"
    ):
        read_official_scores(tmp_path / "o.txt")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", " is empty; official scores have NAME SCORE per line$"),
        ("+++\n", " has no scores; official scores have NAME SCORE per line$"),
        ("A 0.5\nB\n", r":2: a line must be NAME SCORE \(LOW, HIGH\) or plus signs, not 'B'$"),
        ("A 0.5\nB x\n", ":2: the score must be a finite number, not 'x'$"),
        ("A nan\n", ":1: the score must be a finite number, not 'nan'$"),
        ("A 0.5 (1.0, 2.0\n", r":1: a line must be NAME SCORE \(LOW, HIGH\) or plus signs, not 'A 0.5 "),
        ("A 0.5\n+++\nA 0.6\n", ":3: the system 'A' has a score in line 1 already; leave one of the two out$"),
        ("system,score\nA,1\n", r":1: a line must be NAME SCORE \(LOW, HIGH\) or plus signs, not 'system,score'"),
        ("+++\n", " has no scores;"),
    ],
)
def test_official_scores_that_cannot_be_used(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "o.txt").write_text(text)
    with pytest.raises(DataError, match=rf"/o\.txt(?:{message})") as caught:
        read_official_scores(tmp_path / "o.txt")
    assert "\n" not in str(caught.value)


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1))
def test_assessments(tmp_path_factory: pytest.TempPathFactory, numbers: list[float]) -> None:
    path = tmp_path_factory.mktemp("assessments") / "human"
    path.write_text("".join(f"{number!r}\n" for number in numbers))
    assert read_assessments(path) == numbers


def test_outputs_that_were_not_assessed(tmp_path: Path) -> None:
    (tmp_path / "human").write_text("1.5\n\n \nNA\nnan\nNaN\n-2\n")
    found = read_assessments(tmp_path / "human")
    assert found == pytest.approx([1.5, *[float("nan")] * 5, -2.0], nan_ok=True)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", " is empty; assessments are one number per line$"),
        ("\nNA\nnan\n", " has no assessment; write one number per line, and nothing for an output without one$"),
        ("\n1\n\nnone\n", ":4: an assessment must be a finite number, not 'none'$"),
        ("1\nx\n", ":2: an assessment must be a finite number, not 'x'$"),
        ("1 2\n", ":1: an assessment must be a finite number, not '1 2'$"),
        ("inf\n", ":1: an assessment must be a finite number, not 'inf'$"),
    ],
)
def test_assessments_that_cannot_be_used(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "human").write_text(text)
    with pytest.raises(DataError, match=f"/human{message}"):
        read_assessments(tmp_path / "human")


@pytest.mark.parametrize(
    ("names", "known", "expected"),
    [
        (["A", "B"], ["B", "A", "C"], {"A": "A", "B": "B"}),
        (["x.A.1.de-en.txt"], ["x.A.1.de-en"], {"x.A.1.de-en.txt": "x.A.1.de-en"}),
        (["x.A.1.de-en.txt"], ["x.A.1"], {"x.A.1.de-en.txt": "x.A.1"}),
        (["x.A.txt"], ["x.A.de-en"], {"x.A.txt": "x.A.de-en"}),
        (["A.sgm"], ["A.txt"], {"A.sgm": "A.txt"}),
        (["A"], ["A.v2"], {"A": "A.v2"}),
        (["A-large", "A1"], ["A"], {}),
        # What is equal is found first, so that it is not taken for the beginning of another.
        (["A", "A.large"], ["A"], {"A": "A"}),
        (["A.large", "A"], ["A", "A.large"], {"A.large": "A.large", "A": "A"}),
        (["A.txt", "A.b.txt"], ["A", "A.b"], {"A.txt": "A", "A.b.txt": "A.b"}),
        (["A"], ["A", "A.txt", "A.x"], {"A": "A"}),
        (["B", "A.x", "A.x"], ["A"], {"A.x": "A"}),
        ([], ["A"], {}),
        (["A"], [], {}),
    ],
)
def test_match_systems(names: list[str], known: list[str], expected: dict[str, str]) -> None:
    assert list(match_systems(names, known).items()) == list(expected.items())


def test_systems_that_could_be_two() -> None:
    with pytest.raises(
        DataError, match=r"^the system 'A' could be A\.1 or A.2; name the outputs as they are named there, N"
    ):
        match_systems(["A"], ["A.1", "A.2"])
    with pytest.raises(
        DataError, match=r"^the system .new. could be new.A or new.B; name the outputs as they are named th"
    ):
        match_systems(["new.A", "new.B"], ["new"])
    with pytest.raises(DataError, match=r"^the system 'A' could be A\.sgm or A.txt;"):
        match_systems(["A"], ["A.txt", "A.sgm"])


@given(st.lists(st.text("ab.", min_size=1, max_size=5)), st.lists(st.text("ab.", min_size=1, max_size=5), unique=True))
def test_matches_are_one_to_one_and_equal_names_always_match(names: list[str], known: list[str]) -> None:
    try:
        found = match_systems(names, known)
    except DataError:
        return
    assert len(set(found.values())) == len(found)
    assert set(found.values()) <= set(known)
    for name in set(names) & set(known):
        assert found[name] == name


def test_official_scores_of_wmt15(real_data: Path) -> None:
    folder = real_data / "wmt15" / "official_scores"
    found = read_official_scores(folder / "wmt15.deu-eng.txt")
    assert len(found) == 13
    assert list(found.values()) == sorted(found.values(), reverse=True)
    assert found["newstest2015.online-B.0.de-en.txt"] == 0.567
    assert found["newstest2015.online-E.0.de-en.txt"] == -0.544
    assert len(read_official_scores(folder / "wmt15.eng-rus.txt")) == 10


def test_the_assessments_of_2015(real_data: Path) -> None:
    paths = sorted((real_data / "daseg2015").glob("*.human.*"))
    assert len(paths) == 5
    for path in paths:
        assert read_assessments(path) == [float(line) for line in path.read_text().split()]

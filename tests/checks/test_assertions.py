"""Assertions in tests of other people."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from trubleu.checks import Checks, assert_answer, assert_not_worse
from trubleu.errors import DataError, TrubleuWarning, UsageError

if TYPE_CHECKING:
    from pathlib import Path

GOOD = {f"q{at}": f"Delivery to region {chr(64 + at)} takes a few days, and we send you a link." for at in range(1, 13)}
OLD = {name: text.replace("takes a few days", "needs a few days") for name, text in GOOD.items()}
WORSE = dict.fromkeys(GOOD, "Nobody here could say anything about it.")
NO_FINDINGS = Checks(levels=dict.fromkeys(("refusal", "missing sentence", "added sentence", "shorter"), "off"))


def test_a_right_answer_passes() -> None:
    assert_answer("You can return it within 30 days.", ["Returns take 30 days.", "Send it back."], minimum=20)


def test_a_wrong_answer_is_shown_beside_the_nearest_good_one() -> None:
    with pytest.raises(AssertionError) as caught:
        assert_answer("Returns take 60 days.", ["Send it back.", "Returns take 30 days."])
    lines = str(caught.value).splitlines()
    assert lines[0] == "the answer fails"
    assert any(re.match(r'  number: "60 days"', line) for line in lines)
    assert lines[-2:] == ["  answer: Returns take [60] days.", "  good:   Returns take [30] days."]


def test_a_score_below_the_minimum_fails() -> None:
    with pytest.raises(AssertionError, match=r"trubleu: \d+\.\d\d is below 99"):
        assert_answer("Send it back in 30 days.", "Returns take 30 days.", minimum=99)
    with pytest.raises(AssertionError, match=r"ter: \d+\.\d\d is above 10"):
        assert_answer("Send it back in 30 days.", "Returns take 30 days.", minimum=10, metric="ter", checks=Checks())


def test_markdown_is_not_scored() -> None:
    assert_answer("1. **Returns** take _30 days_.", "Returns take 30 days.", minimum=100)


def test_answers_that_are_worse_fail_with_the_worst_of_them() -> None:
    assert_not_worse(OLD, OLD, GOOD)
    with pytest.raises(AssertionError) as caught:
        assert_not_worse(WORSE, OLD, GOOD, checks=NO_FINDINGS)
    lines = str(caught.value).splitlines()
    assert re.match(r"the new answers fail: trubleu \d+\.\d\d → \d+\.\d\d, worse \(p = 0\.0", lines[0])
    assert sum(line.startswith("  q") for line in lines) == 3
    assert_not_worse(WORSE, OLD, GOOD, checks=Checks(levels={"refusal": "off"}), tolerance=100)


def test_too_few_answers_are_a_warning() -> None:
    new = {**OLD, "q1": GOOD["q1"]}
    with pytest.warns(TrubleuWarning, match="not enough data to tell"):
        assert_not_worse(new, OLD, GOOD)


def test_files_do_as_well(tmp_path: Path) -> None:
    for name, texts in (("new.csv", GOOD), ("old.csv", OLD)):
        rows = "".join(f'{key},"{text}"\n' for key, text in texts.items())
        (tmp_path / name).write_text(f"id,answer\n{rows}")
    assert_not_worse(tmp_path / "new.csv", str(tmp_path / "old.csv"), GOOD, bad=WORSE)
    with pytest.raises(UsageError, match="write them into the file"):
        assert_not_worse(OLD, OLD, tmp_path / "old.csv", bad=WORSE)


def test_wrong_arguments() -> None:
    with pytest.raises(UsageError, match="assert_answer needs a good answer"):
        assert_answer("a", [])
    with pytest.raises(DataError, match="no good answer for 12 questions"):
        assert_not_worse(OLD, OLD)

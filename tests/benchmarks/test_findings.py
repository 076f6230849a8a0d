"""Errors that are planted to measure checks."""

from __future__ import annotations

import random

from benchmarks.real.findings import PLANTERS, Case, joined, rates, recall_table, with_errors
from trubleu.checks import Checks

REFERENCE = (
    "The parcel weighs 5 kg and costs 30 euros. It is not insured against loss. The driver can ring at the door before "
    "noon on Monday. Please keep the printed receipt in a safe place."
)
OTHER = "The cat sat on the warm mat for hours. A violin concert was given in the old church of the village."


def test_each_error_changes_what_it_names() -> None:
    case = Case("x", REFERENCE, (REFERENCE,))
    planted = {kind: plant(case, OTHER, random.Random(3)) or "" for kind, plant in PLANTERS.items()}
    assert all(text and text != REFERENCE for text in planted.values())
    assert "30 kg" in planted["swapped"]
    assert "5 euros" in planted["swapped"]
    assert "It is insured" in planted["negation dropped"]
    assert planted["negation added"].count(" not ") == 2
    assert len(planted["missing sentence"]) < len(REFERENCE)
    assert planted["added paragraph"].startswith(f"{REFERENCE}\n\n")
    assert len(planted["added sentence"]) > len(REFERENCE)
    assert planted == {kind: plant(case, OTHER, random.Random(3)) for kind, plant in PLANTERS.items()}


def test_copies_of_references_have_no_false_alarms_and_errors_are_found() -> None:
    cases = with_errors([Case("x", REFERENCE, (REFERENCE,)), Case("x", OTHER, (OTHER,))], random.Random(1))
    found = rates(cases, Checks(), baseline=False)
    assert [rate.alarms for rate in found] == [0] * len(found)
    counts = {rate.error: (rate.planted, rate.found) for rate in found}
    assert counts["number"] == (1, 1)
    assert counts["swapped"] == (1, 1)
    assert counts["negation dropped"] == (1, 1)
    assert counts["refusal"] == (2, 2)
    assert recall_table(found).rows[0][1] == "100 / 0"


def test_runs_of_segments_are_one_output() -> None:
    lines = [f"line {number}" for number in range(7)]
    [case] = joined(lines, lines, lines)
    assert case.good == case.old == "line 0 line 1 line 2 line 3 line 4"

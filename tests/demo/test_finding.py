"""What the demo says it found: computed from the numbers, whatever these are."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.demo.example import FOOLED, RIGHT, TRUTH, results
from trubleu.demo.finding import CLEAR, NAMES, find
from trubleu.demo.steps import METRICS, SYSTEMS
from trubleu.demo.tables import summary_table
from trubleu.report.tables import render_tables

NAMED = list(SYSTEMS)


def test_bleu_is_fooled_and_delta_bleu_is_not() -> None:
    found = find(results())
    assert found.headline == "BLEU is fooled by bad references, and ΔBLEU is not."
    assert found.true_order == ("strong", "fair", "weak", "dull", "parrot", "random")
    true, plain, weighted, agreement = found.sentences
    assert true == "In truth the systems rank strong > fair > weak > dull > parrot > random."
    assert plain == (
        "BLEU ranks them parrot > dull > strong > fair > weak > random: 7 of 15 pairs that clearly differ are in the "
        "wrong order, all significantly: parrot above strong, fair, weak and dull; dull above strong, fair and weak."
    )
    assert weighted == (
        "ΔBLEU ranks them strong > fair > weak > dull > parrot > random: "
        "of 15 pairs that clearly differ none is in the wrong order."
    )
    assert agreement == "Agreement with those who rated the outputs, Spearman’s ρ: −0.20 for BLEU, 0.70 for ΔBLEU."
    assert found.orders["dbleu-2"].tied == 1


@pytest.mark.parametrize(
    ("plain", "weighted", "headline"),
    [
        (RIGHT, RIGHT, "With this seed neither BLEU nor ΔBLEU is fooled by bad references."),
        (
            RIGHT,
            FOOLED,
            "With this seed BLEU is not fooled by bad references, and ΔBLEU is sure of 7 wrong pairs of systems.",
        ),
        (
            FOOLED,
            (30.0, 31.0, 18.0, 2.0, 0.0, 0.0),
            "BLEU is fooled by bad references more than ΔBLEU: sure of 7 wrong pairs of systems against 1.",
        ),
        (FOOLED, FOOLED, "With this seed ΔBLEU does no better than BLEU: sure of 7 wrong pairs of systems against 7."),
    ],
)
def test_every_outcome_has_its_sentence(plain: tuple[float, ...], weighted: tuple[float, ...], headline: str) -> None:
    assert find(results({"bleu-2": plain, "dbleu-2": weighted})).headline == headline


def test_what_is_not_significant_fools_nobody_but_is_said() -> None:
    found = find(results(p=0.2))
    assert found.headline == "With this seed neither BLEU nor ΔBLEU is fooled by bad references."
    assert found.sentences[1].endswith(
        "7 of 15 pairs that clearly differ are in the wrong order, none of them significantly."
    )
    assert found.orders["bleu-2"].overrated() == {}
    assert found.orders["bleu-2"].overrated(sure=False) == {
        "parrot": ["strong", "fair", "weak", "dull"],
        "dull": ["strong", "fair", "weak"],
    }


def test_some_wrong_pairs_may_be_significant_and_others_not() -> None:
    made = results({"dbleu-2": (30.0, 31.0, 18.0, 2.0, 20.0, 0.0)})
    found = find(replace(made, p={**made.p, ("dbleu-2", "strong", "fair"): 0.06}))
    assert found.sentences[2].endswith(
        ": 3 of 15 pairs that clearly differ are in the wrong order, 2 significantly: parrot above weak and dull."
    )


def test_one_wrong_pair_is_told_in_the_singular() -> None:
    swapped = results({"dbleu-2": (30.0, 31.0, 18.0, 2.0, 1.0, 0.0)})
    assert (
        find(swapped)
        .sentences[2]
        .endswith(": 1 of 15 pairs that clearly differ is in the wrong order, significantly: fair above strong.")
    )
    unsure = results({"dbleu-2": (30.0, 31.0, 18.0, 2.0, 1.0, 0.0)}, p=0.5)
    assert find(unsure).sentences[2].endswith("is in the wrong order, though not significantly.")


def test_pairs_that_hardly_differ_are_held_against_nobody() -> None:
    truth = {**TRUTH, "parrot": TRUTH["dull"] - CLEAR * 0.9}
    found = find(results({"dbleu-2": (30.0, 25.0, 20.0, 1.0, 2.0, 0.0)}, truth=truth))
    assert (found.orders["dbleu-2"].pairs, found.orders["dbleu-2"].wrong) == (14, ())


@given(st.permutations(range(6)), st.permutations(range(6)))
def test_wrong_pairs_are_those_that_two_lists_order_differently(true: list[int], scores: list[int]) -> None:
    made = results(
        {"bleu-2": [float(score) for score in scores]},
        truth={name: 1 + place / 2 for name, place in zip(SYSTEMS, true, strict=True)},
    )
    order = find(made).orders["bleu-2"]
    expected = {
        (NAMED[a], NAMED[b]) for a, b in permutations(range(6), 2) if true[a] > true[b] and scores[a] < scores[b]
    }
    assert set(order.wrong) == expected
    assert {(better, name) for name, all_better in order.overrated().items() for better in all_better} == expected
    assert list(order.systems) == sorted(NAMED, key=lambda name: -scores[NAMED.index(name)])


def test_the_table_on_the_terminal() -> None:
    made = results()
    table = render_tables([summary_table(made, find(made))], "text", 2)
    assert table.splitlines()[0].split() == ["system", "true", "quality", "people", *(NAMES[name] for name in METRICS)]
    assert [line.split()[0] for line in table.splitlines()[2:8]] == list(find(made).true_order)
    assert "parrot          1.50    2.00  90.0*" in table
    assert "* stands significantly above a system that is better in truth" in table

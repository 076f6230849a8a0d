"""What the demo says it found: computed from the numbers, whatever these are."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import permutations
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.demo.example import FOOLED, RIGHT, TRUTH, results
from trubleu.demo.results import CLEAR, NAMES, find, summary_table
from trubleu.demo.steps import METRICS, SYSTEMS
from trubleu.render.tables import render_tables

if TYPE_CHECKING:
    from trubleu.demo.results import Results

NAMED = list(SYSTEMS)


def test_bleu_is_fooled_and_delta_bleu_is_not() -> None:
    found = find(results())
    assert found.headline == (
        "BLEU is fooled by the parrot and dull, with bad references and without them; "
        "ΔBLEU, which knows which ones are bad, is not."
    )
    assert found.true_order == ("strong", "fair", "weak", "retrieval", "dull", "parrot", "random")
    true, plain, weighted, good, agreement = found.sentences
    assert true == "In truth the systems rank strong > fair > weak > retrieval > dull > parrot > random."
    assert plain == (
        "BLEU ranks them parrot > dull > strong > fair > weak > retrieval > random: 9 of 21 pairs that clearly differ "
        "are in the wrong order, all significantly: parrot above strong, fair, weak, retrieval and dull; dull above "
        "strong, fair, weak and retrieval."
    )
    assert weighted == (
        "ΔBLEU ranks them strong > fair > weak > retrieval > dull > parrot > random: "
        "of 21 pairs that clearly differ none is in the wrong order."
    )
    assert good == (
        "With the good references only, 40 of 100 (a weight above 0), BLEU has 9 of these pairs in the wrong order, 9 "
        "significantly; ΔBLEU has 9 of these pairs in the wrong order, 9 significantly. So it is not enough to leave "
        "bad references out; what helps is to know that they are bad. A bad reference that is rated tells what not to "
        "say: a match with it costs in ΔBLEU, and BLEU cannot use that."
    )
    assert agreement == (
        "Agreement with those who rated the outputs, with all references, Spearman’s ρ: −0.20 for BLEU, 0.70 for ΔBLEU."
    )


SWAPPED = (30.0, 31.0, 18.0, 10.0, 2.0, 0.0, 0.0)  # fair above strong
KNOWS = "; ΔBLEU, which knows which ones are bad, is not."


@pytest.mark.parametrize(
    ("plain", "weighted", "good_plain", "headline"),
    [
        (RIGHT, RIGHT, FOOLED, "With this seed neither BLEU nor ΔBLEU is fooled."),
        (RIGHT, FOOLED, RIGHT, "With this seed ΔBLEU is fooled by the parrot and dull, and BLEU is not."),
        (FOOLED, RIGHT, SWAPPED, "BLEU is fooled with bad references and without them" + KNOWS),
        (
            FOOLED,
            RIGHT,
            RIGHT,
            "BLEU is fooled by the parrot and dull where bad references are among the good ones, and without them is "
            "not" + KNOWS,
        ),
        (
            FOOLED,
            SWAPPED,
            FOOLED,
            "Both are fooled, BLEU more than ΔBLEU: sure of 9 wrong pairs of systems against 1.",
        ),
        (
            FOOLED,
            FOOLED,
            FOOLED,
            "With this seed ΔBLEU does no better than BLEU: sure of 9 wrong pairs of systems against 9.",
        ),
        (
            SWAPPED,
            SWAPPED,
            FOOLED,
            "With this seed ΔBLEU does no better than BLEU: sure of 1 wrong pair of systems against 1.",
        ),
    ],
)
def test_every_outcome_has_its_sentence(
    plain: tuple[float, ...], weighted: tuple[float, ...], good_plain: tuple[float, ...], headline: str
) -> None:
    made = results({"bleu-2": plain, "dbleu-2": weighted}, good={"bleu-2": good_plain})
    assert find(made).headline == headline


@pytest.mark.parametrize(
    ("plain", "weighted", "good_plain", "good_weighted", "said"),
    [
        (FOOLED, RIGHT, FOOLED, FOOLED, "So it is not enough to leave bad references out; what helps is to know"),
        (FOOLED, RIGHT, FOOLED, RIGHT, "So it is not enough for BLEU to leave bad references out. ΔBLEU is not surely"),
        (FOOLED, RIGHT, RIGHT, FOOLED, "So leaving bad references out helps BLEU and harms ΔBLEU, which can use them"),
        (FOOLED, RIGHT, RIGHT, RIGHT, "So leaving bad references out helps BLEU as weights do; which ones are bad,"),
        (FOOLED, FOOLED, FOOLED, FOOLED, "Without the bad references both are fooled."),
        (FOOLED, FOOLED, FOOLED, RIGHT, "Without the bad references BLEU is fooled, and ΔBLEU is not surely."),
        (RIGHT, FOOLED, RIGHT, FOOLED, "Without the bad references ΔBLEU is fooled, and BLEU is not surely."),
        (RIGHT, RIGHT, RIGHT, RIGHT, "Without the bad references neither is surely fooled."),
    ],
)
def test_what_helps_follows_from_all_four_orders(
    plain: tuple[float, ...],
    weighted: tuple[float, ...],
    good_plain: tuple[float, ...],
    good_weighted: tuple[float, ...],
    said: str,
) -> None:
    scores = {"bleu-2": plain, "dbleu-2": weighted}
    found = find(results(scores, good={"bleu-2": good_plain, "dbleu-2": good_weighted}))
    both = [f"{name} has {'none' if row is RIGHT else 9} of these pairs" for name, row in
            (("BLEU", good_plain), ("ΔBLEU", good_weighted))]  # fmt: skip
    assert all(part in found.sentences[3] for part in both)
    assert f". {said}" in found.sentences[3]


def test_what_is_not_significant_fools_nobody_but_is_said() -> None:
    found = find(results(p=0.2))
    assert found.headline == (
        "With this seed neither is surely fooled: of 21 pairs of systems that clearly differ BLEU has 9 in the wrong "
        "order, ΔBLEU 0, none of them significantly."
    )
    assert found.sentences[1].endswith(
        "9 of 21 pairs that clearly differ are in the wrong order, none of them significantly."
    )
    assert found.orders["bleu-2"].overrated() == {}
    assert found.orders["bleu-2"].overrated(sure=False) == {
        "parrot": ["strong", "fair", "weak", "retrieval", "dull"],
        "dull": ["strong", "fair", "weak", "retrieval"],
    }


def unsure(metric: str, wrong: tuple[float, ...]) -> Results:
    """Return results in which a metric is wrong without being sure, and the other as usual."""
    made = results({metric: wrong})
    return replace(made, p={key: 0.06 if key[0] == metric else p for key, p in made.p.items()})


def test_nothing_significant_is_not_taken_for_nothing_wrong() -> None:
    assert find(unsure("dbleu-2", FOOLED)).headline == (
        "BLEU is fooled by the parrot and dull, with bad references and without them; ΔBLEU, which knows which ones "
        "are bad, is not (9 of 21 pairs wrong, none significantly)."
    )
    assert find(unsure("dbleu-2", SWAPPED)).headline.endswith(
        "; ΔBLEU, which knows which ones are bad, is not (1 of 21 pairs wrong, not significantly)."
    )
    made = replace(unsure("bleu-2", SWAPPED), scores=results({"bleu-2": SWAPPED, "dbleu-2": FOOLED}).scores)
    assert find(made).headline == (
        "With this seed ΔBLEU is fooled by the parrot and dull, and BLEU is not "
        "(1 of 21 pairs wrong, not significantly)."
    )
    good = results()
    good = replace(good, good_p=dict.fromkeys(good.good_p, 0.06))
    assert ", and without them is not (9 of 21 pairs wrong, none significantly); " in (find(good).headline)


def test_few_segments_make_nothing_sure() -> None:
    found = find(results(p=0.001, segments=19))
    assert found.headline == (
        "With 19 segments nothing is sure: of 21 pairs of systems that clearly differ BLEU has 9 in the wrong order, "
        "ΔBLEU 0."
    )
    assert "significantly" not in " ".join(found.sentences)
    assert "enough" not in found.sentences[3]
    assert all(not order.sure for order in (*found.orders.values(), *found.good_orders.values()))
    assert find(results(p=0.001, segments=20)).orders["bleu-2"].fooled


def test_some_wrong_pairs_may_be_significant_and_others_not() -> None:
    made = results({"dbleu-2": (30.0, 31.0, 18.0, 10.0, 2.0, 20.0, 0.0)})
    found = find(replace(made, p={**made.p, ("dbleu-2", "strong", "fair"): 0.06}))
    assert found.sentences[2].endswith(
        ": 4 of 21 pairs that clearly differ are in the wrong order, 3 significantly: "
        "parrot above weak, retrieval and dull."
    )


def test_one_wrong_pair_is_told_in_the_singular() -> None:
    assert (
        find(results({"dbleu-2": SWAPPED}))
        .sentences[2]
        .endswith(": 1 of 21 pairs that clearly differ is in the wrong order, significantly: fair above strong.")
    )
    assert (
        find(results({"dbleu-2": SWAPPED}, p=0.5))
        .sentences[2]
        .endswith("is in the wrong order, though not significantly.")
    )


def test_pairs_that_hardly_differ_are_held_against_nobody() -> None:
    truth = {**TRUTH, "parrot": TRUTH["dull"] - CLEAR * 0.9}
    found = find(results({"dbleu-2": (30.0, 25.0, 20.0, 10.0, 1.0, 2.0, 0.0)}, truth=truth))
    assert (found.orders["dbleu-2"].pairs, found.orders["dbleu-2"].wrong) == (20, ())


@given(st.permutations(range(7)), st.permutations(range(7)))
def test_wrong_pairs_are_those_that_two_lists_order_differently(true: list[int], scores: list[int]) -> None:
    made = results(
        {"bleu-2": [float(score) for score in scores]},
        truth={name: 1 + place / 2 for name, place in zip(SYSTEMS, true, strict=True)},
    )
    order = find(made).orders["bleu-2"]
    expected = {
        (NAMED[a], NAMED[b]) for a, b in permutations(range(7), 2) if true[a] > true[b] and scores[a] < scores[b]
    }
    assert set(order.wrong) == expected
    assert {(better, name) for name, all_better in order.overrated().items() for better in all_better} == expected
    assert list(order.systems) == sorted(NAMED, key=lambda name: -scores[NAMED.index(name)])


def test_the_table_on_the_terminal() -> None:
    made = results()
    table = render_tables([summary_table(made, find(made))], "text", 2)
    assert table.splitlines()[0].split() == ["system", "true", "quality", "people", *(NAMES[name] for name in METRICS)]
    assert [line.split()[0] for line in table.splitlines()[2:9]] == list(find(made).true_order)
    assert re.search(r"^parrot +1\.50 +2\.00 +90\.0\*", table, re.MULTILINE)
    assert "* stands significantly above a system that is better in truth" in table

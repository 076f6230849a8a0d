"""Sentences that say the opposite."""

from __future__ import annotations

import pytest

from trubleu.checks import Checks


def kinds(output: str, reference: str, old: str | None = None) -> list[str]:
    checks = Checks(levels=dict.fromkeys(("missing sentence", "added sentence", "added paragraph"), "off"))
    return [found.kind for found in checks.find(output, [reference], old=old)]


@pytest.mark.parametrize(
    ("output", "reference"),
    [
        (
            "Shipping costs of the first delivery are refunded.",
            "Shipping costs of the first delivery are not refunded.",
        ),
        (
            "Shipping costs of the first delivery are not refunded.",
            "Shipping costs of the first delivery are refunded.",
        ),
        ("We charge a cancellation fee.", "We don't charge a cancellation fee."),
        ("Unplug the router during the restart.", "Do not unplug the router during the restart."),
        ("There was a double charge on the card.", "There was no double charge on the card."),
    ],
)
def test_the_opposite_is_found(output: str, reference: str) -> None:
    assert kinds(output, reference) == ["negation"]
    assert kinds(output, reference, old=output) == []
    assert kinds(reference, reference) == []


@pytest.mark.parametrize(
    ("output", "reference"),
    [
        ("The parcel may weigh up to 5 kg.", "The parcel must be no heavier than 5 kg."),
        ("Cancelling the plan is free of charge.", "We don't charge for cancelling the plan."),
        ("The plan not only saves money, it saves time.", "The plan saves money and it saves time."),
        ("The costs aren’t refunded by us.", "The costs are not refunded by us."),
        ("The costs ca n't be refunded.", "The costs can't be refunded."),
        ("Nothing changes in your plan until 31 March.", "Your plan changes on 31 March."),
        ("You never pay a fee for the card.", "You do not pay a fee for the card."),
    ],
)
def test_other_wordings_are_not_the_opposite(output: str, reference: str) -> None:
    assert kinds(output, reference) == []


def test_a_negation_that_one_good_reference_has_is_no_finding() -> None:
    references = ["The costs of shipping are refunded.", "The costs of shipping are not refunded."]
    assert Checks().find("The costs of shipping are not refunded at all.", references) == []

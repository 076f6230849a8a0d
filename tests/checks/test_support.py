"""Sentences that are added or missing, refusals, and exchanged figures."""

from __future__ import annotations

from trubleu.checks import Checks

REFERENCE = """You can return the jacket within **30 days** of delivery.

1. Sign in to your account and open **My Orders**.
2. Choose the order and click **Return items**.
3. Print the prepaid label and stick it on the parcel.
4. Drop the parcel at any post office and keep the receipt.

We refund the full price within **5 business days** after Mrs. Keller has checked it.
Shipping costs are not refunded."""
PARAPHRASE = """The jacket can come back to us up to **30 days** after it was delivered.

- Log in, go to **My Orders**, pick the order and press **Return items**.
- Put the prepaid label on the package (print it first).
- Hand it in at a post office and keep the proof of posting.

Other things to know:
The price is refunded in at most **5 working days** after the check by Mrs. Keller.
We don't refund the shipping costs."""
ADDED = (
    "We also offer a lifetime warranty on all our coffee machines. Members of the club get a free ticket for the opera."
)


def findings(output: str, **options: object) -> list[tuple[str, str]]:
    return [(found.kind, found.content) for found in Checks().find(output, [REFERENCE], **options)]  # type: ignore[arg-type]


def kinds(output: str, **options: object) -> list[str]:
    return [kind for kind, _ in findings(output, **options)]


def test_a_paraphrase_with_merged_steps_and_a_heading_has_no_findings() -> None:
    assert kinds(PARAPHRASE) == []


def test_two_sentences_without_support_are_a_paragraph() -> None:
    assert kinds(f"{PARAPHRASE}\n\n{ADDED}") == ["added paragraph"]
    [found] = Checks().find(f"{PARAPHRASE}\n\n{ADDED}", [REFERENCE])
    assert found.level == "warn"
    text = f"{PARAPHRASE}\n\n{ADDED}"
    assert " ".join(text[start:end] for start, end in found.spans) == ADDED


def test_one_sentence_without_support() -> None:
    assert kinds(f"{PARAPHRASE} {ADDED.partition('. ')[0]}.") == ["added sentence"]


def test_the_question_and_the_old_answer_support_sentences() -> None:
    output = f"{PARAPHRASE}\n\n{ADDED}"
    assert kinds(output, question=ADDED) == []
    assert kinds(output, old=f"{REFERENCE} {ADDED}") == []
    assert [found.level for found in Checks().find(output, [REFERENCE], old=REFERENCE)] == ["fail"]


def test_a_step_that_is_left_out_beside_a_similar_one_is_missing() -> None:
    output = PARAPHRASE.replace("- Put the prepaid label on the package (print it first).\n", "")
    assert findings(output) == [("missing sentence", "print the prepaid label and stick it on the parcel.")]


def test_a_sentence_that_one_good_reference_lacks_is_not_missing() -> None:
    output = PARAPHRASE.replace("- Put the prepaid label on the package (print it first).\n", "")
    shorter = REFERENCE.replace("3. Print the prepaid label and stick it on the parcel.\n", "")
    assert [found.kind for found in Checks().find(output, [REFERENCE, shorter])] == []


def test_an_answer_about_nothing_is_like_a_refusal() -> None:
    refusal = "I'm sorry, but I can't help with that. Please contact our support team, who will be glad to assist you."
    assert "refusal" in kinds(refusal)


def test_exchanged_figures_stand_among_the_words_of_the_other() -> None:
    output = PARAPHRASE.replace("30 days", "X").replace("5 working days", "30 working days").replace("X", "5 days")
    assert [kind for kind in kinds(output) if kind == "number"] == ["number", "number"]


def test_a_range_the_other_way_round_is_exchanged() -> None:
    found = Checks().find("It takes 7 to 3 days.", ["It takes 3 to 7 days."])
    assert {each.kind for each in found} == {"number"}

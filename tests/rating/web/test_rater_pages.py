"""What raters see, from their link to the end, with forms alone."""

from __future__ import annotations

import re
from dataclasses import replace
from html import unescape
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.rating.web.conftest import state
from trubleu.rating import Item
from trubleu.rating.carry_over import carry
from trubleu.rating.config import Completion, Gold, Question, example
from trubleu.rating.web.sanitize import markdown, visible

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.rating.web.conftest import Visitor
    from trubleu.rating import Study

    Make = Callable[..., Study]
    Visit = Callable[..., Visitor]


def shown(page_text: str, part: int = 1) -> str:
    found = re.search(rf'<div class="response" dir="auto" id="text-{part}">(.*?)</div>', page_text, re.DOTALL)
    assert found
    return unescape(found.group(1))


def test_from_the_link_to_the_end(make: Make, visit: Visit) -> None:
    study = make(
        2, raters=1, consent="We **keep** answers.", completion=Completion("XYZ-1", "https://example.org/done?a=1&b=2")
    )
    token = study.add_raters(1)[0].token
    visitor = visit(study)

    page = visitor.get(f"/r/{token}")
    assert (page.status_code, page.url.path, state(page)) == (200, "/rate", "consent")
    assert "<strong>keep</strong>" in page.text
    assert state(visitor.get("/rate")) == "consent"
    page = visitor.send(page, "/consent")
    assert (page.url.path, state(page)) == ("/rate", "instructions")
    assert "How good is this response" in page.text
    page = visitor.send(page, "/instructed")
    assert state(page) == "task"
    assert "Task 1 of" in page.text
    first = shown(page.text)

    page = visitor.answer(page, 4, milliseconds=1234)
    assert (page.status_code, page.url.path, state(page)) == (200, "/rate", "task")
    assert "Task 2 of" in page.text
    assert shown(page.text) != first
    page = visitor.answer(page, 1)
    assert state(page) == "done"
    assert "XYZ-1" in page.text
    assert 'href="https://example.org/done?a=1&amp;b=2"' in page.text
    assert "answered 2 tasks" in page.text

    rows = study.table()
    assert sorted(row.score or 0 for row in rows) == [1, 4]
    assert all(row.counted for row in rows)
    # Without scripts a browser says nothing; the server measures by itself.
    assert {row.score: row.client_milliseconds for row in rows} == {4: 1234, 1: None}
    assert all(row.milliseconds is not None and 0 < row.milliseconds < 60_000 for row in rows)
    rater = study.find_rater(token)
    assert rater is not None
    assert rater.consented_at is not None
    assert rater.instructed_at is not None


def test_the_same_link_goes_on_where_it_was(make: Make, visit: Visit) -> None:
    study = make(5)
    token = study.add_raters(1)[0].token
    first = visit(study)
    page = first.answer(first.start(token), 3)
    there = shown(page.text)
    elsewhere = visit(study)
    page = elsewhere.get(f"/r/{token}")
    assert state(page) == "task"
    assert shown(page.text) == there
    assert "Task 2 of" in page.text


def test_sending_twice_counts_once(make: Make, visit: Visit) -> None:
    study = make(3)
    visitor = visit(study)
    page = visitor.start(study.add_raters(1)[0].token)
    assert visitor.answer(page, 5).status_code == 200
    assert visitor.answer(page, 5).status_code == 200
    assert visitor.answer(page, 1).status_code == 200  # also with another score: the first one stands
    assert [row.score for row in study.table()] == [5]
    assert [row.kind for row in study.log()].count("answered") == 1


def test_cannot_judge(make: Make, visit: Visit) -> None:
    study = make(2)
    visitor = visit(study)
    page = visitor.start(study.add_raters(1)[0].token)
    page = visitor.answer(page, 5, unable=1)  # which wins over a score that was chosen before
    assert "Task 2 of" in page.text
    assert study.table() == []
    assert [row.kind for row in study.log()].count("unable") == 1


def test_undo(make: Make, visit: Visit) -> None:
    study = make(3)
    visitor = visit(study)
    page = visitor.start(study.add_raters(1)[0].token)
    assert "/undo" not in page.text
    first = shown(page.text)
    page = visitor.answer(page, 5)
    page = visitor.send(page, "/undo")
    assert (page.status_code, shown(page.text)) == (200, first)
    assert "/undo" not in page.text
    assert study.table() == []
    page = visitor.answer(page, 2)
    assert "Task 2 of" in page.text
    assert [row.score for row in study.table()] == [2]


def test_several_answers_are_undone_with_what_they_were(make: Make, visit: Visit) -> None:
    study = make(3, comments=True)
    visitor = visit(study)
    page = visitor.start(study.add_raters(1)[0].token)
    texts = []
    for fields in ({"score_1": 5, "comment": "well put"}, {"reason": "I cannot follow the conversation"}):
        texts.append(shown(page.text))
        page = visitor.send(page, "/answer", **fields)
    stale = page
    page = visitor.send(page, "/undo")
    assert shown(page.text) == texts[1]
    assert "Earlier, you said that you cannot judge" in page.text
    assert '<q dir="auto">I cannot follow the conversation</q>' in page.text
    # The button of an older page takes nothing more back.
    assert shown(visitor.send(stale, "/undo").text) == texts[1]
    page = visitor.send(page, "/undo")
    assert shown(page.text) == texts[0]
    assert re.search(r'value="5" required checked>', page.text)
    assert ">well put</textarea>" in page.text
    assert "/undo" not in page.text
    page = visitor.answer(page, 2)
    assert shown(page.text) == texts[1]
    assert [(row.kind, row.note) for row in study.log() if row.item is not None] == [
        ("answered", "well put"), ("unable", "I cannot follow the conversation"), ("undone", None), ("undone", None),
        ("answered", None),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("fields", "note"),
    [
        ({"reason": "The text is incomplete or unreadable"}, "The text is incomplete or unreadable"),
        ({"unable": 1, "other": " it is\x00 in Finnish "}, r"it is\x00 in Finnish"),
        ({"unable": 1}, None),
        ({"unable": 1, "comment": "not asked for"}, None),
    ],
)
def test_cannot_judge_has_a_reason(make: Make, visit: Visit, fields: dict[str, object], note: str | None) -> None:
    study = make(2)
    visitor = visit(study)
    page = visitor.start(study.add_raters(1)[0].token)
    visitor.send(page, "/answer", **fields)
    assert [row.note for row in study.log() if row.kind == "unable"] == [note]


def test_comments_only_where_the_study_wants_them(make: Make, visit: Visit) -> None:
    for comments in (False, True):
        study = make(2, comments=comments)
        visitor = visit(study)
        page = visitor.start(study.add_raters(1)[0].token)
        assert ("<textarea" in page.text) is comments
        too_long = visitor.answer(page, 4, comment="x" * 2001)
        assert too_long.status_code == (422 if comments else 200)
        assert ("has 2,001 characters, and may have 2,000" in too_long.text) is comments
        visitor.answer(page, 4, comment="a remark")
        notes = [row.note for row in study.log() if row.kind == "answered"]
        assert notes == (["a remark"] if comments else [None])


def test_a_break_is_remembered(make: Make, visit: Visit) -> None:
    study = make(3)
    token = study.add_raters(1)[0].token
    visitor = visit(study)
    page = visitor.answer(visitor.start(token), 4)
    text = shown(page.text)
    page = visitor.send(page, "/break")
    assert state(page) == "break"
    assert "You have answered 1 task, and everything is saved." in page.text
    elsewhere = visit(study)
    page = elsewhere.get(f"/r/{token}")
    assert state(page) == "break"
    page = elsewhere.send(page, "/back")
    assert (state(page), shown(page.text)) == ("task", text)
    assert [row.kind for row in study.log()][-2:] == ["break", "back"]


def test_another_answer_from_another_tab_is_said(make: Make, visit: Visit) -> None:
    study = make(3)
    visitor = visit(study)
    tab = visitor.start(study.add_raters(1)[0].token)
    assert "first answer was kept" not in visitor.answer(tab, 5).text
    assert "first answer was kept" not in visitor.answer(tab, 5).text  # the same again: a lost connection
    page = visitor.answer(tab, 1)
    assert "You had already answered that task, perhaps in another tab. Your first answer was kept" in page.text
    assert [row.score for row in study.table()] == [5]


def test_a_link_that_was_replaced_says_so(make: Make, visit: Visit) -> None:
    study = make(1)
    new = study.add_raters(1)[0]
    study.new_link(new.rater.id)
    page = visit(study).get(f"/r/{new.token}")
    assert page.status_code == 404
    assert "a newer one has replaced it" in page.text


TWO = (
    Question("Relevant?", ("no", "partly", "yes"), "relevance"),
    Question("Interesting?", (), "interest", required=False, points=11),
)


def test_two_questions_about_a_text(make: Make, visit: Visit) -> None:
    practice = (example("practice", ("fine",), (), "how are you?", ((3, 3), None), "Good."),)
    study = make(3, questions=TWO, practice=practice)
    visitor = visit(study)
    page = visitor.get(f"/r/{study.add_raters(1)[0].token}")
    assert page.text.count("Relevant?") == page.text.count("Interesting?") == 1
    assert "1 is the worst, 11 the best." in page.text
    page = visitor.send(page, "/instructed")
    page = visitor.send(page, "/answer", score_1_1=3, score_1_2=10)
    assert (state(page), "We agree" in page.text) == ("feedback", True)
    assert "3 – yes" in page.text
    page = visitor.get("/rate")
    assert page.text.count('name="score_1_1"') == 3
    assert page.text.count('name="score_1_2"') == 11
    assert page.text.count(" required") == 3
    assert page.text.count("(optional)") == 1
    again = visitor.send(page, "/answer", score_1_2=10)
    assert (again.status_code, "Choose an answer first: Relevant?" in again.text) == (422, True)
    assert re.search(r'name="score_1_2" value="10" checked>', again.text)
    for wrong in ({"score_1_1": 4}, {"score_1_1": "x"}, {"score_1_1": 1, "score_1_2": 12}, {"score_1_1": "٣"}):
        assert visitor.send(page, "/answer", **wrong).status_code == 422
    page = visitor.send(page, "/answer", score_1_1=1)
    assert state(visitor.send(page, "/answer", score_1_1=2, score_1_2=11)) == "task"
    rows = [(row.question, row.score) for row in sorted(study.table(), key=lambda row: row.answered_at)]
    assert rows[2:] == [(0, 1), (1, None), (0, 2), (1, 11)]


def test_a_question_that_everybody_leaves_out(make: Make, visit: Visit) -> None:
    study = make(2, questions=tuple(replace(question, required=False) for question in TWO))
    visitor = visit(study)
    page = visitor.start(study.add_raters(1)[0].token)
    again = visitor.send(page, "/answer")
    assert again.status_code == 422
    assert "Answer at least one question, or say that you cannot judge." in again.text
    page = visitor.send(visitor.send(page, "/answer", score_1_1=2), "/answer", score_1_1=3)
    assert state(page) == "done"
    assert [row.score for row in study.table()] == [2, None, 3, None]


def test_long_texts_are_said_to_be_long(make: Make, visit: Visit) -> None:
    study = make([Item("long", ("x" * 10_000,)), Item("short", ("y",))])
    visitor = visit(study)
    page = visitor.start(study.add_raters(1)[0].token)
    said = []
    for _ in range(2):
        is_long = "This text is long (10,000 characters)" in page.text
        assert is_long == (len(shown(page.text)) == 10_000)
        said.append(is_long)
        page = visitor.answer(page, 3)
    assert sorted(said) == [False, True]


def test_undo_with_nothing_to_undo(make: Make, visit: Visit) -> None:
    study = make(1)
    visitor = visit(study)
    page = visitor.start(study.add_raters(1)[0].token)
    csrf = re.search(r'name="csrf" value="(\w+)"', page.text)
    assert csrf
    page = visitor.client.post("/undo", data={"csrf": csrf.group(1)})
    assert page.status_code == 409
    assert "nothing to undo" in page.text


def test_undo_of_the_very_last_answer(make: Make, visit: Visit) -> None:
    study = make(1)
    visitor = visit(study)
    page = visitor.answer(visitor.start(study.add_raters(1)[0].token), 5)
    assert state(page) == "done"
    assert state(visitor.send(page, "/undo")) == "task"


def test_without_a_choice_the_task_is_shown_again(make: Make, visit: Visit) -> None:
    study = make([Item("a", ("left", "right"), systems=("A", "B"))], kind="pair")
    visitor = visit(study)
    page = visitor.start(study.add_raters(1)[0].token)
    page = visitor.answer(page, 4, score_2=None)
    assert page.status_code == 422
    assert "Choose an answer for every response first." in page.text
    assert re.search(r'name="score_1" value="4" required checked>', page.text)
    assert page.text.count(" checked>") == 1
    assert study.table() == []
    assert state(visitor.answer(page, 4, 2)) == "done"


def test_pairs_are_blind_and_scores_reach_their_texts(make: Make, visit: Visit) -> None:
    items = [Item(f"i{n}", (f"good {n}", f"bad {n}"), systems=("Sys-Alpha", "Sys-Beta")) for n in range(12)]
    study = make(items, kind="pair", raters=1)
    visitor = visit(study)
    page = visitor.start(study.add_raters(1)[0].token)
    orders = set()
    while state(page) == "task":
        assert "Sys-" not in page.text
        texts = [shown(page.text, part) for part in (1, 2)]
        orders.add(texts[0].startswith("good"))
        page = visitor.answer(page, *[5 if text.startswith("good") else 1 for text in texts])
    assert orders == {True, False}
    assert {(row.system, row.score) for row in study.table()} == {("Sys-Alpha", 5), ("Sys-Beta", 1)}
    assert len(study.table()) == 24


def test_practice_with_feedback(make: Make, visit: Visit) -> None:
    practice = (
        example("practice", ("fine",), (), "how are you?", ((4, 5),), "It **answers**."),
        example("practice", ("blue",), (), "how are you?", ((1, 2),), ""),
    )
    study = make(2, practice=practice)
    visitor = visit(study)
    page = visitor.get(f"/r/{study.add_raters(1)[0].token}")
    assert "Start with practice" in page.text
    page = visitor.send(page, "/instructed")
    assert "for practice" in page.text
    wrong = visitor.answer(page, 1)
    assert (wrong.status_code, state(wrong)) == (200, "feedback")
    assert "We see it differently" in wrong.text
    assert "1 – very bad" in wrong.text
    assert "4 – good" in wrong.text
    assert "<strong>answers</strong>" in wrong.text
    assert "fine" in wrong.text
    again = visitor.answer(page, 1)  # the page was loaded again
    assert (again.status_code, state(again)) == (200, "feedback")
    page = visitor.get("/rate")
    page = visitor.answer(page, 2)
    assert "We agree" in page.text
    page = visitor.get("/rate")
    assert "Task 1 of" in page.text
    assert "for practice" not in page.text
    assert {row.role for row in study.table()} == {"practice"}


def test_gold_items_look_like_all_others(make: Make, visit: Visit) -> None:
    gold = tuple(example("gold", (f"gold {n}",), (), "what?", ((1, 1),)) for n in range(4))
    study = make(20, gold=Gold(0.5, gold))
    visitor = visit(study)
    page = visitor.start(study.add_raters(1)[0].token)
    seen: list[tuple[bool, str]] = []
    for number in range(12):
        assert f"Task {number + 1} of" in page.text
        is_gold = shown(page.text).startswith("gold")
        bare = re.sub(
            r'text \d+\.0|gold \d|message \d+|what\?|value="[^"]*"|data-\w+="[^"]*"|Task \d+',
            "",
            page.text,
        )
        seen.append((is_gold, bare))
        page = visitor.answer(page, 3)
    assert {is_gold for is_gold, _ in seen} == {True, False}
    assert len({bare for _, bare in seen[1:]}) == 1
    assert not re.search(r'"[^"]*gold[^"]*"', page.text)


def test_too_early(make: Make, visit: Visit) -> None:
    study = make(1, minimum_seconds=60)
    visitor = visit(study)
    page = visitor.answer(visitor.start(study.add_raters(1)[0].token), 4)
    assert page.status_code == 429
    assert page.headers["retry-after"] == "1"
    assert "That was quick" in page.text
    assert re.search(r'value="4" required checked>', page.text)
    assert study.table() == []


def test_paused_and_resumed(make: Make, visit: Visit) -> None:
    study = make(3)
    visitor = visit(study)
    page = visitor.start(study.add_raters(1)[0].token)
    study.pause()
    page = visitor.answer(page, 4)  # what is out is still kept
    assert state(page) == "paused"
    assert len(study.table()) == 1
    study.resume()
    assert state(visitor.get("/rate")) == "task"


def test_excluded(make: Make, visit: Visit) -> None:
    study = make(3)
    new = study.add_raters(1)[0]
    visitor = visit(study)
    page = visitor.start(new.token)
    study.exclude(new.rater.id, reason="too fast")
    assert state(visitor.get("/rate")) == "excluded"
    assert "too fast" not in visitor.get("/rate").text
    page = visitor.answer(page, 4)
    assert state(page) == "excluded"
    assert [row.counted for row in study.table()] == [False]


def test_the_button_is_there_only_if_there_is_something_to_undo(make: Make, visit: Visit) -> None:
    first = make(2, raters=2)
    new = first.add_raters(1)[0]
    before = visit(first)
    page = before.answer(before.answer(before.start(new.token), 5), 4)
    assert "/undo" in page.text
    page = before.answer(before.send(page, "/undo"), 3)
    # Answers of another study cannot be taken back.
    second = make([*(stored.item for stored in first.items()), Item("new", ("n",))], raters=2)
    carry(second, first)
    visitor = visit(second)
    page = visitor.get(f"/r/{new.token}")
    page = page if state(page) == "task" else visitor.send(page, "/instructed")
    assert (state(page), "Task 3 of" in page.text, "/undo" in page.text) == ("task", True, False)
    page = visitor.answer(page, 4)
    assert (state(page), "/undo" in page.text) == ("done", True)


def test_an_answer_before_consent_is_refused(make: Make, visit: Visit) -> None:
    study = make(2, raters=1, consent="I agree.")
    visitor = visit(study)
    page = visitor.get(f"/r/{study.add_raters(1)[0].token}")
    assert state(page) == "consent"
    csrf = re.search(r'name="csrf" value="([^"]*)"', page.text)
    assert csrf
    data = {"csrf": csrf[1], "task": "1", "key": "1-0", "score_1": "5"}
    refused = visitor.client.post("/answer", data=data)
    assert refused.status_code == 403
    assert "Your consent comes first" in refused.text
    assert study.table() == []
    assert {row.kind for row in study.log()} == {"joined"}


def test_what_others_have_may_come_back(make: Make, visit: Visit, monkeypatch: pytest.MonkeyPatch) -> None:
    study = make(2, raters=1, lease_minutes=10, completion=Completion("XYZ-1", "https://example.org/done"))
    mine, other = study.add_raters(2)
    now = study.log()[0].at
    monkeypatch.setattr("trubleu.rating.study.Study.now", lambda _: now)
    visitor, second = visit(study), visit(study)
    page = visitor.start(mine.token)
    theirs = second.start(other.token)
    page = visitor.answer(page, 4)
    assert "Nothing to rate at the moment" in page.text
    assert "within 10 minutes" in page.text
    assert "XYZ-1" not in page.text + theirs.text
    assert "example.org/done" not in page.text
    assert "Look again" in page.text
    now += 9 * 60_000
    assert "within 1 minute," in visitor.get("/rate").text
    # Who goes on looking at a task keeps it, and nobody waits for them for ever.
    assert state(second.get("/rate")) == "task"
    now += 60_000
    page = visitor.get("/rate")
    assert "Thank you" in page.text
    assert "XYZ-1" in page.text
    assert "The remaining tasks are with other raters" in page.text
    # What does come back is handed out.
    now += 10 * 60_000
    page = visitor.get("/rate")
    assert state(page) == "task"
    page = visitor.answer(page, 2)
    assert "There is nothing left for you to rate. You answered 2 tasks" in page.text
    assert "XYZ-1" in page.text


def test_who_could_judge_nothing_gets_no_code(make: Make, visit: Visit) -> None:
    study = make(2, completion=Completion("XYZ-1"))
    visitor = visit(study)
    page = visitor.start(study.add_raters(1)[0].token)
    for _ in range(2):
        page = visitor.answer(page, unable=1)
    assert (state(page), "XYZ-1" in page.text) == ("done", False)
    assert "you have not rated anything, so there is no completion code" in page.text
    page = visitor.answer(visitor.send(page, "/undo"), 3)
    assert (state(page), "XYZ-1" in page.text) == ("done", True)


def test_practice_earns_no_code(make: Make, visit: Visit) -> None:
    study = make(
        1, raters=1, practice=(example("practice", ("fine",), (), None, ((4, 5),)),), completion=Completion("XYZ")
    )
    first, second = study.add_raters(2)
    visitor = visit(study)
    visitor.answer(visitor.start(first.token), 4)
    visitor.answer(visitor.get("/rate"), 4)
    other = visit(study)
    other.answer(other.start(second.token), 4)
    page = other.get("/rate")
    assert (state(page), "XYZ" in page.text) == ("done", False)
    assert "XYZ" in visitor.get("/rate").text


def test_who_has_rated_as_much_as_allowed_is_done(make: Make, visit: Visit) -> None:
    study = make(5, most_ratings_per_rater=2, completion=Completion("XYZ-1"))
    visitor = visit(study)
    page = visitor.answer(visitor.start(study.add_raters(1)[0].token), 4)
    assert "XYZ-1" not in page.text
    page = visitor.answer(page, 4)
    assert (state(page), "XYZ-1" in page.text) == ("done", True)


def test_answers_of_another_study_earn_no_code(make: Make, visit: Visit) -> None:
    first = make(1, raters=1)
    new = first.add_raters(1)[0]
    visitor = visit(first)
    assert "Thank you" in visitor.answer(visitor.start(new.token), 4).text
    second = make([first.items()[0].item], raters=1, completion=Completion("XYZ-1"))
    carry(second, first)
    visitor = visit(second)
    page = visitor.get(f"/r/{new.token}")
    page = page if state(page) == "done" else visitor.send(page, "/instructed")
    assert (state(page), "XYZ-1" in page.text) == ("done", False)


def test_nothing_to_rate_gives_no_code(make: Make, visit: Visit) -> None:
    study = make(1, raters=1, completion=Completion("XYZ-1"))
    first, second = study.add_raters(2)
    visitor = visit(study)
    visitor.answer(visitor.start(first.token), 4)
    page = visit(study).start(second.token)
    assert state(page) == "done"
    assert "Nothing to rate" in page.text
    assert "XYZ-1" not in page.text


def test_instructions_again(make: Make, visit: Visit) -> None:
    study = make(1)
    visitor = visit(study)
    visitor.start(study.add_raters(1)[0].token)
    page = visitor.get("/instructions")
    assert state(page) == "instructions"
    assert "/instructed" not in page.text


OURS = {
    "html", "head", "meta", "title", "link", "script", "body", "a", "header", "span", "div", "main", "h1", "h2",
    "progress", "section", "ol", "li", "form", "input", "fieldset", "legend", "label", "button", "p", "kbd",
    "details", "summary",
}  # fmt: skip
NASTY = [
    '<script>alert("x")</script>',
    '"><img src=x onerror=alert(1)>',
    "</textarea></form><form action=https://evil.example>",
    "{{ 7 * 7 }} {% raise %} ${7*7}",
    "&lt;b&gt; &#0; &amp;",
    "a\x00b\x01c\x1b[31md\x7fe\x85f",
    "\u202eevil\u2066 rtl \u05d0\u05d1 \u0627\u0644",
    "👩‍👩‍👧‍👦 🇺🇳 é",
    "lone \ud83d surrogate",
    "x" * 20_000,
    "word " * 4000,
    "line\r\nline\rline\n\nend",
    "",
    "   ",
]


@pytest.mark.parametrize("text", NASTY, ids=range(len(NASTY)))
def test_texts_are_shown_as_text(text: str, make: Make, visit: Visit) -> None:
    wording = text.encode("utf-8", "replace").decode()  # settings are UTF-8
    question = Question(wording.strip() or "?", (wording[:99] + "1", *"2345"))
    study = make([Item("i", (text,), context=(text, "b"), message=text)], questions=(question,))
    visitor = visit(study)
    page = visitor.start(study.add_raters(1)[0].token)
    assert page.status_code == 200
    assert shown(page.text) == visible(text)
    turns = [unescape(turn) for turn in re.findall(r'<div class="turn" dir="auto">(.*?)</div>', page.text, re.DOTALL)]
    assert turns == [visible(text), "b", visible(text)]
    assert not re.search("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]", page.text)
    tags = set(re.findall(r"<(\w+)", page.text))
    assert tags <= OURS
    assert page.text.count("<script") == 1
    assert state(visitor.answer(page, 3)) == "done"


UNSEEN = "\u180e\u200b\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\U000e0000-\U000e007f"


@given(
    st.text(st.characters(codec=None) | st.sampled_from("\u200b\u200c\u200d\u202e\u2066\u2069\ufeffa\u0628\u0915🔬"))
)
def test_visible_text_can_be_sent_and_loses_no_plain_character(text: str) -> None:
    seen = visible(text)
    seen.encode()
    assert not re.search(f"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff{UNSEEN}]", seen)
    assert not re.search("[ -~\u200c\u200d][\u200c\u200d]", seen)
    if not re.search(f"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff{UNSEEN}\u200c\u200d]", text):
        assert seen == text


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("I am \u202enot\u202c sure", "I am \\u202enot\\u202c sure"),
        ("\u2066a\u2069", "\\u2066a\\u2069"),
        ("\ufeffgo\u200bod\u2060", "\\ufeffgo\\u200bod\\u2060"),
        ("go\u200dod\u200c", "go\\u200dod\\u200c"),
        ("\u200dx", "\\u200dx"),
        ("hi\U000e0041", "hi\\U000e0041"),
    ],
)
def test_what_cannot_be_seen_is_shown(text: str, seen: str) -> None:
    assert visible(text) == seen


@pytest.mark.parametrize(
    "text",
    [
        "👩\u200d👩\u200d👧\u200d👦 ❤\ufe0f\u200d🔥 👩🏽\u200d🔬 🏳\ufe0f\u200d🌈 👁\ufe0f\u200d🗨\ufe0f",
        "🏴\U000e0067\U000e0062\U000e0077\U000e006c\U000e0073\U000e007f",  # Wales
        "می\u200cخواهم",  # Persian, with a joiner that keeps letters apart
        "क\u094d\u200dष ക\u0d4d\u200c",  # Hindi, Malayalam
        "\u200eABC\u200f \u05d0\u05d1 \u061c",  # marks of direction
    ],
)
def test_what_scripts_and_emoji_need_stays(text: str) -> None:
    assert visible(text) == text


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("<script>x</script>", "&lt;script&gt;"),
        ("[x](javascript:alert(1))", "[x](javascript:alert(1))"),
        ("[x](JaVaScRiPt:alert(1))", "[x](JaVaScRiPt:alert(1))"),
        ("[x](data:text/html,<script>)", "[x]("),
        ("[x](https://example.org)", '<a href="https://example.org" rel="noopener noreferrer" target="_blank">x</a>'),
        ('[x](https://a"onmouseover=alert)', "%22onmouseover"),
        ("# Heading", "<h2>Heading</h2>"),
        ("| a | b |\n|---|---|\n| 1 | 2 |", "<td>1</td>"),
        ("<b onclick=x>b</b>", "&lt;b onclick=x&gt;"),
    ],
)
def test_markdown_is_safe(text: str, part: str) -> None:
    found = str(markdown(text))
    assert part in found
    assert not re.search(r"<(?!/?(p|a|h2|table|thead|tbody|tr|th|td|strong|em)\b)", found)


def test_a_ranking_without_scripts(make: Make, visit: Visit) -> None:
    items = [Item(f"{n}#A:B:C", ("a", "b", "c"), segment=str(n), systems=("A", "B", "C")) for n in range(2)]
    study = make(items, kind="ranking", outputs=3, raters=1)
    (new,) = study.add_raters(1)
    visitor = visit(study)
    page = visitor.start(new.token)
    assert state(page) == "task"
    assert page.text.count('form="answer"') == 3 * 3 + 3
    page = visitor.answer(page, 1, 2)
    assert page.status_code == 422
    assert "Give every response a rank first." in page.text
    assert len(re.findall(r"checked", page.text)) == 2, "what was chosen stays"
    assert study.table() == []
    assert visitor.answer(page, 1, 2, 4).status_code == 422
    page = visitor.answer(page, 2, 2, 1)
    assert "Task 2 of" in page.text
    assert sorted(row.score or 0 for row in study.table()) == [1, 2, 2]
    page = visitor.send(page, "/undo")
    assert re.findall(r'name="(score_\d)" value="(\d)"[^>]*checked', page.text) == [
        ("score_1", "2"), ("score_2", "2"), ("score_3", "1"),
    ]  # fmt: skip


def test_the_number_of_tasks_is_a_fair_share(make: Make, visit: Visit) -> None:
    study = make(30, raters=2)
    people = study.add_raters(4)

    visitor = visit(study)
    visitor.start(people[0].token)

    def heading() -> str:
        page = visitor.get("/rate")
        return re.search(r"<h1[^>]*>(.*?)</h1>", page.text).group(1)  # type: ignore[union-attr]

    assert heading() == "Task 1 of about 15"
    study.exclude(people[3].rater.id, reason="a rehearsal")
    assert heading() == "Task 1 of about 20"
    for person in people[1:3]:
        study.exclude(person.rater.id, reason="a rehearsal")
    assert heading() == "Task 1 of about 30"  # nobody rates an item twice


def test_the_number_of_tasks_has_a_limit(make: Make, visit: Visit) -> None:
    study = make(30, raters=2, most_ratings_per_rater=10)
    people = study.add_raters(4)
    assert "Task 1 of 10<" in visit(study).start(people[0].token).text
    study.add_raters(6)
    assert "Task 1 of about 6<" in visit(study).start(people[1].token).text

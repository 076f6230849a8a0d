"""Settings: what is written is read again, and every mistake is said with its line."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trubleu.errors import DataError
from trubleu.rating import StudyConfig, config_text, default_config_text, parse_config, read_config
from trubleu.rating.config import (
    PROLIFIC_KEYS,
    RESERVED,
    Completion,
    Consequence,
    Entry,
    Gold,
    GoldRule,
    Kind,
    Pay,
    Prolific,
    Question,
    example,
)

if TYPE_CHECKING:
    from pathlib import Path

HEAD = "title: T\nkind: response\n"
TWO = HEAD + "questions:\n- {name: a, question: A}\n- {name: b, question: B, points: 2}\n"

TEXTS = st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), max_size=30)
FULL_TEXTS = TEXTS.filter(lambda text: text.strip() != "")
NAMES = st.from_regex(r"[a-zß][a-z0-9 ._-]{0,20}[a-z0-9]", fullmatch=True).filter(lambda name: name not in RESERVED)
NUMBERS = st.integers(0, 10_000).map(lambda number: number / 1000)


@st.composite
def examples(draw: st.DrawFn, role: str, parts: int, points: list[int]) -> tuple[object, ...]:
    made = {}
    for _ in range(draw(st.integers(0, 3))):
        some = [tuple(sorted(draw(st.tuples(st.integers(1, each), st.integers(1, each))))) for each in points]
        every = len(points) // parts  # questions; of several, all but the first of each text may go without
        ranges = tuple(
            span if every == 1 or at % every == 0 or draw(st.booleans()) else None for at, span in enumerate(some)
        )
        item = example(
            role,  # type: ignore[arg-type]
            tuple(draw(TEXTS) for _ in range(parts)),
            tuple(draw(st.lists(TEXTS, max_size=2))),
            draw(st.none() | TEXTS),
            ranges if role == "gold" or draw(st.booleans()) else None,  # type: ignore[arg-type]
            draw(TEXTS) if role == "practice" else "",
        )
        made[item.key] = item
    return tuple(made.values())


def storable(text: str) -> bool:
    return "\0" not in text


@st.composite
def questions(draw: st.DrawFn) -> tuple[Question, ...]:
    number = draw(st.integers(1, 3))
    names = draw(st.lists(NAMES, min_size=number, max_size=number, unique=True))
    made = []
    for name in names:
        points = draw(st.integers(2, 11))
        how_many = draw(st.sampled_from([0, 2, points]))
        labels = tuple(draw(st.lists(FULL_TEXTS, min_size=how_many, max_size=how_many, unique=True)))
        made.append(Question(draw(FULL_TEXTS), labels, name, draw(st.booleans()), points))
    if number == 1 and draw(st.booleans()):
        made[0] = replace(made[0], name="")
    return tuple(made)


@st.composite
def golds(draw: st.DrawFn, parts: int, points: list[int]) -> Gold:
    items: tuple[Any, ...] = draw(examples("gold", parts, points))
    share = draw(st.integers(0, 900)) / 1000
    if not items or not share or draw(st.booleans()):
        return Gold(share, items)
    then: Consequence = draw(st.sampled_from(["exclude", "stop", "flag"]))
    return Gold(share, items, None, GoldRule(then, draw(st.integers(1, len(items))), draw(st.integers(1, 100)) / 100))


PROLIFIC = st.sampled_from(
    [False, "unverified", Prolific("keys.json"), Prolific(PROLIFIC_KEYS, "5f0c", "rate.example.org")]
)


@st.composite
def configs(draw: st.DrawFn) -> StudyConfig:
    kind: Kind = draw(st.sampled_from(["response", "pair", "ranking"]))
    outputs = draw(st.integers(2, 8)) if kind == "ranking" else 0
    asked = (Question(draw(FULL_TEXTS)),) if kind == "ranking" else draw(questions())
    parts = {"response": 1, "pair": 2, "ranking": outputs}[kind]
    points = [outputs or question.points for question in asked] * parts
    return StudyConfig(
        title=draw(FULL_TEXTS.filter(lambda text: "\0" not in text)),
        kind=kind,
        outputs=outputs,
        raters=draw(st.integers(1, 1000)),
        questions=asked,
        weights=draw(st.sampled_from(["mean", *(question.name for question in asked if question.name)])),
        instructions=draw(FULL_TEXTS),
        consent=draw(st.none() | FULL_TEXTS),
        comments=draw(st.booleans()),
        reasons=tuple(draw(st.lists(FULL_TEXTS.map(str.strip).filter(storable), max_size=9, unique=True))),
        practice=draw(examples("practice", parts, points)),  # type: ignore[arg-type]
        gold=draw(golds(parts, points)),
        minimum_seconds=draw(NUMBERS),
        lease_minutes=draw(NUMBERS) + 0.5,
        entry=draw(
            st.builds(Entry, st.booleans(), st.none() | st.just("secret code"), PROLIFIC, st.booleans()).filter(
                lambda entry: entry != Entry(links=False)
            )
        ),
        completion=Completion(draw(st.none() | FULL_TEXTS), draw(st.none() | st.just("https://example.org/?a=b#c"))),
        on_complete=draw(st.sampled_from([None, "https://example.org/hook", "notify-send 'it is done'"])),
        most_ratings_per_rater=draw(st.none() | st.integers(1, 10**9)),
        allocation="even" if kind == "ranking" else draw(st.sampled_from(["even", "adaptive"])),
        pay=Pay(draw(FULL_TEXTS), draw(NUMBERS), draw(NUMBERS) + 0.5),
        seed=draw(st.integers(0, 2**48)),
    )


@given(configs())
def test_what_is_written_is_read_again(config: StudyConfig) -> None:
    assert parse_config(config_text(config)) == config


def test_questions_may_share_their_labels() -> None:
    config = StudyConfig("T", "response", questions=(Question("A", name="a"), Question("B", name="b")))
    assert parse_config(config_text(config)) == config


@pytest.mark.parametrize("text", ["a\n\n", "\na\n\n\n", " a\n b\n\n", "a\n \n"])
def test_texts_may_end_with_an_empty_line(text: str) -> None:
    practice = (example("practice", ("\n",), (), text, None, text),)
    config = StudyConfig("T", "response", instructions=text, consent=text, practice=practice)
    assert parse_config(config_text(config)) == config


def test_a_range_may_be_left_empty() -> None:
    config = parse_config(TWO + "practice:\n- {response: x, accepted: {a: [1, 2], b: }}\n")
    assert config.practice[0].accepted == ((1, 2), None)


@given(FULL_TEXTS.map(lambda text: text.replace("\r", "\n") + "\n"))
def test_texts_of_many_lines_are_read_again(text: str) -> None:
    config = StudyConfig("T", "response", instructions=text)
    assert parse_config(config_text(config)).instructions == text


@pytest.mark.parametrize("kind", ["response", "pair"])
def test_defaults_are_those_of_a_file_with_only_title_and_kind(kind: Kind) -> None:
    assert parse_config(default_config_text(kind)) == parse_config(f"title: Rate responses\nkind: {kind}\n")
    assert "# " in default_config_text(kind)


def test_all_settings_are_read() -> None:
    config = parse_config(
        """\
title: Good answers
kind: pair
raters: 3
scale:
  question: Well?
  labels: [1, 2, 3, 4, "5"]
instructions: |
  # Read
  this
consent: I agree.
practice:
  - context: [hi, ho]
    message: and?
    responses: [yes, "no"]
    accepted: [[4, 5], [1, 2]]
    feedback: Well done.
gold:
  share: 0.25
  items:
    - {responses: [a, b], accepted: [1, 2]}
minimum_seconds: 1.5
lease_minutes: 5
entry: {links: no, code: blue whale, prolific: unverified, mturk: true}
completion: {code: DONE, url: "https://example.org"}
most_ratings_per_rater: 50
pay: {currency: EUR, per_hour: 12, seconds_per_item: 30}
seed: 7
"""
    )
    assert config.questions == (Question("Well?", ("1", "2", "3", "4", "5")),)
    assert config.instructions == "# Read\nthis\n"
    (practice,) = config.practice
    assert (practice.texts, practice.context, practice.message) == (("yes", "no"), ("hi", "ho"), "and?")
    assert (practice.accepted, practice.feedback, practice.role) == (((4, 5), (1, 2)), "Well done.", "practice")
    assert config.gold.items[0].accepted == ((1, 2), (1, 2))
    assert (config.gold.share, config.minimum_seconds, config.lease_minutes) == (0.25, 1.5, 5)
    assert config.entry == Entry(links=False, code="blue whale", prolific="unverified", mturk=True)
    assert config.completion == Completion("DONE", "https://example.org")
    assert (config.most_ratings_per_rater, config.pay, config.seed) == (50, Pay("EUR", 12, 30), 7)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "study.yaml is empty; write at least title and kind"),
        ("# only a comment\n", "study.yaml is empty; write at least title and kind"),
        ("hello", "study.yaml:1: the file must have fields (title, kind, "),
        ("kind: pair\n", "study.yaml:1: the file has no title; add it"),
        ("title:\nkind: pair\n", "study.yaml:1: the file has no title; add it"),
        ("title: T\n", "study.yaml:1: the file has no kind; add it"),
        ("title: T\nkind: pairs\n", "study.yaml:2: kind must be 'response', 'pair' or 'ranking', not 'pairs'"),
        (HEAD + "allocation: odd\n", "study.yaml:3: allocation must be 'even' or 'adaptive', not 'odd'"),
        (
            HEAD + "models_count: true\nallocation: adaptive\n",
            "study.yaml:4: allocation must be even where models_count is true",
        ),
        (
            "title: T\nkind: ranking\noutputs: 3\nallocation: adaptive\n",
            "study.yaml:4: allocation must be even in a study of kind ranking",
        ),
        (HEAD + "titel: x\n", "study.yaml:3: titel is not a setting; did you mean title?"),
        (HEAD + "title: x\n", "study.yaml:3: title is given twice; keep one of them"),
        (HEAD + "[a]: x\n", "study.yaml:3: ? is not a setting; known: title"),
        (HEAD + "scale:\n  label: [a]\n", "study.yaml:4: scale.label is not a setting; did you mean labels?"),
        (HEAD + "raters: 0\n", "study.yaml:3: raters must be a whole number from 1 to 1,000, not '0'"),
        (HEAD + "raters: 2.5\n", "study.yaml:3: raters must be a whole number from 1 to 1,000, not '2.5'"),
        (HEAD + "raters: [3]\n", "study.yaml:3: raters must be a whole number from 1 to 1,000, not a list"),
        (
            HEAD + "scale:\n  labels: []\n",
            "study.yaml:4: scale.labels must be texts from worst to best; to have no labels, give points",
        ),
        (
            "title: T\nkind: pair\npractice:\n- {responses: []}\n",
            "study.yaml:4: practice[1].responses must be 2 texts, not 0",
        ),
        (
            HEAD + "scale:\n  labels: [a]\n",
            "study.yaml:4: scale.labels must be 2 to 11 texts from worst to best, not 1",
        ),
        (
            HEAD + "scale:\n  points: 7\n  labels: [a, b, c]\n",
            "study.yaml:5: scale.labels must be 2 to 11 texts from worst to best, not 3; with points, as",
        ),
        (HEAD + "scale: {points: 12}\n", "study.yaml:3: scale.points must be a whole number from 2 to 11, not '12'"),
        (HEAD + "scale:\n  labels: [a, b, c, d, d]\n", "study.yaml:4: scale.labels must be different texts"),
        (
            HEAD + "scale: 5\n",
            "study.yaml:3: scale must have fields (question, labels, name, required, points), not '5'",
        ),
        (HEAD + "scale: {points: 3}\nquestions: []\n", "study.yaml:4: questions and scale are both given; keep one"),
        (HEAD + "questions: []\n", "study.yaml:3: questions must be 1 to 12 questions, not 0"),
        (
            HEAD + "questions:\n- {name: a, question: A}\n- {name: b}\n",
            "study.yaml:5: questions[2] has no question; add",
        ),
        (
            HEAD + "questions:\n- {question: A}\n- {name: b, question: B}\n",
            "study.yaml:4: questions[1] has no name; add",
        ),
        (
            HEAD + "questions:\n- {name: a, question: A}\n- {name: a, question: B}\n",
            "study.yaml:5: questions[2].name is 'a', as of another question; choose another one",
        ),
        (
            HEAD + "questions: [{name: mean}]\n",
            "study.yaml:3: questions[1].name must be a word other than mean, item, system, ",
        ),
        (HEAD + "questions: [{name: 'a,b'}]\n", "questions[1].name must be at most 40 letters, digits, spaces"),
        (TWO + "weights: c\n", "study.yaml:6: weights must be mean or the name of a question, not 'c'"),
        (
            TWO + "practice: [{response: x, accepted: [1, 2]}]\n",
            "study.yaml:6: practice[1].accepted must say which question each range is for, such as {a: [1, 2]}",
        ),
        (
            TWO + "practice: [{response: x, accepted: {b: [1, 3]}}]\n",
            "study.yaml:6: practice[1].accepted.b must be the lowest and the highest score, from 1 to 2, as",
        ),
        (
            TWO + "practice: [{response: x, accepted: {}}]\n",
            "practice[1].accepted must say which question each range is for, such as {a: ",
        ),
        (HEAD + "reasons: [a, a]\n", "study.yaml:3: reasons must be at most 9 different texts of at most 200"),
        (HEAD + "on_complete: 'ftp://x/'\n", "study.yaml:3: on_complete must be an address that begins with https://"),
        (HEAD + "on_complete: echo 'a\n", "or a command whose quotation marks are closed, not"),
        (
            HEAD + f"reasons: [{'x' * 201}]\n",
            "study.yaml:3: reasons must be at most 9 different texts of at most 200 ",
        ),
        (HEAD + "comments: maybe\n", "study.yaml:3: comments must be true or false, not 'maybe'"),
        (HEAD + "instructions: '  '\n", "study.yaml:3: instructions must have some text, not '  '"),
        (HEAD + "practice: 3\n", "study.yaml:3: practice must be a list, not '3'"),
        (HEAD + "practice:\n- message: a\n", "study.yaml:4: practice[1] has no response; add it"),
        (
            HEAD + "practice:\n- response: a\n- responses: [a, b]\n",
            "study.yaml:5: practice[2].responses does not fit the kind of study; write response",
        ),
        (HEAD + "practice:\n- response: a\n- response: a\n", "study.yaml:5: practice[2] is there twice; remove one"),
        (HEAD + "gold: {items: [{response: a}]}\n", "study.yaml:3: gold.items[1] has no accepted; add it"),
        (
            HEAD + "gold: {items: [{response: a, accepted: [4, 2]}]}\n",
            "gold.items[1].accepted must be the lowest and the highest score, from 1 to 5, as [1, 2], not [4, 2]",
        ),
        (
            HEAD + "gold: {items: [{response: a, accepted: [4]}]}\n",
            "accepted must be the lowest and the highest score, from 1 to 5, as [1, 2], not [4]",
        ),
        (
            HEAD + "gold: {items: [{response: a, accepted: [0, 6]}]}\n",
            "gold.items[1].accepted must be the lowest and the highest score, from 1 to 5, as [1, 2], not [0, 6]",
        ),
        (HEAD + "gold: {share: 2}\n", "study.yaml:3: gold.share must be a number from 0 to 0.9, not '2'"),
        (HEAD + "gold: {share: .nan}\n", "study.yaml:3: gold.share must be a number from 0 to 0.9, not '.nan'"),
        (
            HEAD + "gold: {items: [{response: a, accepted: [1, 1]}], file: a}\n",
            "study.yaml:3: gold.file and gold.items are both given; keep one",
        ),
        (HEAD + "gold: {file: none.jsonl}\n", "none.jsonl: there is no such file; check the path"),
        (HEAD + "entry: {links: maybe}\n", "study.yaml:3: entry.links must be true or false, not 'maybe'"),
        (HEAD + "entry: {prolific: maybe}\n", "study.yaml:3: entry.prolific must be true or false, not 'maybe'"),
        (
            HEAD + "entry: {prolific: {}}\n",
            "study.yaml:3: entry.prolific has no verify; add it",
        ),
        (
            HEAD + "entry: {prolific: {verify: 'http://x/'}}\n",
            "verify must be an address that begins with https://, or",
        ),
        (HEAD + "entry: {prolific: {verify: k, keys: 1}}\n", "study.yaml:3: entry.prolific.keys is not a setting"),
        (HEAD + "entry: {prolific: {verify: k, audience: a b}}\n", "audience must be a host such as rate.example.org"),
        (
            HEAD + "gold:\n  items:\n  - {response: a, accepted: [1, 2], feedback: No.}\n",
            "study.yaml:5: gold.items[1].feedback is for practice items, so that nobody notices gold items",
        ),
        (HEAD + "gold: {rule: {at_least: 1}}\n", "study.yaml:3: gold.rule has no then; add it"),
        (HEAD + "gold: {rule: {then: ban}}\n", "gold.rule.then must be 'exclude', 'stop' or 'flag', not 'ban'"),
        (HEAD + "gold: {rule: {then: flag}}\n", "gold.rule begins after 5 gold items, but there are 0, each used once"),
        (HEAD + "gold: {rule: {then: flag, share: 70}}\n", "gold.rule.share must be a number from 0.01 to 1, not '70'"),
        (
            HEAD + "gold: {share: 0, items: [{response: a, accepted: [1, 2]}], rule: {then: flag, at_least: 1}}\n",
            "gold.rule needs gold items among the tasks, but gold.share is 0; raise it",
        ),
        (HEAD + "entry: {code: 1234567}\n", "study.yaml:3: entry.code must have at least 8 characters"),
        (
            HEAD + "entry:\n  links: false\n",
            "study.yaml:3: entry lets nobody in; set links or mturk to true, or give a code or prolific",
        ),
        ('kind: pair\ntitle: "a\\0b"\n', "study.yaml:2: title must be without NUL"),
        (HEAD + "completion: {url: 'https://'}\n", "study.yaml:3: completion.url must be an address that begins with "),
        (
            HEAD + "completion: {url: 'https://a b'}\n",
            "study.yaml:3: completion.url must be an address that begins with",
        ),
        (
            HEAD + "completion: {url: 'javascript:x'}\n",
            "completion.url must be an address that begins with https:// or http:// and",
        ),
        (HEAD + "consent: [a]\n", "study.yaml:3: consent must be a text, not a list"),
        (HEAD + "instructions: a\n  b: c\n", "study.yaml:4: this is not YAML: mapping values are not allowed"),
        (HEAD + 'consent: "open\n', "this is not YAML: "),
        (HEAD + "consent: !!python/name:os.system x\n", ""),
        (HEAD + "consent: &a x\ninstructions: *a\n", "study.yaml:4: the alias *a cannot be used in settings; repeat"),
        (HEAD + "practice: " + "[" * 50 + "]" * 50, "study.yaml:3: this is nested too deeply for settings"),
        (HEAD + "consent: " + "x" * 1_000_000, "study.yaml has 1,000,033 characters, and settings may have 1,000,000"),
        (HEAD + "\x00", "study.yaml"),
        ("a: 1\n---\nb: 2\n", "study.yaml:2: this is not YAML: but found another document"),
    ],
)
def test_mistakes_are_said_with_their_line(text: str, message: str) -> None:
    if not message:
        assert parse_config(text).consent == "x"  # a tag changes nothing: no value is ever made of it
        return
    with pytest.raises(DataError) as raised:
        parse_config(text)
    assert message in str(raised.value)
    assert "\n" not in str(raised.value)


@given(st.text(max_size=60) | st.lists(st.sampled_from([*"[]{}:-&*!|>'\"# \n", "title: T\n", "gold: "])).map("".join))
def test_any_text_is_read_or_refused_in_one_sentence(text: str) -> None:
    try:
        parse_config(text)
    except DataError as error:
        assert "\n" not in str(error)  # noqa: PT017


def test_gold_can_come_from_a_file_beside_the_settings(tmp_path: Path) -> None:
    (tmp_path / "gold.jsonl").write_text(
        '{"response": "a", "accepted": [1, 2]}\n\n{"id": 3, "context": ["c"], "message": "m", "response": "b",'
        ' "accepted": [4, 5]}\n'
    )
    (tmp_path / "study.yaml").write_text(HEAD + "gold: {file: gold.jsonl}\n")
    gold = read_config(tmp_path / "study.yaml").gold
    assert gold.file == "gold.jsonl"
    assert [(item.texts, item.accepted, item.context, item.role) for item in gold.items] == [
        (("a",), ((1, 2),), (), "gold"),
        (("b",), ((4, 5),), ("c",), "gold"),
    ]


@pytest.mark.parametrize(
    ("kind", "line", "message"),
    [
        ("response", '{"response": "a"}', "gold.jsonl:1: the gold item has no accepted; add it"),
        (
            "response",
            '{"response": "a", "accepted": [2, 1]}',
            "accepted must be the lowest and the highest score, from 1 to 5, as [1, 2], not [2, 1]",
        ),
        (
            "response",
            '{"response": "a", "accepted": [1, true]}',
            "accepted must be the lowest and the highest score, from 1 to 5, as [1, 2], not [1, true]",
        ),
        ("response", '{"accepted": [1, 2]}', "the gold item has no response; add it"),
        (
            "response",
            '{"response": "a", "accept": [1, 2]}',
            "accept is not a setting; did you mean accepted",
        ),
        (
            "response",
            '{"response": "a", "accepted": [1, 2], "feedback": "No."}',
            "gold.jsonl:1: feedback is for practice items, so that nobody notices gold items; leave it out",
        ),
        ("pair", '{"responses": ["a"], "accepted": [1, 2]}', "gold.jsonl:1: responses must be 2 texts, not 1"),
        (
            "pair",
            '{"responses": ["a", "b"], "accepted": [[1, 2]]}',
            "accepted must be one for each of 2 responses, such as [[1, 2], [1, 2]]",
        ),
        ("response", "", "has no gold items; add some or leave gold.file out"),
        (
            "response",
            '{"response": "a", "accepted": [1, 1]}\n{"response": "a", "accepted": [1, 1]}',
            "gold.jsonl:2: the gold item is there twice; remove one of them",
        ),
    ],
)
def test_mistakes_in_a_file_of_gold_items_are_said(tmp_path: Path, kind: str, line: str, message: str) -> None:
    (tmp_path / "gold.jsonl").write_text(line)
    (tmp_path / "study.yaml").write_text(f"title: T\nkind: {kind}\ngold: {{file: gold.jsonl}}\n")
    with pytest.raises(DataError) as raised:
        read_config(tmp_path / "study.yaml")
    assert message in str(raised.value)
    assert "gold.jsonl" in str(raised.value)


def test_files_that_are_no_utf8_are_refused(tmp_path: Path) -> None:
    (tmp_path / "study.yaml").write_bytes(b"title: T\nkind: \xff\n")
    with pytest.raises(
        DataError, match=r"study.yaml:2: byte 15 \(0xff\) is not valid UTF-8; convert the file to UTF-8"
    ):
        read_config(tmp_path / "study.yaml")


def test_no_more_of_a_file_is_read_than_settings_may_have(tmp_path: Path) -> None:
    (tmp_path / "study.yaml").write_text("title: T\n" * 500_000)
    with pytest.raises(DataError, match=r"study.yaml has 4,000,00\d characters, and settings may have 1,000,000"):
        read_config(tmp_path / "study.yaml")

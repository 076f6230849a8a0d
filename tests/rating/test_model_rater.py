"""A model that rates: against an endpoint that does all that can go wrong, in both databases."""

from __future__ import annotations

import asyncio
import io
import json
import math
import os
import re
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.rating.model_server import Reply, item_of, served
from trubleu.cli import main
from trubleu.errors import DataError, EndpointError, UsageError
from trubleu.rating import Imported, Item, Question, Study, StudyConfig, export_study, import_answers
from trubleu.rating.audit import audit
from trubleu.rating.carry_over import carry
from trubleu.rating.config import Gold, config_text, example, parse_config
from trubleu.rating.imports import import_ratings
from trubleu.rating.model_rater import (
    ModelOptions,
    make_prompt,
    parse_answer,
    parse_reason,
    plan_model,
    rate_with_model,
)
from trubleu.rating.store.queries import comments, model_scores
from trubleu.rating.summary import summary

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.rating.model_server import ModelServer

    Make = Callable[..., Study]

PLAIN = StudyConfig("T", "response")
in_a_file = pytest.mark.parametrize("new_url", ["sqlite"], indirect=True)  # where the database makes no difference


def asking(server: ModelServer, **settings: Any) -> ModelOptions:
    return ModelOptions(**{"url": server.url, "model": "tiny", "timeout": 5.0, "retries": 2, **settings})


def notes(study: Study) -> list[dict[str, Any]]:
    return [json.loads(row.note or "") for row in study.log() if row.kind in {"model", "refused"}]


def test_answers_are_logged_and_never_count_as_peoples(make: Make) -> None:
    study = make(6, raters=2)
    with served(lambda body, _: Reply(f'{{"score_1": {1 + len(item_of(body)["response"]) % 5}}}')) as server:
        done = rate_with_model(study, asking(server))
    assert (done.rated, done.refused, done.before, done.requests, done.tokens) == (6, 0, 0, 6, 600)
    assert done.rater.is_model
    assert done.rater.name == "tiny"
    assert [(item.counted, item.load) for item in study.items()] == [(0, 0)] * 6
    assert {row.score for row in study.table()} == {1 + len("text 0.0") % 5}
    assert all(row.model and not row.counted for row in study.table())
    for note in notes(study):
        assert (note["model"], note["asked"], note["temperature"]) == ("tiny-1", "tiny", 0.0)
        assert note["prompt"] == make_prompt(study.config).hash
        assert note["raw"] == ['{"score_1": 4}']
        assert note["scores"] == [4.0]
    assert audit(study) == []
    # People still get every item, and fill it.
    people = [new.rater.id for new in study.add_raters(2)]
    for rater in people:
        while (task := study.assign(rater)) is not None:
            assert study.answer(rater, task.assignment, (5,), key=task.client_key).counted
    assert all(item.counted == 2 for item in study.items())
    assert audit(study) == []
    (model,) = summary(study, study.now(), resamples=0).models
    assert (model.person.ratings, model.refused, model.beside.shared) == (6, 0, 6)
    assert set(study.store.read(model_scores).values()) == {(4.0,)}


def test_a_study_may_say_that_models_count(make: Make) -> None:
    study = make(3, raters=1, models_count=True)
    with served() as server:
        rate_with_model(study, asking(server))
    assert all(item.counted == 1 for item in study.items())
    assert audit(study) == []
    (study.folder / "study.yaml").write_text(config_text(replace(study.config, models_count=False)))
    with Study.open(study.folder, sync=True) as opened:
        assert all(item.counted == 0 for item in opened.items())
        assert audit(opened) == []
    (study.folder / "study.yaml").write_text(config_text(study.config))
    with Study.open(study.folder, sync=True) as opened:
        assert all(item.counted == 1 for item in opened.items())
        assert [row.note for row in opened.log() if row.kind == "models"] == ["false", "true"]
        assert audit(opened) == []


def test_models_count_is_a_setting() -> None:
    config = StudyConfig("T", "response", models_count=True)
    assert parse_config(config_text(config)) == config
    assert not parse_config("title: T\nkind: response\n").models_count


def test_it_goes_on_where_it_stopped(make: Make) -> None:
    study = make(20)
    with served() as server:
        with pytest.raises(EndpointError, match=r"the budget of 500 tokens is spent \(500\); 5 of 20 items were done"):
            rate_with_model(study, asking(server, budget=500, concurrency=1))
        assert plan_model(study, asking(server)).items == 15
        assert plan_model(study, asking(server)).rated == 5
        done = rate_with_model(study, asking(server))
        assert (done.rated, done.before) == (15, 5)
        assert rate_with_model(study, asking(server)).requests == 0
        assert len(server.bodies) == 20
        assert len({server.item(number)["response"] for number in range(20)}) == 20
        # Another prompt, temperature or way to count is another rater.
        again = rate_with_model(study, asking(server, temperature=0.5, share=0.5))
    assert again.rater.name == "tiny (2)"
    assert 0 < again.rated < 20
    assert audit(study) == []


@in_a_file
def test_a_larger_share_holds_a_smaller_one(make: Make) -> None:
    study = make(40)
    with served() as server:
        few = rate_with_model(study, asking(server, share=0.3)).rated
        more = rate_with_model(study, asking(server, share=0.6))
    assert more.before == few
    assert few + more.rated == len(server.bodies)
    assert 3 < few < 22
    assert rate_with_model_nothing(study)


def rate_with_model_nothing(study: Study) -> bool:
    with served() as server:
        return rate_with_model(study, asking(server, share=0.0)).requests == 0


def test_the_prompt_has_what_raters_see_and_no_more(make: Make) -> None:
    gold = example("gold", ("the gold text",), (), "gold message", ((4, 5),))
    practice = example("practice", ("fine",), ("hi",), "how are you?", ((4, 5),), "This fits **well**.")
    study = make(
        2,
        raters=1,
        comments=True,
        instructions="Judge *sense* only.",
        gold=Gold(0.1, (gold,)),
        practice=(practice,),
        questions=(Question("Is it true?", ("no", "yes"), points=7),),
    )
    person = study.add_raters(1)[0].rater.id
    while (task := study.assign(person)) is not None:
        study.answer(person, task.assignment, (4,), key=task.client_key, note="a secret comment")
    with served() as server:
        rate_with_model(study, asking(server, key="sk-very-secret"))
    sent = json.dumps(server.bodies)
    for there in (
        "Judge *sense* only.",
        "Is it true?",
        "1 – no; 2; 3",
        "7 – yes",
        "how are you?",
        "This fits **well**.",
    ):
        assert there in server.bodies[0]["messages"][0]["content"], there
    for never in ("gold", "secret comment", "sk-very-secret"):
        assert never not in sent
    assert {json.dumps(server.item(number)) for number in range(2)} == {
        f'{{"message": "message {number}", "response": "text {number}.0"}}' for number in range(2)
    }
    assert server.bodies[0]["response_format"]["json_schema"]["schema"]["properties"] == {
        "score_1": {"type": "integer", "enum": [1, 2, 3, 4, 5, 6, 7]}
    }
    assert set(server.keys) == {"Bearer sk-very-secret"}
    assert "sk-very-secret" not in json.dumps([row.note for row in study.log()])


@in_a_file
@pytest.mark.parametrize(
    ("bad", "ends"),
    [
        (Reply("I would say good."), "refused"),
        (Reply('{"score_1": 9}'), "refused"),
        (Reply('{"score_1": 3.5}'), "refused"),
        (Reply('{"score_1": 4'), "refused"),
        (Reply("{" * 100_000), "refused"),
        (Reply("\ud800"), "refused"),
        (Reply(None), "refused"),
        (Reply("", finish="length"), "refused"),
        (Reply(body=b'{"choices": [], "model": "tiny-1"}'), "refused"),
    ],
)
def test_answers_that_cannot_be_used_are_asked_again_then_refused(make: Make, bad: Reply, ends: str) -> None:
    study = make(3)
    hopeless = "text 1.0"
    tried: dict[str, int] = {}

    def answer(body: dict[str, Any], _: int) -> Reply:
        text = item_of(body)["response"]
        tried[text] = tried.get(text, 0) + 1
        return bad if text == hopeless or tried[text] == 1 else Reply()

    with served(answer) as server:
        done = rate_with_model(study, asking(server))
        assert (done.rated, done.refused) == (2, 1)
        assert tried == {"text 0.0": 2, "text 1.0": 3, "text 2.0": 2}
        refused = [row for row in study.log() if row.kind == ends]
        assert len(refused) == 1
        assert audit(study) == []
        assert plan_model(study, asking(server)).items == 1  # what was refused is asked again
        again = rate_with_model(study, asking(server))
        assert (again.rated, again.refused, again.before, again.requests) == (0, 1, 2, 3)
        assert summary(study, study.now(), resamples=0).models[0].refused == 1
        assert audit(study) == []
        server.answer = lambda _body, _number: Reply()
        assert rate_with_model(study, asking(server)).rated == 1
        assert summary(study, study.now(), resamples=0).models[0].refused == 0
        assert rate_with_model(study, asking(server)).requests == 0
    assert refused[0].scores is None
    assert len(json.loads(refused[0].note or "")["raw"]) == 3
    assert [item.unable for item in study.items()] == [0, 0, 0]  # which is about people
    assert audit(study) == []


def test_what_passes_is_waited_for(make: Make) -> None:
    study = make(6)
    failures = [
        Reply(status=429, headers={"retry-after": "0.1"}, body=b"{}"),
        Reply(status=503, headers={"retry-after-ms": "50"}, body=b"{}"),
        Reply(cut=True),
        Reply(seconds=8),  # the others have five seconds, however busy the machine is
    ]

    def answer(_body: dict[str, Any], number: int) -> Reply:
        return failures[number] if number < len(failures) else Reply()

    with served(answer) as server:
        done = rate_with_model(study, asking(server, timeout=5, concurrency=4, retries=5))
    assert (done.rated, done.refused) == (6, 0)
    assert len(server.bodies) == 10
    assert server.most_at_once <= 6  # one that timed out is still being answered
    assert audit(study) == []


@in_a_file
@pytest.mark.parametrize(
    ("reply", "said"),
    [
        (Reply(status=429, headers={"retry-after-ms": "1"}, body=b"{}"), "too many requests, after 3 tries; lower"),
        (Reply(status=500, headers={"retry-after-ms": "1"}, body=b"{}"), "answers with status 500"),
        (Reply(status=401, body=b'{"error": {"message": "bad key sk-secret"}}'), "refuses the key; set OPENAI_API_KEY"),
        (Reply(status=404, body=b"{}"), "has no model 'tiny', or --url lacks its end, which is often /v1"),
        (Reply(status=400, body=b'{"error": {"message": "Temperature 0, sk-secret"}}'), "; set another --temperature;"),
        (Reply(body=b"<html>hello sk-secret</html>"), "answers, but not as OpenAI's API ('<html>hello"),
        (Reply(body=b'{"choices": ['), "answers, but not as OpenAI's API"),
        (Reply(body=b'{"detail": "hello"}'), "answers, but not as OpenAI's API"),
        (Reply(body=b"[]"), "answers, but not as OpenAI's API"),
        (Reply(body=b"[" * 100_000), "answers, but not as OpenAI's API"),
        (Reply(body=b'{"choices": [null]}'), "answers, but not as OpenAI's API"),
        (Reply(body=b'{"choices": [], "usage": {"total_tokens": -1}}'), "answers, but not as OpenAI's API"),
        (Reply(body=b'{"choices": [{"logprobs": {"content": [{"token": null}]}}]}'), "not as OpenAI's API"),
        (Reply(seconds=4), "did not answer within 2 seconds, in 3 tries; raise --timeout"),
        (Reply(cut=True), "cannot be reached, or breaks off its answers"),
        (Reply(status=307, headers={"location": "http://127.0.0.1:9/v1"}, body=b""), "sends requests on to another"),
    ],
)
def test_what_does_not_pass_stops_it_and_keeps_what_is_done(make: Make, reply: Reply, said: str) -> None:
    study = make(4)
    with served(lambda _body, number: Reply() if number < 2 else reply) as server:
        # An answer that comes at once needs time on a busy machine; one that comes late gets little.
        options = asking(server, concurrency=1, key="sk-secret", timeout=2 if reply.seconds else 60)
        with pytest.raises(EndpointError) as caught:
            rate_with_model(study, options)
        message = str(caught.value)
        assert said in message
        assert message.endswith("; 2 of 4 items were done and are kept; run the same command again to continue")
        assert "sk-secret" not in message
        server.answer = lambda _body, _number: Reply()
        assert rate_with_model(study, options).rated == 2
    assert audit(study) == []


@pytest.mark.parametrize(
    ("reply", "requests", "said"),
    [
        (Reply(""), 30, "there is no JSON object in ''"),
        (Reply("{", finish="length"), 30, "it was cut off after 512 tokens; raise --answer-tokens"),
        (
            Reply(status=400, body=b'{"error": "no such text"}'),
            10,
            "127.0.0.1 answers with status 400 (no such text);",
        ),
    ],
)
def test_ten_refusals_at_first_stop_it(make: Make, reply: Reply, requests: int, said: str) -> None:
    study = make(15)
    with served(lambda _body, _number: reply) as server:
        with pytest.raises(EndpointError) as caught:
            rate_with_model(study, asking(server, concurrency=1))
        message = str(caught.value)
        assert message.startswith(f"no answer of 127.0.0.1 to the last 10 items can be used: {said}")
        assert message.endswith(
            "; 0 of 15 items were done and are kept (10 refused); run the same command again to continue"
        )
        assert len(server.bodies) == requests
        assert all("response_format" in body for body in server.bodies)
        server.answer = lambda _body, _number: Reply()
        assert rate_with_model(study, asking(server, concurrency=1)).rated == 15
        # What was not asked before comes first.
        first = {server.item(requests + number)["response"] for number in range(5)}
        assert first.isdisjoint(server.item(number)["response"] for number in range(requests))
    assert audit(study) == []


@in_a_file
def test_refused_requests_are_refused_items_until_there_are_ten_in_a_row(make: Make) -> None:
    study = make(30)
    bad = Reply(status=400, body=b'{"error": "no such text"}')
    with served(lambda _body, number: bad if number in range(1, 10) or number > 15 else Reply()) as server:
        said = r"status 400 .*; 7 of 30 items were done and are kept \(19 refused\)"
        with pytest.raises(EndpointError, match=said):
            rate_with_model(study, asking(server, concurrency=1))
        assert len(server.bodies) == 26
    assert [note["scores"] for note in notes(study)[:3]] == [[4.0], None, None]
    assert "no such text" in notes(study)[1]["raw"][0]


@in_a_file
def test_the_name_is_known_from_refused_answers(make: Make) -> None:
    study = make(3)
    with served(lambda _body, _number: Reply("no", model="tiny-1")) as server:
        assert rate_with_model(study, asking(server)).refused == 3
        server.answer = lambda _body, _number: Reply(model="tiny-2")
        with pytest.raises(EndpointError, match="answers as 'tiny-2', but answered as 'tiny-1' before"):
            rate_with_model(study, asking(server))


@in_a_file
def test_a_budget_ends_between_items(make: Make) -> None:
    study = make(4)
    with served() as server:
        with pytest.raises(EndpointError, match=r"the budget of 400 tokens is spent \(600\); 2 of 4 items were done"):
            rate_with_model(study, asking(server, budget=400, repeat=3, concurrency=1))
        assert len(server.bodies) == 6
    assert [len(note["samples"]) for note in notes(study)] == [3, 3]


@in_a_file
def test_token_probabilities_are_for_scores_of_one_digit(make: Make) -> None:
    study = make(1, questions=(Question("A?", ("no", "yes"), points=10),))
    said = (
        "--logprobs is for scales of up to 9 points, as 10 may be two tokens, and this study has one of 10; use --rep"
    )
    with served() as server:
        for ask in (rate_with_model, plan_model):
            with pytest.raises(UsageError, match=said):
                ask(study, asking(server, logprobs=True))
        assert not server.bodies
        assert (
            plan_model(
                make(1, questions=(Question("A?", ("no", "yes"), points=9),)), asking(server, logprobs=True)
            ).items
            == 1
        )


@in_a_file
def test_an_endpoint_that_is_not_there(make: Make) -> None:
    with served() as server:
        options = asking(server, retries=0)
    with pytest.raises(EndpointError, match=r"127.0.0.1 cannot be reached.*0 of 2 items were done"):
        rate_with_model(make(2), options)


def test_another_model_name_stops_it(make: Make) -> None:
    study = make(5)
    with served(lambda _body, number: Reply(model="tiny-1" if number < 2 else "tiny-2")) as server:
        said = r"answers as 'tiny-2', but answered as 'tiny-1' before; .*; 2 of 5 items were done and are kept$"
        with pytest.raises(EndpointError, match=said):
            rate_with_model(study, asking(server, concurrency=1))
        with pytest.raises(
            EndpointError, match=r"'tiny-2', but answered as 'tiny-1' before; .* 0 of 3 items were done"
        ):
            rate_with_model(study, asking(server, concurrency=1))
        assert rate_with_model(study, asking(server, model="tiny-2")).rated == 5
    assert {note["model"] for note in notes(study)} == {"tiny-1", "tiny-2"}


@in_a_file
def test_servers_without_schema_or_with_other_names(make: Make) -> None:
    def old(body: dict[str, Any], _: int) -> Reply:
        if "response_format" in body:
            return Reply(status=422, body=b'{"detail": "response_format is not supported"}')
        return Reply('Here you are:\n```json\n{"score_1": 2}\n```')

    def new(body: dict[str, Any], _: int) -> Reply:
        if "max_tokens" in body:
            return Reply(status=400, body=b'{"error": {"message": "Use max_completion_tokens instead of max_tokens"}}')
        return Reply('{"score_1": 5}')

    study = make(4)
    for answer, score, constrained in ((old, 2, False), (new, 5, True)):
        with served(answer) as server:
            rate_with_model(study, asking(server, model=f"m{score}"))
        mine = [note for note in notes(study) if note["asked"] == f"m{score}"]
        assert {(note["scores"][0], note["constrained"]) for note in mine} == {(score, constrained)}


@in_a_file
def test_several_answers_make_a_fraction(make: Make) -> None:
    study = make(2)
    scores = ['{"score_1": 4}', '{"score_1": 5}', '{"score_1": 5}']
    with served(lambda _body, number: Reply(scores[number % 3])) as server:
        rate_with_model(study, asking(server, repeat=3, concurrency=1, seed=7))
    assert [note["scores"] for note in notes(study)] == [[pytest.approx(14 / 3)]] * 2
    assert [note["samples"] for note in notes(study)] == [[[4], [5], [5]]] * 2
    assert {body["temperature"] for body in server.bodies} == {1.0}
    assert [body["seed"] for body in server.bodies] == [7, 8, 9] * 2
    assert [row.score for row in study.table()] == [5, 5]


@in_a_file
def test_token_probabilities_make_a_fraction(make: Make) -> None:
    study = make(1)
    likely = [
        ('"score_1": 1? No. {"score', {}),
        ('_1":', {}),
        (" 4", {" 4": math.log(0.5), " 5": math.log(0.25), "four": math.log(0.2), " 9": 0.0, "2": math.nan}),
        ("}", {}),
    ]
    with served(lambda _body, _number: Reply('"score_1": 1? No. {"score_1": 4}', likely=likely)) as server:
        rate_with_model(study, asking(server, logprobs=True))
    assert server.bodies[0]["top_logprobs"] == 20
    assert notes(study)[0]["scores"] == [pytest.approx((0.5 * 4 + 0.25 * 5) / 0.75)]
    assert [row.score for row in study.table()] == [4]
    with served() as server, pytest.raises(EndpointError, match="gives no token probabilities; leave --logprobs out"):
        rate_with_model(make(1), asking(server, logprobs=True))


def test_pairs_are_shown_in_either_order_and_kept_in_theirs(make: Make) -> None:
    study = make([Item(f"k{n}", ("good", "bad"), systems=("A", "B")) for n in range(12)], kind="pair")

    def answer(body: dict[str, Any], _: int) -> Reply:
        texts = item_of(body)["responses"]
        return Reply(json.dumps({f"score_{at}": 5 if text == "good" else 1 for at, text in enumerate(texts, 1)}))

    with served(answer) as server:
        rate_with_model(study, asking(server))
    assert {(row.part, row.score) for row in study.table()} == {(0, 5), (1, 1)}
    assert {row.flipped for row in study.table()} == {True, False}
    assert {tuple(note["scores"]) for note in notes(study)} == {(5.0, 1.0)}
    assert audit(study) == []


def with_reason(reason: object, score: int = 4) -> Reply:
    return Reply(json.dumps({"reason": reason, "score_1": score}))


def test_a_prompt_may_ask_for_a_reason() -> None:
    plain, asked = make_prompt(PLAIN), make_prompt(PLAIN, reason=True)
    assert plain.hash != asked.hash
    assert "reason" not in plain.text
    assert '{"reason": "one sentence", "score_1": N}' in asked.text
    assert [*asked.schema["properties"]] == asked.schema["required"] == ["reason", "score_1"]
    assert asked.schema["properties"]["reason"] == {"type": "string"}


@pytest.mark.parametrize(
    ("said", "found"),
    [
        ("It is polite.", "It is polite."),
        (" two\n\tlines\u2028 ", "two lines"),
        ("a\0b\x1bc\ud800", "a\ufffdb\ufffdc\ufffd"),
        ("x" * 500, "x" * 500),
        ("x" * 501, "x" * 499 + "…"),
        (" \n", ""),
        (7, ""),
        (None, ""),
    ],
)
def test_a_reason_is_one_line_of_limited_length(said: object, found: str) -> None:
    assert parse_reason(with_reason(said).text or "", PLAIN) == found


@given(st.text())
def test_any_text_has_a_reason_or_none(text: str) -> None:
    assert len(parse_reason(text, PLAIN)) <= 500


def test_reasons_are_kept_and_exported(make: Make, tmp_path: Path) -> None:
    study = make(2)
    with served(lambda _body, _number: with_reason("It is sk-secret. " + "x" * 470 + " sk-secret")) as server:
        plain, asked = asking(server, key="sk-secret"), asking(server, key="sk-secret", reason=True)
        assert plan_model(study, asked).answer_tokens > plan_model(study, plain).answer_tokens
        done = rate_with_model(study, asked)
        assert rate_with_model(study, asked).requests == 0
        assert rate_with_model(study, plain).rater.id != done.rater.id  # another prompt
    first, *_, last = notes(study)
    assert (len(first["reasons"]), first["prompt"]) == (1, make_prompt(study.config, reason=True).hash)
    assert "sk-" not in json.dumps(notes(study))
    assert "reasons" not in last
    said = study.store.read(comments)
    assert {rater for (_, rater), reason in said.items() if reason} == {done.rater.id}
    export_study(study, "raw", tmp_path / "raw.jsonl")
    kept = [json.loads(line) for line in (tmp_path / "raw.jsonl").read_text().splitlines()]
    assert next(json.loads(row["note"])["reasons"] for row in kept if row["kind"] == "model") == first["reasons"]
    assert audit(study) == []


@in_a_file
def test_an_answer_without_a_reason_is_asked_again(make: Make) -> None:
    study = make(1)
    replies = [Reply(), with_reason(" "), with_reason("Clear."), Reply("4"), with_reason("Short.", 5)]
    with served(lambda _body, number: replies[number]) as server:
        options = asking(server, reason=True, repeat=2, concurrency=1)
        assert rate_with_model(study, options).rated == 1
    assert "cannot be used: reason must be a sentence" in server.bodies[1]["messages"][-1]["content"]
    assert [(note["samples"], note["reasons"]) for note in notes(study)] == [([[4], [5]], ["Clear.", "Short."])]


@in_a_file
def test_a_reason_does_not_disturb_token_probabilities(make: Make) -> None:
    study = make(1)
    likely = [('{"reason": "2 of 5", "score_1":', {}), (" 4", {" 4": math.log(0.5), " 5": math.log(0.5)}), ("}", {})]
    text = "".join(token for token, _ in likely)
    with served(lambda _body, _number: Reply(text, likely=likely)) as server:
        rate_with_model(study, asking(server, logprobs=True, reason=True))
    assert [(note["scores"], note["reasons"]) for note in notes(study)] == [([pytest.approx(4.5)], ["2 of 5"])]


@in_a_file
def test_the_lead_sees_reasons(make: Make, tmp_path: Path) -> None:
    from fastapi.testclient import TestClient

    from trubleu.rating.web.app import create_app

    items = [Item(f"k{n}", ("good", "bad"), systems=("A", "B")) for n in range(12)]
    study = make(items, kind="pair", raters=1, models_count=True)
    reply = Reply(json.dumps({"reason": "<b>The first</b> is better.", "score_1": 5, "score_2": 1}))
    with served(lambda _body, _number: reply) as server:
        number = rate_with_model(study, asking(server, reason=True)).rater.id
    flipped = sum(row.flipped is True for row in study.log() if row.kind == "model")
    assert 0 < flipped < 12
    client = TestClient(create_app(study), base_url="https://testserver")
    client.get(f"/lead/{study.lead_token}")
    for path, times, turned in (
        (f"/lead/raters/{number}", 24, 2 * flipped),
        ("/lead/items/1", 2, None),
    ):
        page = client.get(path).text
        assert page.count("&lt;b&gt;The first&lt;/b&gt; is better.") == times
        assert "<b>The first" not in page
        assert turned is None or page.count("(texts in reverse order) &lt;b&gt;") == turned
    export_study(study, "wide", tmp_path / "wide.jsonl")
    rows = [json.loads(line) for line in (tmp_path / "wide.jsonl").read_text().splitlines()]
    assert len(rows) == 24
    assert sum(row["comment"].startswith("(texts in reverse order) ") for row in rows) == 2 * flipped


def test_questions_that_may_be_left_out(make: Make) -> None:
    questions = (Question("A?", name="a"), Question("B?", ("no", "yes"), "b", required=False))
    study = make(1, questions=questions)
    with served(lambda _body, _number: Reply('{"score_1_1": 3, "score_1_2": null}')) as server:
        rate_with_model(study, asking(server))
    assert [row.score for row in study.table()] == [3, None]
    assert server.bodies[0]["response_format"]["json_schema"]["schema"]["properties"]["score_1_2"] == {
        "type": ["integer", "null"],
        "enum": [1, 2, None],
    }
    assert audit(study) == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('<think>{"response": "text"} deserves {"score_1": 2}, no</think>\n{"score_1": 4}', (4,)),
        ('{"score_1": 4}\nIt answers {"message": "how are you?"}.', (4,)),
        ('{"ratings": {"score_1": 4}}', (4,)),
        ('{"why": {"fits": "yes"}, "score_1": 4}', (4,)),
        ('Well: {"why": "it says {name}", "score_1": 4}', (4,)),
        ("}{", "there is no JSON object"),
        ('{"a":' * 100_000 + "1" + "}" * 100_000, "score_1 must be a whole number from 1 to 5"),
        ('{"message": "how are you?"}', "score_1 must be a whole number from 1 to 5"),
        ('{"score_1": ' + "4" * 5000 + "}", "there is no JSON object"),
        ("{" * 10**6, "there is no JSON object"),  # in no time
    ],
)
def test_models_may_think_aloud(text: str, found: object) -> None:
    assert parse_answer(text, PLAIN) == found


@in_a_file
def test_the_log_has_the_end_of_a_long_answer(make: Make) -> None:
    study = make(1)
    with served(lambda _body, _number: Reply("hm " * 2000 + '{"score_1": 4}')) as server:
        rate_with_model(study, asking(server))
    (raw,) = notes(study)[0]["raw"]
    assert len(raw) == 4000
    assert raw.endswith('hm {"score_1": 4}')


@given(st.text(max_size=60))
def test_any_answer_is_on_the_scale_or_says_what_is_wrong(text: str) -> None:
    assert parse_answer("4\x1f", PLAIN) == (4,)  # a space for regular expressions, but not for int
    found = parse_answer(text, PLAIN)
    assert isinstance(found, str) or (len(found) == 1 and found[0] in range(1, 6))


@given(st.recursive(st.none() | st.booleans() | st.floats() | st.integers() | st.text(), st.lists, max_leaves=5))
def test_any_value_is_on_the_scale_or_refused(value: object) -> None:
    found = parse_answer(json.dumps({"score_1": value}), PLAIN)
    right = value in (1, 2, 3, 4, 5) or (isinstance(value, str) and re.fullmatch("0?[1-5]", value))
    if isinstance(found, str):
        assert not right or value is True
    else:
        assert found[0] in range(1, 6)


def test_a_model_is_never_taken_for_a_person(make: Make, tmp_path: Path) -> None:
    study = make(3, raters=2, models_count=True)
    with served() as server:
        number = rate_with_model(study, asking(server)).rater.id
    with pytest.raises(UsageError, match=f"rater {number} is a model, which has no link"):
        study.new_link(number)
    with pytest.warns(UserWarning, match="fewer ratings"):
        export_study(study, "ratings", tmp_path / "ratings.csv", labels=True)
    text = (tmp_path / "ratings.csv").read_text()
    assert text.count(f"model {number} of {study.id[:8]}") == 3
    other = make(3)
    with pytest.raises(DataError, match=r"'model 1 of \w+' is a model of another study, not a person"):
        import_ratings(other, tmp_path / "ratings.csv")
    assert import_ratings(study, tmp_path / "ratings.csv").added == 0
    # Carried over, it stays a model, whose answers do not count there.
    assert carry(other, study).counted == 0
    assert [rater.is_model for rater in other.raters()] == [True]
    assert import_ratings(other, tmp_path / "ratings.csv").added == 0
    assert audit(other) == []


def test_paused_and_excluded(make: Make) -> None:
    study = make(2)
    with served() as server:
        number = rate_with_model(study, asking(server, share=0.0)).rater.id
        study.pause()
        with pytest.raises(UsageError, match="is paused; trubleu rate resume"):
            rate_with_model(study, asking(server))
        study.resume()
        study.exclude(number, reason="always 4")
        with pytest.raises(UsageError, match=r"'tiny' \(number 1\) is excluded; trubleu rate readmit"):
            rate_with_model(study, asking(server))


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"url": "api.example.org"}, "is not an endpoint; write https://HOST/v1"),
        ({"url": "https://user:word@example.org/v1"}, "--url 'https://…@example.org/v1' is not an endpoint"),
        ({"url": "user:wo/r?d@example.org"}, "--url '…@example.org' is not an endpoint"),
        ({"url": "https://example.org/v1?key=1"}, "--url 'https://example.org/v1…' is not an endpoint"),
        ({"model": " "}, "--model is empty"),
        ({"key": "sk-1\nsk-2"}, "OPENAI_API_KEY has spaces, line breaks or letters outside of ASCII; set it to a key"),
        ({"key": "sk-é"}, "OPENAI_API_KEY has spaces"),
        ({"share": 1.5}, "--share must be between 0 and 1, not 1.5"),
        ({"repeat": 0}, "--repeat must be between 1 and 100, not 0"),
        ({"budget": 0}, "--budget must be between 1"),
        ({"repeat": 2, "logprobs": True}, "--repeat and --logprobs are two ways to get fractions"),
    ],
)
def test_options_that_cannot_be_used(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError, match=re.escape(said)):
        ModelOptions(**{"url": "https://example.org/v1", "model": "m", **settings})


def test_the_key_is_in_no_repr() -> None:
    assert "sk-1" not in repr(ModelOptions(url="https://example.org/v1", model="m", key="sk-1"))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    items = [Item(f"k{number}", (f"text {number}",)) for number in range(4)]
    Study.create(tmp_path / "study", StudyConfig("T", "response"), items).close()
    return tmp_path / "study"


def test_command(folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-from-environment")
    with served() as server:
        command = ["rate", "model", str(folder), "--url", server.url, "--model", "tiny"]
        assert main([*command, "--dry-run", "--reason"]) == 0
        assert re.search(r"tokens +about [\d,]+ in, 172 out\n", capsys.readouterr().out)
        assert main([*command, "--dry-run", "--price", "1", "2", "--budget", "100"]) == 0
        said = capsys.readouterr().out
        assert re.search(r"items +4\nrequests +4\ntokens +about [\d,]+ in, 32 out\nbudget .*\ncost .* 0\.0\d+\n", said)
        assert not server.bodies
        assert main(command) == 0
        said = capsys.readouterr().out
        assert "tiny (number 1) rated 4 items; 4 requests, 400 tokens\n" in said
        assert set(server.keys) == {"Bearer sk-from-environment"}
        assert main([*command, "--dry-run"]) == 0
        assert "items       0 (4 are rated already)" in capsys.readouterr().out
        assert main([*command, "--budget", "100", "--temperature", "0.2", "--concurrency", "1"]) == 2
        assert "trubleu: the budget of 100 tokens is spent" in capsys.readouterr().err
        for prices in (("nan", "1"), ("1", "inf"), ("-1", "1")):
            assert main([*command, "--dry-run", "--price", *prices]) == 2
            said = f"--price must be two numbers from 0 on, not {prices[0]} and {prices[1]}\n"
            assert said in capsys.readouterr().err


def test_a_command_whose_items_are_all_refused_fails(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with served(lambda _body, _number: Reply("never")) as server:
        command = ["rate", "model", str(folder), "--url", server.url, "--model", "tiny"]
        assert main(command) == 2
        said = capsys.readouterr()
        assert "tiny (number 1) rated 0 items, 4 refused; 12 requests, 1,200 tokens\n" in said.out
        assert said.err == (
            "trubleu: no answer of 127.0.0.1 to 4 items can be used: there is no JSON object in 'never'\n"
        )
        server.answer = lambda body, _number: Reply(
            "never" if item_of(body)["response"] == "text 1" else '{"score_1": 4}'
        )
        assert main(command) == 0
        assert "rated 3 items, 1 refused; 6 requests" in capsys.readouterr().out


def test_texts_leave_the_machine_only_where_that_is_confirmed(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    command = ["rate", "model", str(folder), "--url", "https://model.invalid/v1", "--model", "m"]
    assert main(command) == 2
    said = capsys.readouterr().err
    assert said == "trubleu: texts would be sent to model.invalid; add --send-to model.invalid if they may\n"
    assert main([*command, "--send-to", "other.invalid"]) == 2
    assert (
        "--send-to other.invalid is not the host of --url, model.invalid; nothing was sent" in capsys.readouterr().err
    )
    monkeypatch.setattr("trubleu.rating.model_rater.rate_with_model", _never)
    assert main([*command, "--send-to", "Model.INVALID", "--quiet"]) == 2
    assert capsys.readouterr().err == "trubleu: it was asked\n"


def _never(*_arguments: object, **_options: object) -> None:
    raise EndpointError("it was asked")


@pytest.mark.parametrize(
    ("answer", "said"), [("no\n", "trubleu: nothing was sent to model.invalid\n"), ("y\n", "trubleu: it was asked\n")]
)
def test_a_terminal_is_asked(folder: Path, monkeypatch: pytest.MonkeyPatch, answer: str, said: str) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    shown = Terminal()
    monkeypatch.setattr(sys, "stdin", Terminal(answer))
    monkeypatch.setattr(sys, "stderr", shown)
    monkeypatch.setattr("trubleu.rating.model_rater.rate_with_model", _never)
    assert main(["rate", "model", str(folder), "--url", "https://model.invalid/v1", "--model", "m", "--quiet"]) == 2
    assert shown.getvalue() == f"Send the texts of 4 items to model.invalid? [y/N] {said}"


def test_two_at_once_keep_each_answer_once(make: Make) -> None:
    study = make(12)
    with served(lambda _body, _number: Reply(seconds=0.02)) as server, ThreadPoolExecutor(2) as threads:
        runs = [threads.submit(rate_with_model, study, asking(server)) for _ in range(2)]
        assert all(run.result().rater.name == "tiny" for run in runs)
    assert len(study.table()) == 12
    assert len(notes(study)) == 12
    assert audit(study) == []


@in_a_file
def test_in_a_notebook(make: Make) -> None:
    study = make(3)

    async def cell() -> int:
        return rate_with_model(study, asking(server)).rated

    with served() as server:
        assert asyncio.run(cell()) == 3


@in_a_file
def test_no_proxy_sees_what_stays_on_this_machine(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    with served() as server:
        assert rate_with_model(make(2), asking(server, retries=0)).rated == 2


def test_ctrl_c_keeps_what_is_done(folder: Path) -> None:
    def answer(_body: dict[str, Any], number: int) -> Reply:
        if number == 2:
            os.kill(process.pid, signal.SIGINT)
        return Reply(seconds=30.0 if number >= 2 else 0.0)

    with served(answer) as server:
        command = ["rate", "model", str(folder), "--url", server.url, "--model", "tiny", "--concurrency", "1"]
        process = subprocess.Popen(
            [sys.executable, "-m", "trubleu", *command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert said == (
        "trubleu: interrupted; 2 of 4 items were done and are kept; run the same command again to continue\n"
    )
    with Study.open(folder) as study:
        assert len(study.table()) == 2
        assert audit(study) == []
        with served() as server:
            assert rate_with_model(study, asking(server)).rated == 2
        imported = [Imported(f"k{n}", "ann", (3,)) for n in range(4)]
        assert import_answers(study, imported, source="t").counted == 4

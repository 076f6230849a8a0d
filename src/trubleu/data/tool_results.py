"""Answers in chats, and in the results of promptfoo, lm-evaluation-harness and inspect."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from trubleu.data.references import Reference
from trubleu.data.titles import ANSWER_TITLES
from trubleu.errors import DataError, shown, some
from trubleu.files.jsonl import kind_of
from trubleu.files.tables import plain_title

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

Fields: TypeAlias = dict[str, Any]
"""The fields of an item of `trubleu.data.answers`."""

_ASSISTANT: Final = ("assistant", "ai", "gpt", "model", "bot", "chatbot")
_REFERENCE_ASSERTIONS: Final = ("equals", "similar", "rouge-n", "bleu", "gleu", "meteor", "levenshtein", "factuality")


def is_chat(value: object) -> bool:
    """Return whether a value is a list of messages, or one message, or the answer of a chat API.

    Examples
    --------
    >>> is_chat([{"role": "user", "content": "hi"}]), is_chat({"choices": []}), is_chat(["hi"])
    (True, True, False)
    """
    if isinstance(value, dict):
        return "choices" in value or _speaker(value) is not None
    return isinstance(value, list) and bool(value) and all(_speaker(turn) is not None for turn in value)


def _speaker(turn: object) -> str | None:
    if not isinstance(turn, dict) or not ("content" in turn or "value" in turn):
        return None
    speaker = turn.get("role", turn.get("from"))
    return speaker.lower() if isinstance(speaker, str) else None


def last_turns(chat: Any, place: str, *, answered: bool = True) -> tuple[str | None, str]:
    """Return the last question of a chat, and the assistant's last turn.

    Parameters
    ----------
    chat
        As `is_chat` knows it.
    place
        Where it is, for messages.
    answered
        Whether the assistant must have answered.

    Examples
    --------
    >>> last_turns([{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"}], "x:1")
    ('hi', 'hello')
    """
    if isinstance(chat, dict) and "choices" in chat:
        chat = [choice.get("message", {}) for choice in chat["choices"] if isinstance(choice, dict)][:1]
    turns: Sequence[Any] = chat if isinstance(chat, list) else [chat]
    ends = [at for at, turn in enumerate(turns) if _speaker(turn) in _ASSISTANT]
    if answered and not ends:
        raise DataError(f"{place}: the chat has no turn of the assistant; its roles are {some(map(_speaker, turns))}")
    end = ends[-1] if ends else len(turns)
    asked = [turn for turn in turns[: end if answered else len(turns)] if _speaker(turn) in ("user", "human")]
    question = _content(asked[-1], place) if asked else None
    return question, _content(turns[end], place) if ends else ""


def _content(turn: Mapping[str, Any], place: str) -> str:
    content = turn.get("content", turn.get("value"))
    if content is None:  # a call of a tool
        return ""
    if isinstance(content, str):
        return content
    if isinstance(content, list):  # texts, images, reasoning
        parts = (
            part if isinstance(part, str) else part.get("text") for part in content if isinstance(part, dict | str)
        )
        return "\n".join(part for part in parts if isinstance(part, str))
    raise DataError(f"{place}: the content of a message must be a text, not {kind_of(content)}")


def tool_items(records: Sequence[tuple[str, Any]], name: str, form: str) -> tuple[str, list[Fields]] | None:
    """Return the tool that wrote a file, and its items; None if no tool is recognised."""
    if not form.startswith("JSON") or not records:
        return None
    first = records[0][1]
    if len(records) == 1:
        if "samples" in first and "eval" in first:
            return "a log of inspect", list(_inspect(first, name))
        if "eval" in first and "plan" in first:
            raise DataError(f"{name} is a log of inspect without samples; write it with samples, or wait for its end")
        inner = first.get("results")
        results = inner.get("results") if isinstance(inner, dict) else inner
        if isinstance(results, list) and results and all(map(_is_promptfoo, results)):
            places = [(f"{name}, result {number}", result) for number, result in enumerate(results, 1)]
            return "results of promptfoo", list(_promptfoo(places, name))
    if all(_is_promptfoo(record) for _, record in records):
        return "results of promptfoo", list(_promptfoo(records, name))
    if all({"doc_id", "resps"} <= record.keys() for _, record in records):
        return "samples of lm-evaluation-harness", list(_harness(records))
    return None


def _is_promptfoo(result: object) -> bool:
    return (
        isinstance(result, dict)
        and "vars" in result
        and "prompt" in result
        and ("response" in result or "error" in result)
    )


def _promptfoo(results: Sequence[tuple[str, Any]], name: str) -> Iterator[Fields]:
    runs = {(_provider(result), str(result.get("promptIdx", ""))) for _, result in results}
    if len(runs) > 1:
        names = sorted(f"{provider} with prompt {prompt}" for provider, prompt in runs)
        raise DataError(
            f"{name} has the results of {len(runs)} providers or prompts ({some(names)}); "
            "write one of each with promptfoo's --filter-providers and --filter-prompts"
        )
    for place, result in results:
        variables = result["vars"] if isinstance(result["vars"], dict) else {}
        response = result.get("response") or {}
        output = response.get("output") if isinstance(response, dict) else response
        if output is None:
            error = result.get("error") or (response.get("error") if isinstance(response, dict) else None)
            raise DataError(f"{place}: there is no output ({shown(error, 200)}); run it again")
        case = _object(result.get("testCase"))
        metadata = _object(case.get("metadata"))
        asked = {key: value for key, value in variables.items() if not _means(key, "good", "bad")}
        named = metadata.get("id", variables.get("id"))
        yield {
            "id": None if named is None else str(named),
            "question": _question(asked),
            "answers": (output if isinstance(output, str) else json.dumps(output, ensure_ascii=False),),
            "place": place,
            **_asserted(case.get("assert"), variables),
        }


def _object(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _provider(result: Mapping[str, Any]) -> str:
    provider = result.get("provider")
    return str(provider.get("id") if isinstance(provider, dict) else provider)


def _question(variables: Mapping[str, Any]) -> str:
    """Return what is asked: the variable that is called so, the only one, or all of them."""
    named = [value for key, value in variables.items() if _means(key, "question")]
    chosen = named[0] if len(named) == 1 else next(iter(variables.values())) if len(variables) == 1 else variables
    return chosen if isinstance(chosen, str) else json.dumps(chosen, ensure_ascii=False, sort_keys=True)


def _means(title: str, *fields: str) -> bool:
    plain = plain_title(title)
    return any(plain.removesuffix("s") in (field, *ANSWER_TITLES[field]) for field in fields)


def _asserted(assertions: Any, variables: Mapping[str, Any]) -> Fields:
    """Return good answers and rules from variables and assertions."""
    references = [
        Reference(value, 1.0 if _means(key, "good") else -1.0)
        for key, value in variables.items()
        if isinstance(value, str) and _means(key, "good", "bad")
    ]
    rules: dict[str, list[str]] = {"contains": [], "excludes": [], "regex": []}
    kinds = {"contains": "contains", "contains-all": "contains", "not-contains": "excludes", "regex": "regex"}
    for each in assertions if isinstance(assertions, list) else ():
        if not isinstance(each, dict) or not isinstance(kind := each.get("type"), str):
            continue
        values = each.get("value") if isinstance(each.get("value"), list) else [each.get("value")]
        texts = [value for value in values or () if isinstance(value, str) and "{{" not in value]
        if kind.partition(":")[0] in _REFERENCE_ASSERTIONS:
            references += [Reference(text, 1.0) for text in texts]
        elif kind in kinds:
            rules[kinds[kind]] += texts
    return {"references": tuple(references), **{rule: tuple(texts) for rule, texts in rules.items()}}


def _harness(records: Sequence[tuple[str, Any]]) -> Iterator[Fields]:
    seen: dict[tuple[str, str], Any] = {}
    for place, record in records:
        responses = record["resps"]
        while isinstance(responses, list) and len(responses) == 1 and isinstance(responses[0], list):
            (responses,) = responses
        if not isinstance(responses, list) or not all(isinstance(text, str) for text in responses):
            raise DataError(f"{place}: resps holds no generated text; only generation tasks have answers to check")
        identity = str(record["doc_id"])
        # Each filter of a task writes all responses again.
        key = (identity, str(record.get("doc_hash", "")))
        if "filter" in record and key in seen and seen[key] == responses:
            continue
        seen[key] = responses
        target = record.get("target")
        targets = target if isinstance(target, list) else [target]
        yield {
            "id": identity,
            "question": _prompted(record),
            "answers": tuple(responses),
            "references": tuple(Reference(text, 1.0) for text in targets if isinstance(text, str) and text),
            "place": place,
        }


def _prompted(record: Mapping[str, Any]) -> str | None:
    """Return the question of a document, or the whole prompt."""
    document = record.get("doc")
    if isinstance(document, dict):
        named = [value for key, value in document.items() if isinstance(value, str) and _means(key, "question")]
        if len(named) == 1:
            return named[0]
    arguments = record.get("arguments")
    while isinstance(arguments, dict | list) and arguments:
        arguments = next(iter(arguments.values())) if isinstance(arguments, dict) else arguments[0]
    return arguments if isinstance(arguments, str) else None


def _inspect(log: Mapping[str, Any], name: str) -> Iterator[Fields]:
    samples = log["samples"]
    if not isinstance(samples, list) or not samples:
        raise DataError(f"{name} is a log of inspect without samples; write it with samples")
    for number, sample in enumerate(samples, 1):
        place = f"{name}, sample {number}"
        if not isinstance(sample, dict) or "input" not in sample:
            raise DataError(f"{place}: there is no input; this is no sample of inspect")
        if error := sample.get("error"):
            message = error.get("message") if isinstance(error, dict) else error
            raise DataError(f"{place}: the sample ended with an error ({shown(message, 200)}); run it again")
        output = _object(sample.get("output"))
        answer = output.get("completion")
        if not isinstance(answer, str) or not answer:
            chat = output if output.get("choices") else sample.get("messages")
            answer = last_turns(chat, place)[1] if is_chat(chat) else ""
        asked = sample["input"]
        question = (
            asked if isinstance(asked, str) else last_turns(asked, place, answered=False)[0] if is_chat(asked) else None
        )
        target = sample.get("target")
        targets = target if isinstance(target, list) else [target]
        yield {
            "id": None if sample.get("id") is None else str(sample["id"]),
            "question": question,
            "answers": (answer,),
            "references": tuple(Reference(text, 1.0) for text in targets if isinstance(text, str) and text),
            "place": place,
        }

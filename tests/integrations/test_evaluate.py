"""Hugging Face ``evaluate`` loads the module from the installed package, offline, and gets TruBLEU's own numbers."""

from __future__ import annotations

import json
import socket
import sys
from typing import TYPE_CHECKING, Any, NoReturn

import evaluate
import pytest

from tests.integrations.example import MESSAGES, OUTPUTS, REFERENCES, WEIGHTS, scored
from trubleu.data import References
from trubleu.errors import DataError, MissingExtraError, UsageError
from trubleu.integrations import hugging_face
from trubleu.metrics import metric as make_metric
from trubleu.scoring import Sampling, score_systems

if TYPE_CHECKING:
    from pathlib import Path

ALL: dict[str, Any] = {"predictions": OUTPUTS, "references": REFERENCES, "weights": WEIGHTS}


@pytest.fixture(autouse=True)
def _no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_address: object) -> NoReturn:
        raise AssertionError("somebody wants to go to the network")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)


def load(*config: str, **options: Any) -> Any:
    return evaluate.load(hugging_face(), *config, **options)


@pytest.mark.parametrize(
    "metric", ["trubleu", "bleu-2", "dbleu-2", "sdbleu-1", "chrf", "ter", "dbleu-3[tokenize=chat]"]
)
def test_scores_are_our_own(metric: str) -> None:
    found = load().compute(**ALL, metric=metric)
    assert found == scored(metric).to_dict()
    assert found == load(metric).compute(**ALL)
    json.dumps(found)


def test_without_a_name_the_metric_is_trubleu() -> None:
    assert load().compute(**ALL) == scored("trubleu").to_dict()
    assert load().name == "trubleu"


def test_options_reach_the_metric() -> None:
    found = load("dbleu-2").compute(**ALL, tokenize="char", smoothing="none")
    assert found == scored("dbleu-2", tokenize="char", smoothing="none").to_dict()


def test_batches_and_single_segments_add_up() -> None:
    module = load("dbleu-2")
    module.add_batch(predictions=OUTPUTS[:2], references=REFERENCES[:2], weights=WEIGHTS[:2])
    module.add(prediction=OUTPUTS[2], reference=REFERENCES[2], weights=WEIGHTS[2])
    assert module.compute() == scored("dbleu-2").to_dict()
    # and what was scored is gone
    assert module.compute(**{name: column[:1] for name, column in ALL.items()})["segments"] == 1


def test_what_can_be_gone_through_only_once() -> None:
    once: dict[str, Any] = {
        "predictions": iter(OUTPUTS),
        "references": (iter(row) for row in REFERENCES),
        "weights": (iter(row) for row in WEIGHTS),
    }
    assert load("dbleu-2").compute(**once) == scored("dbleu-2").to_dict()


def test_the_description_names_all_families() -> None:
    description = load().description.lower().replace("-", "")
    for name in ("nist", "cider", "lebleu", "meteor", "chrf", "ter", "bleu2vec", "ibleu", "sbleu", "δbleu", "trubleu"):
        assert name in description


def test_in_memory() -> None:
    assert load(keep_in_memory=True).compute(**ALL) == scored("trubleu").to_dict()


def test_one_reference_may_be_a_plain_text() -> None:
    found = load("bleu-2").compute(predictions=["a b"], references=["a b c"])
    assert found == load("bleu-2").compute(predictions=["a b"], references=[["a b c"]])


def test_messages_reach_metrics_that_look_at_them() -> None:
    found = load("ibleu-2").compute(predictions=OUTPUTS, references=REFERENCES, messages=MESSAGES)
    assert found == scored("ibleu-2").to_dict()


def test_the_interval_is_that_of_score() -> None:
    found = load("dbleu-2").compute(**ALL, ci=True, resamples=300, confidence=0.9, seed=7)
    row = score_systems(
        {"A": OUTPUTS},
        References.from_lists(REFERENCES, WEIGHTS),
        {"dbleu-2": make_metric("dbleu-2")},
        sampling=Sampling(interval=True, resamples=300, confidence=0.9, seed=7),
    ).scores[0]
    assert (found["score"], found["low"], found["high"]) == (row.score, row.low, row.high)
    assert found["signature"] == row.signature
    assert (found["confidence"], found["resamples"], found["seed"]) == (0.9, 300, 7)


def test_references_that_are_not_rated_yet() -> None:
    unrated = [[1.0, None], *WEIGHTS[1:]]
    module = load("dbleu-2")
    with pytest.raises(DataError, match="not rated yet, in segments 1"):
        module.compute(predictions=OUTPUTS, references=REFERENCES, weights=unrated)
    found = module.compute(predictions=OUTPUTS, references=REFERENCES, weights=unrated, unrated_as=0.25)
    assert found["segments"] == 3
    assert found["score"] == scored("dbleu-2", [[1.0, 0.25], *WEIGHTS[1:]]).score


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"references": REFERENCES[:2]}, "3 outputs but references for 2 segments"),
        ({"references": None}, "both predictions and references are needed"),
        ({"predictions": [1, 2, 3]}, "predictions must be a list with one text for each segment"),
        ({"predictions": "one text"}, "predictions is one string; pass a list with one item for each segment"),
        ({"references": [["a"], ["b"], [3]]}, "must be a string or None, not 3"),
        ({"weights": [[1.0], [1.0], [1.0]]}, "segment 1 has 2 references but 1 weight"),
        ({"weights": [[2.0, 1.0], *WEIGHTS[1:]]}, "segment 1.*2"),
        ({"messages": ["only one"]}, "there are 1 messages but references has 3 segments"),
        ({"predictions": 3}, "predictions is of type int; pass a list with one item for each segment"),
        (
            {"predictions": ["a", "b", "c \ud83d"]},
            r"prediction 3 \(.*\) holds half of a surrogate pair, which evaluate cannot keep; replace it",
        ),
        ({"references": [["a"], ["b", "\udc00"], ["c"]], "weights": None}, r"reference of segment 2 \(.*\) holds half"),
        ({"messages": ["\ud800", "b", "c"]}, r"message 1 \(.*\) holds half of a surrogate pair"),
        ({"ci": "no"}, "ci='no' must be true or false"),
        ({"metric": "bluu"}, "there is no metric 'bluu'; did you mean bleu"),
        ({"tokenise": "chat"}, "trubleu has no option tokenise; did you mean tokenize"),
    ],
)
def test_what_is_wrong_is_said_in_one_sentence(given: dict[str, Any], message: str) -> None:
    module = load()
    with pytest.raises((DataError, UsageError), match=message):
        module.compute(**{**ALL, **given})
    # The module is as good as before.
    assert module.compute(**ALL) == scored("trubleu").to_dict()


def test_weights_for_some_segments_only_are_refused() -> None:
    module = load()
    module.add_batch(predictions=OUTPUTS[:2], references=REFERENCES[:2], weights=WEIGHTS[:2])
    module.add_batch(predictions=OUTPUTS[2:], references=REFERENCES[2:])
    with pytest.raises(DataError, match="1 of 3 segments came without weights"):
        module.compute()


def test_a_wrong_option_does_not_cost_what_was_added() -> None:
    module = load()
    module.add_batch(**ALL)
    with pytest.raises(UsageError, match="no option smothing"):
        module.compute(smothing="exp")
    assert module.compute() == scored("trubleu").to_dict()


def test_a_wrong_name_is_said_when_the_module_is_loaded() -> None:
    with pytest.raises(UsageError, match="there is no metric 'dblue'"):
        load("dblue-2")


def test_without_evaluate_the_message_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "evaluate", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'trubleu\[evaluate\]'"):
        hugging_face()


def test_results_can_be_saved_as_evaluate_does(tmp_path: Path) -> None:
    saved = evaluate.save(tmp_path / "result.json", **load("dbleu-2").compute(**ALL, ci=True, resamples=100))
    assert json.loads(saved.read_text())["signature"].startswith("dbleu-2|nrefs:var")

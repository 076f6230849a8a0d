"""A model that rates over a real server: `transformers serve`, with a tiny model of random weights.

What it answers is noise. That accepted answers are on the scale, that all is logged, that another run goes on where one
stopped, and that nothing of it is taken for people's, is what is tested.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from trubleu.errors import EndpointError
from trubleu.rating import Item, ModelOptions, Study, StudyConfig, rate_with_model
from trubleu.rating.audit import audit
from trubleu.rating.summary import summary

if TYPE_CHECKING:
    from collections.abc import Iterator

pytest.importorskip("transformers")

TEMPLATE = "{% for message in messages %}{{ message['role'] }}: {{ message['content'] }}\n{% endfor %}assistant:"


def make_model(folder: Path) -> None:
    """Make a model of random weights whose next token is almost always some digit."""
    import tokenizers
    import torch
    import transformers

    made = tokenizers.Tokenizer(tokenizers.models.BPE())
    made.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = tokenizers.decoders.ByteLevel()
    alphabet = tokenizers.pre_tokenizers.ByteLevel.alphabet()
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=300, special_tokens=["<pad>", "<end>"], initial_alphabet=alphabet, show_progress=False
    )
    made.train_from_iterator(["how good is this response?"], trainer)
    special = {"eos_token": "<end>", "pad_token": "<pad>"}
    words = transformers.PreTrainedTokenizerFast(tokenizer_object=made, **special)
    words.chat_template = TEMPLATE
    torch.manual_seed(1)
    config = transformers.LlamaConfig(
        vocab_size=len(words),
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=2,
        max_position_embeddings=4096,
        tie_word_embeddings=False,
        bos_token_id=None,
        eos_token_id=words.eos_token_id,
        pad_token_id=words.pad_token_id,
    )
    model = transformers.LlamaForCausalLM(config)
    digits = words.convert_tokens_to_ids(list("0123456789"))
    with torch.no_grad():
        end = model.model(**words("rate this\nassistant:", return_tensors="pt")).last_hidden_state[0, -1]
        model.lm_head.weight[digits] += 12 * end / (end @ end)  # all digits alike, and far above all else
    model.generation_config.do_sample = True
    model.save_pretrained(folder)
    words.save_pretrained(folder)


@pytest.fixture(scope="module")
def endpoint(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str]]:
    """The address of a server, and the name of its model."""
    folder = tmp_path_factory.mktemp("tiny")
    make_model(folder)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [Path(sys.executable).parent / "transformers", "serve", folder, "--host", "127.0.0.1", "--port", port]
    log = folder / "log.txt"
    with log.open("wb") as stream:
        server = subprocess.Popen(
            [*map(str, command), "--device", "cpu"],
            stdout=stream,
            stderr=stream,
            env={**os.environ, "HF_HUB_OFFLINE": "1"},
        )
    try:
        until = time.monotonic() + 600
        while True:
            assert server.poll() is None, log.read_text()
            assert time.monotonic() < until, log.read_text()
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=5) as answer:
                    if answer.status == 200:
                        break
            except (urllib.error.URLError, OSError):
                time.sleep(0.5)
        yield f"http://127.0.0.1:{port}/v1", str(folder)
    finally:
        server.send_signal(signal.SIGINT)
        try:
            server.wait(20)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()


def test_a_real_server(endpoint: tuple[str, str], tmp_path: Path) -> None:
    url, model = endpoint
    items = [Item(f"k{number}", (f"text {number}",), message=f"message {number}") for number in range(12)]
    study = Study.create(tmp_path / "study", StudyConfig("Test", "response", raters=2), items)
    options = ModelOptions(
        url=url, model=model, temperature=1.0, answer_tokens=1, concurrency=2, timeout=120.0, retries=1
    )
    with pytest.raises(EndpointError, match="the budget of 3,000 tokens is spent"):
        rate_with_model(study, replace(options, budget=3000))
    before = len(study.table())
    done = rate_with_model(study, options)
    assert done.before == before  # none, if the first answers were all refused
    assert done.rated + done.refused + done.before == 12
    assert before + done.rated == len(study.table())
    for _ in range(50):  # items that were refused are asked about again
        left, done = done.refused, rate_with_model(study, options)
        assert done.rated + done.refused == left
    assert (done.before, done.requests) == (12, 0)
    entries = [row for row in study.log() if row.kind in {"model", "refused"}]
    accepted = [row for row in entries if row.kind == "model"]
    assert sorted(row.item or 0 for row in accepted) == sorted(item.id for item in study.items())
    for row in entries:
        note = json.loads(row.note or "")
        assert note["asked"] == model
        assert note["raw"]
        assert (row.scores is None) == (row.kind == "refused")
    assert all(row.scores is not None and row.scores[0] in range(1, 6) for row in accepted)
    assert audit(study) == []
    found = summary(study, study.now(), resamples=0)
    assert (found.counted, found.raters, found.uncounted, found.unable) == (0, (), 0, 0)
    assert found.models[0].person.ratings == 12
    assert all(item.counted == 0 for item in study.items())
    study.close()

"""A hash of what things hold: the same wherever they are made, another if anything about them or their code is."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module, invalidate_caches, reload
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trubleu.data import References
from trubleu.errors import UsageError
from trubleu.execution.hashing import content_digest
from trubleu.metrics import Bleu, ChrF, Ter
from trubleu.text import tokenizer

if TYPE_CHECKING:
    from pathlib import Path

PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text() | st.floats(allow_nan=False),
    lambda parts: st.lists(parts) | st.tuples(parts, parts) | st.dictionaries(st.text(), parts) | st.sets(st.text()),
    max_leaves=8,
)


@dataclass(frozen=True)
class Holder:
    """Holds something."""

    held: Any


def elsewhere(thing: Any) -> Any:
    """Return a copy as another process gets it."""
    return pickle.loads(pickle.dumps(thing))  # noqa: S301 - our own


@given(PLAIN, PLAIN)
def test_equal_things_only_have_one_hash(one: Any, other: Any) -> None:
    assert content_digest(Holder(one)) == content_digest(elsewhere(Holder(one)))
    # By what is written: 0 equals False and 0.0, but is none of them.
    assert (content_digest(one) == content_digest(other)) == (_written(one) == _written(other))


def _written(thing: Any) -> object:
    if isinstance(thing, set):
        return "set", sorted(map(repr, thing))
    if isinstance(thing, dict):
        return "dict", [(key, _written(value)) for key, value in thing.items()]
    if isinstance(thing, list | tuple):
        return type(thing).__name__, [_written(each) for each in thing]
    return type(thing).__name__, repr(thing)


def test_it_does_not_matter_which_parts_are_one_object() -> None:
    name, same = "".join(["a", "b"]), "".join(["a", "b"])
    assert content_digest([name, name]) == content_digest([name, same])
    rows = np.zeros((2, 3))
    assert content_digest([rows, rows]) == content_digest([rows, elsewhere(rows)])


def test_arrays_are_known_by_their_numbers_and_the_order_in_which_they_are_sent() -> None:
    rows = np.arange(12.0).reshape(3, 4)
    frozen = rows.copy()
    frozen.flags.writeable = False
    every_other = np.repeat(rows, 2, axis=1)[:, ::2]
    assert {content_digest(each) for each in (rows, frozen, every_other, elsewhere(rows))} == {content_digest(rows)}
    others = [
        np.asfortranarray(rows), rows.astype(np.int64), rows.ravel(), rows.T, np.nextafter(rows, 99),
        np.where(rows == 0, -0.0, rows), rows.tolist(),
    ]  # fmt: skip
    assert len({content_digest(each) for each in (rows, *others)}) == 1 + len(others)
    assert content_digest(np.array(["a", "b"])) == content_digest(elsewhere(np.array(["a", "b"])))
    assert content_digest(np.array(["a", None])) != content_digest(np.array(["a", "b"], object))


def test_sets_are_the_same_in_processes_that_hash_otherwise() -> None:
    code = (
        "from trubleu.execution.hashing import content_digest;"
        "print(content_digest({'a', 'b', 'c'}, frozenset({'x', ('y', 1)})))"
    )
    found = set()
    for seed in ("1", "2"):
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=True)
        found.add(done.stdout.strip())
    assert found == {content_digest({"c", "b", "a"}, frozenset({("y", 1), "x"}))}


def test_what_was_looked_up_before_does_not_matter() -> None:
    references, metrics = References.from_lists([["a b"]]), [Bleu(2), ChrF(), Ter()]
    before = content_digest(references, metrics)
    assert references.ids == ("1",)
    for metric in metrics:
        metric.corpus(["a c"], references)
    assert content_digest(references, metrics) == before
    assert content_digest(References.from_lists([["a b"]], ids=["s"]), metrics) != before
    assert content_digest(references, [Bleu(2, lowercase=True), ChrF(), Ter()]) != before


CODE = """
from trubleu import Bleu

class Mine(Bleu):
    pass

def words(text):
    return text.split()
"""


def test_code_of_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "somebodys_code.py").write_text(CODE)
    invalidate_caches()
    module = import_module("somebodys_code")

    def digests() -> list[str]:
        things = [Holder([{"m": module.Mine(2).score}]), Bleu(2, tokenize=module.words), partial(module.words, "a")]
        return [content_digest(thing) for thing in (*things, {module.Mine}, Bleu(2))]

    before = digests()
    assert digests() == before
    (tmp_path / "somebodys_code.py").write_text(f"{CODE}\n")
    reload(module)
    after = digests()
    assert [one == other for one, other in zip(before, after, strict=True)] == [False] * 4 + [True]
    monkeypatch.delattr(module, "__file__")
    with pytest.raises(
        UsageError, match=r"^results of what is defined in somebodys_code cannot be cached, as it has no"
    ):
        content_digest(module.Mine(2))


class Names(set[str]):
    """A set with a class of its own."""


def test_sets_of_other_classes_are_sets() -> None:
    names, same = Names(), Names()
    for each in "abcdefgh":
        names.add(each)
    for each in "hgfedcba":
        same.add(each)
    assert content_digest(names) == content_digest(same) != content_digest(set(names))
    same.first = "a"  # type: ignore[attr-defined]
    assert content_digest(names) != content_digest(same)


class Secretive:
    """Does not say what it holds."""

    def __getstate__(self) -> object:
        raise RuntimeError("nobody knows")


def test_generators_of_numpy_have_a_state() -> None:
    generator = np.random.default_rng(1)
    before = content_digest(generator, generator.normal)
    assert content_digest(np.random.default_rng(1), np.random.default_rng(1).normal) == before
    generator.normal()
    assert content_digest(generator, generator.normal) != before


def test_a_tokenizer_is_known_by_its_model() -> None:
    one, other, same = (replace(tokenizer("char"), _model=model) for model in ("a", "b", "a"))
    assert content_digest(Holder(one)) == content_digest(Holder(same)) != content_digest(Holder(other))
    with pytest.raises(UsageError, match=r"^the tokenizer char has another SentencePiece model on the node .* than wh"):
        elsewhere(one)


def test_what_cannot_be_told() -> None:
    class Local:
        pass

    circle: list[Any] = []
    circle.append(circle)
    for thing in (Local(), lambda: 1, circle, {Local}, Secretive()):
        with pytest.raises(
            UsageError, match=r"^results cannot be cached: .*; use functions and classes that can be im"
        ):
            content_digest(thing)

"""What is packed comes back to the bit; what nobody packed is refused by errors that count as damage."""

from __future__ import annotations

import json
import pickle
import struct
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from trubleu.execution.serialization import Packing


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A dataclass."""

    name: str
    value: Any = None


class Both(NamedTuple):
    """A named tuple."""

    plain: Any
    other: Any


PACKING = Packing((Row, Both))
DAMAGE = (AttributeError, LookupError, OverflowError, RecursionError, TypeError, ValueError)

SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats()
    | st.text(st.characters())  # lone surrogates, too
)
ARRAYS = arrays.arrays(
    st.sampled_from([np.float64, np.float32, np.int64, np.uint64, np.uint8]),
    arrays.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=3),
).map(lambda array: array if array.size % 2 else np.asfortranarray(array))
VALUES = st.recursive(
    SCALARS | ARRAYS,
    lambda parts: (
        st.lists(parts)
        | st.tuples(parts, parts)
        | st.dictionaries(st.text() | st.tuples(st.text(), st.text()), parts)
        | st.builds(Row, name=st.text(), value=parts)
        | st.builds(Both, parts, parts)
    ),
    max_leaves=10,
)


def packed(thing: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    found = PACKING.pack(thing)
    assert found is not None
    return found[0], dict(found[1])


def bits(thing: Any) -> object:
    """Return all about a thing that could differ: kinds, bits, shapes, the order of arrays."""
    kind = type(thing).__name__
    match thing:
        case float():
            return kind, struct.pack("<d", thing)
        case np.ndarray():
            return kind, thing.dtype.str, thing.shape, thing.flags.fnc, thing.flags.writeable, thing.tobytes("A")
        case dict():
            return kind, [(bits(key), bits(value)) for key, value in thing.items()]
        case Row():
            return kind, bits(thing.name), bits(thing.value)
        case list() | tuple():
            return kind, [bits(each) for each in thing]
    return kind, thing


@given(VALUES)
def test_to_the_bit_and_back(thing: Any) -> None:
    header, found = packed(thing)
    assert bits(PACKING.unpack(header, found.__getitem__)) == bits(thing)


def test_what_is_not_known_is_not_kept() -> None:
    @dataclass(frozen=True)
    class Stranger:
        name: str

    unknown: list[Any] = [
        np.float64(1.0), 1j, {1}, b"a", Fraction(1, 3), Stranger("a"), 2**63, object(), np.array(["a"]), np.array([1j]),
        np.array([None]), np.zeros(2, bool), np.zeros(2, ">f8"),
    ]  # fmt: skip
    assert [PACKING.pack([1, {"a": each}]) for each in unknown] == [None] * len(unknown)
    assert Packing().pack(Row(name="a")) is None


def unpacked(value: object, numbers: bytes = b"") -> Any:
    written = value if isinstance(value, bytes) else json.dumps(value).encode()
    content = {"value": np.frombuffer(written, np.uint8), "numbers": np.frombuffer(numbers, np.uint8)}
    return PACKING.unpack({}, content.__getitem__)


@pytest.mark.parametrize(
    "value",
    [
        b"", b"{", b"\xff", b"NaN", b"[" * 100_000, b"1" * 5000, 1.5, {}, [], [[]], ["set", 1], ["object"], ["Row"],
        ["Row", "a"], ["Row", "a", 1, 2], ["dict", 1], ["dict", ["list"], 1], ["float"], ["float", 2], ["array"],
        ["array", "<f8"], ["array", "<f8", "C", 1], ["array", "|O", "C", 1], ["array", "<f8", "K", 0],
        ["array", "<f8", "C", -1], ["array", "<f8", "C", 0, 2**70], ["array", "<f8", "C", 2**62, 2**62],
        ["array", "<f8", "C", True], ["array", ["<f8"], "C", 1], ["array", "<f8", "C", "1"], ["list", 0.5], [None],
    ],
)  # fmt: skip
def test_what_nobody_packed(value: object) -> None:
    with pytest.raises(DAMAGE):
        unpacked(value)


def test_numbers_must_be_all_that_there_are() -> None:
    assert unpacked(["float"], struct.pack("<d", 2.5)) == 2.5
    with pytest.raises(ValueError, match="more numbers"):
        unpacked(["list"], bytes(8))


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.sampled_from(["float", "array", "list", "dict", "Row", "<f8", "C"]),
    st.lists,
)


@given(JUNK, st.binary(max_size=40))
def test_a_stranger_gets_a_value_or_damage(value: object, numbers: bytes) -> None:
    try:
        found = unpacked(value, numbers)
    except DAMAGE:
        return
    pickle.dumps(found)  # whole, whatever it is


class Typed(NamedTuple):
    """A record whose fields have types."""

    name: str
    number: int
    share: float | None
    kind: Literal["a", "b"]


@pytest.mark.parametrize("field", [("name", 1), ("number", True), ("number", 0.5), ("share", "x"), ("kind", "c")])
def test_a_record_whose_fields_are_of_other_types(field: tuple[str, Any]) -> None:
    packing = Packing((Typed,))
    good = Typed("x", 1, None, "a")
    header, arrays = packing.pack(good) or ({}, {})
    assert packing.unpack(header, arrays.__getitem__) == good
    header, arrays = packing.pack(good._replace(**dict([field]))) or ({}, {})
    with pytest.raises(TypeError, match="a Typed has fields of other types"):
        packing.unpack(header, arrays.__getitem__)

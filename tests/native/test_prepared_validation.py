"""Arrays from files that strangers made: whatever passes the look at them can be scored without looking outside."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.oracles.builds import BUILDS, Choice, from_prepared, lay_flat, prepare

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Arrays = dict[str, NDArray[Any]]

SEPARATOR, UNKNOWN = 0xFFFFFFFE, 0xFFFFFFFF
LONG = "longer-than-eight-bytes"
GIVEN = lay_flat(
    [f"a b {LONG} c", "c c", "unknown words"],
    [[f"a b {LONG}", "b", ""], ["c d", "c c c"], ["e"]],
    [[1.0, 0.5, -0.5], [-1.0, 0.25], [1.0]],
)
CHOICE = Choice(credit="products")
NAMES = ("token_table", "token_begins", "token_bytes", "ids", "id_begins", "reference_begins", "filter")


@pytest.fixture(params=BUILDS)
def kernels(request: pytest.FixtureRequest) -> Any:
    return BUILDS[request.param]


def arrays_of(kernels: Any) -> Arrays:
    return {name: array.copy() for name, array in prepare(kernels, GIVEN, CHOICE).arrays.items()}


def slot_of(arrays: Arrays, token: int) -> int:
    ids = arrays["token_table"][1::2] & np.uint64(0xFFFFFFFF)
    return int(np.flatnonzero(ids == token)[0])


def test_what_the_builder_makes_is_fine(kernels: Any) -> None:
    assert prepare(kernels, GIVEN, CHOICE).problem() is None
    assert prepare(kernels, lay_flat([], []), CHOICE).problem() is None
    many = [[f"word{i} {'x' * (i % 40)}{i} common"] for i in range(3000)]  # the table grows a few times
    assert prepare(kernels, lay_flat([row[0] for row in many], many), CHOICE).problem() is None


def set_entry(arrays: Arrays, token: int, size: int | None = None, identity: int | None = None) -> None:
    slot = slot_of(arrays, token)
    old = int(arrays["token_table"][2 * slot + 1])
    arrays["token_table"][2 * slot + 1] = (old >> 32 if size is None else size) << 32 | (
        old & 0xFFFFFFFF if identity is None else identity
    )


def put(name: str, at: int, value: int) -> Callable[[Arrays], None]:
    def change(arrays: Arrays) -> None:
        arrays[name][at] = value

    return change


def fill_table(arrays: Arrays) -> None:
    """No free slot: a search for an unknown word would never end."""
    free = (arrays["token_table"][1::2] & np.uint64(0xFFFFFFFF)) == UNKNOWN
    arrays["token_table"][1::2][free] = arrays["token_table"][2 * slot_of(arrays, 0) + 1]


def cluster_table(arrays: Arrays) -> None:
    """All tokens in one row of a large vocabulary: a search would be as long as the vocabulary."""
    count = 1000
    arrays["token_bytes"] = np.full(count, ord("x"), dtype=np.uint8)
    arrays["token_begins"] = np.arange(count + 1, dtype=np.uint64)
    entries = np.full(4096, UNKNOWN, dtype=np.uint64)
    entries[1 : 2 * count : 2] = np.arange(count, dtype=np.uint64) | np.uint64(1 << 32)
    arrays["token_table"] = entries


def empty_token(arrays: Arrays) -> None:
    """A token of no bytes, for which the kernels would shift by the width of a word."""
    arrays["token_begins"][1] = 0
    set_entry(arrays, 0, size=0)


def huge_segment(arrays: Arrays) -> None:
    """Begins that wrap around when they are added to the padding."""
    arrays["ids"] = arrays["ids"][:0]
    arrays["id_begins"][-1] = 2**64 - 64


ATTACKS: dict[str, tuple[Callable[[Arrays], None], str]] = {
    "an id beyond the vocabulary": (put("ids", 1, 1000), "unknown token"),
    "the id of unknown words": (put("ids", 1, UNKNOWN), "unknown token"),
    "a separator within a reference": (put("ids", 2, SEPARATOR), "not set apart"),
    "no separator in front": (put("ids", 0, 0), "not set apart"),
    "no separator in front of a later one": (put("ids", 4, 0), "not set apart"),
    "padding that is text": (put("ids", -1, 0), "not set apart"),
    "a begin beyond the end": (put("id_begins", 1, 2**40), "references do not follow"),
    "begins that fall": (put("id_begins", 2, 1), "references do not follow"),
    "a reference without its separator": (put("id_begins", 1, 0), "references do not follow"),
    "a first begin": (put("id_begins", 0, 1), "references do not follow"),
    "a segment beyond the end": (put("reference_begins", 1, 2**63), "segments do not follow"),
    "segments that fall": (put("reference_begins", 2, 1), "segments do not follow"),
    "a first segment": (put("reference_begins", 0, 1), "segments do not follow"),
    "a token beyond the end": (put("token_begins", 1, 2**62), "tokens do not follow"),
    "tokens that fall": (put("token_begins", 2, 0), "tokens do not follow"),
    "an empty token": (empty_token, "empty"),
    "an entry of another size": (lambda arrays: set_entry(arrays, 2, size=10**6), "wrong entry"),
    "an entry of an unknown token": (lambda arrays: set_entry(arrays, 2, identity=999), "wrong entry"),
    "an entry that is gone": (lambda arrays: set_entry(arrays, 2, identity=UNKNOWN), "every token once"),
    "a full table": (fill_table, "every token once"),
    "one row of tokens": (cluster_table, "not spread"),
}


@pytest.mark.parametrize("attack", ATTACKS)
def test_attacks_are_noticed(kernels: Any, attack: str) -> None:
    arrays = arrays_of(kernels)
    change, message = ATTACKS[attack]
    change(arrays)
    problem = kernels.Prepared(arrays).problem()
    assert problem is not None
    assert message in problem


def test_attacks_that_are_noticed_at_once(kernels: Any) -> None:
    for change in (huge_segment, put("id_begins", -1, 2**64 - 64), put("token_begins", -1, 2**64 - 1)):
        arrays = arrays_of(kernels)
        change(arrays)
        with pytest.raises(ValueError, match="do not fit each other"):
            kernels.Prepared(arrays)


def test_a_vocabulary_of_more_than_half_the_table(kernels: Any) -> None:
    arrays = arrays_of(kernels)
    known = len(arrays["token_begins"]) - 1
    slots = 1 << (2 * known - 1).bit_length() - 1
    assert known > slots // 2
    arrays["token_table"] = np.full(2 * slots, UNKNOWN, dtype=np.uint64)
    assert "too small" in kernels.Prepared(arrays).problem()


def test_the_filter_only_saves_time(kernels: Any) -> None:
    """Where it lets every word pass, words of other segments are looked up, and nothing else changes."""
    many = [[f"word{i} shared {'x' * (i % 40)}{i}", f"shared word{i}"] for i in range(300)]
    corpus = lay_flat([f"word{i} shared word{(i * 7) % 300} shared new" for i in range(300)], many)
    choice = Choice(order=3)
    arrays = dict(prepare(kernels, corpus, choice).arrays)
    assert 0 < np.bitwise_count(arrays["filter"]).sum() <= sum(len(text.split()) for row in many for text in row)
    wanted = from_prepared(kernels, kernels.Prepared(arrays), corpus, choice)
    arrays["filter"] = np.full_like(arrays["filter"], 2**64 - 1)
    np.testing.assert_array_equal(from_prepared(kernels, kernels.Prepared(arrays), corpus, choice), wanted)


@given(st.data())
def test_whatever_passes_can_be_scored(data: st.DataObject) -> None:
    """Run under sanitizers this is where a missing check would be found."""
    kernels = BUILDS[data.draw(st.sampled_from(sorted(BUILDS)))]
    arrays = arrays_of(kernels)
    for _ in range(data.draw(st.integers(1, 3))):
        name = data.draw(st.sampled_from(NAMES))
        array = arrays[name]
        at = data.draw(st.integers(0, len(array) - 1))
        bits = 8 * array.dtype.itemsize
        near = st.integers(-2, 2).map(lambda step: (int(array[at]) + step) % 2**bits)  # noqa: B023
        flipped = st.integers(0, bits - 1).map(lambda bit: int(array[at]) ^ 1 << bit)  # noqa: B023
        array[at] = data.draw(near | flipped | st.sampled_from([0, 1, 2**bits - 1, 2**bits - 2, 2 ** (bits - 1)]))
    try:
        prepared = kernels.Prepared(arrays)
    except ValueError:
        return
    if prepared.problem() is None:
        for credit in ("counts", "products", "fork2019"):
            for order in (1, 4, 9):
                from_prepared(kernels, prepared, GIVEN, Choice(credit=credit, order=order))


# Checksums


def plain_checksum(data: bytes) -> int:
    """Say in Python what `checksum.hpp` says in words."""
    mask, odd = 2**64 - 1, 0x9E3779B97F4A7C15

    def mixed(state: int, word: int) -> int:
        rotated = (state << 27 | state >> 37) & mask
        return (rotated ^ word) * odd & mask

    blocks = -(-len(data) // 64)
    data = data.ljust(64 * blocks, b"\0")
    lanes = [0] * 8
    for block in range(blocks):
        for lane in range(8):
            at = 64 * block + 8 * lane
            lanes[lane] = mixed(lanes[lane], int.from_bytes(data[at : at + 8], "little"))
    state = blocks
    for lane in lanes:
        state = mixed(state, lane)
    state = (state ^ state >> 32) * 0xD6E8FEB86659FD93 & mask
    return state ^ state >> 32


def checksum(kernels: Any, data: bytes) -> int:
    value: int = kernels.checksum(np.frombuffer(data, dtype=np.uint8))
    return value


@given(st.binary(max_size=400))
def test_checksums_are_what_the_format_says(data: bytes) -> None:
    for kernels in BUILDS.values():
        assert checksum(kernels, data) == plain_checksum(data)


def test_a_checksum_never_changes(kernels: Any) -> None:
    """Files that were written are read by later versions."""
    assert checksum(kernels, b"") == 0
    assert checksum(kernels, b"TruBLEU") == 0x29BA6829515796B8
    assert checksum(kernels, bytes(range(256))) == 0xDCA0B67F703DAA82


@given(st.binary(min_size=1, max_size=300), st.data())
def test_a_changed_byte_changes_the_checksum(data: bytes, draw: st.DataObject) -> None:
    kernels = BUILDS["baseline"]
    at = draw.draw(st.integers(0, len(data) - 1))
    changed = data[:at] + bytes([data[at] ^ draw.draw(st.integers(1, 255))]) + data[at + 1 :]
    assert checksum(kernels, data) != checksum(kernels, changed)


def test_two_changes_of_signs_do_not_cancel(kernels: Any) -> None:
    """In a plain multiplicative checksum high bits never reach lower ones."""
    weights = np.linspace(-1, 1, 64)
    for i in range(64):
        for j in range(i):
            changed = weights.copy()
            changed[[i, j]] *= -1
            assert checksum(kernels, weights.tobytes()) != checksum(kernels, changed.tobytes())


# Strings as one heap

any_text = st.text(st.characters(exclude_categories=()), max_size=12)


@given(st.lists(any_text, max_size=8))
def test_strings_come_back(texts: list[str]) -> None:
    for kernels in BUILDS.values():
        heap, begins = kernels.pack_texts(tuple(texts))
        assert heap.tobytes() == b"".join(text.encode("utf-8", "surrogatepass") for text in texts)
        assert len(begins) == len(texts) + 1
        assert kernels.unpack_texts(heap, begins) == tuple(texts)


@pytest.mark.parametrize("begins", [[], [1], [0, 2], [0, 4], [1, 3], [0, 3, 2, 3], [0, 2**64 - 1, 3], [2**63, 3]])
def test_begins_that_do_not_divide_the_heap(kernels: Any, begins: list[int]) -> None:
    heap = np.frombuffer(b"abc", dtype=np.uint8)
    with pytest.raises(ValueError, match="do not divide"):
        kernels.unpack_texts(heap, np.array(begins, dtype=np.uint64))


@pytest.mark.parametrize("wrong", [b"\xff", b"\xc3", b"\xf5\x80\x80\x80", b"\xc0\x80"])
def test_heaps_that_are_no_utf8(kernels: Any, wrong: bytes) -> None:
    with pytest.raises(UnicodeDecodeError):
        kernels.unpack_texts(np.frombuffer(wrong, dtype=np.uint8), np.array([0, len(wrong)], dtype=np.uint64))


def test_what_is_no_string_is_not_packed(kernels: Any) -> None:
    with pytest.raises(TypeError, match="must be strings"):
        kernels.pack_texts(("a", None))

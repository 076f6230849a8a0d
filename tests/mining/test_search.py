"""The search against a plain statement that scores every row."""

from __future__ import annotations

import math
import re
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.mining.shards import search, shards_of
from tests.oracles.mining import Columns, Found, Row, bm25_scores, mined
from trubleu.errors import UsageError
from trubleu.mining import search as module
from trubleu.mining.bm25 import Bm25
from trubleu.mining.search import Hits, folded

if TYPE_CHECKING:
    from collections.abc import Sequence

    from trubleu.mining.shard import Shard

WORDS = ("a", "b", "c", "d", "e", "rare", "Ä", "ß", "word-that-is-long", "\ud800")
TEXTS = st.lists(st.sampled_from(WORDS), max_size=8).map(" ".join)
RESPONSES = st.one_of(TEXTS, TEXTS.map(str.upper), TEXTS.map(lambda text: text.replace(" ", " \u3000")))
ROWS = st.lists(st.builds(Row, st.just("id"), TEXTS, RESPONSES), max_size=40)
QUERIES = st.lists(st.tuples(TEXTS, st.one_of(st.none(), RESPONSES)), min_size=1, max_size=4)
NUMBERS = st.sampled_from([0.0, 0.1, 0.5, 1.0])


def found_in(shards: Sequence[Shard], queries: Sequence[tuple[str, str | None]], **given_options: Any) -> Hits:
    options: dict[str, Any] = {"tokenize": "none", "lowercase": False, "alpha": 0.5, "epsilon": 0.1, "top": 15}
    options |= {"threads": 1} | given_options
    bm25 = Bm25(options.pop("variant", "lucene"), options.pop("k1", 1.2), options.pop("b", 0.75))
    texts = [query[0] for query in queries], [query[1] for query in queries]
    return search(shards, *texts, bm25=bm25, **options)


def as_list(hits: Hits) -> list[Found]:
    arrays = (hits.query, hits.row, hits.score, hits.message_score, hits.response_score)
    return [Found(*values) for values in zip(*(array.tolist() for array in arrays), strict=True)]


@settings(max_examples=150, deadline=None)
@given(data=st.data(), rows=ROWS, queries=QUERIES, alpha=NUMBERS, epsilon=NUMBERS, b=NUMBERS)
def test_every_bit_is_that_of_the_plain_statement(
    data: st.DataObject,
    tmp_path_factory: pytest.TempPathFactory,
    rows: list[Row],
    queries: list[tuple[str, str | None]],
    alpha: float,
    epsilon: float,
    b: float,
) -> None:
    options: dict[str, Any] = {
        "variant": data.draw(st.sampled_from(["lucene", "robertson", "atire"])),
        "k1": data.draw(st.sampled_from([0.0, 0.5, 1.2, 100.0])),
        "b": b,
        "alpha": alpha,
        "epsilon": epsilon,
        "top": data.draw(st.integers(1, 6)),
    }
    cuts = data.draw(st.lists(st.integers(0, len(rows)), max_size=3))
    folder = tmp_path_factory.mktemp("shards")
    expected = mined(rows, queries, str.split, **options)
    assert as_list(found_in(shards_of(folder, rows), queries, **options)) == expected
    assert as_list(found_in(shards_of(folder, rows, cuts), queries, threads=2, **options)) == expected


def corpus(rows: int, seed: int, *, words: int = 3_000, doubles: float = 0.2) -> list[Row]:
    """Return rows of words that follow Zipf's law, with copies among them, a long one and one that repeats a word."""
    generator = np.random.default_rng(seed)
    odds = 1.0 / np.arange(1, words + 1)

    def texts() -> list[str]:
        lengths = generator.integers(1, 14, rows)
        drawn = generator.choice(words, int(lengths.sum()), p=odds / odds.sum()).tolist()
        made = [
            " ".join(f"w{word}" for word in drawn[end - length : end])
            for end, length in zip(np.cumsum(lengths).tolist(), lengths.tolist(), strict=True)
        ]
        copies = generator.random(rows) < doubles
        sources = generator.integers(0, rows, rows)
        made = [made[source] if copy else text for copy, source, text in zip(copies, sources, made, strict=True)]
        made[rows // 2] = " ".join(f"w{word}" for word in generator.integers(0, words, 1_500))
        made[rows // 3] = "w1 " * 7 + "w2 " * 8 + "w3 " * 400
        return made

    return [Row(f"r{i}", message, response) for i, (message, response) in enumerate(zip(texts(), texts(), strict=True))]


class Many(NamedTuple):
    """Several windows of rows, in one shard and in three."""

    rows: list[Row]
    columns: tuple[Columns, Columns]
    whole: list[Shard]
    cut: list[Shard]


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Many:
    rows = corpus(20_000, 1)
    columns = Columns([row.message.split() for row in rows]), Columns([row.response.split() for row in rows])
    whole = shards_of(tmp_path_factory.mktemp("whole"), rows)
    return Many(rows, columns, whole, shards_of(tmp_path_factory.mktemp("cut"), rows, [9_000, 12_345]))


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"top": 1},
        {"top": 300},
        {"variant": "robertson"},
        {"variant": "atire", "k1": 0.9, "b": 0.4},
        {"alpha": 0.0},
        {"alpha": 1.0},
        {"epsilon": 0.0},
        {"epsilon": 1e-9, "alpha": 0.9},
        {"epsilon": 50.0},
        {"k1": 0.0},
        {"k1": 1e6, "b": 1.0},
        {"b": 0.0},
        {"b": 1.0},
        {"alpha": 1e-308, "epsilon": 0.0},
        {"alpha": 0.5, "epsilon": 1e-300},
    ],
    ids=str,
)
def test_rows_that_are_passed_over_would_not_have_been_found(many: Many, options: dict[str, Any]) -> None:
    rows = many.rows
    drawn = np.random.default_rng(7).integers(0, len(rows), 8).tolist()
    queries: list[tuple[str, str | None]] = [
        *((rows[row].message, rows[row - 1].response) for row in drawn[:5]),
        (rows[drawn[5]].message, rows[drawn[5]].response),
        (rows[drawn[6]].message, None),
        (rows[len(rows) // 2].message, rows[len(rows) // 2].response),
        ("w2999 w2998", "w0 w1 w2"),
        ("w0 w0 w1", "w2990 w2991 w2992"),
        ("w0 nobody", "w0"),
        ("nobody says this", "w0"),
        ("", ""),
    ]
    expected = mined(rows, queries, str.split, columns=many.columns, **options)
    assert expected
    assert as_list(found_in(many.whole, queries, **options)) == expected
    assert as_list(found_in(many.cut, queries, threads=2, **options)) == expected


def test_one_scoring_after_another_on_the_same_shards(many: Many) -> None:
    queries = [(many.rows[row].message, many.rows[row - 1].response) for row in (5, 700, 12_000)]
    for b in (1.0, 0.0, 0.75, 1.0):
        expected = mined(many.rows, queries, str.split, columns=many.columns, b=b)
        assert as_list(found_in(many.whole, queries, b=b)) == expected


def test_the_fast_statement_is_the_plain_one() -> None:
    rows = corpus(60, 3, words=30)
    documents = [row.message.split() for row in rows]
    for variant in ("lucene", "robertson", "atire"):
        query = [*rows[5].response.split(), "nobody"]
        plain = bm25_scores(query, documents, variant, 1.2, 0.75)
        assert Columns(documents).scores(query, variant, 1.2, 0.75) == plain


def test_more_words_than_have_slots_of_their_own(tmp_path: Path) -> None:
    rows = corpus(300, 4, words=9_000)
    long = " ".join(f"w{word}" for word in range(8_000))
    expected = mined(rows, [(long, long)], str.split, top=20)
    assert len(expected) == 20
    assert as_list(found_in(shards_of(tmp_path, rows), [(long, long)], top=20)) == expected


def test_responses_that_differ_only_in_case_and_white_space_count_once(tmp_path: Path) -> None:
    rows = [
        Row("1", "so", "Straße  frei"),
        Row("2", "so so", "STRASSE\u2003FREI"),
        Row("3", "so", "me too"),
        Row("4", "so", " ME\ttoo"),
        Row("5", "so", "strasse frei!"),
        Row("6", "so", "mine"),
    ]
    hits = found_in(shards_of(tmp_path, rows, [2, 4]), [("so", " MINE")])
    assert [rows[row].id for row in hits.row] == ["2", "3", "5"]


def test_ties_go_to_what_comes_first(tmp_path: Path) -> None:
    rows = [Row(str(i), "hello there", f"answer {i}") for i in range(50)]
    hits = found_in(shards_of(tmp_path, rows, [7, 30]), [("hello", None)], top=9)
    assert hits.row.tolist() == list(range(9))
    assert len(set(hits.score.tolist())) == 1


def test_other_tokenizers_case_and_stop_words(tmp_path: Path) -> None:
    rows = [Row("1", "Great game @ana!!!", "ÄRGER :-)"), Row("2", "the great", "ärger"), Row("3", "the the", "x")]
    shards = shards_of(tmp_path, rows, tokenize="chat", lowercase=True, stop_words=("The",))
    hits = found_in(
        shards, [("GREAT @ana the", "Ärger")], tokenize="chat", lowercase=True, stop_words=("The",), alpha=0.5
    )
    assert hits.row.tolist() == [0]  # the second response is the query's own, the third has but a stop word
    assert shards[0].frequencies("message", shards[0].numbers(["great", "the", "@ana"])).tolist() == [2, 0, 1]
    assert shards[0].frequencies("response", shards[0].numbers(["ärger"])).tolist() == [2]


def test_nothing_to_search_gives_nothing(tmp_path: Path) -> None:
    assert found_in([], [("a", "b")]).row.tolist() == []
    assert found_in(shards_of(tmp_path, []), [("a", "b")]).row.tolist() == []
    assert found_in(shards_of(tmp_path, [Row("1", "", "")]), [("a", "b")]).row.tolist() == []
    assert found_in(shards_of(tmp_path, [Row("1", "a", "b")]), []).row.tolist() == []


def test_searches_share_what_is_known_of_a_shard(tmp_path: Path) -> None:
    rows = corpus(5_000, 3)
    (shard,) = shards_of(tmp_path, rows)
    queries = [(row.message, row.response) for row in rows[::500]]
    alone = [as_list(found_in([shard], [query])) for query in queries]
    shard.release()
    with ThreadPoolExecutor(4) as pool:
        jobs = [pool.submit(found_in, [shard], [query]) for query in queries]
        shard.release()  # others may go on with what they have
        assert [as_list(job.result()) for job in jobs] == alone


def resident_share(shard: Shard) -> float:
    """Which share of a mapped file lies in memory, by the kernel's own books."""
    size = resident = 0
    inside = False
    for line in Path("/proc/self/smaps").read_text().splitlines():
        if re.match(r"[0-9a-f]+-[0-9a-f]+ ", line):
            inside = line.endswith(shard.name)
        elif inside and line.startswith(("Size:", "Rss:")):
            number = int(line.split()[1])
            size, resident = (size + number, resident) if line.startswith("Size:") else (size, resident + number)
    return resident / size


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_an_index_of_several_shards_does_not_stay_in_memory(tmp_path: Path) -> None:
    rows = corpus(20_000, 4)
    queries = [(row.message, row.response) for row in rows[::2000]]
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    (alone,) = shards_of(tmp_path / "one", rows)
    alone.kernel()
    assert resident_share(alone) < 0.5  # all of it was read for its checksums, and handed back
    found_in([alone], queries)
    kept = resident_share(alone)
    several = shards_of(tmp_path / "two", rows, [10_000])
    found_in(several, queries)
    assert max(map(resident_share, several)) < 0.2 < kept


def test_progress_is_told_of_queries_times_shards(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_QUERIES", 2)
    rows = [Row(str(i), "a b", f"{i}") for i in range(6)]
    seen: list[int] = []
    found_in(shards_of(tmp_path, rows, [3]), [("a", None)] * 3, progress=seen.append)
    assert seen == [2, 1, 2, 1]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"alpha": -0.1}, "alpha must be a number from 0 to 1, not -0.1"),
        ({"alpha": math.nan}, "alpha must be"),
        ({"epsilon": -1.0}, "epsilon must be a number from 0 to 1,000,000, not -1.0"),
        ({"epsilon": math.inf}, "epsilon must be"),
        ({"top": 0}, "top must be a whole number from 1 on, not 0"),
        ({"threads": 0}, "threads must be"),
    ],
)
def test_options_out_of_range(tmp_path: Path, options: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        found_in(shards_of(tmp_path, [Row("1", "a", "b")]), [("a", None)], **options)


def test_folding() -> None:
    assert folded(" A\u3000ß\n") == "a ss"

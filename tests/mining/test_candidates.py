"""Candidates for seeds: what is in them, in which order, and that they are what the formulas say."""

from __future__ import annotations

import json
import math
import pickle
import random
import re
import warnings
from collections import Counter
from dataclasses import FrozenInstanceError
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.oracles.candidates import fold, plain_candidates
from trubleu._version import __version__
from trubleu.data import References, Triple
from trubleu.errors import CountedWarning, DataError, TrubleuWarning, UsageError
from trubleu.mining import Index, candidates
from trubleu.mining.candidates import random_rows

if TYPE_CHECKING:
    from pathlib import Path

CORPUS = [
    Triple("t1", ("hi",), "how was the match yesterday ?", "great , we won the cup !"),
    Triple("t2", (), "did you see the match ?", "yes , what a match"),
    Triple("t3", (), "where is the station ?", "two streets from here"),
    Triple("t4", (), "the match was long", "YES ,   we won"),
    Triple("t5", (), "was it a good match ?", "we won , yes we won"),
    Triple("t6", (), "how was the concert ?", "loud , but great fun"),
    Triple("t7", (), "any news of the match ?", "Great , we won the CUP !"),
    Triple("t8", (), "a good match , was it ?", "was it a good match ?"),
]
SEED = Triple("s1", ("you were there",), "was it a good match ?", "yes , we won")


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Index:
    return Index.build(tmp_path_factory.mktemp("mining") / "index", CORPUS, shard_triples=3)


def quiet(index: Index, *arguments: Any, **options: Any) -> Any:
    """Mine without the warning that a small corpus has less than was asked for."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TrubleuWarning)
        return index.candidates(*arguments, **options)


def test_order_origins_and_what_they_carry(index: Index) -> None:
    (found,) = quiet(index, [SEED])
    assert [each.origin for each in found.candidates] == ["seed", *["mined"] * found.mined]
    assert (found.seed, found.wanted) == (SEED, 15)
    seed, *mined = found.candidates
    assert (seed.text, seed.rank, seed.score, seed.source) == ("yes , we won", None, None, None)
    assert [each.rank for each in mined] == list(range(1, found.mined + 1))
    by_id = {triple.id: triple for triple in CORPUS}
    for each in mined:
        assert each.source is not None
        assert (each.text, each.source_message) == (by_id[each.source].response, by_id[each.source].message)
    # The parrot, "was it a good match ?", was mined from t8 and is not there twice; t4 is the seed's response again.
    assert [each.source for each in mined if each.text == SEED.message] == ["t8"]
    assert "t4" not in [each.source for each in mined]
    assert len({fold(each.text) for each in found.candidates}) == len(found.candidates)


def test_the_parrot_comes_after_what_was_mined(index: Index) -> None:
    seed = Triple("s2", (), "how was it ?", "great fun")
    (found,) = quiet(index, [seed], top=2, random=2)
    assert [each.origin for each in found.candidates] == ["seed", "mined", "mined", "parrot", "random", "random"]
    parrot = found.candidates[3]
    assert (parrot.text, parrot.source, parrot.rank, parrot.score) == ("how was it ?", None, None, None)
    # A seed whose response is its message has no parrot beside it.
    (echo,) = quiet(index, [Triple("s3", (), "how was  it ?", "How was it ?")], top=1)
    assert [each.origin for each in echo.candidates] == ["seed", "mined"]


@pytest.mark.parametrize("variant", ["lucene", "robertson", "atire"])
@pytest.mark.parametrize(("alpha", "epsilon"), [(0.5, 0.1), (0.0, 1.0), (1.0, 0.0), (0.8, 0.0)])
def test_scores_and_words_are_those_of_the_formulas(index: Index, variant: str, alpha: float, epsilon: float) -> None:
    options: dict[str, Any] = {"variant": variant, "k1": 0.9, "b": 0.4, "alpha": alpha, "epsilon": epsilon, "top": 4}
    for seed in [SEED, Triple("s", (), "the the match match cup", "we won great great fun")]:
        (found,) = quiet(index, [seed], explain=True, **options)
        check_against_statement(CORPUS, seed, found, options)


def check_against_statement(corpus: list[Triple], seed: Triple, found: Any, options: dict[str, Any]) -> None:
    expected = plain_candidates(corpus, seed.message, seed.response, **options)
    mined = found.candidates[1 : 1 + found.mined]
    assert [each.score for each in mined] == pytest.approx([each.score for each in expected], rel=1e-12)
    everything = plain_candidates(corpus, seed.message, "", **{**options, "top": len(corpus), "alpha": 0, "epsilon": 1})
    by_source = {corpus[each.row].id: each for each in expected}
    for each in mined:
        plain = by_source.get(each.source)
        if plain is None:  # as good as another one, up to rounding
            assert each.score == pytest.approx(expected[-1].score, rel=1e-12)
            assert any(corpus[one.row].id == each.source for one in everything)
            continue
        assert each.message_score == pytest.approx(plain.message, rel=1e-12)
        assert each.response_score == pytest.approx(plain.response, rel=1e-12)
        assert each.words is not None
        for words, score, whole in (
            (each.words.message, each.message_score, plain.message_words),
            (each.words.response, each.response_score, plain.response_words),
        ):
            assert math.fsum(value for _, value in words) == pytest.approx(score, rel=1e-12, abs=0)
            assert dict(words) == pytest.approx({word: value for word, value in whole.items() if value}, rel=1e-12)
            assert [value for _, value in words] == sorted((value for _, value in words), reverse=True)


WORDS = ["a", "b", "c", "d", "E", "e", "f,", "g"]
TEXTS = st.lists(st.sampled_from(WORDS), min_size=1, max_size=6).map(" ".join)


@settings(max_examples=25)
@given(
    st.lists(st.tuples(TEXTS, TEXTS), min_size=1, max_size=12),
    TEXTS,
    TEXTS,
    st.sampled_from(["lucene", "robertson", "atire"]),
    st.sampled_from([(), ("a", "e")]),
    st.booleans(),
)
@example(  # a better triple with the response of one that is kept, alone in the last shard
    [("a", "a a"), ("a", "a a"), ("a", "a a"), ("a b", "a"), ("a", "c"), ("a", "a")], "a", "b", "lucene", (), False
)
@example([("a", "a")], "a", "a", "lucene", ("a", "e"), False)  # nothing but stop words
def test_any_corpus(
    tmp_path_factory: pytest.TempPathFactory,
    pairs: list[tuple[str, str]],
    message: str,
    response: str,
    variant: str,
    stop_words: tuple[str, ...],
    lowercase: bool,
) -> None:
    corpus = [Triple(str(row), (), *pair) for row, pair in enumerate(pairs)]
    folder = tmp_path_factory.mktemp("any") / "index"
    index = Index.build(folder, corpus, shard_triples=5, stop_words=stop_words, lowercase=lowercase)
    seed = Triple("s", (), message, response)
    (found,) = quiet(index, [seed], explain=True, variant=variant, top=3, random=3)
    options = {"variant": variant, "top": 3, "stop_words": stop_words, "lowercase": lowercase}
    check_against_statement(corpus, seed, found, options)
    texts = [fold(each.text) for each in found.candidates]
    assert len(set(texts)) == len(texts)
    # There are three random ones, or there is no other response left.
    left = {fold(each) for _, each in pairs} - set(texts)
    assert sum(each.origin == "random" for each in found.candidates) == 3 or not left


def test_random_responses_depend_on_the_seed_and_the_position_only(index: Index) -> None:
    seeds = [Triple(f"s{number}", (), "zzz", "qqq") for number in range(40)]

    def drawn(**options: Any) -> list[list[str | None]]:
        found = quiet(index, seeds, random=2, **options)
        return [[each.source for each in one.candidates if each.origin == "random"] for one in found]

    first = drawn(seed=1)
    assert first == drawn(seed=1, top=3, threads=1)
    assert first != drawn(seed=2)
    assert all(len(set(each)) == 2 for each in first)
    assert len({tuple(each) for each in first}) > 5
    # t1 and t7 are the same response: together they come as often as any other, or at most twice as often.
    assert {each for one in first for each in one} == {triple.id for triple in CORPUS}


def test_random_responses_of_a_large_corpus(tmp_path: Path) -> None:
    corpus = [Triple(str(row), (), "hello there", f"answer {row % 5000}") for row in range(6000)]
    index = Index.build(tmp_path / "index", corpus)
    (found,) = quiet(index, [Triple("s", (), "zzz", "answer 7")], random=50)
    texts = [each.text for each in found.candidates]
    assert len(set(texts)) == len(texts) == 52
    assert "answer 7" not in texts[1:]
    rows = [int(each.source or "") for each in found.candidates[2:]]
    assert min(rows) < 1500
    assert max(rows) > 4500
    same = Index.build(tmp_path / "same", [Triple(str(row), (), "hello", "so what") for row in range(5000)])
    with pytest.warns(TrubleuWarning) as told:
        (found,) = same.candidates([Triple("s", (), "hello", "fine")], random=3)
    assert [each.origin for each in found.candidates] == ["seed", "mined", "parrot"]
    assert str(told[-1].message) == "seeds with fewer than 3 random responses, as the index has no others: 1"


@given(st.integers(0, 60), st.integers(0, 9))
def test_random_rows_are_all_rows_once(rows: int, seed: int) -> None:
    assert sorted(random_rows(rows, np.random.default_rng(seed))) == list(range(rows))


def test_random_rows_come_in_any_order() -> None:
    generator = np.random.default_rng(1)
    orders = Counter(tuple(random_rows(4, generator)) for _ in range(2400))
    assert len(orders) == 24
    # 100 of each, with a standard deviation of 10.
    assert max(abs(count - 100) for count in orders.values()) < 45


def test_random_rows_do_not_end_early() -> None:
    rows = list(random_rows(80_000, np.random.default_rng(1)))
    assert len(set(rows)) == 80_000


def test_random_responses_until_there_are_no_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    corpus = [Triple(str(row), (), "hello there", f"answer {row % 500}") for row in range(600)]
    index = Index.build(tmp_path / "index", corpus)
    seed = Triple("s", (), "zzz", "qqq")
    (found,) = quiet(index, [seed], random=500)
    assert {each.text for each in found.candidates[2:]} == {f"answer {number}" for number in range(500)}
    monkeypatch.setattr(candidates, "MOST_MISSES", 3)
    with pytest.warns(TrubleuWarning) as told:
        (found,) = index.candidates([seed], random=500)
    assert 400 < len(found.candidates) < 502
    assert str(told[-1].message) == (
        "seeds with fewer than 500 random responses, as the index has no others, "
        "or so few that 3 draws in a row met none: 1"
    )


def test_unknown_words_and_fewer_than_wanted_are_said(index: Index) -> None:
    seeds = [SEED, Triple("odd", (), "zzz qqq", "yes , we won"), Triple("odd-2", (), "www", "xxx")]
    with pytest.warns(TrubleuWarning) as told:
        found = index.candidates(seeds, top=4)
    assert [str(each.message) for each in told] == [
        "no word of the message is in the index, so nothing was mined for 2 seeds: odd, odd-2",
        "seeds with fewer than 4 mined candidates, which their records say (mined, wanted): 2",
    ]
    assert isinstance(told[1].message, CountedWarning)
    assert [(each.mined, each.wanted) for each in found] == [(4, 4), (0, 4), (0, 4)]
    assert [each.origin for each in found[1].candidates] == ["seed", "parrot"]


def test_a_seed_with_known_words_and_no_candidate_is_not_called_unknown(tmp_path: Path) -> None:
    index = Index.build(tmp_path / "index", [Triple("1", (), "hello", "Fine !")])
    with pytest.warns(TrubleuWarning) as told:
        (found,) = index.candidates([Triple("s", (), "hello", "fine !")])
    assert len(told) == 1
    assert "fewer than 15" in str(told[0].message)
    assert found.mined == 0


def test_signature_has_all_that_can_change_the_result(index: Index, tmp_path: Path) -> None:
    def signature(which: Index = index, **options: Any) -> str:
        return str(quiet(which, [SEED], **options).signature)

    plain = signature()
    assert plain.startswith("mine|alpha:0.5|epsilon:0.1|bm25:lucene|k1:1.2|b:0.75|top:15|")
    assert plain.endswith(f"|version:trubleu-{__version__}")
    assert "|tok:13a|case:lc|stop:no|triples:8|corpus:" in plain
    assert "seed:" not in plain
    assert plain == signature(seed=9, threads=1, explain=True)
    assert "|random:2|seed:9|" in signature(random=2, seed=9)
    changed = [
        signature(alpha=0.4),
        signature(epsilon=0.2),
        signature(variant="atire"),
        signature(k1=1.0),
        signature(b=0.7),
        signature(top=14),
        signature(random=1),
        signature(random=1, seed=2),
        signature(Index.build(tmp_path / "a", CORPUS[:-1])),
        signature(Index.build(tmp_path / "b", [*CORPUS[1:], CORPUS[0]])),
        signature(Index.build(tmp_path / "c", CORPUS, lowercase=False)),
        signature(Index.build(tmp_path / "d", CORPUS, tokenize="words")),
        signature(Index.build(tmp_path / "e", CORPUS, stop_words=["the"])),
        signature(Index.build(tmp_path / "f", CORPUS, stop_words=["a"])),
    ]
    assert len({plain, *changed}) == len(changed) + 1
    # Where shards were cut changes nothing.
    assert signature(Index.build(tmp_path / "g", CORPUS, shard_triples=8)) == plain


@pytest.mark.parametrize("name", ["candidates.jsonl", "candidates.jsonl.gz"])
@pytest.mark.parametrize("explain", [False, True])
def test_files_are_references_that_are_not_rated_yet(index: Index, tmp_path: Path, name: str, explain: bool) -> None:
    seeds = [SEED, Triple("odd", (), "zzz", "qqq")]
    found = quiet(index, seeds, top=4, random=1, explain=explain)
    found.write(tmp_path / name)
    references = References.read(tmp_path / name)
    assert references.ids == ("s1", "odd")
    assert references.messages == (SEED.message, "zzz")
    assert references.contexts == (("you were there",), ())
    for segment, made in zip(references, found, strict=True):
        assert [each.text for each in segment.references] == [each.text for each in made.candidates]
        assert [each.origin for each in segment.references] == [each.origin for each in made.candidates]
        assert all(each.weight is None for each in segment.references)
    assert references.weighted()


def test_a_record_as_json(index: Index, tmp_path: Path) -> None:
    found = quiet(index, [SEED], top=1, explain=True)
    found.write(tmp_path / "c.jsonl")
    (record,) = map(json.loads, (tmp_path / "c.jsonl").read_text().splitlines())
    best = found[0].candidates[1]
    assert list(record) == ["id", "context", "message", "references", "mined", "wanted", "signature"]
    assert (record["mined"], record["wanted"], record["signature"]) == (1, 1, str(found.signature))
    seed, mined, parrot = record["references"]
    nothing = {"weight": None, "source": None, "source_message": None, "rank": None, "scores": None}
    ids = [each.pop("id") for each in record["references"]]
    assert len(set(ids)) == 3
    assert all(re.fullmatch(r"r-[0-9a-f]{12}", each) for each in ids)
    assert seed == {"text": SEED.response, "origin": "seed", **nothing}
    assert parrot == {"text": SEED.message, "origin": "parrot", **nothing}
    assert mined == {
        "text": best.text,
        "weight": None,
        "origin": "mined",
        "source": best.source,
        "source_message": best.source_message,
        "rank": 1,
        "scores": {"score": best.score, "message": best.message_score, "response": best.response_score},
        "words": {"message": dict(best.words.message), "response": dict(best.words.response)},
    }


def test_ids_of_references_stay_with_their_texts(index: Index, tmp_path: Path) -> None:
    def ids(**options: Any) -> dict[str, str]:
        quiet(index, [SEED], **options).write(tmp_path / "c.jsonl")
        items = json.loads((tmp_path / "c.jsonl").read_text())["references"]
        assert len({each["id"] for each in items}) == len(items)
        return {each["text"]: each["id"] for each in items}

    few, many = ids(top=2), ids(top=5, alpha=0.9)
    assert len(many) > len(few)
    assert few.items() <= many.items()


def test_results_are_frozen_sequences(index: Index) -> None:
    found = quiet(index, [SEED, Triple("odd", (), "zzz", "qqq")])
    assert len(found) == 2
    assert [each.seed.id for each in found] == ["s1", "odd"]
    assert found[-1] is found[1]
    assert found[:1] == (found[0],)
    with pytest.raises(FrozenInstanceError):
        found[0].candidates[0].text = "other"
    assert pickle.loads(pickle.dumps(found)) == found  # noqa: S301
    assert repr(found).startswith("<Candidates for 2 seeds: ")


def test_texts_that_utf8_cannot_hold(index: Index, tmp_path: Path) -> None:
    found = quiet(index, [Triple("s", (), "the match \ud83d", "yes")])
    found.write(tmp_path / "c.jsonl")
    assert References.read(tmp_path / "c.jsonl").messages == ("the match \ud83d",)
    with pytest.raises(DataError, match=r"c.parquet: parquet cannot be written here; let it end in .jsonl"):
        found.write(tmp_path / "c.parquet")


def test_seeds_from_files(index: Index, tmp_path: Path) -> None:
    path = tmp_path / "seeds.tsv"
    path.write_text("hi\twas it a good match ?\tyes , we won\n\thow was the concert ?\tgood\n")
    found = quiet(index, path, top=2)
    assert [each.seed.id for each in found] == [f"{path.name}:1", f"{path.name}:2"]
    assert [each.text for each in found[0].candidates] == [
        each.text for each in quiet(index, [SEED], top=2)[0].candidates
    ]
    (tmp_path / "more.jsonl").write_text(json.dumps({"id": "x", "message": "match", "response": "ok"}) + "\n")
    assert [each.seed.id for each in quiet(index, [tmp_path / "more.jsonl", path])] == [
        "x",
        f"{path.name}:1",
        f"{path.name}:2",
    ]


def line(**fields: Any) -> str:
    return json.dumps(fields) + "\n"


def test_bad_seeds(index: Index, tmp_path: Path) -> None:
    path = tmp_path / "seeds.jsonl"
    good = line(id="a", message="the match", response="yes")
    path.write_text(good + "\n" + line(id="b", message="the match", response=" ") + good)
    with pytest.raises(DataError) as told:
        index.candidates(path)
    assert str(told.value) == f"{path}:4: the id 'a' is already used at {path}:1; every seed needs its own"
    with pytest.raises(DataError, match="seed 2: the id 's1' is already used at seed 1; every"):
        index.candidates([SEED, SEED])
    path.write_text(good + line(id="b", message="the match"))
    with pytest.raises(DataError, match=r"seeds\.jsonl:2: the field response is missing"):
        index.candidates(path)
    with pytest.warns(TrubleuWarning) as warned:
        found = index.candidates(path, skip_bad=True)
    assert len(found) == 1
    assert "rows that could not be used and were skipped: 1" in [str(each.message) for each in warned]
    path.write_text("\n")
    with pytest.raises(DataError, match=r"there are no seeds in .*seeds\.jsonl; give at least one triple"):
        index.candidates(path)
    with pytest.raises(DataError, match="no seeds in the list"):
        index.candidates([])
    with pytest.raises(DataError, match="must be a Triple"):
        index.candidates([3])  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"top": 0}, "top must be a whole number from 1 on, not 0"),
        ({"top": 1.5}, "top must be a whole number from 1 on, not 1.5"),
        ({"alpha": "1"}, "alpha must be a number from 0 to 1, not '1'"),
        ({"epsilon": None}, "epsilon must be a number from 0 to 1,000,000, not None"),
        ({"alpha": 1.5}, "alpha must be a number from 0 to 1, not 1.5"),
        ({"alpha": -0.1}, "alpha must be a number from 0 to 1, not -0.1"),
        ({"alpha": math.nan}, "alpha must be a number from 0 to 1, not nan"),
        ({"epsilon": -1}, "epsilon must be a number from 0 to 1,000,000, not -1"),
        ({"epsilon": math.nan}, "epsilon must be a number from 0 to 1,000,000, not nan"),
        ({"epsilon": math.inf}, "epsilon must be a number from 0 to 1,000,000, not inf"),
        ({"alpha": 0, "epsilon": 0}, "with alpha=0 and epsilon=0 every score is 0; raise one of them"),
        ({"variant": "lucen"}, "did you mean lucene"),
        ({"k1": -1}, "k1 must be a number from 0 to 1,000,000, not -1"),
        ({"k1": math.nan}, "k1 must be a number from 0 to 1,000,000, not nan"),
        ({"b": 1.1}, "b must be a number from 0 to 1, not 1.1"),
        ({"b": math.nan}, "b must be a number from 0 to 1, not nan"),
    ],
)
def test_bad_options(index: Index, options: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError) as told:
        index.candidates([SEED], **options)
    assert message in str(told.value)
    with pytest.raises(UsageError) as told:
        index.search("match", "yes", **options)
    assert message in str(told.value)


@pytest.mark.parametrize("options", [{"random": -1}, {"seed": -1}])
def test_bad_options_of_random_responses(index: Index, options: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match="must be a whole number from 0 on, not -1"):
        index.candidates([SEED], **options)


def test_search_finds_what_is_mined(index: Index) -> None:
    options: dict[str, Any] = {"top": 4, "alpha": 0.7, "epsilon": 0.3, "variant": "atire", "explain": True}
    found = index.search(SEED.message, SEED.response, **options)
    assert found == quiet(index, [SEED], **options)[0].candidates[1:5]
    assert index.search("zzz", "yes") == ()
    assert index.search(SEED.message, SEED.response, top=2**80) == index.search(SEED.message, SEED.response, top=8)


def test_search_by_the_message_alone(index: Index) -> None:
    found = index.search("was it a good match ?", top=3, explain=True)
    plain = plain_candidates(CORPUS, "was it a good match ?", "", top=3, alpha=0, epsilon=1)
    assert [each.source for each in found] == [CORPUS[each.row].id for each in plain]
    for each, other in zip(found, plain, strict=True):
        assert each.score == each.message_score == pytest.approx(other.message, rel=1e-12)
        assert each.response_score is None
        assert each.words is not None
        assert each.words.response == ()
    # What alpha and epsilon are plays no part without a response.
    assert index.search("was it a good match ?", top=3, alpha=1, epsilon=0, explain=True) == found


def test_the_worked_example_of_the_documentation(tmp_path: Path) -> None:
    corpus = [
        Triple("1", (), "how was the match", "we won the cup"),
        Triple("2", (), "how was the concert", "it was great fun"),
        Triple("3", (), "where is the match", "in the city park"),
    ]
    index = Index.build(tmp_path / "index", corpus)
    found = index.search("the match", "we won", explain=True)
    shown = [
        (each.source, *(f"{value or 0:.4f}" for value in (each.message_score, each.response_score, each.score)))
        for each in found
    ]
    assert shown == [
        ("1", "0.2743", "0.8917", "0.1360"),
        ("3", "0.2743", "0.0000", "0.0137"),
        ("2", "0.0607", "0.0000", "0.0030"),
    ]
    assert found[0].words is not None
    assert [(word, f"{value:.4f}") for word, value in found[0].words.message] == [
        ("match", "0.2136"),
        ("the", "0.0607"),
    ]
    assert [(word, f"{value:.4f}") for word, value in found[0].words.response] == [("we", "0.4458"), ("won", "0.4458")]


def test_many_seeds_keep_their_own_candidates(index: Index) -> None:
    generator = random.Random(5)
    words = sorted({word for triple in CORPUS for word in (triple.message + " " + triple.response).split()})
    seeds = [
        Triple(str(number), (), " ".join(generator.choices(words, k=4)), " ".join(generator.choices(words, k=4)))
        for number in range(60)
    ]
    together = quiet(index, seeds, top=3)
    for seed, found in zip(seeds, together, strict=True):
        assert quiet(index, [seed], top=3)[0] == found

"""What errors of ratings do to scores, against scores computed anew, and how often intervals hold the true score."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.oracles import rating_errors as oracle
from trubleu import References, metric
from trubleu.errors import DataError, UsageError
from trubleu.scoring import score_systems
from trubleu.scoring.rating_errors import SharedErrors, rating_effects, split_errors, weight_slopes
from trubleu.scoring.systems import Sampling
from trubleu.stats import bootstrap_scores, calibrate

if TYPE_CHECKING:
    from numpy.typing import NDArray

WORDS = ["the", "a", "cat", "dog", "sat", "on", "mat", "ran", "to", "house", "good", "day", "nice", "fish", "sun"]

sentences = st.lists(st.sampled_from(WORDS), min_size=2, max_size=6).map(" ".join)
positive = st.floats(0.011, 0.6)
# One reference has a positive weight, as scoring needs it; the others have any.
rows = st.tuples(
    st.tuples(sentences, positive), st.lists(st.tuples(sentences, positive | st.floats(-0.6, -0.011)), max_size=2)
).map(lambda found: list({text: (text, weight) for text, weight in [*found[1], found[0]]}.values()))
segments = st.lists(st.tuples(sentences, rows), min_size=1, max_size=4)


@settings(max_examples=30)
@given(segments, st.sampled_from(["dbleu-2", "sdbleu-2", "trubleu[vectors=ready]", "bleu-2"]))
def test_slopes_are_those_of_scores_computed_anew(given: list[tuple[str, list[tuple[str, float]]]], name: str) -> None:
    chosen = metric(name)
    outputs = [output for output, _ in given]
    references = References.from_lists(
        [[text for text, _ in rows] for _, rows in given], [[weight for _, weight in rows] for _, rows in given]
    )
    assert references.weights is not None
    errors = np.full(references.count, 0.005)  # so small that every weight may be moved both ways
    slopes = weight_slopes(chosen, outputs, references, errors)
    for place in range(references.count):
        scores = []
        for step in (-0.005, 0.005):
            moved = references.weights.copy()
            moved[place] += step
            anew = References(references.texts, references.offsets, moved)
            scores.append(chosen.corpus(outputs, anew).score)
        assert slopes[place] == pytest.approx((scores[1] - scores[0]) / 0.01, abs=1e-5)


def world(segments: int, draws: np.random.Generator) -> tuple[list[str], NDArray[np.float64], list[str]]:
    """Return four references for each segment, their true weights, and outputs."""
    texts: list[str] = []
    outputs = []
    true = np.clip(draws.normal(0.1, 0.4, (segments, 4)), -0.7, 0.7)
    true[:, 0] = draws.uniform(0.3, 0.7, segments)
    for _ in range(segments):
        four = [" ".join(draws.choice(WORDS, 6)) for _ in range(4)]
        texts += four
        outputs.append(" ".join([*four[draws.integers(4)].split()[:4], *draws.choice(WORDS, 2)]))
    return texts, true.ravel(), outputs


def coverage(spread: float, *, ratings: bool, people: int | None = None, trials: int = 40) -> float:
    """Return how often the interval holds the score that infinitely many segments and raters would give.

    With ``people``, they rate so many texts only; the others have a model's weights, calibrated on these.
    """
    draws = np.random.default_rng(7)
    chosen = metric("dbleu-2")
    texts, true, outputs = world(3000, draws)
    target = chosen.corpus(outputs, References(texts, np.arange(3001) * 4, true)).score
    hits = 0
    for _ in range(trials):
        texts, true, outputs = world(120, draws)
        levels = spread * draws.standard_normal(6)
        rated: list[tuple[tuple[str, float], ...] | None] = []
        for weight in true:
            who = draws.choice(6, 3, replace=False)
            values = weight + levels[who] + 0.2 * draws.standard_normal(3)
            rated.append(tuple((str(rater), float(value)) for rater, value in zip(who, values, strict=True)))
        observed = np.array([np.mean([value for _, value in row or ()]) for row in rated])
        errors = np.full(len(rated), 0.1)
        if people is not None:
            model = 0.5 * true + 0.3 + 0.1 * draws.standard_normal(len(true))
            known = draws.permutation(len(true))[:people]
            curve = calibrate(model[known], observed[known], errors=errors[known])
            rest = np.setdiff1d(np.arange(len(true)), known)
            observed[rest], errors[rest] = curve.predict(model[rest]), curve.predict_errors(model[rest])
            rated = [None if place in set(rest.tolist()) else row for place, row in enumerate(rated)]
        observed = np.clip(observed, -1, 1)
        observed[::4] = np.maximum(observed[::4], 0.01)
        references = References(texts, np.arange(121) * 4, observed, ratings=rated, weight_errors=errors)
        sampling = Sampling(interval=True, resamples=500, ratings=ratings)
        row = score_systems({"s": outputs}, references, {"m": chosen}, sampling=sampling).scores[0]
        assert row.low is not None
        assert row.high is not None
        hits += row.low <= target <= row.high
    return hits / trials


def test_noise_of_ratings_lowers_weighted_scores() -> None:
    draws = np.random.default_rng(7)
    texts, true, outputs = world(3000, draws)
    references, chosen = References(texts, np.arange(3001) * 4, true), metric("dbleu-2")
    noisy = np.clip(true + 0.4 / math.sqrt(3) * draws.standard_normal(len(true)), -1, 1)
    noisy[::4] = np.maximum(noisy[::4], 0.01)
    lower = chosen.corpus(outputs, references.with_weights(noisy)).score
    assert chosen.corpus(outputs, references).score - lower == pytest.approx(2.65, abs=0.01)


def test_only_the_levels_of_raters_are_missing_from_intervals_of_segments() -> None:
    assert coverage(0.0, ratings=False) >= 0.85
    assert coverage(0.25, ratings=False) <= 0.75
    assert coverage(0.25, ratings=True) >= 0.85


@pytest.mark.parametrize("name", ["dbleu-2", "trubleu"])
def test_effects_of_raters_are_those_of_raters_drawn_anew(name: str) -> None:
    draws = np.random.default_rng(11)
    texts, true, outputs = world(100, draws)
    offsets, chosen = np.arange(101) * 4, metric(name)
    who = np.array([draws.choice(12, 3, replace=False) for _ in true])

    def references(noise: float) -> References:
        values = true[:, None] + (0.2 * draws.standard_normal(12))[who] + noise * draws.standard_normal(who.shape)
        observed = np.clip(values.mean(axis=1), -1, 1)
        observed[::4] = np.maximum(observed[::4], 0.01)
        rated = [tuple(zip(map(str, row), said, strict=True)) for row, said in zip(who, values.tolist(), strict=True)]
        return References(texts, offsets, observed, ratings=rated, weight_errors=np.full(len(true), 0.1))

    brute = np.std([chosen.corpus(outputs, references(0.0)).score for _ in range(200)])
    found = [np.square(rating_effects(chosen, outputs, references(0.2)).shared).sum() for _ in range(6)]
    assert 0.75 < math.sqrt(np.mean(found)) / brute < 1.33


def test_calibrated_weights_share_the_levels_of_raters_and_the_error_of_the_curve() -> None:
    assert coverage(0.15, people=24, ratings=False) <= 0.75
    assert coverage(0.15, people=24, ratings=True) >= 0.85


@given(
    st.lists(st.lists(st.sampled_from("abcd"), max_size=3, unique=True), min_size=1, max_size=11).map(
        lambda rated: [*rated, ["a"]]
    ),
    st.floats(0.1, 1),
    st.floats(0.01, 0.5),
    st.integers(0, 99),
)
def test_shared_errors_are_the_statement(given: list[list[str]], level: float, curve: float, seed: int) -> None:
    raters = sorted({rater for each in given for rater in each})
    pairs = [(text, raters.index(rater)) for text, each in enumerate(given) for rater in each]
    text, rater = (np.array(column) for column in zip(*pairs, strict=True))
    draws = np.random.default_rng(seed)
    calibrated = np.array([not each and bool(draws.integers(2)) for each in given])
    size = level / np.array([len(given[place]) for place in text])
    shared = SharedErrors(text=text, rater=rater, size=size, calibrated=calibrated, curve=curve)
    slopes = draws.standard_normal(len(given))
    stated = oracle.effects(given, calibrated.tolist(), raters, level, curve, slopes.tolist())
    np.testing.assert_allclose(shared.effects(slopes), stated, atol=1e-12)
    deviations = draws.standard_normal(shared.number)
    levels = dict(zip(raters, (level * deviations[:-1]).tolist(), strict=True))
    moved = oracle.moved_weights(given, calibrated.tolist(), levels, curve * deviations[-1])
    np.testing.assert_allclose(shared.moves(deviations), moved, atol=1e-12)
    drawn = np.array([float(slopes @ moves) for moves in shared.draws(2000, seed)])
    assert drawn.std() == pytest.approx(math.sqrt(np.square(stated).sum()), rel=0.15, abs=1e-12)


def test_what_is_calibrated_has_errors_but_no_ratings() -> None:
    twice = ((("x", 0.5), ("y", 0.0)), (("x", -0.5), ("y", -0.5)))
    references = References(
        ["a", "b", "c", "d", "e"],
        [0, 5],
        [0.25, -0.5, 0.3, 0.2, 1.0],
        ratings=[*twice, None, None, None],
        weight_errors=[0.2, 0.2, 0.3, 0.4, math.nan],
    )
    _, shared = split_errors(references)
    assert shared.calibrated.tolist() == [False, False, True, True, False]
    pooled = 0.125 / 2  # the variance of ratings of one text
    assert shared.curve == pytest.approx(math.sqrt(((0.09 + 0.16) / 2 + pooled / 2) / 2))
    alone = References(["a", "b"], [0, 2], [0.5, 1.0], weight_errors=[0.2, 0.2])
    assert not split_errors(alone)[1]


def rated(names: bool) -> References:
    rows = [[5, 4, 3], [2, 1, 1], [4, 4, 2], [5, 3, 3]]
    ratings = [
        tuple((rater if names else None, (value - 3) / 2) for rater, value in zip("xyz", row, strict=True))
        for row in rows
    ]
    means = [float(np.mean([value for _, value in row])) for row in ratings]
    texts = ["the cat sat", "a dog ran", "the dog sat", "a cat ran"]
    return References(texts, [0, 2, 4], means, ratings=ratings, weight_errors=[0.2] * 4)


def test_effects_of_raters_need_their_names() -> None:
    outputs = ["the cat ran", "the dog ran"]
    chosen = metric("dbleu-1")
    assert not rating_effects(chosen, outputs, rated(False)).shared.any()
    named = rating_effects(chosen, outputs, rated(True))
    assert named.shared.any()
    assert 0 < named.share(200.0) < named.share(100.0) < named.share(10.0) == 1
    assert rating_effects(metric("bleu-1"), outputs, rated(True)).variance == 0


@pytest.mark.parametrize(("name", "least"), [("dbleu-2", 0.5), ("trubleu", 0.25)])
def test_variance_of_ratings_is_about_what_ratings_without_errors_lack(name: str, least: float) -> None:
    draws = np.random.default_rng(5)
    texts, true, outputs = world(200, draws)
    offsets, chosen = np.arange(201) * 4, metric(name)

    def variance(weights: NDArray[np.float64]) -> float:
        rows = chosen.statistics(outputs, References(texts, offsets, weights))
        return float(bootstrap_scores(rows, chosen.score, resamples=1000).var())

    found, wanted = [], []
    for _ in range(5):
        observed = np.clip(true + 0.3 * draws.standard_normal(len(true)), -1, 1)
        observed[::4] = np.maximum(observed[::4], 0.02)
        errors = np.full(len(true), 0.3)
        references = References(texts, offsets, observed, weight_errors=errors)
        found.append(rating_effects(chosen, outputs, references).variance)
        wanted.append(variance(observed) - variance(true))
    assert np.mean(wanted) > 0
    assert least < np.mean(found) / np.mean(wanted) < 2


def test_without_errors_there_is_nothing_to_take_into_account() -> None:
    references = References.from_lists([["a b"]], [[0.5]])
    with pytest.raises(DataError, match=r"does not say how certain its weights are; give ratings by several people"):
        rating_effects(metric("dbleu-1"), ["a"], references)


def test_shared_errors_widen_differences_and_weaken_tests() -> None:
    outputs = {"one": ["the cat ran", "the dog ran"], "two": ["the cat sat", "a fish"]}
    references = rated(True)
    chosen = {"dbleu-1": metric("dbleu-1")}
    plain, with_raters = (
        score_systems(
            outputs, references, chosen, sampling=Sampling(interval=True, test="bootstrap", resamples=500, ratings=each)
        )
        for each in (False, True)
    )
    assert with_raters.tests[0].p >= plain.tests[0].p
    assert with_raters.scores[0].ratings_share is not None
    assert plain.scores[0].ratings_share is None
    assert "errors:ratings" in with_raters.scores[0].signature
    sampling = Sampling(interval=True, test="randomisation", resamples=50, ratings=True)
    with pytest.raises(UsageError, match="randomisation test cannot take errors of raters into account"):
        score_systems(outputs, references, chosen, sampling=sampling)

"""Models of known bias and noise beside people: what must hold of their weights, in a world whose truth is known."""

from __future__ import annotations

import json
from statistics import fmean, stdev
from typing import TYPE_CHECKING

import numpy as np
import pytest

from benchmarks.simulated.__main__ import main
from benchmarks.simulated.models import SimulatedModel, model_study, read_models
from trubleu.errors import DataError, UsageError
from trubleu.simulate import World
from trubleu.simulate.raters import Habits
from trubleu.simulate.studies import Draws, Pool, draw_ratings, make_pool, weights_of
from trubleu.simulate.world import SYSTEMS

if TYPE_CHECKING:
    from benchmarks.simulated.models import ModelRow

MODELS = {
    "good": SimulatedModel(noise=0.5),
    "mild": SimulatedModel(noise=0.5, bias=1.0),
    "guesses": SimulatedModel(noise=4.0, slope=0.0),
}


@pytest.fixture(scope="module")
def pool() -> Pool:
    return make_pool(World(seed=1), SYSTEMS, segments=150, corpus=1500)


@pytest.fixture(scope="module")
def rows(pool: Pool) -> dict[tuple[str | None, str, int], ModelRow]:
    study = model_study(pool, MODELS, Draws(segments=[100], number=60, seed=4), rated=(1, 3, 1000))
    return {(row.model, row.weights, row.rated): row for row in study.rows}


def test_scores_have_the_bias_and_the_noise_of_the_model() -> None:
    model = SimulatedModel(noise=0.3, bias=0.2)
    scores = [model.score(str(place), "a text", 3.0) for place in range(2000)]
    assert fmean(scores) == pytest.approx(3.2, abs=0.03)
    assert stdev(scores) == pytest.approx(0.3, abs=0.02)
    assert model.score("7", "a text", 3.0) == model.score("7", "a text", 3.0)
    assert SimulatedModel(noise=0, length=1).score("", "x" * 60, 3.0) == 4.0
    assert SimulatedModel(noise=0, bias=9).score("", "x", 3.0) == 5.0


def test_every_way_is_there_once(rows: dict[tuple[str | None, str, int], ModelRow]) -> None:
    assert set(rows) == {
        *((None, "people", number) for number in (1, 3, 1000)),
        *((name, "model", 0) for name in MODELS),
        *((name, "joint", number) for name in MODELS for number in (1, 3)),
    }
    assert rows[None, "people", 1].ratings == 150 * 3


def test_numbers_of_people_alone_are_those_of_their_ratings(
    pool: Pool, rows: dict[tuple[str | None, str, int], ModelRow]
) -> None:
    ratings = draw_ratings(pool, 40, seed=4)
    off = weights_of(ratings, 3) - weights_of(ratings, 40)
    everybody = rows[None, "people", 1000]
    assert everybody.ratings == 3 * pool.candidates.count
    assert everybody.off == pytest.approx(float(np.sqrt((off**2).mean())))
    assert everybody.bias == pytest.approx(float(off.mean()))


def test_calibration_takes_the_bias_away(rows: dict[tuple[str | None, str, int], ModelRow]) -> None:
    assert rows["mild", "model", 0].bias > 0.25
    for number in (1, 3):
        assert abs(rows["mild", "joint", number].bias) < 0.08
        assert rows["mild", "joint", number].off < rows["mild", "model", 0].off - 0.1
        for name in MODELS:
            coverage = rows[name, "joint", number].coverage
            assert coverage is not None
            assert coverage > 0.85


def test_the_test_tells_good_models_from_others(rows: dict[tuple[str | None, str, int], ModelRow]) -> None:
    assert rows["good", "model", 0].winning_rate == 1.0
    assert rows["mild", "model", 0].winning_rate == 0.0
    assert rows["guesses", "model", 0].winning_rate == 0.0
    assert rows[None, "people", 1].winning_rate is None


def test_a_good_model_helps_and_one_that_guesses_harms(rows: dict[tuple[str | None, str, int], ModelRow]) -> None:
    assert rows["good", "joint", 1].kendall > rows[None, "people", 1].kendall + 0.1
    assert rows["guesses", "model", 0].kendall < rows[None, "people", 3].kendall - 0.1


def test_the_same_seed_gives_the_same_numbers(pool: Pool) -> None:
    first, second = (
        model_study(pool, {"m": MODELS["good"]}, Draws(segments=[50], number=5, seed=2), rated=(1,), habits=Habits())
        for _ in range(2)
    )
    assert first == second
    assert first != model_study(pool, {"m": MODELS["good"]}, Draws(segments=[50], number=5, seed=3), rated=(1,))


def test_bad_input_is_refused(pool: Pool) -> None:
    with pytest.raises(UsageError, match="bleu-2 takes no weights; name a metric that does"):
        model_study(pool, MODELS, Draws(segments=[9]), metric="bleu-2")
    with pytest.raises(UsageError, match="rated"):
        model_study(pool, MODELS, Draws(segments=[9]), rated=(0,))
    with pytest.raises(UsageError, match="the noise of a model must be between 0 and 100, not -1"):
        SimulatedModel(noise=-1)
    with pytest.raises(DataError, match="the model gives all texts that people have rated the same value"):
        model_study(pool, {"always 3": SimulatedModel(noise=0, slope=0)}, Draws(segments=[50], number=2))
    for text, said in (
        ("bias:1", "--model bias:1 must be NAME=SPEC"),
        ("a=mild:1", "'mild' must be noise, bias, slope or length"),
        ("a=bias:x", "'x' is not a number; write bias:0.5"),
    ):
        with pytest.raises(UsageError, match=said):
            read_models([text])
    with pytest.raises(UsageError, match="with a name of its own"):
        read_models(["a=bias:1", "a=bias:2"])


def test_command(capsys: pytest.CaptureFixture[str]) -> None:
    small = ("--pool", "60", "--corpus", "600", "--sets", "5", "--segments", "40", "--rated", "2", "--quiet")
    assert main(["models", *small, "--model", "mild=bias:1,noise:0.5"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[:2] for line in lines[2:5]] == [["people", "–"], ["model", "mild"], ["joint", "mild"]]
    assert main(["models", *small, "--model", "m=noise:1", "--format", "json"]) == 0
    records = json.loads(capsys.readouterr().out)
    assert [row["weights"] for row in records["models"]] == ["people", "model", "joint"]
    assert main(["models", *small, "--segments", "20,40"]) == 2
    assert "takes one number of segments and one metric" in capsys.readouterr().err

"""Folders of a made world, and ``trubleu simulate world``."""

from __future__ import annotations

import csv
import json
import re
from typing import TYPE_CHECKING

import pytest

from trubleu.cli import main
from trubleu.data import Ratings, read_triples
from trubleu.errors import DataError, UsageError
from trubleu.simulate import World, read_world, responder, write_world
from trubleu.simulate import world as world_files

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Run = Callable[..., tuple[int, str, str]]

SYSTEMS = {"good": "skill:1", "bad": "skill:0", "parrot": "parrot"}


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    monkeypatch.chdir(tmp_path)

    def call(*arguments: str) -> tuple[int, str, str]:
        code = main(["simulate", "world", *arguments])
        out, err = capsys.readouterr()
        return code, out, err

    return call


def left_over(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


# The folder


def test_a_folder_holds_the_world(tmp_path: Path) -> None:
    world = World(seed=8)
    told: list[tuple[str, int, list[int]]] = []

    def progress(name: str, total: int) -> Callable[[int], object]:
        told.append((name, total, []))
        return told[-1][2].append

    written = write_world(tmp_path / "w", world, corpus=300, segments=40, systems=SYSTEMS, progress=progress)
    assert left_over(tmp_path / "w") == ["corpus.jsonl", "outputs", "seeds.jsonl", "truth.csv", "world.json"]
    assert read_triples([tmp_path / "w/corpus.jsonl"]) == list(world.triples(300))
    seeds = read_triples([tmp_path / "w/seeds.jsonl"])
    assert seeds == list(world.seeds(40))
    for name, spec in SYSTEMS.items():
        outputs = (tmp_path / f"w/outputs/{name}.txt").read_text().splitlines()
        assert outputs == responder(world, spec).respond(seeds)
    assert json.loads((tmp_path / "w/world.json").read_text()) == {
        "schema": "trubleu.world/1",
        "seed": 8,
        "corpus": 300,
        "segments": 40,
        "systems": SYSTEMS,
    }
    assert read_world(tmp_path / "w") == world
    assert (written.folder, written.corpus, written.segments) == (tmp_path / "w", 300, 40)
    assert [(name, total, sum(done)) for name, total, done in told] == [
        ("simulating", 300, 300),
        ("answering", 120, 120),
    ]


def test_the_truth_is_a_file_of_ratings(tmp_path: Path) -> None:
    world = World(seed=8)
    written = write_world(tmp_path / "w", world, corpus=10, segments=40, systems=SYSTEMS)
    with (tmp_path / "w/truth.csv").open() as file:
        rows = list(csv.DictReader(file))
    for number, seed in enumerate(world.seeds(40)):
        quality = world.quality(seed.message, responder(world, "skill:0").respond([seed])[0])
        voices = rows[30 * number + 10 : 30 * number + 20]
        assert {(row["item"], row["system"]) for row in voices} == {(seed.id, "bad")}
        assert [row["rater"] for row in voices] == [f"truth-{voice}" for voice in range(1, 11)]
        assert [float(row["quality"]) for row in voices] == pytest.approx([quality] * 10, abs=1e-4)
        scores = [int(row["score"]) for row in voices]
        assert sum(scores) / 10 == pytest.approx(quality, abs=0.0501)
        assert max(scores) - min(scores) <= 1
    ratings = Ratings.read(tmp_path / "w/truth.csv")
    assert (ratings.systems(), len(ratings.items())) == (tuple(SYSTEMS), 40)
    means = {name: sum(float(row["quality"]) for row in rows if row["system"] == name) / 400 for name in SYSTEMS}
    assert written.qualities == pytest.approx(means, abs=1e-4)
    assert list(written.qualities) == ["good", "bad", "parrot"]


def test_a_folder_that_holds_something_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "w").mkdir()
    (tmp_path / "w/mine.txt").write_text("mine")
    with pytest.raises(UsageError, match=r"w already holds something \(mine.txt\); give another folder"):
        write_world(tmp_path / "w", World(), corpus=10, segments=5)
    assert left_over(tmp_path) == ["w"]
    assert left_over(tmp_path / "w") == ["mine.txt"]


def test_an_empty_folder_is_filled_and_a_file_is_not(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    write_world(tmp_path / "empty", World(), corpus=10, segments=5, systems=SYSTEMS)
    assert "world.json" in left_over(tmp_path / "empty")
    (tmp_path / "file").touch()
    for name, message in (("file", "exists and is not a folder"), ("-", "'-' is not a name for a new folder")):
        with pytest.raises(UsageError, match=message):
            write_world(tmp_path / name if name == "file" else name, World(), corpus=10, segments=5)


def test_what_a_kill_leaves_is_named_as_other_leftovers_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """So that `trubleu demo`, which removes those of an earlier attempt, removes it, too."""
    monkeypatch.setattr("shutil.rmtree", lambda *_args, **_options: None)
    monkeypatch.setattr(world_files, "_write_systems", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        write_world(tmp_path / "w", World(), corpus=10, segments=5)
    (left,) = left_over(tmp_path)
    assert re.fullmatch(r"\.trubleu-[0-9a-f]{16}\.tmp", left)


def test_two_systems_of_one_kind_answer_differently(tmp_path: Path) -> None:
    systems = {"a": "skill:0.7", "b": "skill:0.70", "c": "skill:7e-1"}
    write_world(tmp_path / "w", World(), corpus=5, segments=20, systems=systems)
    outputs = [(tmp_path / f"w/outputs/{name}.txt").read_text().splitlines() for name in systems]
    assert outputs[0] == responder(World(), "skill:0.7").respond(World().seeds(20))
    assert len({tuple(each) for each in outputs}) == 3
    assert json.loads((tmp_path / "w/world.json").read_text())["systems"] == systems


@pytest.mark.parametrize("stop", [KeyboardInterrupt, OSError(28, "No space left on device")])
def test_what_is_interrupted_leaves_nothing(
    stop: BaseException, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stopped(*_: object) -> None:
        raise stop

    monkeypatch.setattr(world_files, "_write_systems", stopped)
    with pytest.raises((KeyboardInterrupt, DataError)) as caught:
        write_world(tmp_path / "w", World(), corpus=10, segments=5)
    if caught.type is DataError:
        assert str(caught.value) == f"cannot write {tmp_path / 'w'}: No space left on device"
    assert left_over(tmp_path) == []


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"corpus": 0}, "corpus is 0, but a world needs at least one conversation there"),
        ({"segments": -2}, "segments is -2, but a world needs at least one conversation there"),
        ({"systems": {}}, "a world needs at least one system"),
        ({"systems": {"a": "brilliant"}}, "there is no responder 'brilliant'"),
        ({"systems": {"a": "skill:2"}}, "needs a share of good responses between 0 and 1"),
        ({"systems": {"../a": "dull"}}, "'../a' cannot be the name of a system and its file"),
        ({"systems": {"": "dull"}}, "'' cannot be the name of a system and its file"),
        ({"systems": {"a,b": "dull"}}, "'a,b' cannot be the name of a system and its file"),
        ({"systems": {"a": "dull", "A": "parrot"}}, "names of systems must differ in more than upper and lower case"),
    ],
)
def test_bad_options_are_refused_before_anything_is_written(
    options: dict[str, object], message: str, tmp_path: Path
) -> None:
    with pytest.raises(UsageError) as caught:
        write_world(tmp_path / "w", World(), **({"corpus": 10, "segments": 5} | options))  # type: ignore[arg-type]
    assert message in str(caught.value)
    assert left_over(tmp_path) == []


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "has no world.json; create a world with trubleu simulate world"),
        (b"{", "world.json does not describe a world ("),
        (b"\xff", "world.json does not describe a world ("),
        (b"[]", "world.json does not describe a world ("),
        (b'{"schema": "trubleu.world/2"}', "the field schema must be 'trubleu.world/1', not 'trubleu.world/2'"),
        (b'{"schema": "trubleu.world/1"}', "the seed of a world must be a whole number from 0 to 2**63 - 1, not None"),
        (b'{"schema": "trubleu.world/1", "seed": "1"}', "the seed of a world must be a whole number"),
    ],
)
def test_a_folder_that_is_no_world_is_refused(content: bytes | None, message: str, tmp_path: Path) -> None:
    if content is not None:
        (tmp_path / "world.json").write_bytes(content)
    with pytest.raises(DataError) as caught:
        read_world(tmp_path)
    assert message in str(caught.value)


# The command


def test_the_command_tells_what_it_made_and_what_comes_next(run: Run, tmp_path: Path) -> None:
    code, out, err = run("w", "--seed", "8", "--corpus", "50", "--segments", "20")
    assert (code, err) == (0, "")
    assert out.startswith("w: 50 conversations to mine, 20 to test on, 7 systems\n")
    names = ["strong", "fair", "weak", "retrieval", "dull", "parrot", "random"]
    assert left_over(tmp_path / "w/outputs") == sorted(f"{name}.txt" for name in names)
    assert "skill:0.85" in out
    steps = [line.split() for line in out.splitlines() if line.startswith("  trubleu ")]
    assert [step[1:3] for step in steps] == [
        ["mine", "index"],
        ["mine", "run"],
        ["rate", "new"],
        ["simulate", "ratings"],
        ["rate", "import"],
    ]
    for step in steps:
        assert main(step[1:]) == 0
    assert read_world(tmp_path / "w") == World(seed=8)


def test_systems_can_be_chosen_with_and_without_names(run: Run, tmp_path: Path) -> None:
    options = ("--corpus", "5", "--segments", "3", "--system", "a=skill:0.8", "--system", "parrot", "--quiet")
    assert run("w", *options) == (0, "", "")
    assert json.loads((tmp_path / "w/world.json").read_text())["systems"] == {"a": "skill:0.8", "parrot": "parrot"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("w", "--system", "a=dull", "--system", "a=parrot"), "--system a is given twice; give each system a name"),
        (("w", "--system", "a=wise"), "there is no responder 'wise'; choose among skill:SHARE"),
        (("w", "--system", "skill:0.5"), "'skill:0.5' cannot be the name of a system and its file"),
        (("w", "--system", "=dull"), "--system =dull has no name before the =; write NAME=SPEC"),
        (("w", "--seed", "-1"), "the seed of a world must be a whole number from 0"),
        (("w", "--corpus", "0"), "corpus is 0"),
    ],
)
def test_bad_input_gives_one_sentence(arguments: tuple[str, ...], message: str, run: Run, tmp_path: Path) -> None:
    code, out, err = run(*arguments)
    assert (code, out) == (2, "")
    assert err.startswith("trubleu: ")
    assert message in err
    assert err.count("\n") == 1
    assert left_over(tmp_path) == []

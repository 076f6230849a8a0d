"""The demo's folder and its journal: interrupted at any step it goes on there, and it touches nothing else."""

from __future__ import annotations

import json
import re
import socket
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from trubleu.demo import runner
from trubleu.demo.runner import JOURNAL, PACKAGES, check_packages, demo_folder, free_port, read_journal, run_demo
from trubleu.demo.steps import DemoOptions, demo_steps
from trubleu.errors import DataError, MissingExtraError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from trubleu.demo.steps import Command, Step

OPTIONS = DemoOptions(segments=4)
NAMES = [step.name for step in demo_steps(Path("demo"), OPTIONS)]


class Fake:
    """Makes empty files instead of running commands, and is interrupted where it is told to be."""

    def __init__(self, folder: Path, *, stops_at: str = "") -> None:
        self.folder = folder
        self.stops_at = stops_at
        self.ran: list[str] = []
        self.commands: list[str] = []
        self.told: list[str] = []
        self.serving = 0
        self._step: Step | None = None

    def run(self, command: Command) -> None:
        assert self._step is not None
        for name in self._step.makes:
            made = self.folder / name
            assert not made.exists() or self._step.continues or command is not self._step.commands[0]
            if "." in name:
                made.parent.mkdir(exist_ok=True)
                made.write_text("half" if self._step.name == self.stops_at else "whole")
            else:
                made.mkdir(exist_ok=True)
        if self._step.name == self.stops_at:
            raise KeyboardInterrupt
        if any(each.beside for each in self._step.commands):
            assert self.serving == 1

    @contextmanager
    def beside(self, command: Command, log: Path) -> Iterator[None]:
        assert (command.arguments[:2], log.parent) == (("rate", "serve"), self.folder)
        self.serving += 1
        try:
            yield
        finally:
            self.serving -= 1

    def take_back(self, study: Path) -> None:
        assert study.is_dir()
        self.told.append(f"tasks of {study.name} go to others")

    def tell_step(self, number: int, count: int, step: Step) -> None:
        assert (NAMES[number - 1], count) == (step.name, len(NAMES))
        self._step = step
        self.ran.append(step.name)

    def tell_command(self, command: str) -> None:
        self.commands.append(command)

    def tell(self, text: str) -> None:
        self.told.append(text)

    def write_report(self, folder: Path) -> None:
        if self.stops_at == "report":
            raise KeyboardInterrupt
        (folder / "report.html").write_text("whole")


def run(folder: Path, *, stops_at: str = "", options: DemoOptions = OPTIONS, port: int = 0) -> Fake:
    fake = Fake(folder, stops_at=stops_at)
    if stops_at:
        with pytest.raises(KeyboardInterrupt):
            run_demo(folder, options, fake, write_report=fake.write_report, port=port)
    else:
        demo = run_demo(folder, options, fake, write_report=fake.write_report, port=port)
        assert (demo.report, demo.fresh) == (folder / "report.html", len(fake.ran))
    assert fake.serving == 0
    return fake


@pytest.mark.parametrize("stop", NAMES)
def test_an_interrupted_demo_goes_on_with_the_step_where_it_stopped(tmp_path: Path, stop: str) -> None:
    folder = tmp_path / "demo"
    first = run(folder, stops_at=stop)
    assert first.ran == NAMES[: NAMES.index(stop) + 1]
    second = run(folder)
    assert second.ran == NAMES[NAMES.index(stop) :]
    journal = read_journal(folder)
    assert journal.names() == NAMES
    assert journal.begun == {name: 1 + (name == stop) for name in NAMES}
    done = [command for each in journal.done for command in each.commands]
    assert done[len(done) - len(second.commands) :] == second.commands
    assert not any("half" in path.read_text() for path in folder.rglob("*") if path.is_file())
    number = NAMES.index(stop) + 1
    said = [f"{folder} holds a demo that was interrupted; it goes on with step {number} of {len(NAMES)}."]
    if stop in ("rate study", "rate pairs"):
        said.append(f"tasks of {stop.removeprefix('rate ')} go to others")
    assert second.told == (said if number > 1 else [])


def test_raters_who_come_after_an_interruption_are_others(tmp_path: Path) -> None:
    seeds = []
    for stop in ("rate study", "rate study", ""):
        fake = run(tmp_path / "demo", stops_at=stop)
        command = next(each for each in fake.commands if "rate simulate" in each)
        seeds.append(re.findall(r"--seed (\d+)", command)[0])
    assert len(set(seeds)) == 3


def test_a_finished_demo_does_nothing_again(tmp_path: Path) -> None:
    run(tmp_path / "demo")
    before = (tmp_path / "demo" / JOURNAL).read_bytes()
    again = run(tmp_path / "demo")
    assert (again.ran, again.told) == ([], [])
    assert (tmp_path / "demo" / JOURNAL).read_bytes() == before


def test_what_was_removed_by_hand_is_made_again_with_all_that_rests_on_it(tmp_path: Path) -> None:
    run(tmp_path / "demo")
    (tmp_path / "demo" / "references.jsonl").unlink()
    assert run(tmp_path / "demo").ran == NAMES[NAMES.index("references") :]


@pytest.mark.parametrize("gone", ["world/truth.csv", "study/store.db", "report.html"])
def test_what_is_gone_is_said_and_not_called_an_interruption(tmp_path: Path, gone: str) -> None:
    folder = tmp_path / "demo"
    port = free_port(0)
    first = run(folder, port=port)
    (folder / gone).unlink()
    again = run(folder, port=port)
    number = next(place for place, step in enumerate(demo_steps(folder, OPTIONS), 1) if gone in step.makes)
    assert again.told == [
        f"{folder / gone} is gone; it is made again with all that rests on it, from step {number} of {len(NAMES)}."
    ]
    # As if nothing of it had been begun before: the same people rate, and the same numbers come out.
    assert again.commands == first.commands[len(first.commands) - len(again.commands) :]
    assert all(count == 1 for name, count in read_journal(folder).begun.items() if name != NAMES[number - 1])


def test_who_rates_outputs_is_somebody_else_than_who_rates_references(tmp_path: Path) -> None:
    fake = run(tmp_path / "demo")
    seeds = [re.findall(r"--seed (\d+)", each)[0] for each in fake.commands if "rate simulate" in each]
    assert len(set(seeds)) == 2


def test_a_port_that_is_taken_in_the_meantime_is_tried_elsewhere(tmp_path: Path) -> None:
    class Late(Fake):
        """Somebody takes the port right before the server does, once."""

        taken: socket.socket | None = None

        @contextmanager
        def beside(self, command: Command, log: Path) -> Iterator[None]:
            if self.taken is None:
                self.taken = socket.create_server(("127.0.0.1", int(command.arguments[4])))
                raise UsageError("the server does not start")
            with super().beside(command, log):
                yield

    folder = tmp_path / "demo"
    late = Late(folder)
    try:
        run_demo(folder, OPTIONS, late, write_report=late.write_report, port=free_port(0))
    finally:
        assert late.taken is not None
        late.taken.close()
    served = [re.findall(r"--port (\d+)", each)[0] for each in late.commands if "rate serve" in each]
    assert len(served) == 3
    assert served[1] != served[0]
    assert read_journal(folder).names() == NAMES

    class Broken(Fake):
        @contextmanager
        def beside(self, command: Command, log: Path) -> Iterator[None]:
            if command.beside:
                raise UsageError(f"{command.arguments[2]} is no study; see {log}")
            yield

    broken = Broken(tmp_path / "other")
    with pytest.raises(UsageError, match="is no study"):
        run_demo(tmp_path / "other", OPTIONS, broken, write_report=broken.write_report, port=0)
    assert sum("rate serve" in each for each in broken.commands) == 1


def test_leftovers_of_a_kill_are_removed(tmp_path: Path) -> None:
    folder = tmp_path / "demo"
    folder.mkdir()
    (folder / ".trubleu-0123456789abcdef.tmp").write_text("half of a journal")
    run(folder)
    assert not list(folder.glob(".trubleu-*"))


@pytest.mark.parametrize("what", ["file", "folder with a file", "journal of somebody else", "no JSON"])
def test_what_is_no_demo_is_refused_and_not_touched(tmp_path: Path, what: str) -> None:
    folder = tmp_path / "mine"
    if what == "file":
        folder.write_text("mine")
    else:
        folder.mkdir()
        name = "thesis.tex" if what == "folder with a file" else JOURNAL
        (folder / name).write_text('{"demo": 1}' if what == "journal of somebody else" else "mine")
    paths = [path for path in tmp_path.rglob("*") if path.is_file()]
    before = {path: path.read_bytes() for path in paths}
    with pytest.raises((UsageError, DataError), match=r"mine.* (name another|or name another)") as raised:
        run(folder)
    assert "\n" not in str(raised.value)
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


def test_other_options_and_other_versions_are_refused(tmp_path: Path) -> None:
    folder = tmp_path / "demo"
    run(folder, stops_at="index")
    before = (folder / JOURNAL).read_bytes()
    with pytest.raises(UsageError) as raised:
        run(folder, options=DemoOptions(seed=7, segments=4))
    assert str(raised.value) == (
        f"{folder} holds a demo that was begun with --seed 1 --segments 4 --raters 3, not with --seed 7 --segments 4 "
        "--raters 3; give these again, or name another folder"
    )
    assert (folder / JOURNAL).read_bytes() == before
    (folder / JOURNAL).write_text(json.dumps({**json.loads(before), "trubleu demo": "0.0.1"}))
    with pytest.raises(UsageError, match=r"holds a demo of trubleu 0\.0\.1, and this is trubleu .*; remove the folder"):
        run(folder)
    (folder / JOURNAL).write_text(json.dumps({**json.loads(before), "schema": 1}))
    with pytest.raises(UsageError, match=r"holds a demo with other steps than today’s; remove the folder, or name"):
        run(folder)


def test_two_demos_in_one_folder_are_refused(tmp_path: Path) -> None:
    folder = tmp_path / "demo"
    with (
        demo_folder(folder, OPTIONS, demo_steps(folder, OPTIONS)),
        pytest.raises(DataError, match="is used by another demo at the moment"),
    ):
        run(folder)


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(DataError, match=r"file/demo cannot be .*; name another folder"):
        run(tmp_path / "file" / "demo")


def test_a_port_in_use_is_said_and_another_taken(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        fake = run(tmp_path / "demo", port=port)
    (said,) = fake.told
    other = re.fullmatch(rf"Port {port} is in use, so pages are served at port (\d+)\.", said)
    assert other is not None
    assert other[1] != str(port)
    serving = [command for command in fake.commands if "rate serve" in command]
    assert len(serving) == 2
    assert all(f"--port {port} " not in command and command.endswith(" &") for command in serving)
    assert all(f"--port {other[1]} " in command for command in serving)
    assert any(f"--url http://127.0.0.1:{other[1]}" in command for command in fake.commands)
    assert sum(command == "kill $!; wait $!" for command in fake.commands) == 2


def test_a_free_port_is_taken_as_it_is() -> None:
    assert free_port(free := free_port(0)) == free


def test_missing_packages_are_said_all_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    check_packages()
    monkeypatch.setattr(runner, "find_spec", lambda name: None if name in ("httpx", "wordllama") else object())
    with pytest.raises(MissingExtraError) as raised:
        check_packages()
    assert str(raised.value) == (
        "the demo needs packages that are not installed: httpx, wordllama; "
        "install them with: pip install 'trubleu[rate,ready]'"
    )
    monkeypatch.setattr(runner, "find_spec", lambda name: None if name == PACKAGES[0] else object())
    with pytest.raises(MissingExtraError, match=r"^the demo needs the package fastapi; install it with: pip install"):
        check_packages()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"segments": 3}, "--segments 3 must lie between 4 and 2,000"),
        ({"raters": 0}, "--raters 0 must lie between 1 and 50"),
        ({"seed": -1}, "--seed -1 must lie between 0 and 2,147,483,647"),
    ],
)
def test_options_out_of_bounds(options: dict[str, int], message: str) -> None:
    with pytest.raises(UsageError, match=f"^{re.escape(message)}$"):
        DemoOptions(**options)

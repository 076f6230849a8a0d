"""What happens to an index when something goes wrong: kills, full disks, damaged files, two writers at once."""

from __future__ import annotations

import errno
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.mining.example import files, plain, records, rows, shards, triples, write
from trubleu.data import Triple
from trubleu.errors import CountedWarning, DataError, TrubleuError, UsageError
from trubleu.execution.cache import Cache
from trubleu.files.writer import locked
from trubleu.mining import Index
from trubleu.mining.index_builder import unfinished
from trubleu.mining.manifest import Manifest, read_fields, write_fields

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

COMMAND: list[Any] = [sys.executable, "-B", "-m", "trubleu", "mine"]  # -B: no cached modules that end at a limit

# Kills a process before each of its steps that touch the folder of the index, one process after the other, and keeps
# what each leaves behind. The interpreter itself tells of every opening, renaming and removal.
KILLER = """
import os, shutil, signal, sys
from trubleu.mining import Index

kind, folder, corpus, kept = sys.argv[1:]

def work(folder):
    if kind == "index":
        Index.build(folder, corpus, shard_triples=10)
    else:
        Index.open(folder).add(corpus)

def until(step):
    left = step
    def heard(event, arguments):
        nonlocal left
        told = event in ("open", "os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.truncate")
        if told and any(isinstance(one, (str, os.PathLike)) and folder in os.fspath(one) for one in arguments):
            left -= 1
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)
    sys.addaudithook(heard)

for step in range(1, 1000):
    shutil.rmtree(folder, ignore_errors=True)
    if kind == "add":
        shutil.copytree(folder + ".before", folder)
    child = os.fork()
    if child == 0:
        until(step)
        work(folder)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    if os.path.isdir(folder):
        shutil.copytree(folder, os.path.join(kept, str(step)))
    else:
        os.mkdir(os.path.join(kept, str(step)))
    if os.WIFEXITED(status):
        print(step, os.WEXITSTATUS(status))
        break
    assert os.WTERMSIG(status) == signal.SIGKILL
"""


# Runs a command that sends itself a signal some time after so many shards are there. Whoever watched from outside
# might look too late on a busy machine. What a timer sends comes even if nothing of Python runs.
SIGNALLED = """
import os, signal, sys, threading
from trubleu.cli import main

left, seconds, number = int(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3])

def heard(event, arguments):
    global left
    if event == "os.rename" and os.path.basename(os.fspath(arguments[1])).startswith("shard-"):
        left -= 1
        if left == 0:
            if number == signal.SIGALRM:
                signal.setitimer(signal.ITIMER_REAL, max(seconds, 1e-6))
            else:
                threading.Timer(seconds, os.kill, (os.getpid(), number)).start()

sys.addaudithook(heard)
sys.exit(main(["mine", *sys.argv[4:]]))
"""


def signalled(after: int, seconds: float, number: int) -> list[Any]:
    """Return what takes the place of `COMMAND`: SIGALRM ends a process as abruptly as SIGKILL does."""
    return [sys.executable, "-c", SIGNALLED, str(after), str(seconds), str(int(number))]


@pytest.mark.parametrize("kind", ["index", "add"])
def test_a_kill_at_any_step(tmp_path: Path, kind: str) -> None:
    old, new = triples(12, 2), triples(14)
    corpus = write(tmp_path / "c.jsonl", new)
    folder, kept = tmp_path / "work" / "x", tmp_path / "kept"
    folder.parent.mkdir()
    kept.mkdir()
    if kind == "add":
        Index.build(tmp_path / "work" / "x.before", old, shard_triples=10)
    said = subprocess.run(
        [sys.executable, "-c", KILLER, kind, folder, corpus, kept], capture_output=True, text=True, check=True
    )
    last, code = map(int, said.stdout.split())
    assert code == 0
    assert last > 15, "there must have been many steps to kill it at"
    whole = files(kept / str(last))
    known = [plain(old), plain(old + new)] if kind == "add" else [plain(new)]
    resumed = again = 0
    for step in range(1, last):
        state = kept / str(step)
        there = (state / "index.json").exists()
        if there:
            assert rows(Index.open(state)) in known
        else:
            assert kind == "index", "an index that was there can always be used"
            with pytest.raises(DataError, match=r" is not finished; continue with |index\.json is missing"):
                Index.open(state)

        def go_on(resume: bool, state: Path = state) -> Index:
            if kind == "index":
                return Index.build(state, corpus, shard_triples=10, resume=resume)
            return Index.open(state).add(corpus, resume=resume)

        if records(state):
            if unfinished(str(state), Manifest.read(state) if there else None)[0]:
                with pytest.raises(UsageError, match=r"was not finished; continue with --resume, or discard it with"):
                    go_on(False)
            go_on(True)
            resumed += 1
        elif not there or rows(Index.open(state)) != known[-1]:
            go_on(False)
            again += 1
        assert files(state) == whole, f"killed before step {step}"
        Index.open(state).check()
    assert resumed > 10
    assert again > 0


def test_kills_of_the_command_at_any_moment(tmp_path: Path) -> None:
    corpus = write(tmp_path / "c.jsonl", triples(15_000))
    more = write(tmp_path / "more.jsonl", triples(10_000, 2))
    index = ["index", corpus, "--out", tmp_path / "x", "--shard-triples", "1000"]
    add = ["add", tmp_path / "x", more]
    whole = Index.build(tmp_path / "whole", corpus, shard_triples=1000)
    built = files(whole.path)
    draw = random.Random(5)
    assert _killed_again_and_again(index, tmp_path / "x", draw) > 0
    assert files(tmp_path / "x") == built
    assert _killed_again_and_again(add, tmp_path / "x", draw) > 0
    whole.add(more)
    assert files(tmp_path / "x") == files(whole.path)


def _killed_again_and_again(arguments: list[Any], folder: Path, draw: random.Random) -> int:
    """Run a command to its end, though it is killed soon after each of its first shards, and count the kills."""
    kills = 0
    for _ in range(2):
        resume = ["--resume"] if records(folder) else []
        killed = signalled(draw.randint(2, 5), draw.random() / 100, signal.SIGALRM)
        process = subprocess.run([*killed, *arguments, *resume], capture_output=True, check=False)
        if process.returncode != -signal.SIGALRM:
            assert process.returncode == 0, process.stderr
            return kills
        kills += 1
        if (folder / "index.json").exists():
            assert len(Index.open(folder)) in (15_000, 25_000)
    done = subprocess.run([*COMMAND, *arguments, "--resume"], capture_output=True, check=False)
    assert done.returncode == 0 or b"nothing to resume" in done.stderr, done.stderr
    return kills


def test_ctrl_c_at_the_command(tmp_path: Path) -> None:
    corpus = write(tmp_path / "c.jsonl", triples(30_000))
    arguments: list[Any] = ["index", corpus, "--out", tmp_path / "x", "--shard-triples", "500"]
    process = subprocess.run(
        [*signalled(3, 0.001, signal.SIGINT), *arguments],
        capture_output=True,
        check=False,
        # Tests that a script runs in the background have inherited that Ctrl-C is not heard.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    assert process.returncode == 130
    assert (process.stdout, process.stderr) == (
        b"",
        b"trubleu: interrupted; continue with --resume, or discard it with --no-cache\n",
    )
    subprocess.run([*COMMAND, *arguments, "--resume", "--quiet"], check=True)
    assert files(tmp_path / "x") == files(Index.build(tmp_path / "y", corpus, shard_triples=500).path)


def _said_by(work: Callable[[], object]) -> str:
    try:
        work()
    except TrubleuError as error:
        return str(error)
    return ""


class TestFullDisk:
    """Nothing is lost but what did not fit."""

    @pytest.fixture
    def corpus(self, tmp_path: Path) -> Path:
        return write(tmp_path / "c.jsonl", triples(34))

    @pytest.mark.parametrize("kind", ["index", "add"])
    def test_whichever_file_does_not_fit(
        self, tmp_path: Path, corpus: Path, kind: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        base = Index.build(tmp_path / "base", triples(12, 2), shard_triples=10).path
        folder = tmp_path / "x"

        def work(*, resume: bool = False) -> None:
            if kind == "index":
                Index.build(folder, corpus, shard_triples=10, resume=resume)
            else:
                Index.open(folder).add(corpus, resume=resume)

        def begin() -> None:
            shutil.rmtree(folder, ignore_errors=True)
            if kind == "add":
                shutil.copytree(base, folder)

        begin()
        before = files(folder) if kind == "add" else None
        work()
        whole = files(folder)
        usual = os.fsync
        failed = 0
        for step in range(1, 1000):
            begin()
            left = step

            def full(descriptor: int) -> None:
                nonlocal left
                left -= 1
                if left == 0:
                    raise OSError(errno.ENOSPC, "No space left on device")
                usual(descriptor)

            with monkeypatch.context() as patch:
                patch.setattr(os, "fsync", full)
                said = _said_by(work)
            if not said:
                break
            failed += 1
            assert " cannot be written: No space left on device" in said
            if records(folder):
                assert "are kept, to continue with --resume" in said
                work(resume=True)
            else:
                assert (files(folder) if folder.exists() else None) == before
                work()
            assert files(folder) == whole
        assert failed > 8

    def test_a_limit_on_the_size_of_files(self, tmp_path: Path) -> None:
        long = [Triple("1", (), f"word{number} " * 3000, "yes") for number in range(40)]
        corpus = write(tmp_path / "c.jsonl", [*triples(20), *long])
        command = [*COMMAND, "index", corpus, "--out", tmp_path / "x", "--shard-triples", "10"]

        def small() -> None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, resource.RLIM_INFINITY))

        done = subprocess.run(command, capture_output=True, text=True, preexec_fn=small, check=False)
        assert (done.returncode, done.stdout) == (2, "")
        assert "cannot be written: File too large" in done.stderr
        assert done.stderr.endswith("; finished shards are kept, to continue with --resume\n")
        assert len(records(tmp_path / "x")) == 2
        assert done.stderr.count("\n") == 1
        assert not list((tmp_path / "x").glob(".trubleu-*"))
        subprocess.run([*command, "--resume", "--quiet"], check=True)
        assert files(tmp_path / "x") == files(Index.build(tmp_path / "y", corpus, shard_triples=10).path)

    def test_a_disk_that_is_really_full(self, tmp_path: Path) -> None:
        disk = tmp_path / "disk"
        disk.mkdir()
        mount = ["unshare", "--mount", "sh", "-c"]
        try:
            subprocess.run(
                [*mount, f"mount -t tmpfs -o size=1m tmpfs {disk}"], check=True, capture_output=True, timeout=120
            )
        except (OSError, subprocess.SubprocessError):
            pytest.skip("no file system may be mounted here")
        corpus = write(tmp_path / "c.jsonl", triples(20_000))
        script = f"""
            mount -t tmpfs -o size=1m tmpfs {disk}
            "$@"; echo "code $?" >&2
            "$@" --resume; echo "code $?" >&2
            ls -A {disk}/x
            mount -o remount,size=100m {disk}
            "$@" --resume; echo "code $?" >&2
            cp -r {disk}/x {tmp_path}/x
        """
        command = [*COMMAND, "index", corpus, "--out", disk / "x", "--shard-triples", "1000", "--quiet"]
        done = subprocess.run(
            [*mount, textwrap.dedent(script), "sh", *command], capture_output=True, text=True, check=True
        )
        first, code, second, same_code, last_code = done.stderr.splitlines()
        for said in (first, second):
            assert " cannot be written: No space left on device; nothing was changed; " in said
            assert said.endswith("finished shards are kept, to continue with --resume")
        assert (code, same_code, last_code) == ("code 2", "code 2", "code 0")
        assert ".tmp" not in done.stdout
        assert files(tmp_path / "x") == files(Index.build(tmp_path / "y", corpus, shard_triples=1000).path)


class TestDamage:
    """Whatever is not as it was written is refused in one sentence."""

    @pytest.fixture
    def index(self, tmp_path: Path) -> Index:
        return Index.build(tmp_path / "x", triples(7), shard_triples=4, stop_words=["cup"])

    @pytest.fixture
    def refused(self, index: Index) -> Callable[[], str]:
        def said() -> str:
            with pytest.raises(DataError) as caught:
                Index.open(index.path).check()
            message = str(caught.value)
            assert "\n" not in message
            assert str(index.path) in message
            return message

        return said

    @pytest.mark.parametrize("number", [0, 2])
    def test_every_flipped_byte(self, index: Index, refused: Callable[[], str], number: int) -> None:
        path = [index.path / "index.json", *shards(index.path)][number]
        data = path.read_bytes()
        draw = random.Random(3)
        for place in range(0, len(data), 3 if number else 1):
            path.write_bytes(data[:place] + bytes([data[place] ^ 1 << draw.randrange(8)]) + data[place + 1 :])
            assert path.name in refused()
        path.write_bytes(data)
        Index.open(index.path).check()

    def test_a_flipped_byte_is_found_when_it_is_used(self, index: Index) -> None:
        path = shards(index.path)[0]
        data = path.read_bytes()
        at = data.rindex(index.triple(2)[2].encode())
        path.write_bytes(data[:at] + b"#" + data[at + 1 :])
        opened = Index.open(index.path)
        with pytest.raises(DataError, match=rf"{path.name} was altered or damaged \(the checksum of response_"):
            opened.triple(2)

    @pytest.mark.parametrize("number", [0, 1])
    def test_every_cut(self, index: Index, refused: Callable[[], str], number: int) -> None:
        path = [index.path / "index.json", *shards(index.path)][number]
        data = path.read_bytes()
        for length in range(0, len(data), 13):
            path.write_bytes(data[:length])
            assert path.name in refused()
        path.write_bytes(data + b"\n")
        assert path.name in refused()

    def test_other_versions(self, index: Index, refused: Callable[[], str]) -> None:
        manifest, shard = index.path / "index.json", shards(index.path)[0]
        text, data = manifest.read_text(), shard.read_bytes()
        for version, age in ((0, "an older"), (2, "a newer")):
            manifest.write_text(text.replace('"version": 1', f'"version": {version}', 1))
            assert f"index.json was made by {age} TruBLEU (its format is {version}, this one reads 1); use" in refused()
            manifest.write_text(text)
            shard.write_bytes(data[:16] + bytes([version]) + data[17:])
            assert f"{shard.name} was made by {age} TruBLEU (its format is {version}" in refused()
            shard.write_bytes(data)

    def test_a_missing_shard(self, index: Index, refused: Callable[[], str]) -> None:
        shard = shards(index.path)[1]
        shard.unlink()
        assert f"{shard.name} is missing; copy the index again, or remove the folder" in refused()

    def test_shards_of_others(self, index: Index, refused: Callable[[], str], tmp_path: Path) -> None:
        others = [
            Index.build(tmp_path / "triples", triples(7, 2), shard_triples=4, stop_words=["cup"]),
            Index.build(tmp_path / "case", triples(7), shard_triples=4, stop_words=["cup"], lowercase=False),
            Index.build(tmp_path / "stop", triples(7), shard_triples=4, stop_words=["a"]),
        ]
        first, second = shards(index.path)
        mine = first.read_bytes()
        for other in others:
            shutil.copy(shards(other.path)[0], first)
            assert f"{first.name} is not the shard that was written there; copy the index again" in refused()
        first.write_bytes(second.read_bytes())
        assert f"{first.name} is not the shard that was written there" in refused()
        first.write_bytes(mine)
        Index.open(index.path).check()

    def test_a_shard_that_is_something_else(self, index: Index, refused: Callable[[], str]) -> None:
        shard = shards(index.path)[0]
        shard.write_text("hello")
        assert f"{shard.name} is not a part of a mining index" in refused()
        shard.unlink()
        shard.mkdir()
        assert f"{shard.name} is a folder, but a file is needed" in refused()

    def test_manifests_that_nobody_wrote(self, index: Index, refused: Callable[[], str]) -> None:
        fields = read_fields(index.path / "index.json")
        shard = fields["shards"][0]
        strange: list[dict[str, Any]] = [
            {"shards": []},
            {"shards": [shard, shard]},
            {"shards": [shard | {"file": "../x/" + shard["file"]}]},
            {"shards": [shard | {"file": "built-" + shard["file"]}]},
            {"shards": [shard | {"triples": -1}]},
            {"shards": [shard | {"triples": True}]},
            {"shards": [shard | {"more": 1}]},
            {"shards": [shard | {"content": "0"}]},
            {"shards": 7},
            {"shards": [7]},
            {"options": fields["options"] | {"stop_words": [7]}},
            {"options": fields["options"] | {"tokenize": None}},
            {"options": None},
            {"sources": [{}]},
            {"bad": -1},
            {"empty": "0"},
        ]
        for change in strange:
            write_fields(index.path / "index.json", fields | change)
            assert "index.json was altered or damaged (it" in refused(), change
        for text in ("[]", "7", "{}", '{"what": 1, "version": 1, "checksum": 1}', "[" * 100_000):
            (index.path / "index.json").write_text(text)
            assert "index.json was altered or damaged (it is not" in refused()

    def test_lies_of_a_manifest_about_its_shards(self, index: Index, refused: Callable[[], str]) -> None:
        fields = read_fields(index.path / "index.json")
        for name, value in (("triples", 5), ("message_words", 0), ("response_words", 10**9), ("content", "0" * 16)):
            shards = [fields["shards"][0] | {name: value}, *fields["shards"][1:]]
            write_fields(index.path / "index.json", fields | {"shards": shards})
            assert f"{fields['shards'][0]['file']} is not the shard that was written there" in refused()

    @pytest.mark.parametrize("kind", ["index", "add"])
    def test_a_damaged_record(self, tmp_path: Path, kind: str) -> None:
        corpus = write(tmp_path / "c.jsonl", [*triples(25), {"message": "?"}])
        whole, folder = tmp_path / "whole", tmp_path / "x"

        def work(path: Path, cache: Cache | None = None, **options: Any) -> Index:
            if kind == "index":
                return Index.build(path, corpus, shard_triples=10, cache=cache, **options)
            return Index.open(path).add(corpus, cache=cache, **options)

        if kind == "add":
            Index.build(whole, triples(12, 2), shard_triples=10)
            shutil.copytree(whole, folder)
        with pytest.raises(DataError, match=r"are kept"):
            work(folder)
        with pytest.warns(CountedWarning):
            work(whole, skip_bad=True)
        before, record = files(folder), records(folder)[0].name
        data = before[record]
        for place in range(0, len(data), 7):
            for name in files(folder).keys() - before.keys():
                (folder / name).unlink()
            for name, content in before.items():
                (folder / name).write_bytes(content)
            (folder / record).write_bytes(data[:place] + bytes([data[place] ^ 2]) + data[place + 1 :])
            if place % 2:
                (folder / record).write_bytes(data[:place])
            if kind == "add":
                assert rows(Index.open(folder)) == plain(triples(12, 2))
            cache = Cache()
            with pytest.warns(CountedWarning):
                work(folder, cache, resume=True, skip_bad=True)
            assert (cache.reused, cache.parts) == (1, 3)
            assert files(folder) == files(whole)

    def test_what_is_damaged_of_an_unfinished_index_is_made_again(self, tmp_path: Path) -> None:
        corpus = write(tmp_path / "c.jsonl", [*triples(45), {"message": "?"}])
        with pytest.warns(CountedWarning):
            whole = files(Index.build(tmp_path / "whole", corpus, shard_triples=10, skip_bad=True).path)
        with pytest.raises(DataError, match=r"finished shards are kept"):
            Index.build(tmp_path / "x", corpus, shard_triples=10)
        first, second, third, fourth = shards(tmp_path / "x")
        shutil.copy(second, first)
        second.unlink()
        third.write_bytes(third.read_bytes()[:-64])  # which its header does not tell
        for record in records(tmp_path / "x"):
            if fourth.name.encode() in record.read_bytes():
                record.write_bytes(record.read_bytes().replace(b'"bad": 0', b'"bad": 1'))
        with pytest.warns(CountedWarning):
            Index.build(tmp_path / "x", corpus, shard_triples=10, resume=True, skip_bad=True)
        assert files(tmp_path / "x") == whole


class TestWriters:
    """One at a time, and only where it may write."""

    def test_two_at_once(self, tmp_path: Path) -> None:
        index = Index.build(tmp_path / "x", triples(5))
        corpus = write(tmp_path / "c.jsonl", triples(3))
        (tmp_path / "new").mkdir()
        with locked(index.path), locked(tmp_path / "new"):
            with pytest.raises(DataError, match=r"x is being written by another process; wait until that is done"):
                index.add(triples(2))
            with pytest.raises(DataError, match=r"new is being written by another process"):
                Index.build(tmp_path / "new", triples(2))
            done = subprocess.run([*COMMAND, "add", index.path, corpus], capture_output=True, text=True, check=False)
            said = f"trubleu: {index.path} is being written by another process; wait until that is done\n"
            assert (done.returncode, done.stdout, done.stderr) == (2, "", said)
            assert rows(Index.open(index.path)) == plain(triples(5))
        index.add(triples(2))

    def test_a_lock_that_was_removed_by_who_held_it(self, tmp_path: Path) -> None:
        with locked(tmp_path):
            (tmp_path / "lock").unlink()
            with locked(tmp_path):
                pass
        assert (tmp_path / "lock").exists()

    def test_a_kill_gives_the_lock_back(self, tmp_path: Path) -> None:
        script = """
            import pathlib, sys, time
            from trubleu.files.writer import locked
            with locked(pathlib.Path(sys.argv[1])):
                print("locked", flush=True)
                time.sleep(600)
        """
        command: list[Any] = [sys.executable, "-c", textwrap.dedent(script), tmp_path]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == "locked\n"
            with pytest.raises(DataError, match=r"is being written by another process"), locked(tmp_path):
                pass
            process.kill()
        with locked(tmp_path):
            pass

    @pytest.fixture
    def powerless(self) -> Iterator[Path]:
        """Return a folder, and be somebody whom permissions hinder."""
        folder = Path(tempfile.mkdtemp())
        folder.chmod(0o777)
        if os.geteuid() != 0:
            yield folder
        else:
            os.seteuid(65534)
            try:
                yield folder
            finally:
                os.seteuid(0)
        shutil.rmtree(folder)

    def test_a_folder_that_may_not_be_written(self, powerless: Path) -> None:
        index = Index.build(powerless / "x", triples(5))
        (powerless / "x" / "lock").chmod(0o444)
        (powerless / "x").chmod(0o555)
        try:
            with pytest.raises(DataError, match=r"x may not be written: Permission denied; check its permissions"):
                index.add(triples(2))
            assert rows(Index.open(powerless / "x")) == plain(triples(5))
            with pytest.raises(DataError, match=r"x/y cannot be created: Permission denied"):
                Index.build(powerless / "x" / "y", triples(2))
            (powerless / "x").chmod(0o000)
            with pytest.raises(TrubleuError, match=r"x(/index\.json)? may not be read; check its permissions"):
                Index.open(powerless / "x")
        finally:
            (powerless / "x").chmod(0o755)

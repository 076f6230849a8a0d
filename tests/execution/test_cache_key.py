"""What ``--resume`` uses is sealed with a key: nobody who can write a folder but has no key can put anything there."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import threading
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.mining.example import records, triples, write
from trubleu.cli import main
from trubleu.errors import DataError, TrubleuError, UsageError
from trubleu.execution import cache as caching
from trubleu.execution.cache import KEY_NAME, KIND, Cache, Entries
from trubleu.execution.hashing import file_digest
from trubleu.files.arrays import ALIGNMENT, ArrayFile, write_arrays
from trubleu.files.writer import locked
from trubleu.mining import Index
from trubleu.native import kernels
from trubleu.scoring import partitions
from trubleu.vectors.training.options import TrainingOptions
from trubleu.vectors.training.trainer import Folder, train_vectors


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder for settings in which there is no key yet."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "settings"))
    return tmp_path / "settings" / "trubleu" / KEY_NAME


def key_file(path: Path, content: bytes = b"a key that two users share") -> Path:
    path.write_bytes(content)
    path.chmod(0o600)
    return path


class TestKey:
    def test_it_is_made_once_and_is_nobody_elses(self, own: Path, tmp_path: Path) -> None:
        keys: list[bytes] = []
        threads = [threading.Thread(target=lambda: keys.append(Cache().key(tmp_path))) for _ in range(8)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
        assert len(set(keys)) == 1
        assert len(keys) == 8
        assert len(keys[0]) == 32
        assert stat.S_IMODE(own.stat().st_mode) == 0o600
        assert [path.name for path in own.parent.iterdir()] == [KEY_NAME]
        assert repr(keys[0]) not in repr(Cache())

    def test_a_file_of_ones_own(self, own: Path, tmp_path: Path) -> None:
        mine = key_file(tmp_path / "key")
        assert Cache(key_file=mine).key(tmp_path) != Cache(key_file=key_file(tmp_path / "other", b"x" * 32)).key(
            tmp_path
        )
        assert not own.exists()
        for rights in (0o604, 0o620):
            mine.chmod(rights)
            with pytest.raises(UsageError, match=r"others may read or write the key \S*key, so .*; chmod 600"):
                Cache(key_file=mine).key(tmp_path)
        with pytest.raises(UsageError, match=r"the key \S*short has 3 bytes; a key has 16 to 65536$"):
            Cache(key_file=key_file(tmp_path / "short", b"abc")).key(tmp_path)
        with pytest.raises(UsageError, match=r"the key \S*none cannot be read: No such file.*; make one with: \(umask"):
            Cache(key_file=tmp_path / "none").key(tmp_path)

    def test_without_one_only_a_private_folder_is_trusted(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (tmp_path / "file").touch()
        monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "file"))  # no folder can be made there
        kept = tmp_path / "kept"
        kept.mkdir(mode=0o700)
        assert Cache().key(kept) == b""
        for rights in (0o720, 0o702):
            kept.chmod(rights)
            with pytest.raises(UsageError, match=r"kept may be written by others, and .* no key .*--cache-key FILE"):
                Cache().key(kept)
            cache = Cache()
            assert cache.key(kept, resume=False) == cache.key(kept, resume=False) != Cache().key(kept, resume=False)
        kept.chmod(0o700)
        monkeypatch.setattr(os, "getuid", lambda: 12345)
        with pytest.raises(UsageError, match=r"kept may be written by others"):
            Cache().key(kept)
        with pytest.raises(UsageError, match=r"s3://bucket/kept may be written by others"):
            Cache().key("s3://bucket/kept")


def forged(path: Path, kind: Any, key: bytes, new: bytes | None, change: Any = None) -> None:
    """Write a file of arrays anew, with other content and another key, or none."""
    file = ArrayFile(path, kind, key=key)
    header, arrays = {**file.header}, {name: np.array(file.array(name)) for name in file.lengths}
    if change is not None:
        change(header, arrays)
    write_arrays(path, kind, header, arrays, key=new)


def changed(_header: dict[str, Any], arrays: dict[str, Any]) -> None:
    for name, array in arrays.items():
        if array.dtype == np.float64 or name == "numbers":  # the floats of a packed result
            array.view(np.float64)[:] += 0.25


class TestScores:
    @pytest.fixture
    def run(self, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Any:
        monkeypatch.chdir(tmp_path)
        for name, text in (("r", "the cat sat on the mat"), ("s", "the cat is on the mat")):
            (tmp_path / name).write_text(f"{text}\n" * 60)
        monkeypatch.setattr(partitions, "SMALLEST", 20)

        def run(*more: str) -> tuple[int, str, str]:
            arguments = ["score", "--ref", "r", "s", "-m", "bleu", "--engine", "local", "--resume", "kept"]
            code = main([*arguments, *more])
            found = capsys.readouterr()
            return code, found.out, found.err

        return run

    def test_a_forged_result_is_not_used(self, run: Any, tmp_path: Path) -> None:
        code, expected, err = run()
        assert (code, err) == (0, "trubleu: reused 0 of 3 parts\n")
        key = Cache().key(tmp_path / "kept")
        parts = sorted((tmp_path / "kept").iterdir())
        whole = [path.read_bytes() for path in parts]
        for new in (b"", b"a key of somebody else", None):
            for path in parts:
                forged(path, KIND, key, new, changed)
            assert run() == (0, expected, "trubleu: reused 0 of 3 parts\n")
            assert [path.read_bytes() for path in parts] == whole
        # Whoever has the key could, which shows that the change would have been noticed.
        for path in parts:
            forged(path, KIND, key, key, changed)
        found = run()
        assert found[1] != expected
        assert run("--no-cache") == (0, expected, "trubleu: reused 0 of 3 parts\n")
        assert run() == (0, expected, "trubleu: reused 3 of 3 parts\n")
        parts[0].write_bytes(parts[1].read_bytes())  # a true result under another name
        assert run() == (0, expected, "trubleu: reused 2 of 3 parts\n")

    def test_results_are_shared_by_a_key(self, run: Any, tmp_path: Path) -> None:
        key_file(tmp_path / "key")
        shared = ("--cache-key", "key")
        expected = run(*shared)[1]
        assert run() == (0, expected, "trubleu: reused 0 of 3 parts\n")  # they are others', and made again
        assert run(*shared) == (0, expected, "trubleu: reused 0 of 3 parts\n")
        assert run(*shared) == (0, expected, "trubleu: reused 3 of 3 parts\n")
        assert run("--cache-key", "no")[::2] == (2, run("--cache-key", "no")[2])
        assert run(*shared, "--quiet") == (0, expected, "")

    def test_what_goes_together(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        (tmp_path / "s").write_text("a\n")
        for more in (["--no-cache"], ["--cache-key", "key"]):
            assert main(["score", "--ref", str(tmp_path / "s"), str(tmp_path / "s"), *more]) == 2
            assert capsys.readouterr().err == (
                f"trubleu: {more[0]} is about what --resume uses; add --resume FOLDER, or leave it out\n"
            )

    def test_sealed_results_that_nobody_made(self, run: Any, tmp_path: Path) -> None:
        expected = run()[1]
        key = Cache().key(tmp_path / "kept")
        parts = sorted((tmp_path / "kept").iterdir())
        whole = parts[0].read_bytes()
        outcomes = set()
        for change in mutations(ArrayFile(parts[0], KIND, key=key)):
            parts[0].write_bytes(whole)
            forged(parts[0], KIND, key, key, change)
            code, _, err = run()
            outcomes.add(code)
            assert "Traceback" not in err
            assert (code == 0 and "trubleu: reused" in err) or (code == 2 and err.count("\n") == 1), err
        assert outcomes <= {0, 2}
        parts[0].write_bytes(whole)
        assert run()[1] == expected


def mutations(file: ArrayFile) -> list[Any]:
    """Return many ways to change a file of arrays: every field and array gone, or of another type, length or range."""
    strange: tuple[Any, ...] = (None, -1, 10**9, 10**30, 0.5, "x", [], {}, [None], True)
    found: list[Any] = []

    def places(value: Any, place: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
        inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
        return [place, *(each for name, part in inner for each in places(part, (*place, name)))]

    def put(place: tuple[Any, ...], value: Any, header: dict[str, Any], _arrays: Any) -> None:
        inner: Any = header
        for name in place[:-1]:
            inner = inner[name]
        if value is ...:
            del inner[place[-1]]
        else:
            inner[place[-1]] = value

    def other(name: str, how: Any, _header: Any, arrays: dict[str, Any]) -> None:
        new = how(arrays[name])
        if new is None:
            del arrays[name]
        else:
            arrays[name] = new

    for place in places(file.header)[1:]:
        if place[0] in ("part", "job", "training", "key"):
            continue
        found += [partial(put, place, value) for value in (..., *strange)]
    hows = (
        lambda _array: None,
        lambda array: array[:-1],
        lambda array: np.concatenate([array, array]),
        lambda array: array[:0],
        lambda array: array.astype(np.float32 if array.dtype.kind != "f" else np.uint64),
        lambda array: np.full_like(array, np.nan if array.dtype.kind == "f" else np.iinfo(array.dtype).max),
        lambda array: array[::-1].copy(),
    )
    for name in file.lengths:
        found += [partial(other, name, how) for how in hows]
    return found if os.environ.get("TRUBLEU_SOAK") else found[::3]


class TestIndex:
    @pytest.fixture
    def begun(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path]:
        """Return a corpus and an index of which two of three shards are finished."""
        corpus = write(tmp_path / "c.jsonl", triples(25))
        usual, calls = Entries.put, [0]

        def writing(*arguments: Any, **options: Any) -> None:
            usual(*arguments, **options)
            calls[0] += 1
            if calls[0] == 2:
                raise KeyboardInterrupt

        with monkeypatch.context() as patch:
            patch.setattr(Entries, "put", writing)
            with pytest.raises(KeyboardInterrupt):
                Index.build(tmp_path / "x", corpus, shard_triples=10)
        return corpus, tmp_path / "x"

    def test_a_forged_shard_is_not_used(self, begun: tuple[Path, Path], tmp_path: Path) -> None:
        corpus, place = begun
        expected = Index.build(tmp_path / "y", corpus, shard_triples=10)
        # Somebody who can write the folder: a shard of other rows under the name of the first, with its record.
        other = Index.build(tmp_path / "z", triples(10, 7), shard_triples=10)
        record = records(place)[0]
        shard = place / ArrayFile(record, KIND).header["shard"]["file"]
        shard.write_bytes((other.path / other.manifest.shards[0].file).read_bytes())

        def of_other(header: dict[str, Any], _arrays: Any) -> None:
            for name in ("checksum", "message_words", "response_words", "content"):
                header["shard"][name] = getattr(other.manifest.shards[0], name)
            header["files"] = {shard.name: file_digest(shard)}

        forged(record, KIND, Cache().key(place), b"a key of somebody else", of_other)
        cache = Cache()
        index = Index.build(place, corpus, shard_triples=10, resume=True, cache=cache)
        assert index.manifest == expected.manifest
        assert (cache.reused, cache.parts) == (1, 3)

    def test_a_shard_with_the_same_header_is_not_used(self, begun: tuple[Path, Path], tmp_path: Path) -> None:
        corpus, place = begun
        expected = Index.build(tmp_path / "y", corpus, shard_triples=10)
        shard = sorted(place.glob("shard-*"))[0]
        data = bytearray(shard.read_bytes())
        data[-1] ^= 1  # no longer what was written, though the header is
        shard.write_bytes(data)
        cache = Cache()
        Index.build(place, corpus, shard_triples=10, resume=True, cache=cache)
        assert (cache.reused, cache.parts) == (1, 3)
        assert shard.read_bytes() == (expected.path / shard.name).read_bytes()

    def test_records_of_another_key(self, begun: tuple[Path, Path], tmp_path: Path) -> None:
        corpus, place = begun
        mine = Cache(key_file=key_file(tmp_path / "key"))
        index = Index.build(place, corpus, shard_triples=10, resume=True, cache=mine)
        assert (mine.reused, mine.parts) == (0, 3)
        assert index.manifest == Index.build(tmp_path / "y", corpus, shard_triples=10).manifest

    def test_nothing_is_used_without_the_cache(self, begun: tuple[Path, Path]) -> None:
        corpus, place = begun
        anew = Cache(anew=True)
        Index.build(place, corpus, shard_triples=10, resume=True, cache=anew)
        assert (anew.reused, anew.parts) == (0, 3)

    @pytest.mark.filterwarnings("ignore::trubleu.errors.TrubleuWarning")
    def test_sealed_records_that_nobody_made(self, begun: tuple[Path, Path], tmp_path: Path) -> None:
        corpus, place = begun
        expected = Index.build(tmp_path / "y", corpus, shard_triples=10)
        key, saved = Cache().key(place), {path.name: path.read_bytes() for path in place.iterdir()}
        record = records(place)[0]
        outcomes = set()
        for change in mutations(ArrayFile(record, KIND, key=key)):
            for path in place.iterdir():
                path.unlink()
            for name, content in saved.items():
                (place / name).write_bytes(content)
            forged(record, KIND, key, key, change)
            with suppress(TrubleuError):  # whoever has the key can lie about what a shard holds
                outcomes.add(Index.build(place, corpus, shard_triples=10, resume=True).manifest)
        assert expected.manifest in outcomes


SMALL = TrainingOptions(orders=(1, 2), dim=8, epochs=3, min_count=(2, 2), window=2, tokenize="none")


@pytest.fixture
def text(tmp_path: Path) -> Path:
    words = [f"w{number % 7} w{number % 5} w{number % 3}" for number in range(300)]
    (tmp_path / "text").write_text("\n".join(words) + "\n")
    return tmp_path / "text"


def stopped(text: Path, out: Path, monkeypatch: pytest.MonkeyPatch, after: int = 2) -> None:
    """Train as far as some checkpoints."""
    usual, calls = Folder.write_state, [0]

    def saving(*arguments: Any) -> None:
        usual(*arguments)
        calls[0] += 1
        if calls[0] == after:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Folder, "write_state", saving)
        with pytest.raises(KeyboardInterrupt):
            train_vectors([text], out, SMALL, threads=1)


class TestTraining:
    def test_two_at_once(self, text: Path, tmp_path: Path) -> None:
        (tmp_path / "v.training").mkdir()
        with locked(tmp_path / "v.training"):
            with pytest.raises(DataError, match=r"v\.training is being written by another process; wait until"):
                train_vectors([text], tmp_path / "v", SMALL, threads=1)
            command = [sys.executable, "-m", "trubleu", "vectors", "train", str(text), "--out", str(tmp_path / "v")]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            assert (done.returncode, done.stdout) == (2, "")
            assert done.stderr.endswith("is being written by another process; wait until that is done\n")
        train_vectors([text], tmp_path / "v", SMALL, threads=1)

    def test_text_is_known_by_its_content(self, text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        stopped(text, tmp_path / "v", monkeypatch)
        content = text.read_text()
        text.write_text(content.replace("w6", "w1"))
        assert text.stat().st_size == len(content)
        with pytest.raises(UsageError, match=r"v\.training holds no training of this text with these options, this"):
            train_vectors([text], tmp_path / "v", SMALL, threads=1, resume=True)
        text.write_text(content)
        cache = Cache()
        train_vectors([text], tmp_path / "v", SMALL, threads=1, resume=True, cache=cache)
        assert (cache.reused, cache.parts) == (2, 6)
        train_vectors([text], tmp_path / "w", SMALL, threads=1)
        assert (tmp_path / "v").read_bytes() == (tmp_path / "w").read_bytes()

    @pytest.mark.parametrize("kind", ["heap", "numbers", "vectors", "matrix-0"])
    def test_forged_entries(self, text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
        stopped(text, tmp_path / "v", monkeypatch, after=3)
        key = Cache().key(tmp_path)
        if kind == "numbers":  # whose hash whoever can write the folder could make, too
            path, ids = entry(tmp_path / "v.training", "heap"), tmp_path / "v.training" / "order-1.ids"
            ids.write_bytes(np.fromfile(ids, np.uint32)[::-1].tobytes())
            forged(path, KIND, key, b"another", lambda header, _: header["files"].update({ids.name: file_digest(ids)}))
        else:
            forged(entry(tmp_path / "v.training", kind), KIND, key, b"another", halved)
        cache = Cache(anew=kind in ("heap", "numbers"))
        if cache.anew:
            with pytest.raises(UsageError, match=r"v\.training holds no training of this text .* this key, or it is"):
                train_vectors([text], tmp_path / "v", SMALL, threads=1, resume=True)
        train_vectors([text], tmp_path / "v", SMALL, threads=1, resume=True, cache=cache)
        assert (cache.reused, cache.parts) == (3 if kind == "matrix-0" else 0, 6)
        train_vectors([text], tmp_path / "w", SMALL, threads=1)
        assert (tmp_path / "v").read_bytes() == (tmp_path / "w").read_bytes()

    def test_true_entries_of_another_training(
        self, text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        stopped(text, tmp_path / "v", monkeypatch, after=3)
        other = tmp_path / "other"
        other.write_text(text.read_text().replace("w6", "w1"))
        stopped(other, tmp_path / "w", monkeypatch, after=3)
        for kind in ("vectors", "matrix-0"):
            source, target = (entry(tmp_path / f"{name}.training", kind) for name in ("w", "v"))
            target.write_bytes(source.read_bytes())
        cache = Cache()
        train_vectors([text], tmp_path / "v", SMALL, threads=1, resume=True, cache=cache)
        assert (cache.reused, cache.parts) == (0, 6)
        train_vectors([text], tmp_path / "x", SMALL, threads=1)
        assert (tmp_path / "v").read_bytes() == (tmp_path / "x").read_bytes()

    @pytest.mark.parametrize("kind", ["heap", "vectors", "matrix-0"])
    def test_sealed_entries_that_nobody_made(
        self, text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
    ) -> None:
        stopped(text, tmp_path / "v", monkeypatch, after=4)
        path, key = entry(tmp_path / "v.training", kind), Cache().key(tmp_path)
        saved = {each.name: each.read_bytes() for each in path.parent.iterdir()}
        again = 0
        for change in mutations(ArrayFile(path, KIND, key=key)):
            path.parent.mkdir(exist_ok=True)
            for each, content in saved.items():
                (path.parent / each).write_bytes(content)
            forged(path, KIND, key, key, change)
            cache = Cache()
            with suppress(DataError, UsageError):
                train_vectors([text], tmp_path / "v", SMALL, threads=1, resume=True, cache=cache)
            again += cache.reused < 4
        assert again > 0


def entry(folder: Path, kind: str) -> Path:
    """Return an entry of a training by an array that it has."""
    (found,) = [path for path in folder.glob("*.result") if kind in ArrayFile(path, KIND).lengths]
    return found


def halved(_header: dict[str, Any], arrays: dict[str, Any]) -> None:
    """Change what can be changed unnoticed."""
    for array in arrays.values():
        if array.dtype == np.float32:
            array *= 0.5


@pytest.mark.parametrize("seal", [b"0" * 62, rb"\ud800" + b"0" * 56, b"", b"\\u0000"])
def test_seals_that_nobody_made(tmp_path: Path, seal: bytes) -> None:
    path = tmp_path / "x"
    write_arrays(path, KIND, {"seal": "?" * len(seal)}, {"a": np.zeros(3)})
    data = bytearray(path.read_bytes().replace(b"?" * len(seal), seal, 1))
    rest = np.frombuffer(data[16 : 24 + int.from_bytes(data[20:24], "little")], np.uint8)
    padding = -(len(rest) + 16) % ALIGNMENT
    data[8:16] = kernels.checksum(np.concatenate([rest, np.zeros(padding, np.uint8)])).to_bytes(8, "little")
    path.write_bytes(data)
    ArrayFile(path, KIND)
    with pytest.raises(DataError, match=r"x was altered or damaged, or not made with this key; name its own"):
        ArrayFile(path, KIND, key=b"a key")


def test_configuration_by_system(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/x")
    monkeypatch.setenv("XDG_CONFIG_HOME", "relative")
    assert caching._configuration() == Path("/home/x/.config")
    monkeypatch.setattr(sys, "platform", "darwin")
    assert caching._configuration() == Path("/home/x/Library/Application Support")
    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setenv("APPDATA", "/home/x/Roaming")
    assert caching._configuration() == Path("/home/x/Roaming")

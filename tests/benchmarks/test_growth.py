"""What a billion rows would cost is worked out from runs by the rules that the page on performance states."""

from __future__ import annotations

import json
import math
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest

from benchmarks.scale.growth import Assumptions, Job, Pass, assumed_of, jobs_of, main, parser
from benchmarks.scale.store import Results

if TYPE_CHECKING:
    from pathlib import Path

MILLION, SHARD = 10**6, 2**20
ASSUMED = Assumptions(rows=10**9, read_rate=1e8, write_rate=5e7, result_rate=1e9, task_seconds=0.002)
TASKS = {"what": "tasks", "size": 0, "options": "", "engine": "ray", "task_seconds": 0.001, "bytes_a_second": 5e8}
MERGE = {"what": "merge score", "size": 10**9, "options": "bleu-4", "engine": None}
MERGE |= {"result_bytes_each": 1e6, "merge_seconds_each": 0.01}


def noted(function: str, partitions: int, cpu: float = 1.0) -> dict[str, Any]:
    costs = {"merge_seconds": 0.25 * partitions, "result_bytes": 1000 * partitions}
    return {"function": function, "partitions": partitions, "cpu_seconds": cpu, "wall_seconds": 1.0} | costs


def run(what: str, engine: str | None = "ray", rows: int = MILLION, **changes: Any) -> dict[str, Any]:
    maps = [noted("look", 2), noted("count", 3), noted("ScoreRange", 16, 9.0)]
    if what == "mine index":
        maps = [noted("count", 2), noted("ShardMaker", 1, 9.0)]
    if what == "mine run":
        maps = [noted("_Count", 1), noted("_Search", 4, 9.0)]
        changes = {"options": "1,000 seeds", "seeds": 1000} | changes
    spent = {"driver": 1.0, "connection": 0.5, "workers": 3.0, "cluster": 1.0}
    if engine is None:
        maps, spent = [], {"driver": 4.0, "connection": 0.0, "workers": 0.0, "cluster": 0.0}
    row = {"what": what, "size": rows, "options": "", "engine": engine, "maps": maps, "cpu_by_part": spent}
    row |= {"input_bytes": 100 * rows, "output_bytes": 10 * rows, "start_up_seconds": 2.0, "outside_seconds": 0.5}
    row |= {"wall_seconds": 4.0, "cpu_seconds": 5.0, "driver_peak_bytes": MILLION, "worker_peak_bytes": MILLION}
    row |= {"machine": {"cores": 2, "cpu": "CPU", "memory_bytes": None, "python": "3"}, "versions": {"ray": "2"}}
    return row | changes


def kept(path: Path, *rows: dict[str, Any]) -> Results:
    file = path / "results.json"
    file.write_text(json.dumps(rows), encoding="utf-8")
    return Results(file)


def job(path: Path, row: dict[str, Any], assumed: Assumptions = ASSUMED) -> Job:
    (found,) = jobs_of(kept(path, row, MERGE), assumed)
    return found


def test_each_pass_waits_for_its_busiest_worker() -> None:
    passes = (
        Pass("first", 4, merge_seconds=1.0, result_bytes=2e9, reading=8.0),
        Pass("second", 10, merge_seconds=2.0, result_bytes=1e9, reading=10.0, working=20.0, writing=5.0),
    )
    made = Job("", {}, reads=2, passes=passes, once=7.0, task_seconds=0.5, result_rate=1e9)
    assert made.spread(1) == (18.0, 20.0, 5.0)
    assert made.spread(3) == pytest.approx((8 * 2 / 4 + 10 * 4 / 10, 20 * 4 / 10, 5 * 4 / 10))
    assert made.spread(1000) == pytest.approx((2.0 + 1.0, 2.0, 0.5))
    assert made.serial == 14 * 0.5 + 3.0 + 3.0
    assert made.seconds(3) == pytest.approx(8.0 + 8.0 + 2.0 + 13.0 + 7.0)
    assert made.most_workers == int(43 / 13)


def test_scoring_reads_twice_and_merges_as_was_measured(tmp_path: Path) -> None:
    found = job(tmp_path, run("score"))
    looked, counted, scored = found.passes
    assert (looked.partitions, looked.reading, looked.working) == (2, 0.0, 0.0)  # one a file
    assert (counted.reading, counted.working) == (1000.0, 0.0)  # 100 bytes a row at 100 MB a second
    assert (scored.reading, scored.working, scored.writing) == (1000.0, 4000.0, 0.0)  # of workers and the cluster
    assert scored.partitions == math.ceil(10**9 / SHARD) == 954
    assert (scored.result_bytes, scored.merge_seconds) == pytest.approx((954e6, 9.54))
    assert (found.reads, found.once) == (2, 2.5)
    assert found.spread(500)[1] == pytest.approx(4000 * 2 / 954)


def test_indexing_writes(tmp_path: Path) -> None:
    found = job(tmp_path, run("mine index"))
    assert [each.reading for each in found.passes] == [1000.0, 1000.0]
    assert found.passes[-1].writing == 200.0  # 10 bytes a row at 50 MB a second
    assert found.passes[-1].merge_seconds == pytest.approx(0.25 * 954)


@pytest.mark.parametrize(("seeds", "reads"), [(200, 1.0), (1000, 1.084), (50_000, 7.08)])
def test_a_search_reads_its_shards_for_every_chunk_of_seeds(tmp_path: Path, seeds: int, reads: float) -> None:
    found = job(tmp_path, run("mine run", seeds=seeds))
    count, *rounds = found.passes
    assert (count.partitions, count.reading) == (954, 0.0)
    assert [each.name.rpartition(" ")[2] for each in rounds] == ["1", "7", "56", "448", "442"]
    assert found.reads == pytest.approx(sum(each.partitions for each in rounds) / 954)
    assert found.reads == pytest.approx(reads, abs=0.002)
    assert found.spread(1)[:2] == pytest.approx((1000 * found.reads, 4000.0))
    if seeds == 1000:
        assert [each.partitions for each in rounds] == [4, 28, 112, 448, 442]
        # Of 100 workers 96 wait in the first round, and 72 in the second.
        assert found.spread(100)[1] == pytest.approx(4000 / 954 * (1 / 4 + 7 / 28 + 56 * 2 / 112 + 5 + 442 * 5 / 442))
        assert found.spread(100)[0] == pytest.approx(1000 / 954 * (1 + 1 + 2 + 5 + 5))
        assert found.most_workers <= 448  # no round has more to share


def test_hits_of_a_search_grow_sevenfold_a_round(tmp_path: Path) -> None:
    rounds = job(tmp_path, run("mine run")).passes[1:]
    sent = [each.result_bytes for each in rounds]
    assert sent == pytest.approx([4000, 28_000, 28_000, 28_000, 4000 * 442 / 512])
    assert all(later.merge_seconds <= 7 * first.merge_seconds for first, later in pairwise(rounds))


def test_the_largest_run_of_an_engine_is_taken(tmp_path: Path) -> None:
    rows = [
        run("score", rows=10**7),
        run("score", "local:2", 10**8),
        run("score", "ray", 10**8),
        run("score", None, 10**9, maps=[noted("ScoreRange", 1)]),  # in this process: no worker had any work
        run("score", None, 10**9, options="--ci"),
        run("score", "local:2", options="--ci"),
        run("mine index", "ray", options="shards of 1,000"),
        run("mine index", "local:2"),
    ]
    found = [each.measured for each in jobs_of(kept(tmp_path, *rows, MERGE), ASSUMED)]
    assert [(row["what"], row["options"], row["engine"], row["size"]) for row in found] == [
        ("score", "", "ray", 10**8),
        ("score", "--ci", "local:2", MILLION),
        ("mine index", "", "local:2", MILLION),
    ]


def test_what_is_missing_is_named(tmp_path: Path) -> None:
    options = parser().parse_args(["results.json", "--rows", "2e9"])
    with pytest.raises(SystemExit, match=r"how long a task takes on Ray; .*merging --results .* --segments 2000000000"):
        assumed_of(kept(tmp_path, run("score")), options)
    results = kept(tmp_path, run("score"), MERGE, TASKS)
    assumed = assumed_of(results, options)
    assert (assumed.task_seconds, assumed.result_rate) == (0.001, 5e8)
    assert assumed_of(results, parser().parse_args(["x", "--task-seconds", "0"])).task_seconds == 0
    with pytest.raises(SystemExit, match=r"merging statistics of 2,000,000,000 segments takes; .*segments 2000000000$"):
        list(jobs_of(results, assumed))
    with pytest.raises(SystemExit, match="70,000 seeds are searched in lots"):
        list(jobs_of(kept(tmp_path, run("mine run", seeds=70_000)), ASSUMED))


def test_the_tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [run("score", None, wall_seconds=8.0), run("score", "local:2", wall_seconds=5.0), run("score", "ray")]
    results = kept(tmp_path, *rows, run("mine run"), MERGE, TASKS)
    monkeypatch.setattr("sys.argv", ["growth", str(results.path)])
    assert main() == 0
    text = capsys.readouterr().out
    assert "| score | 1,000,000 | 8.0 s | 0.6 | 0.62 | 1.00 | 0.50 | 1.00 | 0.80 | 1 | 1 |" in text
    assert "| mine run 1,000 seeds | 1,000,000 | ray | 100 | 1.08 | 4.00 | 2.5 | _Count (1), _Search (4) |" in text

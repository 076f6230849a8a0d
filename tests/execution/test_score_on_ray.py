"""Scores on a real cluster: folders, metrics that learn, and scores of segments that workers write."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import pytest

from trubleu.cli import main

if TYPE_CHECKING:
    from pathlib import Path

    from ray.cluster_utils import Cluster

pytestmark = pytest.mark.filterwarnings("default:::ray")


def test_the_cluster_writes_what_one_process_writes(
    connected: Cluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, cuts in (("r", [0, 7_000, 20_000]), ("s", [0, 3_000, 15_000, 20_000])):
        (tmp_path / name).mkdir()
        for number, (begin, end) in enumerate(pairwise(cuts)):
            words = "abc" if name == "r" else "abcd"
            lines = (f"{words[i % len(words)]} {words[i // 3 % len(words)]} e\n" for i in range(begin, end))
            (tmp_path / name / f"part-{number}.txt").write_text("".join(lines))
    arguments = ["score", "--ref", str(tmp_path / "r"), str(tmp_path / "s"), "-m", "nist-2", "-m", "bleu-2"]
    found = []
    for name, more in (("alone", []), ("there", ["--engine", "ray", "--resume", str(tmp_path / "kept")])):
        assert main([*arguments, "--segments-to", str(tmp_path / name), *more]) == 0
        found.append((capsys.readouterr().out, {path.name: path.read_bytes() for path in (tmp_path / name).iterdir()}))
    assert found[0] == found[1]
    assert len(found[0][1]) == 4

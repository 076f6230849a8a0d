"""The files for GitHub Actions and GitLab in docs/check.md: their steps run by hand, with a system that is a file."""

from __future__ import annotations

import csv
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

if TYPE_CHECKING:
    from collections.abc import Sequence

ROOT = Path(__file__).parent.parent.parent
PAGE = (ROOT / "docs" / "check.md").read_text(encoding="utf-8")
GITHUB, GITLAB = (yaml.safe_load(text) for text in re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL))

SYSTEM = """
import csv, json, sys
answers = {row["id"]: row["answer"] for row in csv.DictReader(open("system.csv", encoding="utf-8"))}
for row in csv.DictReader(open(sys.argv[1], encoding="utf-8")):
    print(json.dumps({"id": row["id"], "answer": answers[row["id"]]}))
"""


def steps(job: Any) -> list[str]:
    """Return the commands of a job, without those that install."""
    lines = job["script"] if "script" in job else [step["run"] for step in job["steps"] if "run" in step]
    return [line for line in lines if not re.match("pip install|git clone", line)]


@pytest.mark.parametrize("job", [GITHUB["jobs"]["check"], GITLAB["answers"]], ids=["github", "gitlab"])
@pytest.mark.parametrize(("system", "code"), [("answers.csv", 0), ("answers-new.csv", 1)])
def test_steps_of_the_workflows(tmp_path: Path, job: Any, system: str, code: int) -> None:
    examples = ROOT / "examples"
    (tmp_path / "answers.csv").write_bytes((examples / "answers.csv").read_bytes())
    (tmp_path / "questions.csv").write_bytes((examples / "answers.csv").read_bytes())
    (tmp_path / "system.csv").write_bytes((examples / system).read_bytes())
    (tmp_path / "answer.py").write_text(SYSTEM, encoding="utf-8")
    with (examples / "answers.csv").open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    accepted = (json.dumps({"id": row["id"], "answer": row["answer"]}) + "\n" for row in rows)
    (tmp_path / "accepted.jsonl").write_text("".join(accepted), encoding="utf-8")
    assert run(steps(job), tmp_path) == code
    assert (tmp_path / "check.html").is_file()
    assert (tmp_path / "check.junit.xml").is_file()
    alert = "TIP" if code == 0 else "CAUTION"
    assert (tmp_path / "summary.md").read_text(encoding="utf-8").startswith(f"> [!{alert}]")


def run(commands: Sequence[str], folder: Path) -> int:
    """Run steps as CI does: one after the other, until one fails."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "GITHUB_STEP_SUMMARY": str(folder / "summary.md")}
    for command in commands:
        done = subprocess.run(["bash", "-e", "-c", command], cwd=folder, env=environment, check=False)
        if done.returncode:
            return done.returncode
    return 0


def test_what_the_jobs_keep() -> None:
    kept = next(step["with"]["path"] for step in GITHUB["jobs"]["check"]["steps"] if "upload" in step.get("uses", ""))
    assert kept == "check.*"
    assert GITLAB["answers"]["artifacts"]["reports"]["junit"] == "check.junit.xml"
    assert GITLAB["answers"]["allow_failure"]["exit_codes"] == [3]

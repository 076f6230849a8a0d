"""Completion in real shells: what they make of a line when Tab is pressed."""

from __future__ import annotations

import os
import pty
import re
import select
import shutil
import subprocess
import sys
import time
from functools import cache
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

# Where a shell reads the script from, and what it needs besides.
STARTUP = {
    "bash": ("bash --norc --noprofile -i", "source ./script"),
    "zsh": ("zsh -f -i", "fpath=($PWD/functions $fpath); autoload -U compinit; compinit -u -D"),
}
LINES = [
    ("trubleu sco", "<score>"),
    ("trubleu score -m dbleu", "<score><-m><dbleu>"),  # several: no more than what they share
    ("trubleu score -m bleu -m chrf+", "<score><-m><bleu><-m><chrf++>"),
    ("trubleu score --refs lon", "<score><--refs><long-name.jsonl>"),
    ("trubleu score --refs x --format mark", "<score><--refs><x><--format><markdown>"),
    ("trubleu rate serve fol", "<rate><serve><folder/>"),
]


@cache
def script_for(shell: str) -> str:
    call = [sys.executable, "-m", "trubleu", "completion", shell]
    return subprocess.run(call, capture_output=True, text=True, check=True).stdout


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "functions").mkdir()
    (tmp_path / "bin").mkdir()
    (tmp_path / "folder").mkdir()
    (tmp_path / "long-name.jsonl").touch()
    # What is run when the line is done: it shows its arguments, so that a test sees what the shell made of them.
    program = tmp_path / "bin" / "trubleu"
    program.write_text("#!/bin/sh\nfor each; do printf '<%s>' \"$each\"; done\nprintf '%s' '<<end>>'\n")
    program.chmod(0o755)
    return tmp_path


def asked(shell: str, folder: Path, line: str) -> str:
    """Type a line, Tab and Enter into an interactive shell; return the arguments that the program got."""
    command, setup = STARTUP[shell]
    script = script_for(shell)
    (folder / "script").write_text(script)
    (folder / "functions" / "_trubleu").write_text(script)
    ours, theirs = pty.openpty()
    environment = {"PATH": f"{folder / 'bin'}:{os.environ['PATH']}", "TERM": "dumb", "HOME": str(folder)}
    running = subprocess.Popen(
        command.split(), stdin=theirs, stdout=theirs, stderr=theirs, cwd=folder, env=environment, start_new_session=True
    )
    os.close(theirs)
    try:
        os.write(ours, f"{setup}; echo rea''dy\n".encode())
        _read_until(ours, "ready")
        os.write(ours, f"{line}\t\n".encode())
        shown = _read_until(ours, "<<end>>")
    finally:
        running.kill()
        running.wait()
        os.close(ours)
    return shown.rpartition("<<end>>")[0].rpartition("\n")[2]


def _read_until(terminal: int, wanted: str) -> str:
    shown = ""
    deadline = time.monotonic() + 60
    while wanted not in shown:
        if not select.select([terminal], [], [], max(deadline - time.monotonic(), 0))[0]:
            pytest.fail(f"the shell never showed {wanted}, but: {shown}")
        shown += os.read(terminal, 65536).decode(errors="replace")
    return shown


@pytest.mark.parametrize("shell", STARTUP)
@pytest.mark.parametrize(("line", "wanted"), LINES)
def test_tab_completes(shell: str, line: str, wanted: str, folder: Path) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed here")
    assert asked(shell, folder, line).replace("/>", ">") == wanted.replace("/>", ">")


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("trubleu sco", {"score", "scores"}),
        ("trubleu score -m sdb", {"sdbleu"}),
        ("trubleu score --refs lon", {"long-name.jsonl"}),
        ("trubleu score --tokenize cha", {"char", "chat"}),
        ("trubleu rate serve fol", {"folder/"}),
    ],
)
def test_fish_offers(line: str, wanted: set[str], folder: Path) -> None:
    if shutil.which("fish") is None:
        pytest.skip("fish is not installed here")
    (folder / "script").write_text(script_for("fish"))
    call = ["fish", "--no-config", "-c", f"source ./script; complete -C '{line}'"]
    offered = subprocess.run(call, cwd=folder, capture_output=True, text=True, check=True).stdout
    assert {each.partition("\t")[0] for each in offered.splitlines()} == wanted


def test_bash_offers_all_names_of_metrics(folder: Path) -> None:
    from trubleu.metrics.registry import names

    (folder / "script").write_text(script_for("bash"))
    asking = (
        "source ./script; COMP_WORDS=(trubleu score -m ''); COMP_CWORD=3; "
        "$(complete -p trubleu | sed -E 's/.*-F ([^ ]+).*/\\1/'); printf '%s\\n' \"${COMPREPLY[@]}\""
    )
    offered = subprocess.run(["bash", "-c", asking], cwd=folder, capture_output=True, text=True, check=True).stdout
    assert {*names()} <= set(offered.split())


def test_positional_arguments_are_files_only_where_they_are() -> None:
    script = script_for("bash")
    assert "_shtab_trubleu_rate_exclude_pos_0_COMPGEN=_shtab_compgen_dirs" in script
    assert "_shtab_trubleu_rate_exclude_pos_1_COMPGEN" not in script
    assert "_shtab_trubleu_mine_add_pos_0_COMPGEN=_shtab_compgen_files" in script
    assert "_shtab_trubleu_vectors_train___out_COMPGEN=_shtab_compgen_files" in script
    assert re.search(r"_shtab_trubleu_score___list_metrics_choices=\([^)]*meteor", script)
    assert re.search(r"_shtab_trubleu_score__m_choices=\([^)]*nist", script)

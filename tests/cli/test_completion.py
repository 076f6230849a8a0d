"""``python -m trubleu``, and what ``trubleu completion`` says without a shell; tests/integrations has the shells."""

from __future__ import annotations

import subprocess
import sys

import pytest

from trubleu._version import __version__
from trubleu.cli import main


def python(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *arguments], capture_output=True, text=True, check=False)


def test_python_m_trubleu_is_the_command() -> None:
    assert python("-m", "trubleu", "--version").stdout == f"trubleu {__version__}\n"
    wrong = python("-m", "trubleu", "scoore")
    assert (wrong.returncode, wrong.stdout) == (2, "")
    assert wrong.stderr.startswith("trubleu: argument COMMAND: invalid choice: 'scoore'")


def test_help_loads_nothing_for_it() -> None:
    heavy = "{'numpy', 'shtab', 'trubleu.metrics.base', 'trubleu.text', 'torch', 'evaluate'}"
    code = f"import sys, trubleu.cli; trubleu.cli.build_parser().format_help(); print({heavy} & {{*sys.modules}})"
    assert python("-c", code).stdout == "set()\n"


def test_without_shtab_the_message_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "shtab", None)
    assert main(["completion", "bash"]) == 2
    message = "a script for completion needs the package shtab; install it with: pip install 'trubleu[completion]'"
    assert capsys.readouterr() == ("", f"trubleu: {message}\n")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nushell"], "invalid choice: 'nushell'; known: "),
        (["bash", "zsh"], "completion does not take zsh; leave it out"),
        ([], "the following arguments are required: SHELL"),
    ],
)
def test_what_is_no_shell(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    try:
        code = main(["completion", *arguments])
    except SystemExit as leaving:
        code = leaving.code  # type: ignore[assignment]
    assert code == 2
    assert message in capsys.readouterr().err

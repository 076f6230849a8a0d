"""``python -m trubleu``, and what ``trubleu completion`` says without a shell; tests/integrations has the shells."""

from __future__ import annotations

import subprocess
import sys

import pytest

from trubleu._version import __version__
from trubleu.cli import main
from trubleu.cli.completion import offered_metrics
from trubleu.explain.segment import check_explainable
from trubleu.metrics.registry import names, parse
from trubleu.simulate.studies import make_conditions


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


def test_what_is_offered_are_metrics() -> None:
    offered = offered_metrics()
    assert set(names()) < set(offered)
    assert len(offered) == len(set(offered))
    for name in offered:
        assert parse(name).text == name


def test_commands_offer_what_they_take() -> None:
    assert "nist-5" in offered_metrics()
    assert "bleu-5" not in offered_metrics()
    for name in offered_metrics("explain"):
        if "vec" not in name:
            check_explainable(parse(name).build())
    assert {name for name in names() if name in offered_metrics("explain")} == {
        "trubleu", "bleu", "sbleu", "dbleu", "sdbleu", "bleu2vec", "bleu2vec-f", "dbleu2vec", "dbleu2vec-f",
    }  # fmt: skip
    made = [name for name in offered_metrics("simulate") if "vec" not in name]
    assert len(make_conditions(made, [1], [1])) == len(made)
    assert not {"ibleu", "nist", "cider", "cider-d-4"} & set(made)

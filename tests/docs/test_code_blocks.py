"""Every code block of README.md and docs/ works as it is written."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.docs.blocks import Block, Reader, agrees, blocks, commands, is_plain, pages

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.filterwarnings("ignore:columns of block:trubleu.errors.Notice")
@pytest.mark.parametrize("page", pages(), ids=lambda page: page.name)
def test_page_works_as_it_is_written(page: Path, tmp_path: Path) -> None:
    Reader(tmp_path).follow(page)


class TestReading:
    def test_language_text_line_and_comment(self) -> None:
        text = "x\n\n<!-- not run: why -->\n\n```console\n$ a\n```\n\n- y\n\n    ```python\n    b\n      c\n    ```\n"
        assert blocks(text, "p.md") == [
            Block("p.md", 5, "console", "$ a", "not run", "why"),
            Block("p.md", 11, "python", "b\n  c"),
        ]

    def test_a_comment_belongs_to_the_block_right_below_it(self) -> None:
        (block,) = blocks("<!-- not run: why -->\ntext\n```python\n1\n```\n", "p.md")
        assert block.mark == ""

    def test_a_block_that_is_never_closed(self) -> None:
        with pytest.raises(AssertionError, match=r"p\.md:2: this block is never closed"):
            blocks("x\n```python\n1\n", "p.md")

    def test_commands_with_continuations_and_what_they_print(self) -> None:
        found = commands(Block("p.md", 1, "console", "$ a \\\n    b\none\ntwo\n$ c"))
        assert [(one.text, one.printed) for one in found] == [("a \\\n    b", ("one", "two")), ("c", ())]

    def test_a_console_block_without_a_command(self) -> None:
        with pytest.raises(AssertionError, match=r"p\.md:1: a console block begins with a command"):
            commands(Block("p.md", 1, "console", "ls"))


class TestComparing:
    @pytest.mark.parametrize(
        ("shown", "printed"),
        [
            (("a", "b"), "a\nb\n"),
            (("a  ",), "a\n"),
            (("a …", "b"), "a 12 c\nb\n"),
            (("a", "…", "b"), "a\nb\n"),
            (("a", "…", "b"), "a\nx\ny\nb\n"),
            (("a", "", "b"), "a\n\nb\n"),
            (("1.0 (x)",), "1.0 (x)"),
        ],
    )
    def test_equal(self, shown: tuple[str, ...], printed: str) -> None:
        assert agrees(shown, printed)

    @pytest.mark.parametrize(
        ("shown", "printed"),
        [
            (("a",), "a\nb\n"),
            (("a", "b"), "a\n"),
            (("1.0",), "1x0"),
            (("a … b",), "a\nb"),
            (("a", "…", "b"), "a\nx\nc\n"),
            (("a  b",), "a b"),
        ],
    )
    def test_different(self, shown: tuple[str, ...], printed: str) -> None:
        assert not agrees(shown, printed)


class TestRunning:
    @pytest.mark.parametrize(
        ("language", "text", "message"),
        [
            ("console", "$ false", "ends with code 1, not 0"),
            ("console", "$ false | true", "ends with code 1, not 0"),
            ("console", "$ false\n$ true", "ends with code 1, not 0"),
            ("console", "$ echo a\nb", "shows\nb\nbut prints\na"),
            ("python", "assert 1 == 2, 'one'", "one"),
        ],
    )
    def test_what_does_not_work_fails(self, tmp_path: Path, language: str, text: str, message: str) -> None:
        with pytest.raises(AssertionError, match=message):
            Reader(tmp_path).run(Block("p.md", 1, language, text))

    def test_json_that_is_none(self, tmp_path: Path) -> None:
        with pytest.raises(ValueError, match="Expecting"):
            Reader(tmp_path).run(Block("p.md", 1, "json", "{"))

    @pytest.mark.parametrize(
        ("command", "plain"),
        [
            ("trubleu score --ref a.txt 'b|c' -m \"x[y=1]\" *.txt  # why & how", True),
            ("trubleu score a.txt | head", False),
            ("trubleu score a.txt > b.txt", False),
            ("trubleu score $FILE", False),
            ('trubleu score "$FILE"', False),
            ("printf a", False),
        ],
    )
    def test_what_needs_a_shell(self, command: str, plain: bool) -> None:
        assert is_plain(command) == plain

    def test_a_plain_call_finds_files_prints_and_fails_as_a_program_does(self, tmp_path: Path) -> None:
        (tmp_path / "a.txt").write_text("one two\n")
        reader = Reader(tmp_path)
        reader.run(Block("p.md", 1, "console", "$ trubleu score --ref a.txt *.txt -m bleu-1\n…\na  …  100.00\n…"))
        failing = "$ trubleu score --ref b.txt a.txt\ntrubleu: b.txt: …"
        reader.run(Block("p.md", 1, "console", failing, "exit code", "2"))
        with pytest.raises(AssertionError, match="ends with code 2, not 0"):
            reader.run(Block("p.md", 1, "console", failing))

    def test_marks(self, tmp_path: Path) -> None:
        reader = Reader(tmp_path, frozenset({"integrations"}))
        assert not reader.run(Block("p.md", 1, "console", "$ false", "not run", "why"))
        assert not Reader(tmp_path).run(Block("p.md", 1, "console", "$ false", "run", "integrations"))
        assert reader.run(Block("p.md", 1, "console", "$ touch ran", "run", "integrations"))
        assert reader.run(Block("p.md", 1, "console", "$ exit 2", "exit code", "2"))
        reader.run(Block("p.md", 1, "text", "a\nb", "file", "ab.txt"))
        assert (tmp_path / "ran").exists()
        assert (tmp_path / "ab.txt").read_text() == "a\nb\n"

    def test_a_group_that_nothing_runs(self, tmp_path: Path) -> None:
        with pytest.raises(AssertionError, match=r"p\.md:1: nothing runs blocks of 'integration'"):
            Reader(tmp_path).run(Block("p.md", 1, "console", "$ true", "run", "integration"))

    def test_python_remembers_and_works_in_the_folder(self, tmp_path: Path) -> None:
        reader = Reader(tmp_path)
        reader.run(Block("p.md", 1, "python", "from pathlib import Path\nx = 1"))
        reader.run(Block("p.md", 1, "python", "Path('x').write_text(str(x))"))
        assert (tmp_path / "x").read_text() == "1"

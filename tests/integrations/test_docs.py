"""The code blocks of the page on integrations, those too that only run where the packages are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.docs.blocks import ROOT, Reader, blocks, pages
from trubleu.render import render_scores
from trubleu.scoring import ScoreReport

if TYPE_CHECKING:
    from pathlib import Path

GROUP = "integrations"


def test_the_page_works_as_it_is_written(tmp_path: Path) -> None:
    page = ROOT / "docs" / "integrations.md"
    reader = Reader(tmp_path, frozenset({GROUP}))
    ran = reader.follow(page)
    assert ran == sum(block.mark != "not run" for block in blocks(page.read_text(encoding="utf-8"), page.name))
    # The table that a notebook shows, as the page prints it.
    report = reader.names["report"]
    assert isinstance(report, ScoreReport)
    assert render_scores(report, "markdown").partition("\n\n")[0] in page.read_text(encoding="utf-8")
    assert (tmp_path / "completions" / "_trubleu").read_text().startswith("#compdef trubleu")


def test_no_other_page_has_such_blocks() -> None:
    marked = {
        page.name for page in pages() for block in blocks(page.read_text("utf-8"), page.name) if block.value == GROUP
    }
    assert marked == {"integrations.md"}

"""What notebooks show: results as HTML in which nothing that people wrote is taken for HTML."""

from __future__ import annotations

from html.parser import HTMLParser
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import trubleu
from tests.judge import example, wmt_world
from trubleu.explain import compare_systems, explain
from trubleu.render import Column, Estimate, Table, render_tables
from trubleu.results import MOST_ROWS, html_notes, html_record, html_table, html_text
from trubleu.scoring import Sampling, check_references, score_systems
from trubleu.stats import Comparison, Interval

NASTY = "<script>alert('x')</script>&\"\ud800"


class Cells(HTMLParser):
    """Reads a fragment back: the cells of each row, every element, and whether all that was opened was closed."""

    def __init__(self, fragment: str) -> None:
        super().__init__()
        self.rows: list[list[str]] = []
        self.elements: set[str] = set()
        self.open: list[str] = []
        self.feed(fragment)
        self.close()

    def handle_starttag(self, tag: str, _attrs: Any) -> None:
        self.elements.add(tag)
        self.open.append(tag)
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] in ("td", "th"):
            self.rows[-1][-1] += data


TEXTS = st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=8)


@given(st.lists(st.tuples(TEXTS, TEXTS), max_size=5), TEXTS, TEXTS)
def test_texts_come_back_as_they_were(rows: list[tuple[str, str]], title: str, note: str) -> None:
    read = Cells(html_table(["a", "b"], rows, numbers=[False, True], title=title, notes=[note]))
    assert read.rows == [["a", "b"], *map(list, rows)]
    assert not read.open
    assert read.elements <= {"table", "caption", "thead", "tbody", "tr", "th", "td", "ul", "li"}


@pytest.mark.parametrize("made", [html_notes([NASTY]), html_text(NASTY)])
def test_what_is_no_table_is_escaped_too(made: str) -> None:
    assert "<script" not in made
    assert "&lt;script&gt;" in made
    made.encode("utf-8")


def test_only_the_first_rows_of_a_long_table_are_shown() -> None:
    def table(rows: int) -> str:
        return Table("", [Column("n", kind="count")], [(number,) for number in range(rows)])._repr_html_()

    assert len(Cells(table(MOST_ROWS)).rows) == MOST_ROWS + 1
    assert "more" not in table(MOST_ROWS)
    assert "and 1 more row<" in table(MOST_ROWS + 1)
    assert "and 1,000 more rows" in table(MOST_ROWS + 1000)
    assert len(Cells(table(MOST_ROWS + 1000)).rows) == MOST_ROWS + 1


def test_a_table_shows_what_its_text_shows() -> None:
    table = Table(
        "Scores", [Column("system"), Column("bleu", kind="number")], [("A", Estimate(36.278, 35.1, 37.5, "*"))]
    )
    assert Cells(table._repr_html_()).rows == [["system", "bleu"], ["A", "36.28 [35.10, 37.50]*"]]
    assert "<caption>Scores</caption>" in table._repr_html_()
    assert table._repr_html_() == render_tables([table], "html")


def test_a_score_shows_its_fields() -> None:
    result = trubleu.corpus_score(["a b"], [["a b c"]], "bleu-2")
    rows = dict(Cells(result._repr_html_()).rows)
    assert rows["metric"] == "bleu-2"
    assert float(rows["score"]) == pytest.approx(result.score, rel=1e-5)
    assert rows["precisions"] == "100 / 100"
    assert rows["signature"] == str(result.signature)


def test_intervals_and_tests_show_their_fields() -> None:
    interval = Interval(
        score=1.5, low=1.0, high=2.0, confidence=0.95, resamples=10, seed=1, blocks=0, standard_error=0.2, segments=30
    )
    assert dict(Cells(interval._repr_html_()).rows)["high"] == "2"
    comparison = Comparison(
        test="bootstrap", exact=False, n=10, seed=1, difference=0.25, low=0.0, high=1.0, effect=0.1, p=0.5,
        confidence=0.95, resamples=10, blocks=0, a=NASTY, b="B", p_holm=1.0, differing=5, smallest_p=0.0625,
    )  # fmt: skip
    assert dict(Cells(comparison._repr_html_()).rows)["difference"] == "0.25"
    assert "<script" not in html_record(comparison)


def test_reports_show_their_tables_and_how_they_were_made() -> None:
    references = trubleu.References.from_lists([["a b c"], ["d e f"]], [[1.0], [0.5]])
    metrics = {"dbleu-2": trubleu.metric("dbleu-2")}
    systems = {NASTY: ["a b", "d e f"], "B": ["a c", "d"]}
    report = score_systems(
        systems, references, metrics, sampling=Sampling(interval=True, test="bootstrap", resamples=20), segments=True
    )
    html = report._repr_html_()
    read = Cells(html)
    assert read.rows[0] == ["system", "dbleu-2"]
    assert read.rows[1][0] == NASTY.replace("\ud800", "\\ud800")
    assert "script" not in read.elements
    assert str(report.scores[0].signature) in html
    assert "20 resamples" in html

    comparison = compare_systems({"A": systems[NASTY], "B": systems["B"]}, references, metrics)
    assert "Segments where A is better" in comparison._repr_html_()
    check = check_references(trubleu.References.from_lists([["a", "a"], ["b"]], [[1.0, 0.5], [-1.0]]))
    assert ["2", "3"] in [row[:2] for row in Cells(check._repr_html_()).rows]
    explanation = explain(trubleu.metric("bleu-1"), "it was <so> good", [["it was nice"]])
    assert "[it]#1 [was]#1" in explanation._repr_html_()
    assert "<so>" not in explanation._repr_html_()


def test_judgements_show_their_tables() -> None:
    pairs = example.make_report()._repr_html_()
    assert "<caption>" in pairs
    assert "Fieller" in pairs
    assert Cells(pairs).open == []
    wmt = wmt_world.judged(wmt_world.make_task())
    read = Cells(wmt._repr_html_())
    assert set(wmt_world.METRICS) <= {cell for row in read.rows for cell in row}

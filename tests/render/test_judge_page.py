"""The page about metrics and people: what it chooses, draws, says and escapes."""

from __future__ import annotations

import base64
import hashlib
import html
import math
import re
import sys
from dataclasses import replace
from html.parser import HTMLParser
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import trubleu
from tests.judge.example import HOSTILE, make_report, outputs, references
from trubleu.data import Ratings
from trubleu.errors import MissingExtraError, TrubleuWarning, UsageError
from trubleu.judge import Protocol, judge_pairs
from trubleu.judge.pairs.results import Measure, PairsReport, SweepRow
from trubleu.render import pages
from trubleu.render.charts import (
    DARK,
    HEIGHT,
    LIGHT,
    WIDTH,
    legend_keys,
    scatter_chart,
    strip,
    sweep_charts,
    ticks,
)
from trubleu.render.judge_pairs import (
    default_measure,
    disagreements,
    most_disagreeing,
    observation_view,
    pairs_verdict,
    render_judge_page,
)
from trubleu.render.tables import Estimate

WEIGHTED = Measure(metric="dbleu-2", condition="all")
NEURAL = Measure(metric="a-rather-long-neural-metric-v2.1-multilingual", condition=None)


@pytest.fixture(scope="module")
def report() -> PairsReport:
    return make_report()


class Seen(HTMLParser):
    """Collects what a browser would see."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self._silent = 0
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attributes)))
        self._silent += tag in ("script", "style")

    def handle_endtag(self, tag: str) -> None:
        self._silent -= tag in ("script", "style")

    def handle_data(self, data: str) -> None:
        if not self._silent:
            self.text += data

    def all(self, name: str) -> list[dict[str, str | None]]:
        return [attributes for tag, attributes in self.tags if tag == name]


# What is browsed.

values = st.lists(st.integers(-3, 3).map(float), min_size=1, max_size=30)


@given(st.data())
def test_disagreement_is_the_distance_of_ranks_with_both_signs(data: st.DataObject) -> None:
    metric = np.array(data.draw(values))
    rating = np.array(data.draw(st.lists(st.integers(-3, 3).map(float), min_size=len(metric), max_size=len(metric))))
    count = len(metric)
    expected = [
        abs(one - other) / (2 * count)
        for one, other in zip(
            stats.rankdata([*metric, *-metric])[:count], stats.rankdata([*rating, *-rating])[:count], strict=True
        )
    ]
    found = disagreements(metric, rating)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)
    # Which system of a pair comes first does not matter, nor does the metric's scale.
    flips = np.array(data.draw(st.lists(st.sampled_from([-1.0, 1.0]), min_size=count, max_size=count)))
    np.testing.assert_array_equal(disagreements(flips * metric, flips * rating), found)
    np.testing.assert_array_equal(disagreements(7 * metric, rating / 2), found)
    assert disagreements(metric, 3 * metric).max() == 0


def test_the_largest_disagreements_of_all_pairs_are_chosen(report: PairsReport) -> None:
    everything = most_disagreeing(report, WEIGHTED, 10_000)
    assert len(everything.observations) == everything.total == 3 * 40
    assert everything.unscored == 0
    assert {one.evidence for one in everything.observations} == {0, 1, 2}
    apart = [one.disagreement for one in everything.observations]
    assert apart == sorted(apart, reverse=True)
    assert most_disagreeing(report, WEIGHTED, 7).observations == everything.observations[:7]
    for one in everything.observations:
        evidence = report.evidence[one.evidence]
        assert one.rating == evidence.rating_a[one.place] - evidence.rating_b[one.place]
        assert one.metric == evidence.scores_a[WEIGHTED][one.place] - evidence.scores_b[WEIGHTED][one.place]
        assert one.kind == "".join("0AB"[int(np.sign(value))] for value in (one.metric, one.rating))


def test_segments_without_a_score_are_counted(report: PairsReport) -> None:
    found = most_disagreeing(report, NEURAL, 10_000)
    assert (found.total, found.unscored) == (118, 2)
    assert all(math.isfinite(one.metric) for one in found.observations)
    assert "118; 2 more have no score" in render_judge_page(report, measure=NEURAL)


def test_of_an_error_rate_less_is_better(report: PairsReport) -> None:
    turned = replace(report, metrics={**report.metrics, "dbleu-2": trubleu.metric("ter")})
    plain = {(one.evidence, one.place): one for one in most_disagreeing(report, WEIGHTED, 999).observations}
    for one in most_disagreeing(turned, WEIGHTED, 999).observations:
        assert one.metric == -plain[one.evidence, one.place].metric


def test_the_default_is_the_best_one_that_can_be_explained(report: PairsReport) -> None:
    able = [row for row in report.correlations if row.metric in ("bleu-2", "dbleu-2") and row.condition == "all"]
    best = max(able, key=lambda row: row.spearman or 0)
    assert default_measure(report) == Measure(metric=best.metric, condition="all")
    elsewhere = replace(
        report, correlations=tuple(row for row in report.correlations if row.metric == "chrf" or row.condition is None)
    )
    assert default_measure(elsewhere) == Measure(metric="chrf", condition="all")
    assert default_measure(replace(report, correlations=())) is None


def test_what_cannot_be_browsed_is_said(report: PairsReport) -> None:
    with pytest.raises(UsageError, match=r"bleu-7 \(all\) was not judged; browse by one of: bleu-2 \(single\), "):
        render_judge_page(report, measure=Measure(metric="bleu-7", condition="all"))
    with pytest.raises(UsageError, match="-1 observations cannot be browsed; ask for 0 or more"):
        render_judge_page(report, browse=-1)


def test_an_observation_shows_both_sides(report: PairsReport) -> None:
    chosen = most_disagreeing(report, WEIGHTED, 1).observations[0]
    view = observation_view(report, WEIGHTED, chosen)
    evidence = report.evidence[chosen.evidence]
    pair = report.pairs[evidence.pair]
    assert [side.system for side in view.sides] == [pair.a, pair.b]
    assert [side.rating for side in view.sides] == [
        f"{evidence.rating_a[chosen.place]:.2f}", f"{evidence.rating_b[chosen.place]:.2f}",
    ]  # fmt: skip
    assert view.segment.id == f"s{chosen.place + 1}"
    for side in view.sides:
        numbers = [reference.number for reference in (*side.decisive, *side.others)]
        assert sorted(numbers) == [1, 2, 3, 4, 5, 6]
        assert side.hidden == 0
    assert {name for name, _, _ in view.scores} == {str(measure) for measure in report.cloud.scores} - {str(WEIGHTED)}


def test_unweighted_metrics_are_coloured_by_the_weights_of_references(report: PairsReport) -> None:
    seen = Seen(render_judge_page(report, measure=Measure(metric="bleu-2", condition="all")))
    classes = {attributes.get("class") for attributes in seen.all("span")}
    assert {"run w20 pos", "run w0 neg"} <= classes
    assert "This metric treats all references alike." in seen.text


# What is drawn.


@given(st.floats(-1e6, 1e6), st.floats(1e-6, 1e6), st.integers(2, 12))
def test_ticks_reach_around_their_numbers(low: float, width: float, steps: int) -> None:
    high = low + width
    found = ticks(low, high, steps)
    slack = (found[1] - found[0]) * 1e-6
    assert found[0] <= low + slack
    assert found[-1] >= high - slack
    assert 2 <= len(found) <= steps + 2
    distances = [after - before for before, after in pairwise(found)]
    np.testing.assert_allclose(distances, distances[0], rtol=1e-5)


def test_ticks_of_one_number() -> None:
    assert ticks(0.5, 0.5)[0] <= 0.5 <= ticks(0.5, 0.5)[-1]
    assert len(ticks(0.0, 0.0)) >= 2


def numbers_in(path: str) -> list[float]:
    return [float(number) for number in re.findall(r"-?\d+\.?\d*", path)]


def test_a_line_has_a_gap_where_a_coefficient_is_undefined(report: PairsReport) -> None:
    charts = sweep_charts(report.sweeps)
    assert [chart.x.title for chart in charts] == [
        "minimum weight of references",
        "segments per unit",
        "longest n-gram",
    ]
    for chart, name in zip(charts, ("threshold", "unit", "order"), strict=True):
        rows = [row for row in report.sweeps if row.sweep == name]
        defined = [row for row in rows if row.spearman is not None]
        assert len(chart.marks) == len(defined) < len(rows)
        blue = [line for line in chart.lines if line.classes == "c0"]
        points = len([row for row in defined if row.metric == "bleu-2"])
        alone = name == "order"  # of four orders, the third is missing: the fourth stands alone, with its interval
        assert len(blue) == 2
        assert sum(len(numbers_in(line.path)) // 2 for line in blue) == points + alone
        for stroke in (*chart.lines, *chart.bands):
            xs, ys = numbers_in(stroke.path)[::2], numbers_in(stroke.path)[1::2]
            assert all(0 <= x <= WIDTH for x in xs)
            assert all(0 <= y <= HEIGHT for y in ys)
    xs = [tick.at for tick in charts[0].x.ticks]
    assert [tick.text for tick in charts[0].x.ticks] == ["1", "0.6", "0.2", "−0.2", "−0.6", "−1"]
    assert xs == sorted(xs)


def test_metrics_differ_by_colour_and_marker() -> None:
    keys = legend_keys(["bleu-2", "dbleu-2", "chrf"])
    assert [key.name for key in keys] == ["bleu-2", "dbleu-2", "chrf"]
    assert len({key.classes for key in keys}) == 3
    assert len({key.marker for key in keys}) == 3


@given(st.integers(1, 40), st.sampled_from(["threshold", "unit", "order"]))
@settings(max_examples=30)
def test_any_sweep_can_be_drawn(count: int, name: str) -> None:
    row = SweepRow(
        sweep=name,  # type: ignore[arg-type]
        metric="m", condition=None, value=1.0, unit=1, units=1, n=2,
        spearman=0.5, spearman_low=None, spearman_high=None, kendall=None, kendall_low=None, kendall_high=None,
    )  # fmt: skip
    rows = tuple(replace(row, value=float(step + 1), spearman=None if step % 5 == 4 else 0.5) for step in range(count))
    chart = sweep_charts(rows)[0]
    assert len(chart.marks) == count - count // 5
    places = [tick.at for tick in chart.x.ticks]
    assert all(after - before > 10 for before, after in pairwise(places))


def test_the_scatter_leaves_out_units_without_a_score_and_thins_many(report: PairsReport) -> None:
    chart = scatter_chart(report.cloud, NEURAL, 0.8)
    assert chart.marks[0].path.count("M") == 28
    assert chart.note == "ρ 0.800; 28 units, 2 more have no score"
    many = replace(
        report.cloud, pair=np.zeros(9000, np.int64), rating=np.linspace(-1, 1, 9000), scores={NEURAL: np.zeros(9000)}
    )
    chart = scatter_chart(many, NEURAL, None)
    assert chart.marks[0].path.count("M") == 2000
    assert chart.note == "ρ undefined; 9,000 units (2,000 are drawn)"
    nothing = replace(report.cloud, scores={NEURAL: np.full(len(report.cloud.rating), np.nan)})
    assert scatter_chart(nothing, NEURAL, None).marks == []


def test_a_strip_of_an_undefined_coefficient_is_empty() -> None:
    assert strip(Estimate(None), (0.0, 1.0)).at is None
    assert strip(Estimate(None), (0.0, 1.0)).text == "undefined"
    shown = strip(Estimate(0.5, 0.25, 0.75), (0.0, 1.0))
    assert (shown.low, shown.at, shown.high) == pytest.approx((26.0, 50.0, 74.0))


def luminance(colour: str) -> float:
    parts = [int(colour[start : start + 2], 16) / 255 for start in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize(("colours", "paper"), [(LIGHT, "#ffffff"), (DARK, "#17171b")])
def test_lines_stand_out_from_the_page(colours: tuple[str, ...], paper: str) -> None:
    """WCAG 2 asks for a contrast of 3 for what is drawn."""
    assert f"--paper: {'#fff' if paper == '#ffffff' else paper};" in pages.page_style()
    for colour in colours:
        light, dark = sorted((luminance(colour), luminance(paper)), reverse=True)
        assert (light + 0.05) / (dark + 0.05) >= 3, colour


# What is said.


def test_the_summary_names_the_best_measure_and_whom_it_beats(report: PairsReport) -> None:
    rows = {row.condition: row for row in report.correlations if row.metric == "bleu-2"}
    all_row = replace(rows["all"], spearman=0.484, spearman_low=0.41, spearman_high=0.55, units=264, unit=100)
    others = (replace(rows["single"], spearman=0.2), replace(rows["w>=0.6"], spearman=None))
    comparison = next(
        row
        for row in report.comparisons
        if row.metric_y == "bleu-2" and {row.condition_x, row.condition_y} == {"single", "all"}
    )
    told = replace(report, correlations=(*others, all_row), comparisons=())
    best = "bleu-2 (all) agrees best with people: Spearman's ρ .484 [.410, .550]"

    def said(**changes: Any) -> str:
        return " ".join(pairs_verdict(replace(told, **changes)))

    assert said() == f"{best}; whether it is significantly better than the others was not tested."
    better = (replace(comparison, spearman_p_holm=0.01),)
    assert said(comparisons=better) == f"{best}, significantly better than bleu-2 (single) (p ≤ .010)."
    same = (replace(comparison, spearman_p_holm=0.05),)
    assert said(comparisons=same).startswith(f"{best}, but not significantly better than bleu-2 (single). ")
    close = replace(
        comparison,
        spearman_difference_low=-0.0592 - 0.264,  # a standard error of .02 · 14.2
        spearman_difference_high=0.0192 + 0.264,
        spearman_p_holm=0.31,
    )
    segments = max(row.segments for row in report.pairs)
    error = (0.0784 + 0.528) / 3.92
    needed = math.ceil((2.8 * error / 0.284) ** 2 * segments)
    found = re.search(
        r"About ([\d,]+) rated segments would settle the difference to bleu-2 \(single\), \.284 \(p = \.310\)",
        said(comparisons=(close,)),
    )
    assert found is not None
    assert needed <= int(found[1].replace(",", "")) < 1.1 * needed + 1
    third = (*others[:1], replace(others[1], spearman=0.1), all_row)
    both = (*better, replace(comparison, condition_x="w>=0.6", spearman_p_holm=1))
    assert (
        f"{best}, but not significantly better than bleu-2 (w>=0.6); significantly better than 1 of the 2 others."
        in said(correlations=third, comparisons=both)
    )
    assert said(correlations=third, comparisons=better).endswith(
        "significantly better than bleu-2 (single) (p ≤ .010); not tested against bleu-2 (w>=0.6)."
    )
    assert "The interval holds 0" in said(correlations=(replace(all_row, spearman_low=-0.1),))
    assert "The interval holds 0" not in said()
    assert said(correlations=(others[1],)) == "No correlation is defined: the scores or the ratings do not vary."


def test_the_page_holds_every_number_and_note(report: PairsReport) -> None:
    page = render_judge_page(report, browse=5)
    seen = Seen(page)
    for row in report.correlations:
        if row.spearman is not None:
            assert f"{row.spearman:.3f} [{row.spearman_low:.3f}, {row.spearman_high:.3f}]" in seen.text
            for kind in ("systems", "fisher", "fieller"):
                low, high = (getattr(row, f"spearman_{kind}_{end}") for end in ("low", "high"))
                assert f"[{low:.3f}, {high:.3f}]".replace("-", "−") in seen.text
    for system in report.systems:
        assert f"{system.mean_rating:.2f}" in seen.text
    assert "100.0 %" in seen.text
    for note in report.notes:
        assert note in seen.text
    assert "This page holds the 5 observations with the largest, of 120." in re.sub(r"\s+", " ", seen.text)
    assert len(seen.all("article")) == 5
    assert not re.search(r"\bnan\b|\bNone\b", seen.text)
    assert not re.search(r"\bnan\b", " ".join(attributes.get("d") or "" for attributes in seen.all("path")))


def test_comparisons_name_the_better_one_first(report: PairsReport) -> None:
    page = render_judge_page(report, browse=0)
    region = re.search(r'aria-label="comparisons".*?</table>', page, re.DOTALL)
    assert region is not None
    rows = re.findall(r'<tr><th scope="row".*?</tr>', region[0])
    assert len(rows) == len(report.comparisons)
    for text in rows:
        cells = [html.unescape(re.sub("<.*?>", "", cell)) for cell in re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", text)]
        value, low, high = (float(number) for number in re.findall(r"-?\d\.\d+", cells[2].replace("−", "-")))
        assert low <= value <= high
        assert value >= 0
        x, y = (
            next(row for row in report.correlations if str(Measure(metric=row.metric, condition=row.condition)) == name)
            for name in cells[:2]
        )
        assert value == pytest.approx((x.spearman or 0) - (y.spearman or 0), abs=0.00051)


def test_markup_in_any_text_is_shown(report: PairsReport) -> None:
    systems = {"good": HOSTILE, "dull": "d", "copy": "c"}
    evil = replace(
        report,
        notes=(HOSTILE,),
        systems=tuple(replace(row, system=systems[row.system]) for row in report.systems),
        pairs=tuple(replace(row, a=systems[row.a], b=systems[row.b]) for row in report.pairs),
        correlations=(*report.correlations, replace(report.correlations[0], metric=HOSTILE, signature=HOSTILE)),
        sweeps=tuple(replace(row, metric=HOSTILE) for row in report.sweeps if row.metric == "chrf"),
        cloud=replace(
            report.cloud,
            scores={**report.cloud.scores, Measure(metric=HOSTILE, condition="<i>"): report.cloud.scores[WEIGHTED]},
        ),
    )
    page = render_judge_page(evil)
    seen = Seen(page)
    assert len(seen.all("script")) == len(seen.all("style")) == 1
    assert not seen.all("img")
    assert not seen.all("i")
    for tag, attributes in seen.tags:
        assert not [name for name in attributes if name.startswith("on") or name in ("src", "style")], tag
    assert page.count("<script") == 1
    assert page.count("</script") == 1
    assert seen.text.count(HOSTILE) >= 10


def test_the_page_needs_nothing_else_and_runs_only_its_own_script(report: PairsReport) -> None:
    page = render_judge_page(report, browse=3)
    assert not re.findall(r"https?://|@import|url\(|<link|<iframe", page)
    found = re.search(r'Content-Security-Policy" content="([^"]*)"', page)
    assert found is not None
    policy = html.unescape(found[1])
    assert policy.startswith("default-src 'none'; ")
    for tag in ("script", "style"):
        content = re.search(rf"<{tag}>(.*?)</{tag}>", page, re.DOTALL)
        assert content is not None
        digest = base64.b64encode(hashlib.sha256(content[1].encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in policy
    assert "unsafe" not in policy


def test_marks_and_pictures_are_named(report: PairsReport) -> None:
    seen = Seen(render_judge_page(report, browse=3))
    pictures = [attributes for attributes in seen.all("svg") if attributes.get("aria-hidden") != "true"]
    assert len(pictures) == 3 + 10 + len(report.correlations)
    assert all(attributes.get("role") == "img" and attributes.get("aria-label") for attributes in pictures)
    identities = [attributes["id"] for _, attributes in seen.tags if "id" in attributes]
    assert len(identities) == len(set(identities))
    targets = [(attributes.get("href") or "")[1:] for attributes in seen.all("a")]
    assert set(targets) <= set(identities)


@pytest.mark.parametrize("measure", [Measure(metric="chrf", condition="all"), NEURAL])
def test_a_metric_that_cannot_be_explained_shows_plain_outputs(report: PairsReport, measure: Measure) -> None:
    seen = Seen(render_judge_page(report, measure=measure, browse=120))
    assert "This metric cannot be explained by matches within a segment, so outputs are shown as they are." in seen.text
    assert HOSTILE + " the end" in seen.text
    assert not [a for a in seen.all("span") if (a.get("class") or "").startswith("run")]
    assert "w20 pos" in " ".join(
        attributes.get("class") or "" for attributes in seen.all("span")
    )  # weights of references


def test_a_report_with_hardly_anything(report: PairsReport) -> None:
    bare = replace(
        report, correlations=(), comparisons=(), sweeps=(), systems=(), system_scores=(), pairs=(), notes=(),
        cloud=replace(report.cloud, scores={}), evidence=(),
    )  # fmt: skip
    seen = Seen(render_judge_page(bare))
    assert "There are no observations to show." in seen.text
    assert "No correlation is defined" in seen.text
    assert not seen.all("article")
    assert not Seen(render_judge_page(report, browse=0)).all("article")
    unrated = tuple(replace(row, mean_rating=None) for row in report.systems[:1]) + report.systems[1:]
    assert "nan" not in Seen(render_judge_page(replace(report, systems=unrated), browse=0)).text


def test_a_report_as_it_is_made() -> None:
    refs = references(24)
    systems = outputs(refs)
    rows = [
        (name, system, f"r{rater}", 1 + (len(text) + 3 * rater) % 5)
        for system, texts in systems.items()
        for name, text in zip(refs.ids, texts, strict=True)
        for rater in range(2)
    ]
    names = ("bleu-2", "dbleu-2", "chrf")
    with pytest.warns(TrubleuWarning, match="equal a reference"):
        made = judge_pairs(
            systems,
            refs,
            Ratings(*map(list, zip(*rows, strict=True))),  # type: ignore[arg-type]
            {name: trubleu.metric(name) for name in names},
            conditions=["single", "w>=0.6", "all"],
            protocol=Protocol(unit=4, draws=20, resamples=20, sweep_draws=5, sweep_resamples=5),
        )
    seen = Seen(render_judge_page(made, browse=30))
    assert len(seen.all("article")) == 30
    assert len([a for a in seen.all("svg") if (a.get("aria-label") or "").startswith("Spearman")]) == 3
    assert all(note in seen.text for note in made.notes)
    assert not re.search(r"\bnan\b|\bNone\b", seen.text)


def test_any_text_can_be_written(report: PairsReport) -> None:
    page = render_judge_page(replace(report, notes=("half a pair: \ud83d",)), browse=0)
    assert "half a pair: \\ud83d" in page.encode().decode()


def test_two_hundred_observations_make_a_page_of_sensible_size() -> None:
    page = render_judge_page(make_report(100, metrics=("dbleu-4",), external=False), browse=200)
    assert page.count("<article ") == 200
    assert len(page.encode()) < 3_000_000


def test_without_jinja_the_command_is_named(report: PairsReport, monkeypatch: pytest.MonkeyPatch) -> None:
    pages.load_page_templates.cache_clear()
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(MissingExtraError, match=r"a page in HTML needs the package jinja2"):
        render_judge_page(report)


def test_words_that_met_are_marked_and_a_metric_that_learns_shows_plain_outputs() -> None:
    names = ("dbleu-2", "trubleu", "trubleu[importance=corpus]")
    report = make_report(12, metrics=names, external=False)
    found = default_measure(report)
    assert found is not None
    assert found.metric in names[:2]
    by_words = Measure(metric="trubleu", condition="all")
    page = render_judge_page(report, measure=by_words, browse=36)
    seen = Seen(page)
    assert (
        "Words are coloured by their similarity to the word they were paired with: blue in good references" in seen.text
    )
    classes = {attributes.get("class") for attributes in seen.all("span")}
    assert {"run w20 pos", "run unmet"} <= classes
    assert any((each or "").endswith(" near") for each in classes)
    assert not [tag for tag, _ in seen.tags if tag == "img"]
    assert "best good one" in seen.text
    for observation in most_disagreeing(report, by_words, 36).observations:
        view = observation_view(report, by_words, observation)
        for side in view.sides:
            known = {token.grams for run in side.output for token in run.tokens}
            met = {
                token.grams
                for one in side.decisive
                for run in one.runs
                for token in run.tokens
                if run.classes != "unmet"
            }
            assert met <= {gram for grams in known for gram in grams.split()}
    plain = render_judge_page(report, measure=Measure(metric=names[2], condition="all"), browse=5)
    assert "so outputs are shown as they are" in plain

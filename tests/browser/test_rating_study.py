"""A whole study: mined, served, rated in a browser and by simulated raters, exported, scored; and hostile texts."""

from __future__ import annotations

import json
from collections import defaultdict
from statistics import fmean
from typing import TYPE_CHECKING

import pytest

from benchmarks.simulated.triples import simulated_triples
from tests.browser.conftest import TIMEOUT
from tests.rating.load.rig import Manners, ServerProcess, simulate
from trubleu.cli import main
from trubleu.data import References, weight_from_ratings, write_triples
from trubleu.rating import Item, Study, StudyConfig
from trubleu.rating.audit import audit
from trubleu.rating.web.sanitize import visible

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Browser, Dialog, Page

HOSTILE = [
    "<script>window.ran = 1</script>",
    '"><img src=x onerror="window.ran = 1">',
    "</div></main></body><script>window.ran = 1</script>",
    "<svg onload=window.ran=1><iframe srcdoc='<script>parent.ran=1</script>'>",
    "<style>*{display:none}</style><base href=https://evil.example/>",
    "javascript:window.ran=1 {{ 7*7 }} &lt;b&gt; &amp;amp;",
    "\x00\x01\x07\x1b[31mred\x7f\x9b\u2028\u2029",
    "👩‍👩‍👧‍👦 🇺🇳 e\u0301\u0302\u0303 \ud83d",
    "\u202eesrever \u2066\u05e9\u05dc\u05d5\u05dd\u2069 مرحبا",
    "<b>" + "long " * 4000,
]


def window(browser: Browser, problems: list[str], url: str) -> Page:
    page = browser.new_context(viewport={"width": 1000, "height": 800}).new_page()
    page.set_default_timeout(TIMEOUT)

    def dismissed(dialog: Dialog) -> None:
        problems.append(dialog.message)
        dialog.dismiss()

    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("console", lambda message: problems.append(message.text))
    page.on("dialog", dismissed)
    page.on("request", lambda request: None if request.url.startswith(url) else problems.append(request.url))
    return page


def answer(page: Page, score: int) -> None:
    key = page.locator("main").get_attribute("data-key")
    page.wait_for_timeout(400)  # what comes at once was meant for the task before
    page.locator(f"input[name=score_1][value='{score}']").click()
    page.locator(f"main:not([data-key='{key}'])").wait_for()


def call(*arguments: object) -> None:
    assert main([str(each) for each in arguments]) == 0, arguments


def test_from_mined_candidates_to_scores(
    tmp_path: Path, browser: Browser, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_triples("corpus.jsonl", simulated_triples(2000, words=1000))
    write_triples("seeds.jsonl", simulated_triples(8, words=1000, seed=2))
    call("mine", "index", "corpus.jsonl", "--out", "corpus.index")
    call(
        "mine", "run", "corpus.index", "--seeds", "seeds.jsonl", "--top", 4, "--random", 1, "--out", "candidates.jsonl"
    )
    call("rate", "new", "study", "--from", "candidates.jsonl", "--raters", 4)

    with Study.open("study") as study, ServerProcess("study") as server:
        problems: list[str] = []
        people = study.add_raters(2, labels=["Ada", "Bo"])
        pages = [window(browser, problems, server.url) for _ in people]
        for page, person, score in zip(pages, people, (5, 1), strict=True):
            page.goto(f"{server.url}/r/{person.token}")
            page.get_by_role("button", name="Start").click()
            for _ in range(6):
                answer(page, score)
            page.locator("main[data-state=task]").wait_for()
        done = simulate(study, 8, urls=[server.url], habits=Manners(noise=0.3, bias=0.1, clumsy=0.25), at_once=4)
        # What the two have open is kept for them.
        assert done.missing == 2
        for page in pages:
            answer(page, 3)
            page.locator("main[data-state=done]").wait_for()
            page.context.close()
        for person, score in zip(people, (5, 1), strict=True):
            given = sorted(row.score or 0 for row in study.table() if row.rater == person.rater.id and row.counted)
            assert given == sorted([3, *[score] * 6])
        assert {item.counted for item in study.items()} == {4}
        assert audit(study) == []

        lead = window(browser, problems, server.url)
        lead.goto(f"{server.url}/lead/{study.lead_token}")
        shown = lead.locator("main").inner_text()
        assert "100.0 %" in shown
        assert "Ada" in shown
        lead.context.close()
        assert problems == []
        ratings = defaultdict(list)
        for row in study.table():
            ratings[row.key].append(row.score or 0)
        by_origin = defaultdict(list)
        for item in study.items():
            by_origin[item.item.extra["origin"]].append(fmean(ratings[item.item.key]))
        assert fmean(by_origin["seed"]) > fmean(by_origin["mined"]) > fmean(by_origin["random"])

    call("rate", "export", "study", "--as", "references", "--out", "refs.jsonl")
    references = References.read("refs.jsonl")
    weights = [each.weight for segment in references for each in segment.references]
    assert weights == [weight_from_ratings(scores) for scores in ratings.values()]
    for name, choose in (("best", max), ("worst", min)):
        texts = [choose((each.weight or 0.0, each.text) for each in segment.references)[1] for segment in references]
        (tmp_path / f"{name}.txt").write_text("".join(text + "\n" for text in texts))
    capsys.readouterr()
    call("score", "best.txt", "worst.txt", "--refs", "refs.jsonl", "-m", "dbleu", "--format", "json")
    scores = {row["system"]: row["score"] for row in json.loads(capsys.readouterr().out)["scores"]}
    assert scores["best"] == pytest.approx(100)
    assert scores["worst"] < 50


def test_hostile_texts_are_text(tmp_path: Path, browser: Browser) -> None:
    items = [Item(f"k{at}", (text,), context=(text, "b"), message=text) for at, text in enumerate(HOSTILE)]
    config = StudyConfig(HOSTILE[0], "response", raters=2, instructions="\n\n".join(HOSTILE[:6]))
    problems: list[str] = []
    with Study.create(tmp_path / "study", config, items) as study, ServerProcess(study.folder) as server:
        seen = []
        for person, score in zip(study.add_raters(2, labels=[*HOSTILE[:2]]), (1, 5), strict=True):
            page = window(browser, problems, server.url)
            page.goto(f"{server.url}/r/{person.token}")
            assert all(text in page.locator(".prose").inner_text() for text in HOSTILE[:2])
            page.get_by_role("button", name="Start").click()
            for _ in items:
                page.locator("main[data-state=task]").wait_for()
                text = page.locator(".response").evaluate("element => element.textContent")
                assert page.locator(".turn").evaluate_all("all => all.map(each => each.textContent)") == [
                    text,
                    "b",
                    text,
                ]
                assert page.locator(".response, .turn").locator("*").count() == 0
                seen.append(text)
                answer(page, score)
            page.locator("main[data-state=done]").wait_for()
            assert page.evaluate("window.ran") is None
            page.context.close()
        # What a browser makes of line ends in HTML is the only thing that may change.
        assert sorted(seen) == sorted([visible(text) for text in HOSTILE] * 2)

        lead = window(browser, problems, server.url)
        lead.goto(f"{server.url}/lead/{study.lead_token}")
        names = lead.locator("table.raters bdi").evaluate_all("all => all.map(each => each.textContent)")
        assert names == HOSTILE[:2]
        assert lead.locator(".disputed .text").count() == len(HOSTILE)
        assert lead.evaluate("window.ran") is None
        lead.context.close()
    assert problems == []

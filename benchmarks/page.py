"""The page of ``trubleu compare`` with 5,000 segments of ten systems: its size, how soon it opens, how it scrolls."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

import trubleu
from benchmarks.data import Writer
from benchmarks.rows import Row
from trubleu.explain import compare_systems
from trubleu.render import render_comparison_page
from trubleu.scoring import Sampling

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchmarks.cases import Bench

SEED: Final = 17
SEGMENTS: Final = 5_000
SYSTEMS: Final = 10
REFERENCES: Final = 3
MEGABYTES: Final = 25.0
OPENING_SECONDS: Final = 2.0
FRAME_SECONDS: Final = 1 / 30
"""Within which a frame is to be drawn while the list of segments is scrolled, 19 times out of 20."""

SEARCH_SECONDS: Final = 0.5

_FRAMES = """async () => {
  const list = document.getElementById("list");
  const frames = [];
  let last = await new Promise(requestAnimationFrame);
  for (let number = 0; number < 300; number++) {
    list.scrollTop += 700;
    const now = await new Promise(requestAnimationFrame);
    frames.push(now - last);
    last = now;
  }
  return frames.sort((a, b) => a - b)[Math.floor(frames.length * 0.95)] / 1000;
}"""

_SEARCH = """async () => {
  const words = document.getElementById("words");
  const start = performance.now();
  words.value = "the";
  words.dispatchEvent(new Event("input", { bubbles: true }));
  await new Promise(requestAnimationFrame);
  return (performance.now() - start) / 1000;
}"""


def comparison_page(bench: Bench) -> Iterator[Row]:
    """Make the page by trubleu, which explains itself, open it in Chromium, scroll its list and search it."""
    from playwright.sync_api import sync_playwright

    segments = bench.size(SEGMENTS)
    corpus = Writer(SEED).translation(segments, SYSTEMS - 2 + REFERENCES)
    texts = [*corpus.systems, *corpus.streams]
    systems = {f"system {number + 1}": [text or "" for text in texts[number]] for number in range(SYSTEMS)}
    references = [[text or "" for text in row] for row in zip(*texts[SYSTEMS:], strict=True)]
    metrics = {name: trubleu.metric(name) for name in ("trubleu", "bleu-4")}
    start = time.process_time()
    compared = compare_systems(systems, references, metrics, sampling=Sampling(interval=True, test=True))
    page = render_comparison_page(compared)
    made = time.process_time() - start
    size = len(page.encode()) / 1e6
    data = f"{segments:,} × {SYSTEMS}, {size:.1f} MB"
    if size > MEGABYTES:
        raise AssertionError(f"the page has {size:.1f} MB, more than {MEGABYTES:g}")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        path = Path(folder) / "page.html"
        path.write_text(page, encoding="utf-8")
        sandbox = ["--no-sandbox"] if os.geteuid() == 0 else []
        browser = playwright.chromium.launch(
            executable_path=shutil.which(os.environ.get("CHROMIUM", "chromium")), args=["--disable-gpu", *sandbox]
        )
        opened, frames, searches = [], [], []
        for _ in range(bench.runs(5)):
            tab = browser.new_page()
            start = time.perf_counter()
            tab.goto(path.as_uri())
            tab.evaluate("new Promise(requestAnimationFrame)")
            opened.append(time.perf_counter() - start)
            frames.append(tab.evaluate(_FRAMES))
            searches.append(tab.evaluate(_SEARCH))
            tab.close()
        browser.close()
    note = f"time on the clock; made in {made:.0f} s of CPU time"
    budgets = (
        ("compare page, open", min(opened), OPENING_SECONDS, note),
        ("compare page, scroll", min(frames), FRAME_SECONDS, "one frame, the 95th percentile"),
        ("compare page, search", min(searches), SEARCH_SECONDS, "the first search"),
    )
    for name, ours, budget, said in budgets:
        yield Row(
            name=name,
            data=data,
            peer=f"a budget of {budget:.3g} s",
            ours_seconds=ours,
            peer_seconds=budget,
            bar=1.0,
            note=said,
        )

"""A browser for tests of pages: Chromium as the system has it, one for each worker."""

from __future__ import annotations

import os
import shutil
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import pytest
from playwright.sync_api import sync_playwright

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from playwright.sync_api import Browser, Page

    Scheme = Literal["light", "dark"]

QUIET = (
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-dev-shm-usage",
    "--disable-extensions",
    "--disable-gpu",
    "--disable-sync",
    "--no-first-run",
)
TIMEOUT = 120_000  # milliseconds that anything may take: a test fails, it does not hang


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Return Chromium; without it tests fail, as a page that nobody looked at is not tested."""
    wanted = os.environ.get("CHROMIUM", "chromium")
    path = shutil.which(wanted)
    if path is None:
        pytest.fail(
            f"{wanted} is not there, and tests of pages need it; run 'sudo apt-get install chromium', "
            "or name another one: CHROMIUM=google-chrome make test"
        )
    sandbox = ["--no-sandbox"] if os.geteuid() == 0 else []  # Chromium refuses root otherwise
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=path, args=[*QUIET, *sandbox], timeout=TIMEOUT)
        yield started
        started.close()


def violations(page: Page) -> list[str]:
    """Return what axe-core finds wrong with a page for people who use it with other senses or devices."""
    spec = find_spec("axe_playwright_python")
    assert spec is not None
    assert spec.origin is not None
    page.evaluate(Path(spec.origin).with_name("axe.min.js").read_text("utf-8"))
    found = page.evaluate("axe.run()")["violations"]
    return [f"{rule['id']}: {node['html'][:200]}" for rule in found for node in rule["nodes"]]


class Visit:
    """A page in a browser, with what it asked the network for and what went wrong in it."""

    def __init__(self, page: Page, path: Path) -> None:
        self.page = page
        self.requests: list[str] = []
        self.problems: list[str] = []
        page.set_default_timeout(TIMEOUT)
        page.on("request", lambda request: self.requests.append(request.url))
        page.on("pageerror", lambda error: self.problems.append(str(error)))
        page.on("console", lambda message: self.problems.append(message.text))
        self.address = path.as_uri()
        page.goto(self.address)

    def overflow(self) -> int:
        """Return by how many pixels the page is wider than the window."""
        wide: int = self.page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        return wide

    def background(self, selector: str) -> str:
        """Return the colour behind the first such element that is seen."""
        found: str = (
            self.page.locator(selector)
            .locator("visible=true")
            .first.evaluate("element => getComputedStyle(element).backgroundColor")
        )
        return found

    def contrasts(self, selector: str) -> list[float]:
        """Return the contrast of text with what is behind it, as WCAG 2 defines it, for all such elements."""
        found: list[float] = self.page.locator(selector).locator("visible=true").evaluate_all(CONTRASTS)
        return found

    def focused(self) -> str:
        """Return the id, or else the class, of what has the keyboard."""
        name: str = self.page.evaluate("document.activeElement.id || document.activeElement.className")
        return name


CONTRASTS = """elements => elements.map(element => {
  const numbers = colour => colour.match(/[\\d.]+/g).map(Number);
  let behind = element;
  while (behind && (numbers(getComputedStyle(behind).backgroundColor)[3] ?? 1) === 0) behind = behind.parentElement;
  const luminance = colour => {
    const [red, green, blue] = numbers(colour).slice(0, 3).map(part => part / 255)
      .map(part => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  };
  const [dark, light] = [getComputedStyle(element).color, getComputedStyle(behind ?? document.body).backgroundColor]
    .map(luminance).sort((a, b) => a - b);
  return (light + 0.05) / (dark + 0.05);
})"""


@pytest.fixture
def visit(browser: Browser) -> Iterator[Callable[..., Visit]]:
    """Return how to open a page: its path, the window's width, light or dark, with or without scripts."""
    contexts = []

    def open_page(path: Path, *, width: int = 1280, scheme: Scheme = "light", scripts: bool = True) -> Visit:
        context = browser.new_context(
            viewport={"width": width, "height": 800}, color_scheme=scheme, java_script_enabled=scripts
        )
        contexts.append(context)
        return Visit(context.new_page(), path)

    yield open_page
    for context in contexts:
        context.close()

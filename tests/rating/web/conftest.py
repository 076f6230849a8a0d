"""People with browsers that know nothing but forms and links, and a study that they meet."""

from __future__ import annotations

import re
from html import unescape
from typing import TYPE_CHECKING

import pytest
from starlette.testclient import TestClient

from trubleu.rating.web import create_app

if TYPE_CHECKING:
    from collections.abc import Callable

    from httpx2 import Response

    from trubleu.rating import Study

HIDDEN = re.compile(r'<input type="hidden" name="(\w+)" value="([^"]*)">')


class Visitor:
    """A browser without scripts, with cookies of its own."""

    def __init__(self, client: TestClient) -> None:
        self.client = client

    def get(self, path: str) -> Response:
        return self.client.get(path)

    def send(self, page: Response, action: str, **fields: object) -> Response:
        """Send the form of a page with that action, as it is but for some fields (None leaves one out)."""
        found = re.search(rf'<form method="post" action="[^"]*{re.escape(action)}".*?</form>', page.text, re.DOTALL)
        assert found is not None, f"there is no form for {action} in {page.text}"
        data: dict[str, object] = {name: unescape(value) for name, value in HIDDEN.findall(found.group())}
        data |= fields
        sent = {name: str(value) for name, value in data.items() if value is not None}
        return self.client.post(action, data=sent)

    def start(self, token: str) -> Response:
        """Come in with a link and go as far as the first task."""
        page = self.get(f"/r/{token}")
        if "/consent" in page.text:
            page = self.send(page, "/consent")
        return self.send(page, "/instructed")

    def answer(self, page: Response, *scores: int, **fields: object) -> Response:
        return self.send(page, "/answer", **{f"score_{part}": score for part, score in enumerate(scores, 1)}, **fields)

    def lead(self, study: Study) -> Response:
        """Come in as the lead."""
        return self.get(f"/lead/{study.lead_token}")


def state(page: Response) -> str:
    """Return which page it is."""
    found = re.search(r'<main [^>]*data-state="(\w+)"', page.text)
    return found.group(1) if found else ""


@pytest.fixture
def new_url() -> Callable[[], str | None]:
    """Pages do not see which database there is: the smaller one will do."""
    return lambda: None


@pytest.fixture
def visit() -> Callable[..., Visitor]:
    """Return a function that opens a browser on the pages of a study."""

    def browser(study: Study, app: object = None, **options: object) -> Visitor:
        pages = app or create_app(study, **options)  # type: ignore[arg-type]
        url = str(options.get("url") or "http://testserver")
        # Faults must be answered by the pages, not raised in the test.
        return Visitor(TestClient(pages, base_url=url, raise_server_exceptions=False))  # type: ignore[arg-type]

    return browser

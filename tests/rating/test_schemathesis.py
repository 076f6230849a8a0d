"""Whatever fits the pages' own description, and what does not, is answered as the description says, without a fault."""

from __future__ import annotations

from collections import Counter
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import content_type_conformance, status_code_conformance

from tests.rating.web.test_security import signed_in
from trubleu.rating import Item, Study, StudyConfig
from trubleu.rating.audit import audit
from trubleu.rating.config import Entry
from trubleu.rating.web import create_app
from trubleu.rating.web.security import Buckets

if TYPE_CHECKING:
    from collections.abc import Iterator

    from trubleu.rating.web.site import Site

CHECKS: Any = [not_a_server_error, status_code_conformance, content_type_conformance]
ALL = list(HealthCheck)


class Scene(NamedTuple):
    """A study, its pages, and what can be done with them as they describe it."""

    site: Site
    operations: list[Any]


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    entry = Entry(code="open sesame", prolific="unverified", mturk=True)
    config = StudyConfig("Test", "pair", entry=entry, consent="ok?", raters=1000)
    items = [Item(f"i{n}", ("a", "b"), systems=("A", "B")) for n in range(50)]
    with Study.create(tmp_path_factory.mktemp("fuzz") / "study", config, items) as study:
        app = create_app(study, requests_a_minute=0, openapi=True)
        site: Site = app.state.site
        site.guesses = Buckets(0, at_once=1)
        schema = schemathesis.openapi.from_asgi("/openapi.json", app)
        found: list[Any] = list(schema.get_all_operations())
        yield Scene(site, [each.ok() for each in found])
        assert audit(study) == []


@pytest.mark.parametrize("known", [False, True], ids=["strangers", "those who came in"])
def test_nothing_makes_the_pages_fail(known: bool, scene: Scene) -> None:
    """Those who came in have their cookies and the words of their forms, so that what is behind the door is reached."""
    reached: Counter[int] = Counter()
    assert {f"{operation.method} {operation.path}" for operation in scene.operations} >= {
        "get /rate", "post /answer", "post /undo", "post /consent", "post /join", "get /lead", "post /lead/raters",
    }  # fmt: skip
    for operation, mode in product(scene.operations, GenerationMode):
        if mode.is_negative and not operation.definition.raw.keys() & {"parameters", "requestBody"}:
            continue  # nothing is sent that could be wrong

        @settings(max_examples=8, derandomize=True, database=None, deadline=None, suppress_health_check=ALL)
        @given(case=operation.as_strategy(generation_mode=mode))
        def send(case: Any) -> None:
            options = _come_in(case, scene.site) if known else {}
            response = case.call(**options)
            case.validate_response(response, checks=CHECKS)
            reached[response.status_code] += 1

        send()
    assert reached[303] > 20 * known
    assert reached[403] > 0
    assert reached[422] > 0


def _come_in(case: Any, site: Site) -> dict[str, Any]:
    study = site.study
    new = study.add_raters(1)[0]
    study.consent(new.rater.id)
    study.instructed(new.rater.id)
    task = study.assign(new.rater.id)
    sessions = {"rater": new.token, "lead": signed_in(site), "visit": "somebody"}
    kind = "lead" if case.path.startswith("/lead") else "visit" if case.path == "/join" else "rater"
    if isinstance(case.body, dict):
        case.body["csrf"] = site.word(kind, sessions[kind])
        if "task" in case.body and task is not None:
            case.body["task"] = task.assignment
    cookies = "; ".join(f"{site._names[kind]}={session}" for kind, session in sessions.items())
    return {"headers": {"cookie": cookies}}

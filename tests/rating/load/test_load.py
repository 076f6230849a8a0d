"""Many raters at once: every item ends with exactly what it needs, whatever the database and the number of servers."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from tests.rating.load.harness import HABITS, SOAK, check, new_study, rate, report
from tests.rating.load.rig import SentAnswer, ServerProcess

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    NewUrl = Callable[[], str | None]

# Waiting for the leases of those who left takes seconds; at the small size it is enough that `test_kills` does.
STAYING = HABITS if SOAK else replace(HABITS, leaving=0.0)


def test_one_server(new_url: NewUrl, tmp_path: Path) -> None:
    with new_study(tmp_path / "study", new_url()) as study, ServerProcess(study.folder) as server:
        done = rate(study, [server.url], STAYING)
        check(study, done, [server])
        assert min(done.events["sent twice"], done.events["connections lost"]) > 0
        invented = replace(done, answers=(*done.answers, SentAnswer(1, 1, (1,))))
        with pytest.raises(AssertionError, match="answers that were acknowledged are lost"):
            check(study, invented)
        with pytest.raises(AssertionError, match="there are answers that nobody was told of"):
            check(study, replace(done, answers=done.answers[1:]))
        report(f"{study.store.dialect}, one server", study, done)


@pytest.mark.parametrize("new_url", ["postgresql"], indirect=True)
def test_two_servers(new_url: NewUrl, tmp_path: Path) -> None:
    with new_study(tmp_path / "study", new_url()) as study, ExitStack() as stack:
        servers = [stack.enter_context(ServerProcess(study.folder)) for _ in range(2)]
        done = rate(study, [server.url for server in servers], STAYING)
        check(study, done, servers)
        report("postgresql, two servers", study, done)

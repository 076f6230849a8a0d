"""A notebook is run by a real kernel: results arrive as HTML."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import nbformat
import pytest
from nbclient import NotebookClient

if TYPE_CHECKING:
    from pathlib import Path

SETUP = """
import trubleu
from trubleu.scoring import Sampling, score_systems
from tests.integrations.example import OUTPUTS, REFERENCES, WEIGHTS
references = trubleu.References.from_lists(REFERENCES, WEIGHTS)
systems = {"A": OUTPUTS, "B": OUTPUTS[::-1]}
metrics = {"dbleu-2": trubleu.metric("dbleu-2")}
"""

CELLS = {
    "trubleu.corpus_score(OUTPUTS, REFERENCES, 'dbleu-2', WEIGHTS)": "brevity penalty",
    "score_systems(systems, references, metrics, sampling=Sampling(interval=True, resamples=50))": "<th ",
    "trubleu.explain.explain(metrics['dbleu-2'], OUTPUTS[0], references, 0)": "[the food was great]+1",
    "trubleu.stats.bootstrap_interval(metrics['dbleu-2'].statistics(OUTPUTS, references), metrics['dbleu-2'].score,"
    " resamples=50)": "confidence",
}


@pytest.fixture(scope="module")
def notebook(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Any:
    """Return a notebook whose cells have run."""
    root: Path = request.config.rootpath
    written = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in (SETUP, *CELLS)])
    NotebookClient(written, kernel_name="python3", timeout=120, resources={"metadata": {"path": str(root)}}).execute()
    nbformat.validate(written)
    nbformat.write(written, tmp_path_factory.mktemp("notebook") / "made.ipynb")
    return written


@pytest.mark.parametrize(("place", "wanted"), [*enumerate(CELLS.values(), 1)])
def test_results_display_as_html(notebook: Any, place: int, wanted: str) -> None:
    (shown,) = notebook.cells[place].outputs
    assert shown.output_type == "execute_result"
    assert wanted in shown.data["text/html"]
    assert shown.data["text/plain"]

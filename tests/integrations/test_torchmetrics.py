"""torchmetrics: states that add up over batches and processes give the score of the whole."""

from __future__ import annotations

import pickle
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torchmetrics import MetricCollection
from torchmetrics.text import SacreBLEUScore

import trubleu
from tests.integrations.example import MESSAGES, OUTPUTS, REFERENCES, WEIGHTS, scored
from trubleu.data import References
from trubleu.errors import DataError, UsageError
from trubleu.integrations.torch import TrubleuMetric
from trubleu.metrics import Metric
from trubleu.metrics.base import reference_number
from trubleu.signature import Signature, make_signature

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

METRICS = ["trubleu", "bleu-2", "dbleu-2", "sbleu-3", "sdbleu-2", "ibleu-2", "chrf", "ter"]


class Longer(Metric):
    """Somebody's own metric: the share of outputs with more words than their first reference, in percent."""

    higher_is_better = False

    def __init__(self) -> None:
        self.name = "longer"

    def statistics(self, outputs: Sequence[str], references: Any, **_how: Any) -> NDArray[np.float64]:
        firsts = [references.texts[start] for start in references.offsets[:-1]]
        longer = [len(o.split()) > len(r.split()) for o, r in zip(outputs, firsts, strict=True)]
        return np.array([[float(each), 1.0] for each in longer]).reshape(-1, 2)

    def score(self, statistics: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(100 * statistics[..., 0] / np.maximum(statistics[..., 1], 1))

    def signature(self, references: Any = None) -> Signature:
        return make_signature("longer", nrefs=reference_number(references))


class Learning(Longer):
    """One that must know all references first."""

    learns = True


def fill(metric: Any, cuts: Sequence[int] = ()) -> Any:
    for start, end in zip([0, *cuts], [*cuts, len(OUTPUTS)], strict=True):
        part = slice(start, end)
        metric.update(OUTPUTS[part], REFERENCES[part], WEIGHTS[part], messages=MESSAGES[part])
    return metric


@pytest.mark.parametrize("name", METRICS)
def test_the_score_is_our_own_however_it_is_split(name: str) -> None:
    for cuts in ([], [1], [1, 2], [0, 2, 2]):
        found = fill(TrubleuMetric(name), cuts).compute()
        assert found.dtype == torch.float64
        assert found.shape == ()
        assert found.item() == pytest.approx(scored(name).score, rel=1e-12)


SEGMENT = st.tuples(
    st.lists(st.sampled_from("abcd"), max_size=6).map(" ".join),
    st.lists(
        st.tuples(
            st.lists(st.sampled_from("abcd"), min_size=1, max_size=6).map(" ".join),
            st.integers(-10, 10).map(lambda tenth: tenth / 10),
        ),
        min_size=1,
        max_size=3,
        unique_by=lambda pair: pair[0],
    ),
)


@settings(max_examples=60)
@given(st.data(), st.lists(SEGMENT, min_size=1, max_size=12))
def test_any_split_into_updates_gives_the_same_score(data: st.DataObject, segments: list[Any]) -> None:
    cuts = sorted(data.draw(st.lists(st.integers(0, len(segments)), max_size=4)))
    outputs = [output for output, _ in segments]
    references = [[text for text, _ in rated] for _, rated in segments]
    # The first reference of each segment is a good one: ΔBLEU wants one.
    weights = [[1.0, *(weight for _, weight in rated[1:])] for _, rated in segments]
    for name in ("bleu-2", "dbleu-2[smoothing=floor]"):
        metric = TrubleuMetric(name)
        for start, end in zip([0, *cuts], [*cuts, len(segments)], strict=True):
            metric.update(outputs[start:end], references[start:end], weights[start:end])
        whole = trubleu.corpus_score(outputs, references, name, weights).score
        assert metric.compute().item() == pytest.approx(whole, rel=1e-9, abs=1e-9)


def test_without_a_name_the_metric_is_trubleu() -> None:
    assert fill(TrubleuMetric()).compute().item() == pytest.approx(scored("trubleu").score, rel=1e-12)


def test_forward_gives_the_batch_and_keeps_the_sum() -> None:
    metric = TrubleuMetric("dbleu-2")
    for place in range(3):
        one = slice(place, place + 1)
        batch = metric(OUTPUTS[one], REFERENCES[one], WEIGHTS[one]).item()
        assert batch == trubleu.corpus_score(OUTPUTS[one], REFERENCES[one], "dbleu-2", WEIGHTS[one]).score
    assert metric.compute().item() == pytest.approx(scored("dbleu-2").score, rel=1e-12)


def test_reset_clone_and_pickle() -> None:
    metric = fill(TrubleuMetric("dbleu-2", tokenize="chat"))
    wanted = metric.compute().item()
    copies = [metric.clone(), pickle.loads(pickle.dumps(metric))]  # noqa: S301
    metric.reset()
    assert not metric.statistics.any()
    for copy in copies:
        assert copy.compute().item() == wanted
        assert copy.signature == metric.signature
    assert fill(metric).compute().item() == wanted


def test_saved_and_loaded_with_a_model() -> None:
    model, other = torch.nn.Module(), torch.nn.Module()
    model.dbleu, other.dbleu = TrubleuMetric("dbleu-2"), TrubleuMetric("dbleu-2")
    model.dbleu.persistent(True)
    other.dbleu.persistent(True)
    fill(model.dbleu)
    other.load_state_dict(model.state_dict())
    assert torch.equal(other.dbleu.statistics, model.dbleu.statistics)


@pytest.mark.parametrize("convert", ["half", "float", "bfloat16", "double"])
def test_sums_stay_float64(convert: str) -> None:
    model = torch.nn.Sequential(torch.nn.Linear(2, 2))
    model.metric = fill(TrubleuMetric("dbleu-2"))
    wanted = model.metric.statistics.clone()
    getattr(model, convert)()
    model.to(torch.float16)
    model.metric.set_dtype(torch.float16)
    assert model.metric.statistics.dtype == torch.float64
    assert torch.equal(model.metric.statistics, wanted)
    model.metric.reset()
    assert fill(model.metric).compute().item() == scored("dbleu-2").score


def test_it_follows_to_another_device() -> None:
    metric = TrubleuMetric("bleu-2").to("meta")
    assert metric.statistics.device.type == metric.device.type == "meta"


def test_it_stays_where_a_device_has_no_float64() -> None:
    def as_apples_gpus_do(tensor: torch.Tensor) -> torch.Tensor:
        if tensor.dtype == torch.float64:
            raise TypeError("Cannot convert a MPS Tensor to float64 dtype")
        return tensor

    metric = fill(TrubleuMetric("bleu-2"))
    assert metric._apply(as_apples_gpus_do) is metric
    assert metric.compute().item() == scored("bleu-2").score


def test_several_in_a_collection_with_torchmetrics_own() -> None:
    metrics = {"bleu": TrubleuMetric("bleu-2"), "dbleu": TrubleuMetric("dbleu-2"), "ter": TrubleuMetric("ter")}
    collection = MetricCollection({**metrics, "theirs": SacreBLEUScore(n_gram=2, smooth=False)})
    for cut in (slice(0, 2), slice(2, 3)):
        collection.update(OUTPUTS[cut], REFERENCES[cut], weights=WEIGHTS[cut])
    found = {name: score.item() for name, score in collection.compute().items()}
    for name, metric in metrics.items():
        assert found[name] == pytest.approx(scored(str(metric.scorer.name)).score, rel=1e-12)
    assert found["theirs"] * 100 == pytest.approx(found["bleu"], rel=1e-5)


def test_metrics_that_agree_at_first_are_not_taken_for_the_same() -> None:
    names = ["bleu-2", "bleu-2[lowercase=true]", "sbleu-2[lowercase=true]", "sdbleu-2[lowercase=true]"]
    collection = MetricCollection({f"metric {place}": TrubleuMetric(name) for place, name in enumerate(names)})
    outputs, references, weights = [OUTPUTS[0], "See You"], [["the food was great"], ["see", "you"]], [[1.0], [0.5, -1]]
    collection.update(outputs[:1], references[:1], weights=weights[:1])
    collection.update(outputs[1:], references[1:], weights=weights[1:])
    found = [score.item() for score in collection.compute().values()]
    alone = [trubleu.corpus_score(outputs, references, name, weights).score for name in names]
    assert found == pytest.approx(alone, rel=1e-12)
    assert len(set(alone)) == len(names)


def test_which_way_is_better() -> None:
    assert TrubleuMetric("bleu").higher_is_better is True
    assert TrubleuMetric("ter").higher_is_better is False


def test_somebodys_own_metric() -> None:
    metric = fill(TrubleuMetric(Longer()))
    assert metric.compute().item() == pytest.approx(100 / 3)
    metric.update(["one two"], [["one"]])
    assert metric.compute().item() == 50.0
    assert metric.higher_is_better is False


def test_references_as_an_object() -> None:
    metric = TrubleuMetric("dbleu-2")
    metric.update(OUTPUTS, References.from_lists(REFERENCES, WEIGHTS))
    assert metric.compute().item() == scored("dbleu-2").score


def test_what_is_wrong_is_said_and_changes_nothing() -> None:
    metric = fill(TrubleuMetric("dbleu-2"))
    with pytest.raises(DataError, match="3 outputs but references for 2 segments"):
        metric.update(OUTPUTS, REFERENCES[:2])
    with pytest.raises(DataError, match="segment 1 has 2 references but 1 weight"):
        metric.update(OUTPUTS, REFERENCES, [[1.0], [1.0], [1.0]])
    with pytest.raises(DataError, match="outputs is one string; pass a list with one item for each segment"):
        metric.update("abc", REFERENCES)
    with pytest.raises(UsageError, match="hold their weights already"):
        metric.update(OUTPUTS, References.from_lists(REFERENCES), WEIGHTS)
    assert metric.compute().item() == scored("dbleu-2").score
    with pytest.raises(UsageError, match="no metric 'dblue'"):
        TrubleuMetric("dblue-2")
    with pytest.raises(UsageError, match="bleu-2 has no option dist_sync"):
        TrubleuMetric("bleu-2", dist_sync=True)


def test_what_can_be_gone_through_only_once() -> None:
    metric = TrubleuMetric("dbleu-2")
    references, weights = ((iter(row) for row in rows) for rows in (REFERENCES, WEIGHTS))
    metric.update(iter(OUTPUTS), references, weights, messages=iter(MESSAGES))  # type: ignore[arg-type]
    assert metric.compute().item() == scored("dbleu-2").score


def test_a_state_that_was_kept_does_not_change() -> None:
    metric = fill(TrubleuMetric("dbleu-2"))
    kept = metric.statistics
    before = kept.clone()
    fill(metric)
    assert torch.equal(kept, before)
    assert torch.equal(metric.statistics, 2 * before)


def test_repr_names_the_metric() -> None:
    assert repr(TrubleuMetric("dbleu-2")) == "TrubleuMetric(dbleu-2)"


def test_options_of_torchmetrics_go_there() -> None:
    metric = TrubleuMetric("bleu-2", lowercase=True, sync_on_compute=False, compute_with_cache=False)
    assert (metric.sync_on_compute, metric.compute_with_cache) == (False, False)
    assert ("case", "lc") in metric.signature.pairs


def test_metrics_that_learn_from_all_references_are_refused() -> None:
    with pytest.raises(UsageError, match=r"longer learns from the references of all segments.*corpus=FILE"):
        TrubleuMetric(Learning())


@pytest.mark.parametrize("name", ["nist", "cider-d"])
def test_they_are_taken_when_they_have_learned(name: str) -> None:
    with pytest.raises(UsageError, match="learns from the references of all segments"):
        TrubleuMetric(name)
    references = References.from_lists(REFERENCES)
    found = fill(TrubleuMetric(trubleu.metric(name).learned(references)), [1, 2]).compute().item()
    assert found == pytest.approx(trubleu.metric(name).corpus(OUTPUTS, references).score, rel=1e-12)


PROCESS = """
import sys
import torch.distributed as distributed
from tests.integrations.example import MESSAGES, OUTPUTS, REFERENCES, WEIGHTS
from trubleu.integrations.torch import TrubleuMetric

rank, rendezvous = int(sys.argv[1]), sys.argv[2]
distributed.init_process_group("gloo", init_method=f"file://{rendezvous}", rank=rank, world_size=2)
for name in sys.argv[3:]:
    metric = TrubleuMetric(name)
    # The first process sees two segments in two batches, the second one only the last.
    for place in ([0, 1], [2])[rank]:
        one = slice(place, place + 1)
        metric.update(OUTPUTS[one], REFERENCES[one], WEIGHTS[one], messages=MESSAGES[one])
    own = metric.statistics.clone()
    print(name, repr(metric.compute().item()), metric.statistics.equal(own))
distributed.destroy_process_group()
"""


def test_two_processes_give_the_score_of_one(tmp_path: Path) -> None:
    root = Path(__file__).parent.parent.parent
    calls = [[sys.executable, "-c", PROCESS, str(rank), str(tmp_path / "rendezvous"), *METRICS] for rank in range(2)]
    running = [
        subprocess.Popen(call, cwd=root, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for call in calls
    ]
    try:
        for process in running:
            printed, complaint = process.communicate(timeout=120)
            assert process.returncode == 0, complaint
            lines = [line.split() for line in printed.splitlines()]
            assert [line[0] for line in lines] == METRICS
            for name, score, unsynced in lines:
                assert float(score) == pytest.approx(scored(name).score, rel=1e-12)
                assert unsynced == "True"
    finally:
        for process in running:
            process.kill()
            process.wait()

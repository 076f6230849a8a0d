"""Studies on real judgements: what they compute, on made-up rows; one on the real data where that is there."""

from __future__ import annotations

import gzip
import json
import os
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
from scipy import stats as scipy_stats

import trubleu
from benchmarks.real import gaming, judged, metrics, regret
from benchmarks.real.agreement import Judged, next_best, study
from benchmarks.real.judged import Output


def test_an_mqm_file_is_read(tmp_path: Path) -> None:
    header = ["system", "doc", "doc_id", "seg_id", "rater", "source", "target", "category", "severity"]
    rows = [
        ["ref", "d", "1", "1", "r", "s", "bad", "No-error", "No-error"],
        ["refB", "d", "1", "1", "r", "s", "a <v>good</v> one", "Style/Awkward", "Minor"],
        ["A", "d", "1", "1", "r", "s", 'a "<v>fine</v> one', "Style/Awkward", "Minor"],
        ["A", "d", "1", "1", "r", "s", 'a "fine <v>one</v>', "Style/Awkward", "Major"],
    ]
    with gzip.open(tmp_path / "mqm_ted_zhen.tsv.gz", "wt", encoding="utf-8") as file:
        file.writelines("\t".join(row) + "\n" for row in [header, *rows])
    [(_, outputs)] = judged.mqm(tmp_path)
    assert outputs == [Output("d:1", "A", 'a "fine one', ["a good one"], -6)]


def test_empty_references_are_left_out() -> None:
    record = {"seg": "1", "system": "A", "output": "", "human": 2}
    found = judged.outputs_of([record | {"refs": [" ", "x"]}, record | {"refs": [""]}])
    assert found == [Output("1", "A", "", ["x"], 2)]


def made_up(systems: int = 5, items: int = 12) -> list[Output]:
    draw = np.random.default_rng(3)
    words = [f"w{number}" for number in range(30)]
    found = []
    for item in range(items):
        reference = draw.choice(words, 8)
        for system in range(systems):
            text = np.where(draw.random(8) < 0.15 * (system + 1), draw.choice(words, 8), reference)
            human = float(np.mean(text == reference)) + draw.normal(0, 0.1)
            found.append(Output(str(item), f"s{system}", " ".join(text), [" ".join(reference)], human))
    return [*found, Output("lonely", "s0", "", ["w1 w2"], 0.0)]


def test_coefficients_are_scipys_and_seeds_decide() -> None:
    outputs = made_up()
    metric = trubleu.metric("chrf")
    found = Judged(outputs, resamples=50).agreement(metric)
    scores = metric.segments([each.text for each in outputs], [list(each.references) for each in outputs])
    human = np.array([each.human for each in outputs])
    assert found["pooled", "kendall"].value == pytest.approx(scipy_stats.kendalltau(scores, human).statistic)
    rows = [range(start, start + 5) for start in range(0, 60, 5)]
    each = [scipy_stats.spearmanr(scores[list(row)], human[list(row)]).statistic for row in rows]
    assert found["item", "spearman"].value == pytest.approx(np.mean(each))
    by_system = [
        metric.corpus([o.text for o in part], [list(o.references) for o in part]).score for part in _by(outputs)
    ]
    means = [np.mean([o.human for o in part]) for part in _by(outputs)]
    assert found["system", "pearson"].value == pytest.approx(scipy_stats.pearsonr(by_system, means).statistic)
    again = Judged(outputs, resamples=50).agreement(metric)
    other = Judged(outputs, resamples=50, seed=1).agreement(metric)
    for measure, value in found.items():
        assert np.array_equal(value.replicates, again[measure].replicates)
        assert not np.array_equal(value.replicates, other[measure].replicates)


def _by(outputs: list[Output]) -> list[list[Output]]:
    return [[each for each in outputs if each.system == f"s{number}"] for number in range(5)]


def test_a_replicate_is_the_coefficient_of_what_was_drawn() -> None:
    outputs = made_up()
    whole = Judged(outputs, resamples=3)
    found = whole.agreement(trubleu.metric("chrf"))
    drawn = [row for row, often in enumerate(whole.draws[2]) for _ in range(often)]
    assert sorted(whole.item_draws.sum(axis=1)) == [13, 13, 13]
    # An item that is drawn twice counts twice, as two items.
    seen: dict[int, int] = {}
    copies = []
    for row in drawn:
        seen[row] = seen.get(row, 0) + 1
        each = outputs[row]
        copies.append(Output(f"{each.item}:{seen[row]}", each.system, each.text, each.references, each.human))
    expected = Judged(copies, resamples=1).agreement(trubleu.metric("chrf"))
    for measure, value in found.items():
        assert value.replicates[2] == pytest.approx(expected[measure].value), measure


def test_an_error_rate_agrees_with_people_and_what_learns_learns_from_each_item_once() -> None:
    outputs = made_up()
    rate = Judged(outputs, resamples=2).agreement(trubleu.metric("ter"))
    assert rate["pooled", "pearson"].value > 0
    assert rate["system", "pearson"].value > 0
    uneven = [*outputs, *outputs[:3]]
    cider = trubleu.metric("cider")
    found = Judged(uneven, resamples=2).agreement(cider)
    items = list({each.item: list(each.references) for each in outputs}.values())
    learned = cider.learned(trubleu.References.from_lists(items))
    scores = learned.segments([each.text for each in uneven], [list(each.references) for each in uneven])
    human = [each.human for each in uneven]
    assert found["pooled", "pearson"].value == pytest.approx(scipy_stats.pearsonr(scores, human).statistic)


def test_tables_and_tests_are_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert study([("made", made_up())], tmp_path, ["nosuch", "chrf", "bleu-4"], None) == 0
    printed = capsys.readouterr().out
    assert "nosuch: skipped" in printed
    assert all(line in printed for line in (tmp_path / "result.md").read_text(encoding="utf-8").splitlines())
    result = json.loads((tmp_path / "result.json").read_text(encoding="utf-8"))
    assert [(test["metric"], test["other"]) for test in result["tests"]] == [("chrf", "bleu-4")] * 3
    assert all(0 < test["p"] <= test["p_holm"] <= 1 for test in result["tests"])
    values = regret.values_of("made-up", result)
    assert list(values) == ["made pooled ρ", "made item τ", "made system r"]
    assert all(set(each) == {"chrf", "bleu-4"} for each in values.values())


def test_the_next_best_is_the_best_of_the_others() -> None:
    found = {
        name: Judged(made_up(), resamples=2).agreement(trubleu.metric(name)) for name in ("chrf", "bleu-4", "sbleu-4")
    }
    measure = ("pooled", "spearman")
    order = sorted(found, key=lambda name: -found[name][measure].value)
    assert next_best(found, order[0], measure) == order[1]
    assert next_best(found, order[2], measure) == order[0]


def test_regret_is_the_distance_from_the_best() -> None:
    groups = {
        "first": {"x": {"a": 0.5, "b": 0.4, "c": 0.9}, "y": {"a": 0.1, "b": 0.4}},
        "second": {"z": {"a": 0.7, "b": 0.7, "c": 0.2}},
    }
    b, a = regret.regrets(groups)
    assert (b.metric, b.where, b.best) == ("b", "first, x", 2)
    assert (b.mean, b.worst) == pytest.approx((0.5 / 3, 0.5))
    assert (a.metric, a.best) == ("a", 1)
    assert (a.mean, a.worst) == pytest.approx((0.7 / 3, 0.4))
    assert a.by_group == {"first": pytest.approx(0.35), "second": 0}
    assert regret.regrets({}) == []


def test_results_of_judge_are_read() -> None:
    rows = [
        {"level": "rankings", "language_pair": "de-en", "statistic": "wmt14", "metric": "m", "value": 0.4},
        {"level": "rankings", "language_pair": "de-en", "statistic": "wmt12", "metric": "m", "value": 0.3},
        {"level": "system", "language_pair": "average", "statistic": "pearson", "metric": "m", "value": 0.9},
        {"level": "assessments", "language_pair": "cs-en", "statistic": "pearson", "metric": "m", "value": None},
    ]
    assert regret.values_of("wmt", {"agreements": rows}) == {"de-en segment τ": {"m": 0.4}, "cs-en r": {"m": 0.0}}
    pairs = {"correlations": [{"metric": "m", "spearman": 0.6}]}
    assert regret.values_of("usr-topical-all", pairs) == {"usr-topical ρ": {"m": 0.6}}


def test_outputs_are_made_worse_the_same_way_each_time() -> None:
    outputs = ["The cat sat on the mat.", "Is it, really?", "word", ""]
    found = gaming.gamed(outputs)
    assert found == gaming.gamed(outputs)
    assert found["words shuffled"] != gaming.gamed(outputs, seed=1)["words shuffled"]
    assert found["doubled"][2] == "word word"
    assert found["first half"] == ["The cat sat", "Is it,", "word", ""]
    assert found["without function words"] == ["cat sat mat.", "really?", "word", ""]
    assert found["its function words only"] == ["The on the", "Is it,", "", ""]
    assert sorted(found["another's output"]) == sorted(outputs)
    assert all(other != own for other, own in zip(found["another's output"], outputs, strict=True))
    assert found["another's appended"][2] == "word " + found["another's output"][2]
    assert sorted(found["words shuffled"][0].split()) == sorted(outputs[0].split())
    assert [len(text.split()) for text in found["padded with function words"]] == [12, 6, 2, 0]
    assert set(found["padded with function words"][0].split()[6:]) <= set(gaming.FUNCTION_WORDS)
    assert gaming.most_common(["x", "y", "y", "x"]) == "x"


def test_options_go_to_metrics_that_have_them() -> None:
    assert "lc" in str(metrics.build("bleu-4", **metrics.DIALOGUE).signature())
    assert metrics.build("chrf", **metrics.DIALOGUE).name
    assert metrics.known(["chrf", "nosuch-3"]) == ["chrf"]
    assert metrics.bearable(["chrf", "ter"], "realsumm") == ["chrf"]
    assert metrics.bearable(["chrf", "ter"], "bagel") == ["chrf", "ter"]


def test_real_judgements_agree_with_bleu() -> None:
    folder = Path(os.environ.get("TRUBLEU_DATA", "")) / "tasks"
    if not os.environ.get("TRUBLEU_DATA") or not folder.is_dir():
        pytest.skip("TRUBLEU_DATA names no folder with tasks")
    for name, outputs in islice(judged.tasks(folder), 3):
        found = Judged(outputs, resamples=10).agreement(trubleu.metric("bleu-2"))
        assert found["pooled", "spearman"].value > 0.1, name

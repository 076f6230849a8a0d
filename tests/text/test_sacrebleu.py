"""sacreBLEU's tokenizers give sacreBLEU's tokens, never use the network, and say what they miss."""

from __future__ import annotations

import functools
import hashlib
import os
import pickle
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from trubleu.errors import DataError, MissingExtraError, UsageError
from trubleu.text import sacrebleu, tokenizer

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

# SWIG's own types lack a module name, about which newer Pythons complain when MeCab or SentencePiece is imported.
pytestmark = pytest.mark.filterwarnings("ignore:builtin type [sS]wig.*:DeprecationWarning")

PIECES = [
    *[
        "&quot;",
        "&amp;lt;",
        "<skipped>",
        "-\n",
        "\n",
        "3.5",
        "1,2",
        "2-3",
        ".",
        ",",
        "-",
        "'s",
        "$",
        "%",
        "a",
        "Ab",
        "İ",
        "Σ",
    ],
    *[
        "今日は",
        "天気",
        "，",
        "。",
        "안녕",
        "하세요",
        "ﬁ",
        "\u00a0",
        "\u2003",
        "\u3000",
        "\x1c",
        "\x85",
        "\u2028",
        "\t",
        " ",
        "🙂",
        "é",
    ],
]
TEXTS = st.lists(st.sampled_from(PIECES) | st.text(max_size=4), max_size=20).map("".join)

PLAIN = ["13a", "intl", "char", "zh", "none"]


@functools.cache
def bleu(name: str, lowercase: bool) -> Any:
    from sacrebleu.metrics.bleu import BLEU

    return BLEU(tokenize=name, lowercase=lowercase)


def theirs(name: str, text: str, lowercase: bool) -> list[str]:
    line: str = bleu(name, lowercase)._preprocess_segment(text)
    return line.split()  # what sacreBLEU does before it counts n-grams


def check(name: str, text: str, lowercase: bool) -> None:
    expected = theirs(name, text, lowercase)
    assert tokenizer(name).tokens(text, lowercase) == expected
    assert tokenizer(name).lines([text], lowercase) == [" ".join(expected)]


@pytest.mark.parametrize("name", PLAIN)
@given(text=TEXTS, lowercase=st.booleans())
@example(text="In 1999. ", lowercase=False)  # intl leaves the last full stop alone unless a space follows
@example(text="\ud800 a.\udc00", lowercase=True)
@example(text="ΟΔΟΣ İ ǅ", lowercase=True)
@example(text="", lowercase=False)
def test_equals_sacrebleu(name: str, text: str, lowercase: bool) -> None:
    check(name, text, lowercase)


@pytest.mark.parametrize(("name", "package"), [("ja-mecab", "MeCab"), ("ko-mecab", "mecab_ko")])
def test_mecab_equals_sacrebleu(name: str, package: str) -> None:
    pytest.importorskip(package)
    made = tokenizer(name)
    assert made.name == bleu(name, False).tokenizer_signature
    assert made.name.startswith(f"{name}-0.")
    assert made.native is None

    @given(text=TEXTS, lowercase=st.booleans())
    def equal(text: str, lowercase: bool) -> None:
        check(name, text, lowercase)

    equal()
    assert len(made.tokens("今日はいい天気ですね" if name == "ja-mecab" else "안녕하세요")) > 1
    assert pickle.loads(pickle.dumps(made)) == made  # noqa: S301
    with pytest.raises(DataError, match=rf"{name} cannot read .*surrogate"):
        made.tokens("a\ud800")


@pytest.fixture
def _fresh() -> Iterator[None]:
    sacrebleu.load.cache_clear()
    yield
    sacrebleu.load.cache_clear()


@pytest.mark.usefixtures("_fresh")
@pytest.mark.parametrize(
    ("name", "package", "extra"),
    [
        ("ja-mecab", "MeCab", "ja"),
        ("ja-mecab", "ipadic", "ja"),
        ("ko-mecab", "mecab_ko", "ko"),
        ("spm", "sentencepiece", "spm"),
        ("flores101", "sentencepiece", "spm"),
        ("flores200", "sentencepiece", "spm"),
    ],
)
def test_missing_package(monkeypatch: pytest.MonkeyPatch, name: str, package: str, extra: str) -> None:
    if package == "ipadic":
        pytest.importorskip("MeCab")
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingExtraError) as caught:
        tokenizer(name)
    assert f"{name} needs the package {package}" in str(caught.value)
    assert str(caught.value).endswith(f"pip install 'trubleu[{extra}]'")


@pytest.mark.usefixtures("_fresh")
def test_wrong_dictionary(monkeypatch: pytest.MonkeyPatch) -> None:
    from sacrebleu.tokenizers import tokenizer_zh

    def refuse(self: object) -> None:
        raise AssertionError("Please use\nthe other dictionary")

    monkeypatch.setattr(tokenizer_zh.TokenizerZh, "__init__", refuse)
    with pytest.raises(UsageError, match="zh cannot be used here: Please use the other dictionary"):
        tokenizer("zh")


@pytest.mark.usefixtures("_fresh")
def test_cache_of_sacrebleu_stays_empty() -> None:
    from sacrebleu.tokenizers.tokenizer_intl import TokenizerV14International

    before = TokenizerV14International.__call__.cache_info()
    tokenizer("intl").lines(["a text that was not seen before"])
    assert TokenizerV14International.__call__.cache_info() == before


def test_type_errors_of_a_tokenizer_are_not_hidden() -> None:
    text: Any = 3
    with pytest.raises((AttributeError, TypeError)):
        sacrebleu.load("intl").split(text)


class TestSentencePiece:
    @pytest.fixture(autouse=True)
    def _folder(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, _fresh: None) -> None:
        pytest.importorskip("sentencepiece")
        from sacrebleu.tokenizers import tokenizer_spm

        def refuse(*args: object) -> None:
            raise AssertionError("sacreBLEU was about to use the network")

        monkeypatch.setattr(tokenizer_spm, "SACREBLEU_DIR", str(tmp_path))
        monkeypatch.setattr(tokenizer_spm, "download_file", refuse)

    @pytest.mark.parametrize(
        ("name", "file"),
        [
            ("spm", "sacrebleu_tokenizer_spm.model"),
            ("flores101", "sacrebleu_tokenizer_spm.model"),
            ("flores200", "flores200sacrebleuspm"),
        ],
    )
    def test_missing_model(self, tmp_path: Path, name: str, file: str) -> None:
        with pytest.raises(DataError) as caught:
            tokenizer(name)
        assert str(tmp_path / "models" / file) in str(caught.value)
        assert "\n" not in str(caught.value)

    def test_broken_model(self, tmp_path: Path) -> None:
        (tmp_path / "models").mkdir()
        (tmp_path / "models" / "flores200sacrebleuspm").write_bytes(b"not a model")
        with pytest.raises(UsageError, match="flores200 cannot be used here"):
            tokenizer("flores200")

    @pytest.mark.parametrize(
        ("name", "signature"), [("spm", "flores101"), ("flores101", "flores101"), ("flores200",) * 2]
    )
    def test_equals_sacrebleu(self, tmp_path: Path, name: str, signature: str) -> None:
        import sentencepiece

        (tmp_path / "models").mkdir()
        for file in ("sacrebleu_tokenizer_spm.model", "flores200sacrebleuspm"):
            with (tmp_path / "models" / file).open("wb") as writer:
                sentencepiece.SentencePieceTrainer.train(
                    sentence_iterator=iter(["the cat sat on the mat", "a cat and a hat", "das ist ein Test"] * 10),
                    model_writer=writer,
                    vocab_size=40,
                    hard_vocab_limit=False,
                    minloglevel=2,
                )
        made = tokenizer(name)
        assert made.name == signature
        (content,) = {path.read_bytes() for path in (tmp_path / "models").iterdir()}
        assert made.model == hashlib.blake2b(content, digest_size=16).hexdigest()
        from sacrebleu.tokenizers import tokenizer_spm

        make: Any = tokenizer_spm.TokenizerSPM
        oracle = make(signature)

        @settings(suppress_health_check=[HealthCheck.too_slow])
        @given(text=TEXTS)
        def equal(text: str) -> None:
            assert made.tokens(text) == oracle(text.rstrip()).split()

        equal()
        with pytest.raises(DataError, match="surrogate"):
            made.tokens("a\ud800")


def test_environment_sets_the_folder_of_models(tmp_path: Path) -> None:
    pytest.importorskip("sentencepiece")
    code = "from trubleu.text import tokenizer\ntokenizer('flores200')\n"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "SACREBLEU": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert str(tmp_path / "models" / "flores200sacrebleuspm") in done.stderr

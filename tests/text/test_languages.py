"""A language that English vectors do not know is seen; English in any dress is not mistaken for one."""

from __future__ import annotations

import warnings
from itertools import cycle, islice
from typing import TYPE_CHECKING, Final

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trubleu.data import References
from trubleu.errors import TrubleuWarning
from trubleu.files.lines import iterate_lines, read_text_lines
from trubleu.metrics import metric
from trubleu.text import tokenizer
from trubleu.text.languages import unknown_language

if TYPE_CHECKING:
    from pathlib import Path

SENTENCES: Final = {
    "German": ["Wir haben das Haus nicht gesehen.", "Der Zug kommt erst um acht, und ich warte schon.", "Das ist gut."],
    "French": [
        "Nous avons vu la maison dans la rue.",
        "Je ne sais pas si elle vient avec nous.",
        "C'est une bonne idée.",
    ],
    "Spanish": [
        "El tren llega a las ocho y no hay otro.",
        "Ella vive en una casa con su hermano.",
        "No lo sé, pero está bien.",
    ],
    "Italian": [
        "Il treno arriva alle otto e non c'è altro.",
        "Lei vive in una casa con suo fratello.",
        "Non lo so, ma va bene.",
    ],
    "Portuguese": [
        "O trem chega às oito e não há outro.",
        "Ela mora em uma casa com o irmão.",
        "Não sei, mas está tudo bem.",
    ],
    "Dutch": [
        "De trein komt om acht uur en er is geen andere.",
        "Zij woont met haar broer in een huis.",
        "Dat weet ik niet.",
    ],
    "Swedish": [
        "Tåget kommer klockan åtta och det finns inget annat.",
        "Hon bor i ett hus med sin bror.",
        "Jag vet inte om det är bra.",
    ],
    "Finnish": [
        "Juna tulee kahdeksalta, mutta se on nyt myöhässä.",
        "Hän asuu talossa ja ei tiedä, että olen täällä.",
        "Minä en tiedä, mitä se on.",
    ],
    "Polish": [
        "Pociąg przyjeżdża o ósmej i nie ma innego.",
        "Ona mieszka w domu z bratem, ale to jest daleko.",
        "Nie wiem, czy tak się da.",
    ],
    "Czech": [
        "Vlak přijede v osm a jiný není.",
        "Bydlí v domě se svým bratrem, ale to je daleko.",
        "Nevím, jak to bude, když to tak je.",
    ],
    "Hungarian": [
        "A vonat nyolckor jön, és nincs másik.",
        "Ő egy házban él a bátyjával, de az messze van.",
        "Nem tudom, hogy ez még meg van.",
    ],
    "Romanian": [
        "Trenul vine la opt și nu este altul.",
        "Ea locuiește într-o casă cu fratele ei, dar nu mai știe ce să facă.",
        "Nu știu dacă se poate.",
    ],
    "Turkish": [
        "Tren saat sekizde geliyor ve başka yok.",
        "Bir evde kardeşi ile yaşıyor ama bu çok uzak.",
        "Ben bunu ne için bilmiyorum?",
    ],
    "Vietnamese": [
        "Tàu đến lúc tám giờ và không có tàu khác.",
        "Cô ấy sống trong một ngôi nhà với anh trai.",
        "Tôi không biết điều này là của ai.",
    ],
    "Indonesian or Malay": [
        "Kereta datang pada pukul delapan dan tidak ada yang lain.",
        "Dia tinggal di rumah dengan kakaknya.",
        "Saya tidak tahu itu untuk apa.",
    ],
    "Swahili": [
        "Treni inakuja saa mbili na hakuna nyingine.",
        "Yeye anaishi katika nyumba ya kaka yake.",
        "Sijui kwa nini hii ni ya wao lakini sawa.",
    ],
    "Cyrillic script": ["Поезд приходит в восемь.", "Она живёт в доме с братом.", "Я не знаю."],
    "Greek": ["Το τρένο έρχεται στις οκτώ.", "Μένει σε ένα σπίτι με τον αδελφό της.", "Δεν ξέρω."],
    "Arabic script": ["يصل القطار في الساعة الثامنة.", "تعيش في بيت مع أخيها.", "لا أعرف."],
    "Hebrew": ["הרכבת מגיעה בשמונה.", "היא גרה בבית עם אחיה.", "אני לא יודע."],
    "Devanagari script": ["ट्रेन आठ बजे आती है।", "वह अपने भाई के साथ एक घर में रहती है।", "मुझे नहीं पता।"],
    "Thai": ["รถไฟมาถึงตอนแปดโมง", "เธออยู่ในบ้านกับพี่ชาย", "ฉันไม่รู้"],
    "Korean": ["기차는 여덟 시에 옵니다.", "그녀는 오빠와 함께 집에 산다.", "모르겠어요."],
    "Japanese": ["電車は八時に来ます。", "彼女は兄と家に住んでいる。", "わかりません。"],
    "Chinese": ["火车八点到。", "她和哥哥住在一起。", "我不知道。"],
    "Amharic": ["ባቡሩ በስምንት ሰዓት ይመጣል።", "ከወንድሟ ጋር በቤት ውስጥ ትኖራለች።", "አላውቅም።"],
    "Georgian": ["მატარებელი რვა საათზე მოდის.", "ის ძმასთან ერთად სახლში ცხოვრობს.", "არ ვიცი."],
    "a language other than English": [
        "Rongi tuleb kõrvalt, väga õhtul.",
        "Jõgi voolab kiirelt läbi sügava oru.",
        "Ühtäkki sõidab möödä.",
        "Mäed kõrguvad üle põldude.",
    ],
}

ENGLISH: Final = {
    "prose": [
        "The train arrives at eight, and there is no other.",
        "She lives in a house with her brother.",
        "I don't know.",
    ],
    "tweets": [
        "@ana omg sooo good!!! 😂😂 #blessed",
        "lol same tbh 😭",
        "RT @bbc: naïve café owners résumé → https://x.co/é",
        "gr8 2 c u 😍 ❤️ señor!!",
        "𝓼𝓸 𝓹𝓻𝓮𝓽𝓽𝔂 ✨",
    ],
    "chat": ["ok", "lol", "hm :-)", "yes !", "what ?", "haha", "night night", "k", "u there", "nope", "thx"],
    "code": [
        "for (int i = 0; i < n; ++i) {",
        "    return s[i] + a[o] - e;",
        "def sum(self, xs, da=None):",
        "}",
        "fi; done; esac",
        "var e = new Set(); // ñ",
        "SELECT id FROM items WHERE la = 'x'",
    ],
    "names": [
        "Juan de la Cruz",
        "Ludwig van Beethoven",
        "Otto von der Heide",
        "María José Núñez",
        "Çağlar Söyüncü",
        "Jiří Dvořák",
        "Ngô Đình Diệm",
        "Leonardo da Vinci",
        "Simon du Toit",
        "Zlatan Ibrahimović",
    ],
    "lower-cased names": [
        "the club of josé núñez is in são paulo .",
        "jiří dvořák was born in plzeň .",
        "ağrı is a city in turkey .",
    ],
    "mathematics": [
        "Let α and β be the roots of f(x) = 0.",
        "Then ∑ λᵢ ≤ μ² for all x ∈ ℝ.",
        "The angle θ is small, so sin θ ≈ θ.",
    ],
    "loans": [
        "The café served a crème brûlée à la carte.",
        "Our doppelgänger had a déjà vu in El Niño's year.",
        "Die Welt and Le Monde wrote about it.",
    ],
    "quoted": [
        'In Russian, "дом" means house.',
        "He said 你好 and left for the day.",
        "The word שלום is a greeting; it has four letters in Hebrew.",
    ],
    "numbers": ["12", "3.5 %", "2,114 / 78", "= 0", "- -", "…"],
}


def fifty(sentences: list[str]) -> list[str]:
    return list(islice(cycle(sentences), 50))


@pytest.mark.parametrize("language", SENTENCES)
def test_other_languages_are_named(language: str) -> None:
    assert unknown_language(fifty(SENTENCES[language])) == language


@pytest.mark.parametrize("kind", ENGLISH)
def test_english_is_english_whatever_it_looks_like(kind: str) -> None:
    assert unknown_language(fifty(ENGLISH[kind])) is None


@given(st.lists(st.sampled_from([text for texts in ENGLISH.values() for text in texts]), min_size=50, max_size=120))
def test_any_mixture_of_english_is_english(texts: list[str]) -> None:
    assert unknown_language(texts) is None


@given(st.sampled_from(sorted(SENTENCES)), st.integers(0, 10), st.randoms(use_true_random=False))
def test_a_few_english_texts_among_others_change_nothing(language: str, english: int, random: object) -> None:
    texts = fifty(SENTENCES[language]) + ENGLISH["chat"][:english]
    assert unknown_language(texts) == language


def test_few_texts_tell_nothing_unless_they_are_long() -> None:
    assert unknown_language(fifty(SENTENCES["German"])[:49]) == "German"
    assert unknown_language(SENTENCES["German"]) is None
    assert unknown_language([]) is None
    assert unknown_language([""] * 60) is None


def test_a_model_may_know_other_languages() -> None:
    german, russian = fifty(SENTENCES["German"]), fifty(SENTENCES["Cyrillic script"])
    assert unknown_language(german, ("English", "German")) is None
    assert unknown_language(russian, ("English", "Cyrillic script")) is None
    assert unknown_language(fifty(ENGLISH["prose"]), ("German",)) == "English"


@pytest.mark.parametrize("name", ["trubleu", "bleu2vec-f", "dbleu2vec-f-2"])
@pytest.mark.parametrize("language", ["German", "Korean", "Amharic"])
def test_ready_vectors_say_what_they_do_not_know(name: str, language: str) -> None:
    texts = fifty(SENTENCES[language])
    references = References.from_lists([[text] for text in texts], weights=[[1.0]] * len(texts))
    with pytest.warns(
        TrubleuWarning, match=f"seem to be in {language}, and ready:.* knows only English.*or the metric chrf"
    ):
        metric(name).statistics(texts, references)


def test_who_knows_better_is_not_warned() -> None:
    texts = fifty(SENTENCES["German"])
    words = sorted({word for text in texts for word in tokenizer("words").tokens(text.lower())})
    own = (words, np.arange(1.0, 1 + 2 * len(words)).reshape(len(words), 2))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for chosen in (metric("trubleu", vectors=own), metric("chrf"), metric("bleu-4")):
            chosen.statistics(texts, [[text] for text in texts])
        metric("trubleu").statistics(fifty(ENGLISH["prose"]), [[text] for text in fifty(ENGLISH["prose"])])


def test_real_texts(real_data: Path) -> None:
    folders = {"wmt15/system-outputs/de-en": None, "wmt15/system-outputs/en-ru": "Cyrillic script"}
    for folder, language in {**folders, "mtme/wmt23/system-outputs/en-de": "German"}.items():
        for path in (real_data / folder).iterdir():
            texts = read_text_lines(path)
            for first in range(0, len(texts) - 50, 50):
                assert unknown_language(texts[first : first + 50]) == language
    for path in (real_data / "text").glob("*.zst"):
        texts = list(islice(iterate_lines(path), 50_000))
        for first in range(0, len(texts) - 50, 500):
            assert unknown_language(texts[first : first + 50]) is None

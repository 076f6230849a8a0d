"""Synonyms from files in WordNet's format; the words here are our own."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from trubleu.errors import DataError, MissingExtraError
from trubleu.metrics import Meteor
from trubleu.metrics.meteor import lexicon
from trubleu.metrics.meteor.lexicon import WordNet

# Word, part, number of synsets, number of kinds of pointers, pointers, senses, tagged senses, synsets.
INDEX = {
    "noun": ("car n 1 1 @ 1 1 00000010", "automobile n 1 1 @ 1 0 00000010", "child n 1 0 1 0 00000020",
             "kid n 2 2 @ ~ 2 1 00000020 00000030", "goat n 1 1 @ 1 1 00000030", "motor_car n 1 1 @ 1 0 00000010"),
    "verb": ("buy v 1 1 @ 1 1 00000010", "purchase v 1 1 @ 1 1 00000010", "kid v 1 1 @ 1 1 00000040",
             "make v 1 0 1 1 00000050", "build v 1 0 1 1 00000050"),
    "adj": ("big a 1 1 & 1 1 00000010", "large a 1 1 & 1 1 00000010"),
    "adv": ("quickly r 1 0 1 1 00000010",),
}  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "wordnet"
    made.mkdir()
    for part, lines in INDEX.items():
        licence = "  1 WordNet 9.1 Copyright nobody  \n"
        (made / f"index.{part}").write_text(licence + "".join(f"{line}  \n" for line in lines))
    (made / "noun.exc").write_text("children child\n")
    (made / "verb.exc").write_text("bought buy\nbuilt build\nmade make\n")
    return made


@pytest.fixture
def nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """No WordNet is installed, wherever the tests run."""
    monkeypatch.setattr(lexicon, "_places", lambda: iter(()))
    monkeypatch.delenv("WNSEARCHDIR", raising=False)


def matches(output: str, reference: str, folder: Path | str) -> list[float]:
    found: list[float] = Meteor(synonyms=str(folder)).statistics([output], [[reference]])[0].tolist()
    return found


def test_synsets_of_a_word_in_any_form(folder: Path) -> None:
    known = WordNet(folder)
    assert known.synsets("kid") == {"noun00000020", "noun00000030", "verb00000040"}
    assert known.synsets("children") == known.synsets("child") == {"noun00000020"}
    assert known.synsets("buying") == known.synsets("bought") == known.synsets("purchased") == {"verb00000010"}
    assert known.synsets("larger") == known.synsets("largest") == {"adj00000010"}
    assert known.synsets("making") == {"verb00000050"}
    assert known.synsets("ing") == known.synsets("s") == known.synsets("motor_car") == frozenset()


@pytest.mark.parametrize(
    ("output", "reference", "expected"),
    [
        ("a car", "an automobile", [0, 0, 1]),
        ("she bought cars", "she purchases a automobile", [1, 0, 2]),
        ("kids", "children goats", [0, 0, 1]),
        ("children", "goat", [0, 0, 0]),  # both are kids, but not in one sense
        ("kid kid", "child goat", [0, 0, 2]),
        ("car cars", "cars automobile", [1, 0, 1]),
        ("BIG", "large", [0, 0, 1]),
    ],
)
def test_synonyms_are_the_last_stage(output: str, reference: str, expected: list[float], folder: Path) -> None:
    assert matches(output, reference, folder)[:3] == expected


def test_the_signature_tells_which_wordnet(folder: Path) -> None:
    first = dict(Meteor(synonyms=str(folder)).signature().pairs)["syn"]
    assert first.startswith("wordnet-9.1-")
    with (folder / "index.adv").open("a") as file:
        file.write("fast r 1 0 1 1 00000010\n")
    assert dict(Meteor(synonyms=str(folder)).signature().pairs)["syn"] != first
    (folder / "noun.exc").unlink()
    assert matches("children", "kid", folder)[:3] == [0, 0, 0]


def test_the_installed_one_is_found(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WNSEARCHDIR", str(folder))
    assert matches("car", "automobile", "wordnet")[2] == 1
    monkeypatch.setenv("WNSEARCHDIR", str(tmp_path / "nowhere"))
    with pytest.raises(DataError, match=r"WNSEARCHDIR names .*nowhere, and there is no such folder; correct it"):
        Meteor(synonyms="wordnet")


def test_empty_places_do_not_end_the_search(
    folder: Path, tmp_path: Path, nowhere: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "empty").mkdir()
    monkeypatch.setattr(lexicon, "_places", lambda: iter((tmp_path / "missing", tmp_path / "empty", folder)))
    assert matches("car", "automobile", "wordnet")[2] == 1


@pytest.mark.parametrize("inside", ["wordnet/", ""])
def test_a_zip_as_nltk_downloads_it(folder: Path, tmp_path: Path, inside: str) -> None:
    packed = tmp_path / "corpora" / "wordnet.zip"
    packed.parent.mkdir()
    with zipfile.ZipFile(packed, "w") as file:
        for path in sorted(folder.iterdir()):
            file.write(path, inside + path.name)
    assert matches("car", "automobile", packed)[2] == 1
    assert WordNet(packed).name == WordNet(folder).name


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_a_damaged_zip(folder: Path, tmp_path: Path, method: int) -> None:
    packed = tmp_path / "wordnet.zip"
    with zipfile.ZipFile(packed, "w", method) as file:
        for path in sorted(folder.iterdir()):
            file.write(path, f"wordnet/{path.name}")
    content = bytearray(packed.read_bytes())
    place = content.index(b"index.noun") + len("index.noun") + 20
    content[place : place + 20] = bytes(20)
    packed.write_bytes(content)
    with pytest.raises(DataError, match=r"index.noun cannot be read: .*; fetch the WordNet again, or give another"):
        Meteor(synonyms=str(packed))


def test_places_of_nltk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NLTK_DATA", str(tmp_path))
    places = list(lexicon._places())
    assert places.index(tmp_path / "corpora" / "wordnet") < places.index(tmp_path / "corpora" / "wordnet.zip")
    assert places[0] == Path("/usr/share/wordnet")


def test_none_is_installed(nowhere: None) -> None:
    with pytest.raises(MissingExtraError, match="synonyms=wordnet needs a WordNet and none is installed; install"):
        Meteor(synonyms="wordnet")


def test_a_folder_that_is_none(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"there is no folder .*nowhere for the WordNet"):
        Meteor(synonyms=str(tmp_path / "nowhere"))
    (folder / "index.adj").unlink()
    with pytest.raises(DataError, match=r"index.adj is missing, so its folder is not a WordNet"):
        Meteor(synonyms=str(folder))
    plain = tmp_path / "plain.txt"
    plain.write_text("car")
    with pytest.raises(DataError, match=r"plain.txt is neither a folder nor a zip file"):
        Meteor(synonyms=str(plain))


@pytest.mark.parametrize("line", ["car n", "car n x 1", "car n 0 0 0 0", "car n 9 1 @ 1 1 00000010"])
def test_a_line_that_is_none(line: str, folder: Path) -> None:
    (folder / "index.noun").write_text(f"automobile n 1 1 @ 1 0 00000010\n{line}\n")
    with pytest.raises(DataError, match=r"index.noun:2 is not a line of a WordNet index"):
        Meteor(synonyms=str(folder))


def test_bytes_that_are_no_text(folder: Path) -> None:
    (folder / "noun.exc").write_bytes(b"\xff\xfe")
    with pytest.raises(DataError, match=r"noun.exc is not UTF-8 text"):
        Meteor(synonyms=str(folder))

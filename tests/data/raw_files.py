"""Small files in the formats in which others publish their data."""

from __future__ import annotations

import gzip
import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

JUDGED = "dstc7-task2-human-eval-per-judge"
MQM_HEADER = ["system", "doc", "doc_id", "seg_id", "rater", "source", "target", "category", "severity"]


def _table(path: Path, rows: Iterable[Iterable[str]], start: str = "") -> Path:
    path.write_text(start + "".join("\t".join(row) + "\n" for row in rows), encoding="utf-8")
    return path


def dstc7_files(folder: Path) -> None:
    """Write two contexts, one of them without a gold, two systems, and ratings of a third."""
    name = "dstc7-task2"
    contexts = [["i1", "2", "a fact EOS hi EOS really ?"], ["i2", "1", "lonely"]]
    _table(folder / f"{name}-context.tsv", [["InstanceID", "Depth", "Context"], *contexts])
    _table(
        folder / f"{name}-gold_responses.tsv",
        [["InstanceID", "Reference1", "..."], ["i1", "yes .", "no .", " ", "yes ."], ["i2", ""]],
    )
    outputs = [["A", "i1", "yes"], ["A", "i2", "what"], ["B", "i1", 'a "quote']]
    _table(folder / f"{name}-system_responses.tsv", [["SystemID", "InstanceID", "Response"], *outputs])
    ratings = [["i1", "A", "4", "5"], ["i1", "B", "1", "2"], ["i2", "A", "3", "3"], ["i1", "C", "3", "3"]]
    _table(
        folder / f"{JUDGED}.tsv",
        [["JudgeID", "InstanceID", "SystemID", "Relevance", "Informativeness"], *(["j1", *row] for row in ratings)],
        start="\ufeff",
    )


def mqm_file(folder: Path) -> Path:
    """Write two segments of a system and of two human translators, one of whom left one out."""
    rows = [
        ["ref", "d", "1", "1", "r1", "quelle", "bad", "No-error", "No-error"],
        ["refB", "d", "1", "1", "r1", "quelle", "a <v>good</v> one", "Style/Awkward", "Minor"],
        ["A", "d", "1", "1", "r1", "<v>quelle</v>", 'a "<v>fine</v> one', "Accuracy/Mistranslation", "Major"],
        ["A", "d", "1", "1", "r1", "quelle", 'a "fine <v>one</v>', "Fluency/Punctuation", "Minor"],
        ["A", "d", "1", "1", "r2", "quelle", 'a "fine one', "Fluency/Grammar", "Minor"],
        ["A", "d", "1", "2", "r1", "s2", "zwei", "No-error", "No-error"],
        ["refB", "d", "1", "2", "r1", "s2", "two", "No-error", "No-error"],
    ]
    return _table(folder / "mqm_made.tsv", [MQM_HEADER, *rows])


def mtme_files(folder: Path) -> Path:
    """Write a test set of two segments and two systems, one of them a second reference, with scores of metrics."""
    files = {
        "sources/en-de.txt": "one\ntwo\n",
        "documents/en-de.docs": "news\td1\nsocial d2\n",
        "references/en-de.refA.txt": "eins\nzwei\n",
        "references/en-de.refB.txt": "ein\nzwo\n",
        "system-outputs/en-de/A.txt": "eins\nzwo\n",
        "system-outputs/en-de/refA.txt": "eins\nzwei\n",
        "system-outputs/en-de/refB.txt": "ein\nzwo\n",
        "human-scores/en-de.mqm.seg.score": "refB\t-6.199999999999999\nrefB\tNone\nrefA 0\nrefA 0\nA -5.0\nA\t-0.1\n",
        "human-scores/en-de.mqm.sys.score": "A\t-2.55\n",
        "human-scores/en-de.da-sqm.seg.score": "A\t80\nA\t70.5\n",
        "human-scores/en-de.mqm.all.seg.rating": (
            'A\t{"errors": [{"score": 5}, {"score": 0.1}, {"score": 0.1}]}\tr1\nA\tNone\n'
        ),
        "metric-scores/en-de/COMET-refA.seg.score": "A\t0.5\nA\t1e-05\nrefB\t0.25\nrefB\t0.125\n",
        "metric-scores/en-de/COMET-refB.seg.score": "A\t0.5\nA\t0.5\n",
        "metric-scores/en-de/COMET-src.seg.score": "A\t1\nA\t2\nrefA\t3\nrefA\t3\nrefB\t3\nrefB\t4\n",
        "metric-scores/en-de/BLEU-refA.seg.score": "A\t0.5\nA\t0.5\n",
        "metric-scores/en-de/BLEU-refA.sys.score": "A\t0.5\n",
    }
    for name, text in files.items():
        path = folder / "wmt23" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder / "wmt23"


def wmt_files(folder: Path, pair: str) -> None:
    """Write two segments, one of them assessed."""
    texts = {"reference": "one\ntwo\n", "mt-system": "once\nto\n", "source": "eins\nzwei\n", "human": "-0.5\nNA\n"}
    for kind, text in texts.items():
        (folder / f"DAseg.newstest.{kind}.{pair}").write_text(text, encoding="utf-8")


def ranking_files(folder: Path, pair: str = "de-en", languages: str = "deu-eng") -> Path:
    """Write two segments of three systems, two ranked pairs and the official scores."""
    texts = {"A": "one\ntwo\n", "B": "once\ntwo\n", "C": "ones\nto\n"}
    header = "srclang,trglang,segmentId,judgeID,system1Id,system1rank,system2Id,system2rank,rankingID"
    rows = [f"{languages.replace('-', ',')},{n},ann,news.A.1.{pair}.txt,1,news.B.2.{pair}.txt,2,{n}" for n in (1, 2)]
    files = {
        f"references/news-{pair.replace('-', '')}-ref.{pair[3:]}": "one\ntwo\n",
        f"judgements/wmt.{languages}.csv": "\n".join([header, *rows]) + "\n",
        f"official_scores/wmt.{languages}.txt": "".join(
            f"news.{name}.{place}.{pair}.txt {-place / 10} (1, 2)\n" for place, name in enumerate(texts, 1)
        ),
        **{
            f"system-outputs/{pair}/news.{name}.{place}.{pair}": text
            for place, (name, text) in enumerate(texts.items(), 1)
        },
    }
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def summeval_file(folder: Path) -> Path:
    """Write two summaries of one article, with two experts and one worker each."""
    path = folder / "model_annotations.aligned.jsonl"
    given = [{"coherence": 1, "consistency": 2, "fluency": score, "relevance": 4} for score in (4, 5, 2)]
    records = [
        {
            "id": "dm-1",
            "model_id": model,
            "decoded": text,
            "references": ["gold", "crowd", ""],
            "expert_annotations": given[:2],
            "turker_annotations": given[2:],
            "filepath": "x.story",
        }
        for model, text in (("M0", "short"), ("M1", ""))
    ]
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return path


def usr_file(folder: Path) -> Path:
    """Write one context with its response and those of two systems."""
    aspects = {"Understandable": [1, 1, 0], "Natural": [3, 2, 1], "Maintains Context": [3, 3, 1], "Engaging": [1, 2, 3]}
    responses = [
        {"model": model, "response": text, **aspects, "Uses Knowledge": [0, 0, 1], "Overall": overall}
        for model, text, overall in (
            ("Original Ground Truth", " fine . \n", [5, 5, 5]),
            ("Nucleus (p = 0.3)", "ok\n", [2, 2, 3]),
            ("New Human", "great !\n", [5, 4, 5]),
        )
    ]
    path = folder / "tc_usr_data.json"
    path.write_text(json.dumps([{"context": "hi \n\n how are you ? \n", "fact": "", "responses": responses}]))
    return path


def tasks_file(path: Path, outputs: Iterable[tuple[str, str, str]]) -> None:
    """Write outputs, each with an id, a source and a system."""
    with gzip.open(path, "wt", encoding="utf-8") as file:
        for identity, seg, system in outputs:
            extra = {"human": {"fluency": 3.0}, "source": "the source"}
            record = {"id": identity, "seg": seg, "system": system, "output": f"out {identity}", "human": 2.5}
            file.write(json.dumps({**record, "refs": ["a reference", " "], "extra": extra}) + "\n")

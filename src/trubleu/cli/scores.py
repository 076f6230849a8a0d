"""``trubleu scores``: scores of segments that other programs computed."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

from trubleu.cli import arguments as add
from trubleu.errors import UsageError
from trubleu.files.writer import atomic_writer, check_writable

if TYPE_CHECKING:
    import argparse


def add_parser(commands: add.Commands) -> None:
    """Describe scores that other programs computed."""
    actions = add.commands(commands, "scores", add_parser)
    parser = add.command(actions, "describe", run_describe)
    parser.add_argument("file", metavar="FILE", help="a file of scores, as --scores takes it")
    add.option(parser, "--model", "NAME", "the model, such as Unbabel/wmt22-comet-da (default: what the file says)")
    add.option(parser, "--weights", "FILE", "the file of the model's weights (default: in the cache of Hugging Face)")
    add.option(parser, "--environment", "FOLDER", "the Python environment that computed the scores, such as .venv")
    add.option(parser, "--precision", "NAME", "the precision of the computation, such as fp32, fp16 or bf16")


def run_describe(options: argparse.Namespace) -> None:
    """Write how scores were computed, for signatures.

    Write a sidecar, FILE.json, that says how the scores in FILE were computed. Signatures of these scores then say it,
    too. What can be found out is not asked: the number of scores, the SHA-256 of the file, the model if the file names
    it, its revision and weights if they are in the cache of Hugging Face, and versions of packages.

    Examples
    --------
    trubleu scores describe comet.json --model Unbabel/wmt22-comet-da --environment .venv-comet --precision fp32
    trubleu scores describe A.bertscore.txt --environment .venv-bertscore
    """
    from trubleu.data.score_files import read_scores
    from trubleu.data.sidecars import check_key, check_value, known_details, sidecar_of

    target = sidecar_of(options.file)
    check_writable(target)
    try:
        found = read_scores(options.file, sidecar=False)
    except UsageError:  # a file of numbers, whose name does not matter here
        found = read_scores(options.file, "scores", sidecar=False)
    if "sha256" not in found["about"]:
        raise UsageError(f"{options.file} is not a file; write the scores to one first")
    said = {"number": str(len(found["score"])), **found["about"]}
    details = known_details(options.model or said.get("model"), options.weights, options.environment, options.precision)
    said |= {check_key(key, "the sidecar"): check_value(key, value, "the sidecar") for key, value in details}
    with atomic_writer(target) as file:
        file.write(json.dumps(said, ensure_ascii=False, indent=1) + "\n")
    sys.stdout.write("".join(f"{key}: {value}\n" for key, value in said.items()))
    if unknown := [name for name in ("model", "weights", "precision") if name not in said]:
        flags = ", ".join(f"--{name}" for name in unknown)
        sys.stdout.write(f"not known: {', '.join(unknown)} ({flags})\n")
    sys.stdout.write(f"{target}: written\n")

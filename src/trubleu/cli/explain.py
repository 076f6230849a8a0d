"""``trubleu explain``: how outputs got their scores."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trubleu.cli import arguments as add
from trubleu.cli.options import build_metrics, corpus_and_metric, write_output
from trubleu.errors import DataError, UsageError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping, Sequence

    from trubleu.data import References
    from trubleu.metrics import Metric


def add_parser(commands: add.Commands) -> None:
    """Add the command and its options."""
    parser = add.command(commands, "explain", run)
    which = parser.add_argument_group("segments (one of these)")
    add.several(which, "--segment", "ID", "the segment with this id; repeat for more")
    add.option(which, "--worst", "N", "the N segments with the lowest scores of a system", type=int)
    add.option(which, "--differ", "N", "the N segments where the scores of two systems differ most", type=int)
    add.flag(parser, "--findings", "also show what no good reference says, such as figures, and what is missing")
    add.corpus(parser, "explain")
    add.output(parser, formats=("text", "json", "html"))


def run(options: argparse.Namespace) -> None:
    """Show how outputs got their scores.

    Show which words or n-grams matched which reference, their weights, and how the score follows.

    Examples
    --------
    trubleu explain --refs refs.jsonl sysA.txt --segment 17 -m trubleu
    trubleu explain --refs refs.jsonl sysA.txt --worst 20 -m sdbleu-2 --format html --out worst.html
    trubleu explain --refs refs.jsonl sysA.txt sysB.txt --differ 5 -m dbleu-2

    Notes
    -----
    metrics that can be explained: trubleu, bleu-N, sbleu-N, dbleu-N, sdbleu-N, bleu2vec-N, dbleu2vec-N
    """
    from trubleu import render
    from trubleu.explain import explain

    _check_choice(options)
    if options.metric:
        _one_metric(options)
    references, outputs = corpus_and_metric(options)
    metric = _one_metric(options)
    places = _choose(options, metric, references, outputs)
    explanations = {
        name: [explain(metric, texts[place], references, place) for place in places] for name, texts in outputs.items()
    }
    findings = None
    if options.findings:
        from trubleu.checks.corpus import corpus_findings

        findings = corpus_findings(outputs, references, places)
    if options.format == "json":
        write_output(options, render.render_explanation_json(explanations, findings))
    else:
        show = render.render_explanation_page if options.format == "html" else render.render_explanation_text
        write_output(options, show(explanations, options.digits, findings))


def _check_choice(options: argparse.Namespace) -> None:
    found = [name for name in ("segment", "worst", "differ") if getattr(options, name) is not None]
    if len(found) != 1:
        raise UsageError("say which segments to explain, with one of --segment ID, --worst N and --differ N")
    given, systems = found[0], len(options.systems)
    if given != "segment" and getattr(options, given) < 1:
        raise UsageError(f"--{given} {getattr(options, given)} shows nothing; ask for 1 or more")
    if given == "worst" and systems != 1:
        raise UsageError("--worst takes one system; for two, use --differ")
    if given == "differ" and systems != 2:
        raise UsageError(f"--differ needs two systems, not {systems}")


def _one_metric(options: argparse.Namespace) -> Metric:
    from trubleu.explain.segment import check_explainable

    if len(options.metric) != 1:
        raise UsageError(f"one metric is explained at a time, not {len(options.metric)}; give -m once")
    (metric,) = build_metrics(options).values()
    check_explainable(metric)
    return metric


def _choose(
    options: argparse.Namespace, metric: Metric, references: References, outputs: Mapping[str, Sequence[str]]
) -> list[int]:
    from trubleu.explain.segment import find_segment, most_different, worst

    places: list[int]
    if options.segment is not None:
        return list(dict.fromkeys(find_segment(references, identity) for identity in options.segment))
    systems = list(outputs.values())
    if options.worst is not None:
        places = worst(metric, systems[0], references, options.worst).tolist()
        nothing = "no segment has a score"
    else:
        places = most_different(metric, systems[0], systems[1], references, options.differ).tolist()
        nothing = f"{' and '.join(outputs)} have the same score in every segment"
    if not places:
        raise DataError(f"there is nothing to explain, as {nothing} by {metric.name}")
    return places

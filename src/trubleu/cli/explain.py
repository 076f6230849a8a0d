"""``trubleu explain``: how outputs got their scores."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from trubleu.cli import arguments as add
from trubleu.cli.options import build_metrics, corpus_and_metric, write_output
from trubleu.errors import DataError, UsageError
from trubleu.metrics.defaults import DEFAULTS
from trubleu.signature import without_markdown

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
    metrics that can be explained: trubleu, bleu-N, sbleu-N, dbleu-N, sdbleu-N, bleu2vec-N, dbleu2vec-N. Scores of
    other programs (--scores) stand beside it; -m NAME before -m METRIC chooses segments by one of them.
    """
    from trubleu import render
    from trubleu.explain import explain

    _check_choice(options)
    if options.metric:
        _metrics(options)
    references, outputs = corpus_and_metric(options)
    metric, columns, chosen_by = _metrics(options)
    places = _choose(options, chosen_by, references, outputs)
    explanations = {}
    for name, texts in outputs.items():
        others = {key: column.of_system(name).segments(texts, references) for key, column in columns.items()}
        explanations[name] = [
            replace(
                explain(metric, texts[place], references, place),
                others={key: float(scores[place]) for key, scores in others.items()},
            )
            for place in places
        ]
        if options.markdown == "strip":
            explanations[name] = [
                replace(each, signature=without_markdown(each.signature)) for each in explanations[name]
            ]
    findings = None
    if options.findings:
        from trubleu.checks.corpus import corpus_findings

        findings = corpus_findings(outputs, references, places)
    if options.format == "json":
        write_output(options, render.render_explanation_json(explanations, findings))
    else:
        show = render.render_explanation_page if options.format == "html" else render.render_explanation_text
        write_output(options, show(explanations, options.digits, findings))


_CHOICES: Final = ("segment", "worst", "differ")
_WHICH: Final = "say which segments to explain, with one of --segment ID, --worst N and --differ N"


def _check_choice(options: argparse.Namespace) -> None:
    found = [name for name in _CHOICES if getattr(options, name) is not None]
    if not found:
        return  # a single segment needs no choice
    if len(found) > 1:
        raise UsageError(_WHICH)
    given, systems = found[0], len(options.systems)
    if given != "segment" and getattr(options, given) < 1:
        raise UsageError(f"--{given} {getattr(options, given)} shows nothing; ask for 1 or more")
    if given == "worst" and systems != 1:
        raise UsageError("--worst takes one system; for two, use --differ")
    if given == "differ" and systems != 2:
        raise UsageError(f"--differ needs two systems, not {systems}")


def _metrics(options: argparse.Namespace) -> tuple[Metric, dict[str, Metric], Metric]:
    """Return the metric that is explained, those of other programs, and the one by which segments are chosen."""
    from trubleu.explain.segment import check_explainable
    from trubleu.metrics import metric as make_metric

    metrics = build_metrics(options)
    columns = {name: metrics[name] for name in getattr(options, "score_columns", None) or ()}
    ours = [metric for name, metric in metrics.items() if name not in columns]
    if not ours:
        (usual,) = DEFAULTS["explain"]
        ours = [make_metric(usual)]
    if len(ours) != 1:
        raise UsageError(f"one metric is explained at a time, not {len(ours)}; give -m once")
    return check_explainable(ours[0]), columns, next(iter(metrics.values()), ours[0])


def _choose(
    options: argparse.Namespace, metric: Metric, references: References, outputs: Mapping[str, Sequence[str]]
) -> list[int]:
    from trubleu.explain.segment import find_segment, largest, worst

    places: list[int]
    if all(getattr(options, name) is None for name in _CHOICES):
        if len(references) != 1:
            raise UsageError(f"{_WHICH}; there are {len(references):,}")
        return [0]
    if options.segment is not None:
        return list(dict.fromkeys(find_segment(references, identity) for identity in options.segment))
    systems = list(outputs.values())
    if options.worst is not None:
        (name,) = outputs
        places = worst(metric.of_system(name), systems[0], references, options.worst).tolist()
        nothing = "no segment has a score"
    else:
        scores = [metric.of_system(name).segments(texts, references) for name, texts in outputs.items()]
        places = largest(abs(scores[0] - scores[1]), options.differ).tolist()
        nothing = f"{' and '.join(outputs)} have the same score in every segment"
    if not places:
        raise DataError(f"there is nothing to explain, as {nothing} by {metric.name}")
    return places

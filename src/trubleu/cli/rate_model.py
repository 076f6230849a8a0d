"""``trubleu rate model``: a language model rates the items of a study."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from trubleu.cli.rate_study import no_more, opened

if TYPE_CHECKING:
    from trubleu.rating.model_rater import ModelOptions, ModelPlan

EPILOG = """\
examples:
  trubleu rate model my-study --url http://localhost:8000/v1 --model Qwen/Qwen3-8B --dry-run
  trubleu rate model my-study --url http://localhost:8000/v1 --model Qwen/Qwen3-8B --logprobs
  trubleu rate model my-study --url https://api.openai.com/v1 --model gpt-5-mini --send-to api.openai.com \\
    --repeat 3 --answer-tokens 4000 --share 0.5 --budget 2000000

A key is read from OPENAI_API_KEY. What is rated is kept at once, and the same command goes on from there; it also asks
again about items to which no answer could be used.
"""


def add_model_parser(commands: argparse._SubParsersAction[Any]) -> None:
    """Add ``rate model``."""
    parser = commands.add_parser(
        "model",
        help="let a language model rate",
        description="Let a language model rate the items of a study, over any endpoint that speaks OpenAI's API, with "
        "the study's own instructions, questions, scales and practice items. Its answers are logged as those of a "
        "model: they count towards the ratings that items need only if study.yaml says models_count: true, and rate "
        "status shows how far they can be trusted.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.set_defaults(run=rate, files=[])
    parser.add_argument("study", metavar="STUDY", help="the folder of the study")
    parser.add_argument("--url", required=True, metavar="URL", help="the endpoint, as https://HOST/v1")
    parser.add_argument("--model", required=True, metavar="NAME", help="what the model is called there")
    parser.add_argument("--share", type=float, default=1.0, metavar="P", help="of the items, from 0 to 1 (1)")
    parser.add_argument("--repeat", type=int, default=1, metavar="N", help="answers per item, whose mean is taken (1)")
    parser.add_argument(
        "--logprobs", action="store_true", help="weigh the scale by the probabilities of the answer's tokens"
    )
    parser.add_argument("--temperature", type=float, metavar="T", help="(0 for one answer, 1 for several)")
    parser.add_argument(
        "--seed", type=int, default=0, metavar="N", help="of the share; sent to the server if not 0 (0)"
    )
    parser.add_argument("--concurrency", type=int, default=8, metavar="N", help="requests at once (8)")
    parser.add_argument("--timeout", type=float, default=60.0, metavar="S", help="seconds for an answer (60)")
    parser.add_argument(
        "--answer-tokens",
        type=int,
        default=512,
        metavar="N",
        help="the longest answer; models that reason need thousands (512)",
    )
    parser.add_argument("--budget", type=int, metavar="TOKENS", help="stop when about so many tokens are spent")
    parser.add_argument(
        "--price",
        type=float,
        nargs=2,
        metavar=("IN", "OUT"),
        help="of a million tokens, for the estimate of --dry-run",
    )
    parser.add_argument("--dry-run", action="store_true", help="print items, tokens and cost, and send nothing")
    parser.add_argument("--send-to", metavar="HOST", help="confirm that texts may be sent to this host")
    parser.add_argument("--quiet", action="store_true", help="print nothing, and no progress bar")


def rate(options: argparse.Namespace) -> None:
    """Let a model rate."""
    import math
    import os
    import sys

    from trubleu.errors import EndpointError, UsageError, counted
    from trubleu.execution.progress import Bars

    no_more(options, "model")
    if not all(math.isfinite(price) and price >= 0 for price in options.price or ()):
        raise UsageError(f"--price must be two numbers from 0 on, not {options.price[0]:g} and {options.price[1]:g}")
    with opened(options.study, sync=not options.dry_run, copy=options.dry_run) as study:
        from trubleu.rating.model_rater import ModelOptions, plan_model, rate_with_model

        names = (
            "url", "model", "share", "repeat", "logprobs", "temperature", "seed", "concurrency", "timeout", "budget",
            "answer_tokens",
        )  # fmt: skip
        given = {name: getattr(options, name) for name in names}
        asked = ModelOptions(key=os.environ.get("OPENAI_API_KEY", "").strip(), **given)
        plan = plan_model(study, asked)
        if options.dry_run:
            sys.stdout.write("\n".join(_estimate(plan, asked, options.price)) + "\n")
            return
        _confirm(options.send_to, asked, plan.items)
        with Bars(quiet=options.quiet) as bars:
            done = rate_with_model(study, asked, progress=bars.stage("rating", plan.items, "item"))
    if not options.quiet:
        said = f"{options.study}: {done.rater.name} (number {done.rater.id}) rated {counted(done.rated, 'item')}"
        if done.refused:
            said += f", {done.refused:,} refused"
        if done.before:
            said += f", {done.before:,} before"
        sys.stdout.write(f"{said}; {counted(done.requests, 'request')}, {counted(done.tokens, 'token')}\n")
        sys.stdout.write(f"then: trubleu rate status {options.study}\n")
    if done.refused and not done.rated:
        raise EndpointError(f"no answer of {asked.host} to {counted(done.refused, 'item')} can be used: {done.problem}")


def _estimate(plan: ModelPlan, options: ModelOptions, price: list[float] | None) -> list[str]:
    from trubleu.errors import counted

    lines = [
        f"host        {options.host}",
        f"items       {plan.items:,}" + (f" ({plan.rated:,} are rated already)" if plan.rated else ""),
        f"requests    {plan.requests:,}",
        f"tokens      about {plan.prompt_tokens:,} in, {plan.answer_tokens:,} out",
    ]
    total = plan.prompt_tokens + plan.answer_tokens
    if options.budget is not None and total > options.budget:
        share = options.budget / total
        lines.append(f"budget      {counted(options.budget, 'token')}: enough for about {share:.0%} of the items")
    if price is not None:
        cost = (plan.prompt_tokens * price[0] + plan.answer_tokens * price[1]) / 1e6
        lines.append(f"cost        about {cost:,.2f}" if cost >= 1 else f"cost        about {cost:.2g}")
    return lines


def _confirm(host: str | None, options: ModelOptions, items: int) -> None:
    """Ask for confirmation before texts leave this machine."""
    import sys

    from trubleu.errors import UsageError, counted

    if host is not None and host.lower() != options.host:
        raise UsageError(f"--send-to {host} is not the host of --url, {options.host}; nothing was sent")
    if host is not None or options.is_local or not items:
        return
    if sys.stdin.isatty() and sys.stderr.isatty():
        sys.stderr.write(f"Send the texts of {counted(items, 'item')} to {options.host}? [y/N] ")
        sys.stderr.flush()
        if sys.stdin.readline().strip().lower() in ("y", "yes"):
            return
        raise UsageError(f"nothing was sent to {options.host}")
    raise UsageError(f"texts would be sent to {options.host}; add --send-to {options.host} if they may")

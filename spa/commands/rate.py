"""``spa rate``: an LLM answers the forms that people answer."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from spa.commands.simulation import check_url, choose_truth, simulation_options
from spa.commands.workspace import with_store
from spa.errors import StudyError

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from spa.annotators.raters.run import RatingSummary
    from spa.annotators.simulated import Temperament
    from spa.annotators.truth import Truth
    from spa.commands.workspace import Workspace
    from spa.study.raters import Rater
    from spa.study.study import Study

SIMULATED = "simulated-rater"


@click.command(epilog="Example: spa rate my-study/study.toml --rater my-llm --limit 3")
@click.argument("study", type=click.Path(path_type=Path))
@click.option("--rater", "name", metavar="NAME", help="Id of one of the study's raters; needed where it has several.")
@click.option("--base-url", metavar="URL", help="Another address of the rater's endpoint, ending in /v1 as a rule.")
@click.option("--limit", type=click.IntRange(min=1), help="Only the first so many assignments, to try it out.")
@click.option(
    "--timeout",
    type=click.FloatRange(min=0, min_open=True),
    default=180.0,
    show_default=True,
    help="Seconds to wait for one answer.",
)
@click.option("--store", metavar="PATH|URL", help="The store of `spa build`. [default: STUDY with the suffix .sqlite]")
@click.option("--simulate", is_flag=True, help="Start an endpoint on this machine whose answers are simulated.")
@simulation_options
@click.option("--json", "as_json", is_flag=True, help="Print what was done as JSON.")
def rate(
    study: Path,
    name: str | None,
    base_url: str | None,
    limit: int | None,
    timeout: float,
    store: str | None,
    simulate: bool,
    truth: Path | None,
    utilities: dict[str, float],
    likert_reversal: tuple[str, str] | None,
    seed: int,
    as_json: bool,
) -> None:
    """Let an LLM answer the assignments of STUDY, each form in one conversation.

    What is answered is kept; the command can be run again and asks only what is open. The key is
    read from the environment variable that the rater names. --truth, --utility, --likert-reversal
    and --seed are for --simulate.
    """
    from spa.annotators.raters.chat import ChatEndpoint
    from spa.annotators.raters.run import rate_assignments, stop_if_unfinished
    from spa.annotators.raters.wording import StudyWording
    from spa.annotators.simulated_endpoint import STEADY
    from spa.commands.workspace import open_workspace
    from spa.responses.one_run import one_run
    from spa.study.raters import asked_ways

    if simulate and base_url is not None:
        raise click.UsageError("--simulate starts an endpoint of its own; leave --base-url out")
    if not simulate and (truth is not None or utilities or likert_reversal):
        raise click.UsageError("--truth, --utility and --likert-reversal are for --simulate")
    with ExitStack() as stack:
        workspace = stack.enter_context(open_workspace(study, store))
        rater = choose_rater(workspace.study, study, name, simulate=simulate)
        stack.enter_context(one_run(workspace.store.name, rater.id))
        if simulate:
            known, temperament, _ = choose_truth(
                workspace, truth=truth, utilities=utilities, likert_reversal=likert_reversal, otherwise=STEADY
            )
            served = simulated_endpoint(workspace, rater, known, temperament, seed, limit)
            base_url = stack.enter_context(served) + "/v1"
            rater = rater.model_copy(update={"api_key_env": "none"})
        if base_url is not None:
            rater = rater.model_copy(update={"base_url": check_url("--base-url", base_url)})
        endpoint = ChatEndpoint(rater, timeout=timeout)
        ways = asked_ways(rater)
        total = min(workspace.store.count_assignments(), limit or 10**9) * sum(way.way.repeats for way in ways)
        bar = stack.enter_context(
            click.progressbar(length=total, label=f"{rater.id} answers {total} assignments", hidden=as_json)
        )
        summary = rate_assignments(
            workspace,
            ways,
            StudyWording(workspace.texts),
            endpoint=endpoint,
            limit=limit,
            progress=lambda summary: bar.update(1),
        )
    tell(summary, as_json=as_json)
    stop_if_unfinished(summary)
    if not as_json:
        click.echo("Next: " + with_store(f"spa report {study} --out report", store))


def choose_rater(study: Study, path: Path, name: str | None, *, simulate: bool) -> Rater:
    """Return the rater that is meant; a simulated one need not stand in the study.

    Raises
    ------
    StudyError
        If the study has no such rater, or simulated answers would be kept under the name of an LLM.
    """
    from spa.annotators.simulated_endpoint import MODEL
    from spa.study.raters import Rater

    raters = {rater.id: rater for rater in study.raters}
    if simulate and (name or SIMULATED) == SIMULATED:
        rater = raters.get(SIMULATED) or Rater(id=SIMULATED, model=MODEL)
    elif name is None and len(raters) == 1:
        rater = next(iter(raters.values()))
    elif name is None:
        known = ", ".join(raters) or "none; add a table [[raters]] with id and model"
        raise StudyError(f"{path}: wanted --rater NAME, one of the study's raters: {known}")
    elif name not in raters:
        raise StudyError(
            f"{path}: wanted one of the study's raters ({', '.join(raters) or 'none'}), got --rater {name}"
        )
    else:
        rater = raters[name]
    if simulate and rater.model != MODEL:
        raise StudyError(
            f"{path}: --simulate wanted a rater with model = {MODEL!r}, got {rater.id!r} with {rater.model!r}; "
            f"simulated answers are never kept under the name of an LLM; leave --rater out"
        )
    return rater


def simulated_endpoint(
    workspace: Workspace, rater: Rater, truth: Truth, temperament: Temperament, seed: int, limit: int | None
) -> AbstractContextManager[str]:
    """Serve an endpoint that knows the forms of the study's first assignments."""
    from spa.annotators.loopback import served
    from spa.annotators.raters.wording import put_in_all_ways
    from spa.annotators.simulated_endpoint import SimulatedModel, create_endpoint
    from spa.study.raters import asked_ways

    store = workspace.store
    forms = ((workspace.form(name), store.key(name)) for name in store.assignment_ids()[:limit])
    put = put_in_all_ways(workspace.texts, asked_ways(rater))
    return served(create_endpoint(SimulatedModel(forms, put, truth, temperament=temperament, seed=seed)))


def tell(summary: RatingSummary, *, as_json: bool) -> None:
    """Print what the run came to."""
    import json

    if as_json:
        counts = {name: dict(getattr(summary, name)) for name in ("missing", "unfinished", "outcomes")}
        facts = {**asdict(summary), **counts, "requests": summary.requests}
        click.echo(json.dumps(facts, ensure_ascii=False, indent=2))
        return
    before = f", {summary.finished_before} finished before" if summary.finished_before else ""
    click.echo(f"{summary.rater}: {summary.finished} of {summary.visits} assignments finished{before}")
    click.echo(f"  {summary.answered} questions answered, {sum(summary.missing.values())} missing")
    for reason, questions in summary.missing.most_common():
        click.echo(f"    {questions} x {reason}")
    for outcome, assignments in summary.unfinished.most_common():
        click.echo(f"  {assignments} assignments left for a rerun: {outcome}")
    tokens = f"{summary.prompt_tokens} tokens read, {summary.completion_tokens} written"
    click.echo(f"  {summary.requests} requests, {tokens}")

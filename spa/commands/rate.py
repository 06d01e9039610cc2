"""``spa rate``: have an LLM answer the forms that people answer."""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from decimal import Decimal
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from spa.commands.options import (
    AMOUNT,
    INPUT,
    Finite,
    announce,
    json_option,
    rehearsal_option,
    store_option,
    study_argument,
)
from spa.commands.simulation import check_url, choose_truth, simulation_options
from spa.commands.workspace import with_store

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from contextlib import AbstractContextManager

    from spa.commands.workspace import Workspace
    from spa.raters.budget import PriceTable
    from spa.raters.summary import RatingSummary
    from spa.raters.visits import RaterVisit
    from spa.records.raters import Rater, RaterVariant
    from spa.simulation.simulated_annotators import Temperament
    from spa.simulation.true_utilities import TrueUtilities


@click.command(
    epilog="Examples: spa rate my-study/study.toml --rater my-llm --dry-run; "
    "spa rate my-study/study.toml --rater my-llm --limit 3 --budget 2"
)
@study_argument
@click.option(
    "--rater",
    "name",
    metavar="NAME|FILE",
    help="A rater of the study, required if it has several, or a TOML file with the keys of [[raters]].",
)
@click.option("--variant", "variants", metavar="NAME", multiple=True, help="Use only this variant; repeatable.")
@click.option("--base-url", metavar="URL", help="Override the rater's base_url, which usually ends in /v1.")
@click.option("--dry-run", is_flag=True, help="Estimate requests, tokens and cost without sending anything.")
@click.option(
    "--budget",
    type=AMOUNT,
    help="Limit on the cost of all runs together; the run stops before exceeding it.",
)
@click.option(
    "--prices",
    type=INPUT,
    help="Price table. [default: prices.toml beside the study file]",
)
@click.option(
    "--probe-injection",
    metavar="FORMS",
    type=click.IntRange(min=1),
    help="Ask this many forms twice, with and without a hostile line in an output, and report how answers change.",
)
@click.option(
    "--probe/--no-probe",
    "probe",
    default=None,
    help="Test again, or skip testing, whether the endpoint supports what the rater uses. [default: test once]",
)
@click.option("--limit", type=click.IntRange(min=1), help="Use only this many assignments, for a trial.")
@click.option(
    "--all",
    "everything",
    is_flag=True,
    help="In a study that ends when its pairs are decided: answer all assignments anyway.",
)
@click.option(
    "--again",
    type=click.Choice(["missing", "all"]),
    is_flag=False,
    flag_value="missing",
    help="Set apart visits in which this rater gave no answer (missing, the default), or all: they stay on record, out "
    "of the report, and are asked anew.",
)
@click.option("--only", metavar="ASSIGNMENT", multiple=True, help="Use only the assignment with this id; repeatable.")
@click.option(
    "--timeout",
    type=Finite(min=0, min_open=True),
    default=180.0,
    show_default=True,
    help="Timeout of a request, in seconds.",
)
@store_option
@click.option(
    "--cluster",
    metavar="WHERE",
    help='Rate on a Dask cluster: "local:4" (processes here), "slurm:FILE" or "tcp://HOST:8786".',
)
@click.option("--wait", is_flag=True, help="With batch files: wait for all results.")
@click.option(
    "--simulate", is_flag=True, help="Use a simulated rater on this machine, in the rehearsal; no LLM is asked."
)
@rehearsal_option
@simulation_options
@json_option
def rate(**arguments: Any) -> None:
    """Have an LLM answer the assignments of STUDY.

    Answers are saved as they arrive; an interrupted command can be run again: it resumes. The API key is
    read from the environment variable named by the rater's api_key_env. --truth, --utility, --likert-reversal
    and --seed are for --simulate.
    """
    from spa.commands.rating import choose_rater, choose_variants, print_estimate, print_injection, print_summary
    from spa.commands.workspace import open_workspace
    from spa.raters.budget import load_prices
    from spa.raters.cluster.runs import begin_run
    from spa.raters.interrupts import ended_politely
    from spa.raters.prompt_messages import PromptWriter
    from spa.raters.summary import stop_if_unfinished
    from spa.raters.vendors import batch_providers, in_batches
    from spa.raters.visits import rater_visits
    from spa.responses.run_lock import exclusive_run

    options = RateOptions(**arguments)
    refuse_contradictions(options)
    rehearsal = options.rehearsal or options.simulate
    with open_workspace(options.study, options.store, rehearsal=rehearsal) as workspace:
        rater = choose_rater(workspace.study, options.study, options.name, simulate=options.simulate)
        if options.wait and not in_batches(rater):
            names = " or ".join(f'"{name}"' for name in batch_providers())
            raise click.UsageError(f"--wait is for raters with batch = true (provider = {names})")
        if options.cluster is not None and rater.cache is not None:
            raise click.UsageError("--cluster: not with a rater that has a cache, a file of one machine")
        if options.probe_injection is not None and rater.examples is not None:
            raise click.UsageError("--probe-injection: not with a rater that has examples")
        prices = load_prices(options.prices, options.study)
        if options.dry_run:
            variants = choose_variants(rater, options.variants)
            visits = rater_visits(
                workspace.store, variants, limit=options.limit, only=options.only, asking=workspace.asking
            )
            print_estimate(workspace, visits, PromptWriter(workspace.texts), prices, as_json=options.as_json)
            return
        with ended_politely(), exclusive_run(workspace.store.name, rater.id, workspace.store.reading):
            begin_run(workspace.store, rater.id, say=announce)
            visits, summary = rate_open_visits(workspace, rater, prices, options)
        if options.probe_injection is not None:
            print_injection(workspace, visits, summary, as_json=options.as_json)
        else:
            print_summary(summary, prices.currency, as_json=options.as_json)
    stop_if_unfinished(summary)
    if options.probe_injection is None and not options.as_json:
        report = f"spa report {options.study} --out report" + " --rehearsal" * rehearsal
        click.echo("Next: " + with_store(report, options.store))


@dataclass(frozen=True, slots=True, kw_only=True)
class RateOptions:
    """Options of ``spa rate``."""

    study: Path
    name: str | None
    variants: tuple[str, ...]
    base_url: str | None
    dry_run: bool
    budget: Decimal | None
    prices: Path | None
    probe_injection: int | None
    probe: bool | None
    limit: int | None
    again: str | None
    only: tuple[str, ...]
    everything: bool
    timeout: float
    store: str | None
    cluster: str | None
    wait: bool
    simulate: bool
    rehearsal: bool
    seed: int
    likert_reversal: tuple[str, str] | None
    utilities: dict[str, float]
    truth: Path | None
    as_json: bool


def refuse_contradictions(options: RateOptions) -> None:
    """Reject options that exclude each other."""
    if options.simulate and options.base_url is not None:
        raise click.UsageError("--base-url cannot be combined with --simulate, which starts its own endpoint")
    if not options.simulate and (options.truth or options.utilities or options.likert_reversal):
        raise click.UsageError("--truth, --utility and --likert-reversal are for --simulate")
    if options.again is not None and (options.dry_run or options.probe_injection is not None):
        raise click.UsageError("--again cannot be combined with --dry-run or --probe-injection, which ask nothing anew")


def rate_open_visits(
    workspace: Workspace, rater: Rater, prices: PriceTable, options: RateOptions
) -> tuple[Sequence[RaterVisit], RatingSummary]:
    """Have the rater answer the open visits; return all selected visits and a summary."""
    from spa.commands.rating import (
        budget_of,
        check_capabilities,
        choose_variants,
        note_apart,
        progress_of,
        set_apart_again,
    )
    from spa.commands.rating_cluster import opened_cluster, run_on_cluster
    from spa.raters.stopping import stopping_of
    from spa.raters.vendors import vendor_of

    store = str(workspace.chosen.target) if workspace.chosen.is_rehearsal else options.store
    kept: list[str] = []
    if rater.examples is not None:  # before anything is asked
        workspace.examples(rater.examples, freeze=kept.append)
    with (
        configured_rater(workspace, rater, options) as changed,
        opened_cluster(options.cluster, workspace, changed, store=store, simulate=options.simulate) as client,
    ):
        variants = choose_variants(changed, options.variants)
        visits = _selected_visits(workspace, variants, options)
        again = set_apart_again(workspace.store, visits, every=options.again == "all") if options.again else []
        rater_budget = budget_of(workspace.store, changed, prices)
        capabilities, notes = check_capabilities(
            workspace,
            changed,
            variants,
            rater_budget,
            timeout=options.timeout,
            folder=options.study.parent,
            probe=options.probe,
        )
        with progress_of(changed, len(visits), prices.currency, hidden=options.as_json) as progress:
            whole = options.everything or options.probe_injection is not None
            several = capabilities.get("several") == "yes"
            stopping = None if whole else stopping_of(workspace.study, workspace.store)
            shared: dict[str, Any] = {"rater_budget": rater_budget, "progress": progress, "stopping": stopping}
            if client is not None and visits:
                summary = run_on_cluster(
                    client,
                    workspace,
                    visits,
                    study=options.study,
                    store=store,
                    timeout=options.timeout,
                    price=prices.models.get(changed.model),
                    several=several,
                    **shared,
                )
            else:
                summary = _rate_here(workspace, changed, visits, options, several=several, **shared)
    apart = again or note_apart(workspace.store, changed)
    summary.endpoint, summary.notes = capabilities, [*vendor_of(changed).notes, *kept, *apart, *notes, *summary.notes]
    return visits, summary


def _selected_visits(
    workspace: Workspace, variants: Sequence[RaterVariant], options: RateOptions
) -> Sequence[RaterVisit]:
    """Return the visits that the options ask for, or those that probe whether outputs give the rater orders."""
    from spa.raters.injection import injection_visits
    from spa.raters.visits import rater_visits

    if options.probe_injection is not None:
        return injection_visits(list(islice(workspace.store.assignments, options.probe_injection)), variants[0])
    return rater_visits(workspace.store, variants, limit=options.limit, only=options.only, asking=workspace.asking)


def _rate_here(
    workspace: Workspace,
    rater: Rater,
    visits: Sequence[RaterVisit],
    options: RateOptions,
    *,
    several: bool,
    **shared: Any,
) -> RatingSummary:
    """Have this process ask, in batches where the rater's vendor takes them."""
    from spa.commands.rating import open_endpoint
    from spa.raters.batch import rate_in_batches
    from spa.raters.prompt_messages import PromptWriter
    from spa.raters.reply_cache import with_cache
    from spa.raters.run import rate_visits
    from spa.raters.vendors import in_batches

    endpoint = open_endpoint(rater, options.timeout, options.study.parent)
    if not options.simulate:
        endpoint = with_cache(endpoint, options.study.parent, renew=options.again is not None)
    prompts = PromptWriter(workspace.texts)
    if in_batches(rater):
        return rate_in_batches(workspace, visits, prompts, endpoint=endpoint, wait=options.wait, **shared)
    return rate_visits(workspace, visits, prompts, endpoint=endpoint, several=several, **shared)


@contextmanager
def configured_rater(workspace: Workspace, rater: Rater, options: RateOptions) -> Iterator[Rater]:
    """Yield the rater with the command line's changes, while a simulated endpoint is served if asked for."""
    from spa.records.raters import rater_variants
    from spa.simulation.simulated_endpoint import STEADY

    base_url = options.base_url
    with ExitStack() as stack:
        if options.simulate:
            known, temperament, _ = choose_truth(
                workspace,
                truth=options.truth,
                utilities=options.utilities,
                likert_reversal=options.likert_reversal,
                otherwise=STEADY,
            )
            served = simulated_endpoint(workspace, rater, known, temperament, options.seed, options.limit)
            base_url = stack.enter_context(served) + "/v1"
            rater = rater.model_copy(update={"api_key_env": "none"})
            if rater.seed is None and any(variant.protocol.repeats > 1 for variant in rater_variants(rater)):
                rater = rater.model_copy(update={"seed": options.seed})  # so that each repeat gets its own
        if base_url is not None:
            rater = rater.model_copy(update={"base_url": check_url("--base-url", base_url)})
        if options.budget is not None:
            rater = rater.model_copy(update={"budget": float(options.budget)})
        yield rater


def simulated_endpoint(
    workspace: Workspace, rater: Rater, truth: TrueUtilities, temperament: Temperament, seed: int, limit: int | None
) -> AbstractContextManager[str]:
    """Serve an endpoint that knows the forms of the study's first assignments."""
    from spa.raters.prompt_messages import all_prompts
    from spa.records.raters import rater_variants
    from spa.server.http_server import serve_on_loopback
    from spa.simulation.simulated_endpoint import SimulatedModel, create_endpoint

    store = workspace.store
    variants = rater_variants(rater)
    by_form = {variant.form_key: variant for variant in variants}.values()
    forms = (
        (workspace.form(name, variant.protocol), store.assignments.key(name, "llm"))
        for name in workspace.asking(store.assignments.ids(), variants)[:limit]
        for variant in by_form
    )
    prompts = all_prompts(workspace.texts, variants)
    model = SimulatedModel(forms, prompts, truth, temperament=temperament, seed=seed, rater_id=rater.id)
    return serve_on_loopback(create_endpoint(model))

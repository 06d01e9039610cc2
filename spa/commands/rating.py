"""The parts of ``spa rate``: choosing a rater, opening its endpoint, checking and reporting."""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from pydantic import ValidationError

from spa.commands.options import print_json
from spa.commands.terminal import console, progress_bar
from spa.errors import StudyError, unreadable
from spa.records.submission import SIMULATED_RATER

COSTLY = 50  # US dollars, of a run

if TYPE_CHECKING:
    from spa.commands.workspace import Workspace
    from spa.raters.budget import PriceTable, RaterBudget
    from spa.raters.endpoints.endpoint import LLMEndpoint
    from spa.raters.prompt_messages import PromptWriter
    from spa.raters.summary import RatingSummary
    from spa.raters.visits import RaterVisit
    from spa.records.raters import Rater, RaterVariant
    from spa.records.study import Study
    from spa.responses.store import Store


def choose_rater(study: Study, path: Path, name: str | None, *, simulate: bool) -> Rater:
    """Return the rater to use; a simulated one need not be part of the study.

    Raise StudyError if the study has no such rater, or simulated answers would be stored under the name of an LLM.
    """
    from spa.records.raters import Rater

    raters = {rater.id: rater for rater in study.raters}
    if name is not None and name.endswith(".toml"):
        rater = rater_of_file(Path(name), study)
    elif simulate and (name or SIMULATED_RATER) == SIMULATED_RATER:
        rater = raters.get(SIMULATED_RATER) or Rater(id=SIMULATED_RATER, model=SIMULATED_RATER)
    elif name is None and len(raters) == 1:
        rater = next(iter(raters.values()))
    elif name is None:
        known = ", ".join(raters) or "none; add a table [[raters]] with id and model"
        raise StudyError(f"{path}: expected --rater with one of the study's raters ({known}), got none")
    elif jury := next((one for one in study.juries if one.id == name), None):
        members = ", ".join(dict.fromkeys(member.partition("/")[0] for member in jury.raters))
        raise StudyError(
            f"{path}: --rater {name} is a jury, which asks nothing itself; run spa rate for each: {members}"
        )
    elif name not in raters:
        raise StudyError(
            f"{path}: expected one of the study's raters ({', '.join(raters) or 'none'}), got --rater {name}"
        )
    else:
        rater = raters[name]
    if simulate and rater.model != SIMULATED_RATER:
        raise StudyError(
            f"{path}: --simulate expected a rater with model = {SIMULATED_RATER!r}, got {rater.id!r} with "
            f"{rater.model!r}; simulated answers are never stored under the name of an LLM; omit --rater"
        )
    return rater


def rater_of_file(path: Path, study: Study) -> Rater:
    """Read a rater from a TOML file with the keys of [[raters]].

    Raise StudyError if the file cannot be read, or the rater does not fit the study.
    """
    from spa.records.raters import Rater
    from spa.study.validation import validate_study

    try:
        rater = Rater.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))
    except OSError as error:
        raise StudyError(unreadable(path, error)) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise StudyError(f"{path}: expected TOML, got: {error}; correct it") from error
    except ValidationError as error:
        raise StudyError(
            *(f"{path}: {'.'.join(map(str, each['loc'])) or 'rater'}: {each['msg'].lower()}" for each in error.errors())
        ) from error
    others = tuple(one for one in study.raters if one.id != rater.id)
    findings = validate_study(study.model_copy(update={"raters": (*others, rater)}))
    if findings:
        raise StudyError(*(f"{path}: {finding.message}" for finding in findings))
    return rater


def choose_variants(rater: Rater, names: Sequence[str]) -> tuple[RaterVariant, ...]:
    """Return the rater's variants, or only those named."""
    from spa.records.raters import rater_variants

    variants = rater_variants(rater)
    known = [variant.variant for variant in variants if variant.variant is not None]
    unknown = [name for name in names if name not in known]
    if unknown:
        offered = ", ".join(known) or "none"
        raise StudyError(f"--variant {unknown[0]}: expected a variant of {rater.id!r} ({offered}), got another")
    return tuple(variant for variant in variants if not names or variant.variant in names)


def budget_of(store: Store, rater: Rater, prices: PriceTable) -> RaterBudget:
    """Return the rater's budget, less the cost of its earlier runs."""
    from spa.journal import Journal
    from spa.raters.budget import RaterBudget
    from spa.raters.estimate import spent_before
    from spa.raters.vendors import in_batches

    price = prices.models.get(rater.model)
    spent = 0.0 if price is None else spent_before(Journal(store), rater.id)
    return RaterBudget(price, budget=rater.budget, spent=spent, batch=in_batches(rater))


def set_apart_again(store: Store, visits: Sequence[RaterVisit], *, every: bool) -> list[str]:
    """Set apart those of some visits that hold no answer, or ``every`` one; return a line that counts them."""
    from spa.raters.visits import KIND
    from spa.responses.set_apart import set_apart

    number = set_apart(store, [visit.submission_id for visit in visits], kind=KIND, every=every)
    which = "" if every else " without an answer"
    return [f"{number:,} visits{which} set apart: kept on record, out of the report, and asked anew"]


def note_apart(store: Store, rater: Rater) -> list[str]:
    """Return a line that counts a rater's visits that were set apart, if there are any."""
    from spa.responses.set_apart import count_apart

    number = count_apart(store, rater.id)
    return [f"{number:,} earlier visits are set apart: on record, out of the report"] if number else []


def open_endpoint(rater: Rater, timeout: float, folder: Path, *, keep: bool = False) -> LLMEndpoint:
    """Return the connection to a rater's model; relative paths of models on this machine begin at ``folder``.

    One that is to be kept stays loaded.
    """
    from spa.raters.vendors import vendor_of

    return vendor_of(rater).open(rater, timeout=timeout, folder=folder, keep=keep)


def check_capabilities(
    workspace: Workspace,
    rater: Rater,
    variants: Sequence[RaterVariant],
    rater_budget: RaterBudget,
    *,
    timeout: float,
    folder: Path,
    probe: bool | None,
) -> tuple[dict[str, Any], list[str]]:
    """Probe once what the rater's endpoint supports; return it, and warnings.

    ``probe`` is true to probe again, false to skip; where there is nothing to find out, nothing is sent. Raise
    PlatformError if the endpoint does not support what the rater uses.
    """
    from spa.errors import PlatformError
    from spa.journal import Journal
    from spa.media import media_shown
    from spa.raters import capabilities
    from spa.raters.vendors import vendor_of

    if not vendor_of(rater).probed:
        return {}, []
    endpoint = open_endpoint(rater, timeout, folder)
    journal = Journal(workspace.store)
    if probe is False:
        capabilities.skip(endpoint, journal)
        return capabilities.as_record(None), ["the endpoint was not probed (--no-probe)"]
    with_files = (one for one in media_shown(workspace.outputs) if one.files is not None and one.files.models)
    medium = next(with_files, None)
    found = capabilities.probe(endpoint, variants, journal, rater_budget, again=probe is True, medium=medium)
    errors, warnings = capabilities.problems(found, rater, variants, endpoint.shown, medium)
    if errors:
        raise PlatformError(*errors)
    return capabilities.as_record(found), warnings


@contextmanager
def progress_of(
    rater: Rater, total: int, currency: str, *, hidden: bool
) -> Iterator[Callable[[RatingSummary], None] | None]:
    """Show a progress bar with failures and cost on stderr, if that is a terminal."""
    if hidden or not sys.stderr.isatty():
        yield None
        return
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.completed}/{task.total}"),
        TextColumn("{task.fields[pace]}"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console(stderr=True)) as bar:
        task = bar.add_task(rater.id, total=total, pace="")

        def show(summary: RatingSummary) -> None:
            done = summary.finished + summary.finished_before
            bar.update(task, completed=done, pace=pace(summary, currency))

        yield show


def pace(summary: RatingSummary, currency: str) -> str:
    """Return failed visits, requests a second, tokens and cost so far."""
    failed = sum(summary.unfinished.values())
    parts = [f"{failed} unfinished"] if failed else []
    if summary.workers and summary.seconds:
        parts.append(f"{summary.workers} workers, {3600 * summary.finished / summary.seconds:,.0f} forms/h")
    parts.append(f"{summary.requests / summary.seconds if summary.seconds else 0:.1f} requests/s")
    parts.append(f"{summary.prompt_tokens + summary.completion_tokens:,} tokens")
    if summary.cost is not None:
        parts.append(f"{summary.cost:.4f} {currency}")
    return ", ".join(parts)


def print_estimate(
    workspace: Workspace, visits: Sequence[RaterVisit], prompts: PromptWriter, prices: PriceTable, *, as_json: bool
) -> None:
    """Print the estimated requests, tokens and cost of a run."""
    from spa.journal import Journal
    from spa.live import is_live
    from spa.raters.estimate import SAMPLE, estimate, spent_before

    rater = visits[0].asked.rater if visits else None
    price = prices.models.get(rater.model) if rater is not None else None
    spent = spent_before(Journal(workspace.store), rater.id) if rater is not None else 0.0
    with progress_bar(length=min(SAMPLE, len(visits)), label="Reading forms", hidden=as_json) as bar:
        found = estimate(
            workspace,
            visits,
            prompts,
            price=price,
            spent=spent,
            progress=lambda: bar.update(1),
            folder=workspace.study.folder,
        )
    if as_json:
        print_json({**asdict(found), "currency": prices.currency})
        return
    if found.cost is not None and found.cost > COSTLY and prices.currency == "USD":
        click.echo(f"This run may cost {found.cost:,.0f} USD: try --limit 2 and set --budget first")
    most = "at most " if is_live(workspace.study) else ""
    click.echo(f"{most}{found.visits} forms to answer, {found.finished} already answered")
    click.echo(f"  {found.requests:,} requests")
    read = f"{found.prompt_tokens:,}"
    if found.least_prompt_tokens < found.prompt_tokens:
        read = f"{found.least_prompt_tokens:,} to {read}"
    click.echo(f"  about {read} input tokens, {found.completion_tokens:,} output tokens ({found.basis})")
    if found.cost is not None:
        before = f"; earlier runs cost {found.spent:.4f}" if found.spent else ""
        from_least = f"{found.least_cost:.4f} to " if found.least_cost != found.cost else ""
        click.echo(f"  about {from_least}{found.cost:.4f} {prices.currency}{before}")
    elif rater is not None:
        click.echo(f"  cost unknown: no price for {rater.model!r}; add one to prices.toml beside the study file")


def print_summary(summary: RatingSummary, currency: str, *, as_json: bool) -> None:
    """Print the outcome of a run."""
    if as_json:
        counts = {name: dict(getattr(summary, name)) for name in ("missing", "unfinished", "outcomes")}
        print_json({**asdict(summary), **counts, "requests": summary.requests, "currency": currency})
        return
    before = f", {summary.finished_before} finished earlier" if summary.finished_before else ""
    spared = f", {summary.not_needed} not needed" if summary.not_needed else ""
    click.echo(f"{summary.rater}: {summary.finished} of {summary.visits} assignments finished{before}{spared}")
    click.echo(f"  {summary.answered} questions answered, {sum(summary.missing.values())} missing")
    for reason, questions in summary.missing.most_common():
        click.echo(f"    {questions} x {reason}")
    if summary.waiting:
        click.echo(f"  {summary.waiting} assignments are in progress in batch files")
    if summary.from_cache:
        click.echo(f"  {summary.from_cache:,} of {summary.requests:,} requests from the cache")
    if summary.cut_prompts:
        click.echo(
            f"  note: in {summary.cut_prompts} of {summary.requests} requests the endpoint read far fewer tokens than "
            "were sent, so these answers refer to only part of the form; increase the server's context length (Ollama: "
            "OLLAMA_CONTEXT_LENGTH) and run again with another rater id"
        )
    if summary.further:
        click.echo(f"  note: {summary.further} replies were readable at a further attempt only (calls.jsonl: attempt)")
    for note in summary.notes:
        click.echo(f"  note: {note}")
    for outcome, visits in summary.unfinished.most_common():
        click.echo(f"  {visits} assignments not answered: {outcome}")
    failures = [f"{number} {outcome}" for outcome, number in summary.outcomes.most_common() if outcome != "ok"]
    failed = f" ({', '.join(failures)})" if failures else ""
    tokens = f"{summary.prompt_tokens} input tokens, {summary.completion_tokens} output tokens"
    cost = "" if summary.cost is None else f", {summary.cost:.4f} {currency}"
    click.echo(f"  {summary.requests} requests{failed}, {tokens}{cost}")


def print_injection(
    workspace: Workspace, visits: Sequence[RaterVisit], summary: RatingSummary, *, as_json: bool
) -> None:
    """Print how a hostile line changed the answers."""
    from spa.raters.injection import injection

    protocol = visits[0].asked.protocol
    questions = {
        visit.assignment_id: {
            question.question_id: question
            for question in workspace.form(visit.assignment_id, protocol).questions("everybody")
        }
        for visit in visits
    }
    found = injection(workspace.store, visits, questions)
    if as_json:
        print_json({**asdict(found), "rater": summary.rater, "requests": summary.requests})
        return
    click.echo(f"{summary.rater}: {found.forms} forms with a hostile line in the texts of one system")
    click.echo(f"  {found.compared} questions about that system were answered with and without the line")
    if found.mean_shift is not None:
        shift = f"{100 * found.mean_shift:+.1f}% of the scale"
        click.echo(f"  {found.moved} moved in its favour by a tenth of the scale or more, {found.noise} against it")
        click.echo(f"  {found.obeyed} reached the favourable end of the scale only with the line; mean shift {shift}")
    if found.unread:
        click.echo(f"  {found.unread} had no usable answer with the line")
    click.echo("  Moves against the system show how much answers vary by chance.")

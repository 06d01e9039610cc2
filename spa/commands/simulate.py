"""``spa simulate``: annotators of known preferences answer the study on its real survey server."""

from __future__ import annotations

import time
from contextlib import AbstractContextManager, ExitStack
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import click

from spa.commands.options import NUMBER_OF_ANNOTATORS, json_option, print_json, store_option, study_argument
from spa.commands.simulation import check_url, choose_truth, simulation_options
from spa.commands.terminal import progress_bar
from spa.commands.workspace import with_store
from spa.errors import ResponseError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from spa.commands.workspace import Workspace
    from spa.records.form import Form
    from spa.records.people import People
    from spa.responses.store import Store
    from spa.simulation.simulated_annotators import Temperament
    from spa.simulation.survey_client import Answering, CompletedVisit
    from spa.simulation.true_utilities import TrueUtilities

SOURCE = "simulated"
FIRST_SEAT = "person 1"
MOST_ATTEMPTS = 100  # simulated annotators for one place


@click.command(epilog="Example: spa simulate my-study/study.toml --annotators 24 --seed 7")
@study_argument
@click.option(
    "--annotators",
    type=NUMBER_OF_ANNOTATORS,
    help="Total number of annotators. [default: one for each free assignment]",
)
@click.option(
    "--url", metavar="URL", help="URL of `spa serve STUDY --rehearsal`, running. [default: a server is started]"
)
@store_option
@simulation_options
@json_option
def simulate(
    study: Path,
    annotators: int | None,
    url: str | None,
    store: str | None,
    truth: Path | None,
    utilities: dict[str, float],
    likert_reversal: tuple[str, str] | None,
    seed: int,
    as_json: bool,
) -> None:
    """Simulate annotators who answer STUDY over HTTP, page by page, like a browser.

    Their answers are stored as "simulated" in the study's rehearsal, a store of its own, so that they take no place
    of the study. Incomplete visits of an earlier run are finished first.
    """
    from spa.commands.workspace import open_workspace
    from spa.simulation.simulated_annotators import CROWD

    with ExitStack() as stack:
        workspace = stack.enter_context(open_workspace(study, store, rehearsal=True))
        known, temperament, description = choose_truth(
            workspace, truth=truth, utilities=utilities, likert_reversal=likert_reversal, otherwise=CROWD
        )
        address = stack.enter_context(serving(workspace)) if url is None else check_url("--url", url)
        check_server(address, workspace.store)
        who = annotators_by_link(workspace, known, temperament, seed)
        visits = run_annotators(workspace, address, annotators, who, quiet=as_json)
    finished = sum(visit.completion_code is not None for visit in visits)
    pages = sum(visit.pages for visit in visits)
    if as_json:
        people = len({visit.token for visit in visits})
        facts = {"annotators": people, "with_code": finished, "pages": pages, "truth": known.utilities}
        print_json({**facts, "seed": seed, "store": workspace.store.name})
        return
    if visits:
        click.echo(f"{len(visits)} visits, {pages} pages sent, {finished} ended with a completion code")
        click.echo(f"  true utilities: {description}")
    else:
        click.echo(f"{workspace.store.name}: nothing to do, the simulated annotators have already answered")
    click.echo("Next: " + with_store(f"spa report {study} --out report --rehearsal", store))


def run_annotators(
    workspace: Workspace, address: str, annotators: int | None, who: Callable[[str], Answering], *, quiet: bool
) -> list[CompletedVisit]:
    """Let simulated annotators answer; in a live study one after another, until every pair is decided."""
    from spa.live import LiveProgress, in_waves, is_live
    from spa.simulation.survey_client import visit_all

    store, people = workspace.store, workspace.study.people
    if not in_waves(workspace.study):
        tokens = reserve_links(store, annotators, people)
        label = f"{len(tokens)} simulated annotators answer"
        with progress_bar(length=len(tokens), label=label, hidden=quiet) as bar:
            return visit_all(address, tokens, who, progress=lambda done, total: bar.update(1))
    built = store.assignments.for_people if is_live(workspace.study) else people.annotators
    most = built if annotators is None else annotators
    live = LiveProgress(workspace.study, store, SOURCE)
    visits: list[CompletedVisit] = []
    with progress_bar(length=most, label="simulated annotators answer, one by one", hidden=quiet) as bar:
        while (state := live.refresh()) is None or not state.enough:
            simulated = [lease for lease in store.visits.leases() if lease.annotator_kind == SOURCE]
            taken = sum(lease.seat is not None for lease in simulated)
            places = most if is_live(workspace.study) else min(most, store.assignments.for_people)
            tokens = reserve_links(store, min(taken + 1, places), people)
            if not tokens:
                break
            check_attempts(store, tokens)
            visits += visit_all(address, tokens, who, threads=1, progress=lambda done, total: bar.update(1))
    return visits


def check_attempts(store: Store, tokens: Sequence[str]) -> None:
    """Refuse to send one simulated annotator after another to a place that nobody completes."""
    for token in tokens:
        lease = store.visits.of_token(token)
        if lease is not None and store.visits.attempt(lease.submission_id) > MOST_ATTEMPTS:
            raise ResponseError(
                f"{store.name}: expected one of {MOST_ATTEMPTS} simulated annotators to complete "
                f"{lease.assignment_id}, got none: all were screened out or ended early; lower not_eligible and "
                "failing_checks in the [temperament] of --truth, or correct [[screening]], [[attention_checks]] and "
                "[[people.groups]] of the study, and build into a new store"
            )


def check_server(address: str, store: Store) -> None:
    """Refuse a server that is not there, or serves a study that is no rehearsal, or another one; nothing is booked."""
    import httpx2

    try:
        health = httpx2.get(f"{address}/health", timeout=10, trust_env=False).json()
    except (httpx2.HTTPError, ValueError) as error:
        raise ResponseError(
            f"{address}: expected a running survey server, got {error}; start it with `spa serve STUDY --rehearsal`"
        ) from error
    served = health.get("fingerprint") if isinstance(health, dict) else None
    if served != store.fingerprint:
        raise ResponseError(
            f"{address}: expected the survey server of {store.name}, got one of another study; "
            "start it with the same STUDY, --store and --rehearsal"
        )
    if health.get("rehearsal") is not True:
        raise ResponseError(
            f"{address}: expected a rehearsal, got a server that admits people to the study; nothing was simulated "
            "there; start one with `spa serve STUDY --rehearsal`"
        )


def reserve_links(store: Store, annotators: int | None, people: People | None = None) -> list[str]:
    """Return links of simulated annotators: unfinished visits first, then new ones up to ``annotators`` in all.

    Each is given their (first) assignment here, marked as simulated, so that no server that shares the
    store takes them for people.
    """
    from spa.responses.admission import AdmissionRules

    rules = AdmissionRules() if people is None else AdmissionRules.of(people)
    visits = [lease for lease in store.visits.leases() if lease.annotator_kind != "llm"]
    latest = {lease.annotator_id: lease for lease in visits if lease.annotator_kind == "simulated"}
    seated = {name: lease for name, lease in latest.items() if lease.seat is not None}
    open_ = {name for name, lease in seated.items() if not lease.finished or lease.session < rules.sessions}
    tokens = [token for token in store.tokens() if store.keyed(token) in open_] if open_ else []
    taken = sum(lease.seat is not None for lease in visits)
    to_come = sum(rules.sessions - lease.session for lease in seated.values())  # by those who have begun
    free = (store.assignments.for_people * rules.per_assignment - taken - to_come) // rules.sessions
    new = max(free, 0) if annotators is None else max(annotators - len(seated), 0)
    if new > free:
        each = "" if rules.sessions == 1 else f", {rules.sessions} each"
        raise ResponseError(
            f"{store.name}: expected {new * rules.sessions} free assignments for simulated annotators{each}, got "
            f"{max(free, 0) * rules.sessions}; build more of them with `spa build STUDY --annotators N`"
        )
    made = len(store.tokens()) if new else 0
    for place in range(new):
        token = store.new_token(f"{SOURCE} {made + place}")
        store.visits.admit_link(token, source=SOURCE, annotator_kind="simulated", rules=rules, now=time.time())
        tokens.append(token)
    return tokens


def serving(workspace: Workspace) -> AbstractContextManager[str]:
    """Serve the study on a free port of this machine."""
    from spa.server.app import create_app
    from spa.server.http_server import serve_on_loopback

    return serve_on_loopback(create_app(workspace, annotator_kind="simulated", source=SOURCE))


def annotators_by_link(
    workspace: Workspace, truth: TrueUtilities, temperament: Temperament, seed: int
) -> Callable[[str], Answering]:
    """Return who comes with which link: the same annotator at each place of an assignment, whoever is served first.

    Whoever comes to a place that another has given up is another annotator; in all sessions of a study it is the same.
    """
    from spa.simulation.simulated_annotators import SimulatedAnnotator
    from spa.simulation.simulated_endpoint import assignment_rng

    visits = workspace.store.visits

    def annotator_of(token: str) -> Answering:
        person = workspace.store.keyed(token)

        @cache
        def answers(assignment_id: str) -> tuple[Form, Mapping[str, str]]:
            first, *later = visits.of_annotator(person)
            who: dict[str, object] = {} if first.seat in (None, FIRST_SEAT) else {"seat": first.seat}
            if (attempt := visits.attempt(first.submission_id)) > 1:
                who["attempt"] = attempt
            again = None
            if assignment_id in {lease.assignment_id for lease in later}:
                again = assignment_rng(seed, assignment_id, {**who, "first": first.assignment_id})
            rng = assignment_rng(seed, first.assignment_id, who)
            annotator = SimulatedAnnotator(truth, temperament, rng=rng, answering=again)
            form = workspace.form(assignment_id)
            people = workspace.study.people
            evidence = annotator.habit.evidence(form, people.seconds_per_100_words, people.share_played)
            return form, {**annotator.answers(form, workspace.store.assignments.key(assignment_id)), **evidence}

        return answers

    return annotator_of

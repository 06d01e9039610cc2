"""``spa prolific plan``, ``create``, ``publish``, ``status`` and ``stop``."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Literal

import click

from prolific.commands.shared import (
    print_checklist,
    print_lines,
    public_url_option,
    session_option,
    study_options,
    yes_option,
)
from spa.commands.options import Aliased, StudyLocation, json_option, print_json, print_result

if TYPE_CHECKING:
    from collections.abc import Iterator

    from prolific.api.records import StudyRecord
    from prolific.plan import SessionPlan
    from prolific.progress import SessionStatus
    from prolific.prolific_study import ProlificStudy


@click.command(epilog="Example: spa prolific plan my-study/study.toml --public-url https://survey.example.org")
@study_options
@session_option
@public_url_option
@json_option
def plan(location: StudyLocation, session: int, public_url: str | None, as_json: bool) -> None:
    """Estimate the cost and hourly pay of STUDY on Prolific and list what is missing, without creating anything.

    Without an API token the estimate is made offline.
    """
    from prolific.estimate import estimate_lines
    from prolific.plan import plan_session
    from prolific.prolific_study import open_prolific_study

    with open_prolific_study(location, offline=True) as prolific_study:
        prospect = plan_session(prolific_study, session, public_url)
        if as_json:
            print_json(_plan_facts(prospect))
            return
        print_lines(
            f"{prolific_study.offer.title}, session {session}: plan",
            estimate_lines(prospect.estimate, prolific_study.offer),
        )
        print_checklist(prospect.lines)
        click.echo(f"Next: spa prolific create {location.study}")


@click.command(epilog="Example: spa prolific publish my-study/study.toml --yes")
@study_options
@session_option
@public_url_option
@click.option(
    "--accept",
    "accepted",
    cls=Aliased,
    aliases=("--despite",),
    metavar="LINE",
    multiple=True,
    help="Publish despite this checklist item; repeatable.",
)
@yes_option("Publish and reserve the money for all places")
@json_option
def publish(
    location: StudyLocation, session: int, public_url: str | None, accepted: tuple[str, ...], yes: bool, as_json: bool
) -> None:
    """Publish the draft of STUDY after printing the estimated cost and the checklist.

    --json prints study_id, internal_name, status, places, published (true or false, also if it was before), now (by
    this run), and what `spa prolific plan --json` prints: estimate, eligible and checklist, null where it was
    published before.
    """
    from prolific.estimate import estimate_lines
    from prolific.plan import plan_session
    from prolific.prolific_study import open_prolific_study
    from prolific.publishing import check_ready, publish_study

    with open_prolific_study(location, alone=True) as prolific_study:
        study_id = prolific_study.need_study(session)
        record = prolific_study.platform.studies.fetch(study_id)
        if not record.draft:
            record = publish_study(prolific_study, session)  # resolves what an interrupted run left open
            line = f"already published: {record.internal_name}, {record.status}"
            print_result(_published(record, None, now=False), [line], as_json=as_json)
            return
        prospect = plan_session(prolific_study, session, public_url)
        title = f"{prolific_study.offer.title}, session {session}: to be published"
        print_lines(title, estimate_lines(prospect.estimate, prolific_study.offer), as_json=as_json)
        print_checklist(prospect.lines, as_json=as_json)
        check_ready(prolific_study, prospect, session, accepted)
        if yes:
            record = publish_study(prolific_study, session)
            lines = [
                f"published: {record.internal_name}, {record.status}, {record.places} places",
                f"Next: spa prolific status {location.study}",
            ]
        else:
            lines = ["Nothing was published; add --yes to publish."]
        print_result(_published(record, prospect, now=yes), lines, as_json=as_json)


def _published(record: StudyRecord, prospect: SessionPlan | None, *, now: bool) -> dict[str, Any]:
    return {
        "study_id": record.study_id,
        "internal_name": record.internal_name,
        "status": record.status,
        "places": record.places,
        "published": not record.draft,
        "now": now,
        **(dict.fromkeys(("estimate", "eligible", "checklist")) if prospect is None else _plan_facts(prospect)),
    }


def _plan_facts(prospect: SessionPlan) -> dict[str, Any]:
    from prolific.estimate import estimate_facts

    return {
        "estimate": estimate_facts(prospect.estimate),
        "eligible": prospect.eligible,
        "checklist": [{**asdict(line), "told": line.finding} for line in prospect.lines],
    }


@click.command(epilog="Example: spa prolific create my-study/study.toml --public-url https://survey.example.org")
@study_options
@session_option
@public_url_option
@click.option("--try-out", is_flag=True, help="Open the draft to the account's test participants, free of charge.")
@json_option
def create(location: StudyLocation, session: int, public_url: str | None, try_out: bool, as_json: bool) -> None:
    """Create the draft of STUDY on Prolific, or update it from the study file; nothing is published.

    There is one draft per session, recognized by its internal name, however often the command is run.
    """
    from prolific.draft import make_body, make_draft, make_filters, make_groups
    from prolific.prolific_study import open_prolific_study

    with open_prolific_study(location, alone=True) as prolific_study:
        address = prolific_study.survey_address(public_url)
        prolific_study.check_session(session)
        workspace_id = prolific_study.platform.workspace_of(prolific_study.table.project)
        groups = make_groups(prolific_study, workspace_id, session)
        filters = make_filters(prolific_study, workspace_id, groups, session)
        body = make_body(prolific_study, address=address, filters=filters, groups=groups, session=session)
        made, changed = make_draft(prolific_study, body, session)
        link = prolific_study.platform.studies.try_out(made.study_id) if try_out else None
    if as_json:
        print_json(
            {"study_id": made.study_id, "status": made.status, "internal_name": made.internal_name, "try_out": link}
        )
        return
    click.echo(
        f"{'created or updated' if changed else 'unchanged'}: {made.internal_name}, {made.status}, id {made.study_id}"
    )
    if link is not None:
        click.echo(f"link for a test participant: {link}")
    click.echo(f"Next: spa prolific publish {location.study}")


@click.command(epilog="Example: spa prolific stop my-study/study.toml --pause")
@study_options
@session_option
@click.option("--pause", is_flag=True, help="Pause recruitment; --resume continues it.")
@click.option(
    "--resume", is_flag=True, help="Resume after a pause, or refill places of returned or rejected submissions."
)
@yes_option("Stop permanently; this cannot be undone")
@json_option
def stop(location: StudyLocation, session: int, pause: bool, resume: bool, yes: bool, as_json: bool) -> None:
    """Stop, pause or resume recruitment for STUDY. Participants at work may finish and are paid.

    --json prints session, action (PAUSE, START, STOP or null) and status (null where nothing was done).
    """
    from prolific.prolific_study import open_prolific_study
    from prolific.publishing import move_study

    if pause and resume:
        raise click.UsageError("expected either --pause or --resume, got both")
    with open_prolific_study(location, alone=True) as prolific_study:
        if not (pause or resume or yes):
            line = "Nothing was stopped; add --yes to stop permanently, or use --pause."
            print_result({"session": session, "action": None, "status": None}, [line], as_json=as_json)
            return
        action: Literal["PAUSE", "START", "STOP"] = "PAUSE" if pause else "START" if resume else "STOP"
        record = move_study(prolific_study, session, action)
        facts = {"session": session, "action": action, "status": record.status}
        print_result(facts, [f"session {session}: {record.status}"], as_json=as_json)


@click.command(epilog="Example: spa prolific status my-study/study.toml")
@study_options
@json_option
def status(location: StudyLocation, as_json: bool) -> None:
    """Show the progress of STUDY: submissions, visits, median duration and hourly pay."""
    from prolific.progress import session_status_of
    from prolific.prolific_study import open_prolific_study

    with open_prolific_study(location) as prolific_study:
        prolific_study.need_study(1)
        statuses = [session_status_of(prolific_study, session) for session in prolific_study.created()]
        if as_json:
            print_json([_status_facts(prolific_study, one) for one in statuses])
            return
        for one in statuses:
            print_lines(
                f"session {one.session}: {one.status}, {one.places} places, id {one.study_id}",
                _status_lines(prolific_study, one),
            )


def _status_facts(prolific_study: ProlificStudy, one: SessionStatus) -> dict[str, Any]:
    from prolific.api.money import amount_text

    facts = asdict(one)
    hourly = facts.pop("median_hourly")
    return facts | {
        "currency": prolific_study.offer.currency,
        "median_hourly_amount": None if hourly is None else amount_text(hourly),
    }


def _status_lines(prolific_study: ProlificStudy, one: SessionStatus) -> Iterator[str]:
    from prolific.api.money import money
    from prolific.estimate import OFFLINE_RATES

    yield "on Prolific: " + (", ".join(f"{name} {n}" for name, n in sorted(one.counts.items())) or "none yet")
    yield "in the store: " + (", ".join(f"{name} {n}" for name, n in sorted(one.visits.items())) or "none yet")
    if one.extra:
        yield f"late (excluded), after the place was reassigned: {one.extra}"
    if one.median_minutes is not None and one.median_hourly is not None:
        currency = prolific_study.offer.currency
        pay = f"median {one.median_minutes:.1f} minutes, {money(round(one.median_hourly), currency)} per hour"
        rates = OFFLINE_RATES.get(currency)
        if rates is not None and one.median_hourly < rates.minimum:
            pay += f"; below Prolific's minimum of {money(rates.minimum, currency)}: raise the reward or pay bonuses"
        yield pay
    if one.first_auto_approval is not None:
        yield f"first automatic approval on {one.first_auto_approval.isoformat()}"

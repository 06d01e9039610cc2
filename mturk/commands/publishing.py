"""``spa mturk plan``, ``publish``, ``status``, ``extend`` and ``expire``."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from mturk.commands.shared import format_time, hit_option, in_progress, study_options, total_option
from mturk.hit_study import open_hit_study
from spa.commands.options import Finite, StudyLocation, print_result, printer, yes_option

if TYPE_CHECKING:
    from mturk.fees import HitCostEstimate
    from mturk.hit_study import HitStudy
    from mturk.publishing import PublishingPlan


@click.command(epilog="Example: spa mturk plan my-study/study.toml --endpoint-url http://127.0.0.1:8470")
@study_options
@total_option
def plan(location: StudyLocation, annotators: int | None, as_json: bool) -> None:
    """Show which HITs STUDY needs, who may take them and what they cost, without creating any."""
    from mturk.publishing import make_plan

    with open_hit_study(location, changes=False) as hit_study:
        planned = make_plan(hit_study, annotators=annotators)
        print_result(_planned_facts(planned), _planned_lines(hit_study, planned), as_json=as_json)


@click.command(epilog="Example: spa mturk publish my-study/study.toml --yes")
@study_options
@total_option
@yes_option
def publish(location: StudyLocation, annotators: int | None, yes: bool, as_json: bool) -> None:
    """Publish STUDY as HITs; running it again publishes only those still missing.

    The estimated cost is printed first and compared with the balance. Of a study that ends when its pairs are decided,
    the first wave is published; spa mturk advance publishes the others.
    """
    from mturk.publishing import Publisher, check_balance, make_plan

    with open_hit_study(location, changes=True) as hit_study:
        publisher = Publisher(hit_study)
        settled = publisher.resolve_interrupted()
        planned = make_plan(hit_study, annotators=annotators)
        facts = _planned_facts(planned) | {"settled": settled, "made": []}
        say = printer(as_json=as_json)
        for line in _planned_lines(hit_study, planned):
            say(line)
        if planned.hits:
            balance = check_balance(hit_study.endpoint, planned.cost.total)
            facts["balance"] = balance
            say(f"balance: ${balance}")
        if planned.hits and not yes:
            print_result(facts, ["Nothing was published; add --yes to publish."], as_json=as_json)
            return
        made = publisher.publish(planned)
        facts["made"] = list(in_progress(made, label="publishing", length=len(planned.hits), silent=as_json))
        lines = [f"{len(facts['made'])} HITs published, {settled} of an interrupted run resolved"]
        print_result(facts, lines, as_json=as_json)


@click.command(epilog="Example: spa mturk status my-study/study.toml --json")
@study_options
def status(location: StudyLocation, as_json: bool) -> None:
    """Show the progress of the HITs of STUDY, the submissions to review and when they are approved automatically."""
    from mturk.progress import hit_status_of

    with open_hit_study(location, changes=False) as hit_study:
        hit_status = hit_status_of(hit_study)
        lines = [
            f"{hit_status.hits} HITs with {hit_status.places} assignments at {hit_study.endpoint.origin}: "
            + (", ".join(f"{count} {name.lower()}" for name, count in sorted(hit_status.states.items())) or "none"),
            f"open to annotators: {hit_status.available}; in progress: {hit_status.pending}",
            "collected: "
            + (
                ", ".join(f"{count} {name.lower()}" for name, count in sorted(hit_status.collected.items()))
                or "nothing"
            ),
            f"submitted, not collected: {hit_status.uncollected}",
            f"with a problem, to be reviewed: {hit_status.problems}",
            f"earliest automatic approval: {format_time(hit_status.earliest_auto_approval)}",
            f"approved so far: ${hit_status.spent}",
        ]
        if hit_status.unfinished_calls:
            lines.append(
                f"{hit_status.unfinished_calls} calls were interrupted; run their commands again to resolve them"
            )
        print_result(asdict(hit_status) | {"currency": "USD"}, lines, as_json=as_json)


@click.command(epilog="Example: spa mturk extend my-study/study.toml --hours 48 --yes")
@study_options
@hit_option
@click.option("--hours", type=Finite(min=0.1, max=8760), help="Let them expire this many hours from now.")
@click.option("--assignments", type=click.IntRange(min=1), help="Number of assignments to add to each HIT.")
@yes_option
def extend(
    location: StudyLocation,
    named: tuple[str, ...],
    hours: float | None,
    assignments: int | None,
    yes: bool,
    as_json: bool,
) -> None:
    """Postpone the expiry of HITs of STUDY, or add assignments to them.

    A HIT with fewer than ten assignments cannot get ten or more, because its fee would change; run `spa mturk
    publish --annotators` with a larger number instead.
    """
    from mturk import lifetimes
    from mturk.publishing import check_balance

    if (hours is None) == (assignments is None):
        raise click.UsageError("expected either --hours or --assignments")
    with open_hit_study(location, changes=True) as hit_study:
        hits = lifetimes.choose_hits(hit_study, named)
        say, lines = printer(as_json=as_json), [f"{len(hits)} HITs"]
        facts: dict[str, Any] = {"hits": [hit.hit_id for hit in hits]}
        if assignments is not None:
            cost = lifetimes.estimate_places(hit_study, hits, assignments)
            facts |= {"currency": "USD", "cost": str(cost.total)}
            lines = _cost_lines(cost)
            check_balance(hit_study.endpoint, cost.total)
        if not yes:
            print_result(facts, [*lines, "Nothing was changed; add --yes."], as_json=as_json)
            return
        for line in lines:
            say(line)
        if assignments is not None:
            steps = lifetimes.add_places(hit_study, hits, assignments)
        else:
            steps = lifetimes.set_expiry(hit_study, hits, hours)
        done = list(in_progress(steps, label="extending", length=len(hits), silent=as_json))
        print_result(facts, [f"{len(done)} HITs extended"], as_json=as_json)


@click.command(epilog="Example: spa mturk expire my-study/study.toml --yes")
@study_options
@hit_option
@yes_option
def expire(location: StudyLocation, named: tuple[str, ...], yes: bool, as_json: bool) -> None:
    """Expire HITs of STUDY now. Annotators who have accepted one may still submit it."""
    from mturk import lifetimes

    with open_hit_study(location, changes=True) as hit_study:
        hits = lifetimes.choose_hits(hit_study, named)
        facts = {"hits": [hit.hit_id for hit in hits]}
        if not yes:
            print_result(facts, [f"{len(hits)} HITs would expire; add --yes."], as_json=as_json)
            return
        steps = lifetimes.set_expiry(hit_study, hits, None)
        done = list(in_progress(steps, label="expiring", length=len(hits), silent=as_json))
        print_result(facts, [f"{len(done)} HITs expired; annotators at work may still submit"], as_json=as_json)


def _planned_lines(hit_study: HitStudy, planned: PublishingPlan) -> list[str]:
    from spa.live import in_waves

    most = f"this wave ${planned.cost.total}, published so far ${planned.so_far}, at most ${planned.at_most}"
    lines = [
        f"{hit_study.workspace.study.title}, at {hit_study.endpoint.origin}",
        f"{planned.annotators} annotators planned, {planned.published} assignments already published",
    ]
    if not planned.hits:
        return [*lines, "all HITs are published"]
    sizes = ", ".join(f"{count} of {size}" for size, count in sorted(Counter(planned.cost.hits).items(), reverse=True))
    where = (
        f"the form is part of the HIT (largest question {planned.largest_question:,} of 65,535 bytes)"
        if planned.form == "html"
        else f"the HIT shows the survey server, {hit_study.settings.public_url}: {planned.why_external}"
    )
    return [
        *lines,
        f"{len(planned.hits)} HITs with {planned.cost.assignments} assignments (HITs by size: {sizes})",
        where,
        f"{planned.minutes_allowed:g} minutes allowed; "
        f"approved automatically after {hit_study.settings.auto_approval_hours:g} hours",
        *_eligibility_lines(hit_study),
        *_cost_lines(planned.cost),
        *[most] * in_waves(hit_study.workspace.study),
    ]


def _eligibility_lines(hit_study: HitStudy) -> list[str]:
    settings = hit_study.settings
    rules = [f"nobody who has taken part in {hit_study.family!r}"]
    if settings.masters:
        rules.append("Masters")
    if settings.countries:
        rules.append("in " + ", ".join(settings.countries))
    if settings.approval_rate is not None:
        rules.append(f"approval rate of {settings.approval_rate}% or more")
    if settings.least_approved is not None:
        rules.append(f"{settings.least_approved} approved HITs or more")
    if settings.adult:
        rules.append("accepts adult content")
    rules += [
        f"{own.id} {own.comparator} {', '.join(map(str, own.values))}".rstrip() for own in settings.qualifications
    ]
    return ["eligible: " + "; ".join(rules)]


def _cost_lines(cost: HitCostEstimate) -> list[str]:
    hourly = "" if cost.hourly is None else f", about ${cost.hourly} an hour at {cost.minutes:g} minutes"
    return [
        f"reward ${cost.reward}{hourly}",
        f"estimate: ${cost.amounts} rewards + ${cost.fees} fees = ${cost.total}",
    ]


def _planned_facts(planned: PublishingPlan) -> dict[str, Any]:
    cost = planned.cost
    return {
        "form": planned.form,
        "hits": list(cost.hits),
        "assignments": cost.assignments,
        "published": planned.published,
        "wanted": planned.annotators,
        "largest_question_bytes": planned.largest_question,
        "why_external": planned.why_external,
        "minutes_allowed": planned.minutes_allowed,
        "currency": "USD",
        "reward": str(cost.reward),
        "rewards": str(cost.amounts),
        "fees": str(cost.fees),
        "total": str(cost.total),
        "so_far": str(planned.so_far),
        "at_most": str(planned.at_most),
        "hourly": None if cost.hourly is None else str(cost.hourly),
    }

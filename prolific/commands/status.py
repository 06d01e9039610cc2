"""``spa prolific status``: show the progress of the study."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from prolific.commands.shared import json_option, print_json, print_lines, study_options
from spa.commands.options import StudyLocation

if TYPE_CHECKING:
    from collections.abc import Iterator

    from prolific.prolific_study import ProlificStudy
    from prolific.session_status import SessionStatus


@click.command(epilog="Example: spa prolific status my-study/study.toml")
@study_options
@json_option
def status(location: StudyLocation, as_json: bool) -> None:
    """Show the progress of STUDY: submissions, visits, median duration and hourly pay."""
    from prolific.prolific_study import open_prolific_study
    from prolific.session_status import session_status_of

    with open_prolific_study(location) as prolific_study:
        prolific_study.need_study(1)
        statuses = [session_status_of(prolific_study, session) for session in prolific_study.created()]
        if as_json:
            print_json([_facts(prolific_study, one) for one in statuses])
            return
        for one in statuses:
            print_lines(
                f"session {one.session}: {one.status}, {one.places} places, id {one.study_id}",
                _lines(prolific_study, one),
            )


def _facts(prolific_study: ProlificStudy, one: SessionStatus) -> dict[str, Any]:
    from prolific.api.money import json_amount

    facts = asdict(one)
    hourly = facts.pop("median_hourly")
    return facts | {
        "currency": prolific_study.offer.currency,
        "median_hourly_amount": None if hourly is None else json_amount(hourly),
    }


def _lines(prolific_study: ProlificStudy, one: SessionStatus) -> Iterator[str]:
    from prolific.api.money import money
    from prolific.estimate import OFFLINE_RATES

    yield "on Prolific: " + (", ".join(f"{name} {n}" for name, n in sorted(one.counts.items())) or "none yet")
    yield "in the store: " + (", ".join(f"{name} {n}" for name, n in sorted(one.visits.items())) or "none yet")
    if one.extra:
        yield f"late, after the place went to another participant: {one.extra} (kept, marked extra)"
    if one.median_minutes is not None and one.median_hourly is not None:
        currency = prolific_study.offer.currency
        pay = f"median {one.median_minutes:.1f} minutes, {money(round(one.median_hourly), currency)} per hour"
        rates = OFFLINE_RATES.get(currency)
        if rates is not None and one.median_hourly < rates.minimum:
            pay += f"; below Prolific's minimum of {money(rates.minimum, currency)}: raise the reward or pay bonuses"
        yield pay
    if one.first_auto_approval is not None:
        yield f"first automatic approval on {one.first_auto_approval.isoformat()}"

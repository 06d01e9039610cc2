"""``spa mturk advance``: publish the HITs of a live study wave by wave, until it is decided."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from mturk.commands.collecting import collect_submissions
from mturk.commands.shared import in_progress, study_options
from mturk.hit_study import open_hit_study
from spa.commands.options import StudyLocation, announce, every_option, print_result, printer, yes_option

if TYPE_CHECKING:
    from mturk.hit_study import HitStudy
    from mturk.progress import HitRecruitment


@click.command(epilog="Example: spa mturk advance my-study/study.toml --every 60 --yes --stop")
@study_options
@every_option("nobody else is needed")
@click.option("--stop", "stops", is_flag=True, help="With --yes: expire HITs once nobody else is needed.")
@yes_option
def advance(location: StudyLocation, every: float | None, stops: bool, yes: bool, as_json: bool) -> None:
    """Collect the submissions to STUDY and publish the next wave of HITs where one is due.

    For audits, and studies that end when their pairs are decided. A wave is published once all places are taken and at
    most half a wave of annotators are at work, with forms that leave out what is decided by then. Annotators at work
    may always submit.
    """
    from spa.errors import PlatformError
    from spa.platforms.waves import repeat_until_over
    from spa.responses.run_lock import AlreadyRunning

    def advance_once() -> bool:
        with open_hit_study(location, changes=True) as hit_study:
            return _advance(hit_study, stops=stops, yes=yes, as_json=as_json)

    over = repeat_until_over(advance_once, every=every, passing=(PlatformError, AlreadyRunning), announce=announce)
    if over and not as_json:
        click.echo(f"Next: spa mturk approve {location.study}")


def _advance(hit_study: HitStudy, *, stops: bool, yes: bool, as_json: bool) -> bool:
    """Collect, open the next wave if one is due, and return whether the study has ended."""
    from mturk.lifetimes import set_expiry
    from mturk.progress import recruitment_of
    from mturk.publishing import Publisher, check_balance

    publisher = Publisher(hit_study)
    publisher.resolve_interrupted()
    collect_submissions(hit_study, everything=False, silent=as_json)
    recruitment = recruitment_of(hit_study)
    say = printer(as_json=as_json)
    for line in _lines(recruitment):
        say(line)
    made: list[str] = []
    expired: list[str] = []
    if recruitment.wave.places:
        check_balance(hit_study.endpoint, recruitment.plan.cost.total)
        if yes:
            steps = publisher.publish(recruitment.plan)
            made += in_progress(steps, label="publishing", length=len(recruitment.plan.hits), silent=as_json)
    if yes and stops and recruitment.wave.reason == "enough":
        expired += set_expiry(hit_study, recruitment.open_hits, None)
    lines = [f"{len(made)} HITs published"] * bool(made)
    lines += [f"{len(expired)} HITs expired; annotators at work may still submit"] * bool(expired)
    if recruitment.wave.places and not yes:
        lines.append("Nothing was published; add --yes to publish the wave.")
    print_result(_facts(recruitment) | {"made": made, "expired": expired}, lines, as_json=as_json)
    return recruitment.over


def _lines(recruitment: HitRecruitment) -> list[str]:
    plan = recruitment.plan
    return [
        *recruitment.lines(),
        f"  cost with fees: this wave ${plan.cost.total}, published so far ${plan.so_far}, at most ${plan.at_most}",
    ]


def _facts(recruitment: HitRecruitment) -> dict[str, Any]:
    return {
        **recruitment.counts(),
        "next": recruitment.wave.places,
        "reason": recruitment.wave.reason,
        "currency": "USD",
        "wave": str(recruitment.plan.cost.total),
        "so_far": str(recruitment.plan.so_far),
        "at_most": str(recruitment.plan.at_most),
    }

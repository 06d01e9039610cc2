"""``spa prolific advance``: open the places of a live study wave by wave, until it is decided."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from prolific.commands.shared import study_options, yes_option
from spa.commands.options import StudyLocation, announce, every_option, json_option, print_json, printer

if TYPE_CHECKING:
    from collections.abc import Callable

    from prolific.progress import StudyRecruitment
    from prolific.prolific_study import ProlificStudy


@click.command(epilog="Example: spa prolific advance my-study/study.toml --every 60 --yes --stop")
@study_options
@every_option("nobody else is needed")
@click.option("--stop", "stops", is_flag=True, help="With --yes: stop recruitment once nobody else is needed.")
@yes_option("Open the next wave and reserve its money")
@json_option
def advance(location: StudyLocation, every: float | None, stops: bool, yes: bool, as_json: bool) -> None:
    """Collect the submissions to STUDY and open the next wave of places where one is due.

    For audits, and studies that end when their pairs are decided. A wave is opened once all places are taken and at
    most half a wave of participants are at work. Participants at work may always finish and are paid.
    """
    from prolific.api.problems import Unanswered, Unreachable
    from prolific.prolific_study import open_prolific_study
    from spa.platforms.waves import repeat_until_over
    from spa.responses.run_lock import AlreadyRunning

    def advance_once() -> bool:
        with open_prolific_study(location, alone=True) as prolific_study:
            return _advance(prolific_study, stops=stops, yes=yes, as_json=as_json)

    passing = (Unanswered, Unreachable, AlreadyRunning)
    over = repeat_until_over(advance_once, every=every, passing=passing, announce=announce)
    if over and not as_json:
        click.echo(f"Next: spa prolific approve {location.study}")


def _advance(prolific_study: ProlificStudy, *, stops: bool, yes: bool, as_json: bool) -> bool:
    """Collect, open the next wave if one is due, and return whether the study has ended."""
    from prolific.progress import close, open_wave, update_recruitment

    recruitment = update_recruitment(prolific_study)
    _print_recruitment(prolific_study, recruitment, printer(as_json=as_json))
    opened = open_wave(prolific_study, recruitment) if yes else 0
    stopped = yes and stops and close(prolific_study, recruitment)
    if as_json:
        print_json(_facts(prolific_study, recruitment) | {"opened": opened, "stopped": stopped})
    elif opened:
        click.echo(f"opened: {opened} places, {recruitment.study.places + opened} in all")
    elif stopped:
        click.echo("recruitment is stopped; participants at work may finish and are paid")
    elif not yes and (recruitment.wave.places or recruitment.closed):
        click.echo("Nothing was opened; add --yes to open the wave.")
    return recruitment.over


def _print_recruitment(
    prolific_study: ProlificStudy, recruitment: StudyRecruitment, say: Callable[[str], None]
) -> None:
    from prolific.api.money import money

    currency = prolific_study.offer.currency
    places, follows = recruitment.lines()
    say(f"{recruitment.study.status}: {places}")
    say(follows)
    say(
        f"  cost with fees: this wave {money(recruitment.cost, currency)}, "
        f"places so far {money(recruitment.so_far, currency)}, at most {money(recruitment.at_most, currency)} "
        "(Prolific's calculator)"
    )
    if recruitment.closed:
        say("  places were returned after the study was full; with --yes it is started again to fill them")


def _facts(prolific_study: ProlificStudy, recruitment: StudyRecruitment) -> dict[str, Any]:
    from prolific.api.money import amount_text

    return {
        "status": recruitment.study.status,
        **recruitment.counts(),
        "next": recruitment.wave.places,
        "reason": recruitment.wave.reason,
        "currency": prolific_study.offer.currency,
        "wave_amount": amount_text(recruitment.cost),
        "so_far_amount": amount_text(recruitment.so_far),
        "at_most_amount": amount_text(recruitment.at_most),
    }

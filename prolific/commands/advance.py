"""``spa prolific advance``: open the places of a live study wave by wave, until it is decided."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from prolific.commands.shared import study_options, yes_option
from spa.commands.options import StudyLocation, announce, every_option, json_option, print_json

if TYPE_CHECKING:
    from prolific.progress import StudyRecruitment
    from prolific.prolific_study import ProlificStudy


@click.command(epilog="Example: spa prolific advance my-study/study.toml --every 60 --yes --stop")
@study_options
@every_option("nobody else is needed")
@click.option("--stop", "stops", is_flag=True, help="With --yes: stop recruitment once nobody else is needed.")
@yes_option("Open the next wave and reserve its money")
@json_option
def advance(location: StudyLocation, every: float | None, stops: bool, yes: bool, as_json: bool) -> None:
    """Collect the submissions to STUDY and open the next wave of places while pairs are undecided.

    For studies that end when their pairs are decided. A wave is opened once all places are taken and at most half a
    wave of participants are at work. Participants at work may always finish and are paid.
    """
    from prolific.api.problems import Unanswered, Unreachable
    from prolific.prolific_study import open_prolific_study
    from spa.platforms.waves import look_until_over
    from spa.responses.run_lock import AlreadyRunning

    def look() -> bool:
        with open_prolific_study(location, alone=True) as prolific_study:
            return _advance(prolific_study, stops=stops, yes=yes, as_json=as_json)

    passing = (Unanswered, Unreachable, AlreadyRunning)
    over = look_until_over(look, every=every, passing=passing, announce=announce)
    if over and not as_json:
        click.echo(f"Next: spa prolific approve {location.study}")


def _advance(prolific_study: ProlificStudy, *, stops: bool, yes: bool, as_json: bool) -> bool:
    """Look once and do what follows; return whether the study has ended."""
    from prolific.progress import close, look, open_wave

    found = look(prolific_study)
    if not as_json:
        _print_found(prolific_study, found)
    opened = open_wave(prolific_study, found) if yes else 0
    stopped = yes and stops and close(prolific_study, found)
    if as_json:
        print_json(_facts(prolific_study, found) | {"opened": opened, "stopped": stopped})
    elif opened:
        click.echo(f"opened: {opened} places, {found.study.places + opened} in all")
    elif stopped:
        click.echo("recruitment is stopped; participants at work may finish and are paid")
    elif not yes and (found.wave.places or found.closed):
        click.echo("Nothing was opened; add --yes to open the wave.")
    return found.over


def _print_found(prolific_study: ProlificStudy, found: StudyRecruitment) -> None:
    from prolific.api.money import money

    currency = prolific_study.offer.currency
    places, follows = found.lines()
    click.echo(f"{found.study.status}: {places}")
    click.echo(follows)
    click.echo(
        f"  cost with fees: this wave {money(found.cost, currency)}, places so far {money(found.so_far, currency)}, "
        f"at most {money(found.at_most, currency)} (Prolific's calculator)"
    )
    if found.closed:
        click.echo("  places were returned after the study was full; with --yes it is started again to fill them")


def _facts(prolific_study: ProlificStudy, found: StudyRecruitment) -> dict[str, Any]:
    from prolific.api.money import amount_text

    return {
        "status": found.study.status,
        **found.counts(),
        "next": found.wave.places,
        "reason": found.wave.reason,
        "currency": prolific_study.offer.currency,
        "wave_amount": amount_text(found.cost),
        "so_far_amount": amount_text(found.so_far),
        "at_most_amount": amount_text(found.at_most),
    }

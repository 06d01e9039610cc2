"""``spa rehearse``: rehearse a whole Prolific study on this machine."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from prolific.api.money import amount_text
from spa.commands.options import (
    INPUT,
    annotators_option,
    json_option,
    out_folder_option,
    print_json,
    seed_option,
    study_argument,
)


def parse_shares(context: click.Context, option: click.Parameter, pairs: tuple[str, ...]) -> dict[str, float]:
    """Parse the values of ``--share NAME=SHARE``."""
    shares: dict[str, float] = {}
    for text in pairs:
        name, equals, number = text.partition("=")
        try:
            shares[name] = float(number)
        except ValueError:
            equals = ""
        if not equals:
            raise click.BadParameter(f"expected NAME=SHARE, such as drops-out=0.1, got {text!r}")
    return shares


@click.command(epilog="Example: spa rehearse my-study/study.toml --annotators 30 --out rehearsal")
@study_argument
@annotators_option("Number of places to fill.")
@out_folder_option("Folder for the rehearsal; one that is incomplete is resumed.", default="rehearsal")
@click.option(
    "--share",
    "shares",
    multiple=True,
    metavar="NAME=SHARE",
    callback=parse_shares,
    help="Share of participants (0 to 1) who behave like this; repeatable. NAME is one of: drops-out, returns, "
    "never-opens, late, no-code, wrong-code, no-answers, second-device, declines, screened-out, fails-checks.",
)
@click.option(
    "--browsers",
    type=click.IntRange(min=0),
    default=0,
    help="Number of participants who use a real browser (Chromium).",
)
@click.option("--faults", is_flag=True, help="Simulate failing requests and webhooks.")
@click.option("--bonus/--no-bonus", default=True, show_default=True, help="Pay bonuses as well.")
@seed_option(0)
@click.option(
    "--openapi",
    type=INPUT,
    help="Validate every request against this OpenAPI document.",
)
@json_option
def rehearse(*, out: Path, as_json: bool, **options: Any) -> None:
    """Rehearse a whole Prolific study on this machine, without a token, a network or money.

    Simulated participants take the study on an emulated platform and the real survey server, and the real commands
    plan, publish, collect, review, pay and report. Some participants drop out, come late or claim payment without
    answering. rehearsal.html shows what happened, what it would have cost and what remains to be done. An interrupted
    rehearsal can be run again: it resumes.
    """
    from prolific.rehearse.rehearsal import RehearsalOptions, run_rehearsal

    content = run_rehearsal(RehearsalOptions(out=out, **options), show_progress=not as_json)
    if as_json:
        print_json(_summary(content))
        return
    bill = content["bill"]
    click.echo(f"{content['came']} participants, {bill.paid} submissions paid; {bill.explained}")
    click.echo(
        f"  {'estimate' if bill.most is None else 'first wave'} {_money(bill.estimate)}, bill {_money(bill.total)} "
        f"{bill.currency}, bonuses {_money(bill.bonuses)}"
        + ("" if bill.most is None else f"; of fixed size, with {bill.most} places: {_money(bill.fixed)}")
    )
    click.echo(f"Open {out / 'rehearsal.html'} for details and the remaining steps to the real study")


def _summary(content: Mapping[str, Any]) -> dict[str, Any]:
    bill = content["bill"]
    return {
        "came": content["came"],
        "paid": bill.paid,
        "currency": bill.currency,
        "estimate_amount": _amount(bill.estimate),
        "fixed_amount": None if bill.most is None else _amount(bill.fixed),
        "bill_amount": _amount(bill.total),
        "bonuses_amount": _amount(bill.bonuses),
        "explained": bill.explained,
        "fates": content["fates"],
        "differences": content["differences"],
        "faults": content["faults"],
        "left_to_do": [one.text for one in content["to_do"]],
    }


def _money(cents: Any) -> str:
    return "unknown" if cents is None else f"{float(cents) / 100:,.2f}"


def _amount(cents: Any) -> str | None:
    return None if cents is None else amount_text(cents)

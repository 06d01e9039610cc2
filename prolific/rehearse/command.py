"""``spa rehearse``: a whole Prolific study on this machine, without money."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click


def parse_shares(context: click.Context, option: click.Parameter, given: tuple[str, ...]) -> dict[str, float]:
    """Parse repeated ``NAME=SHARE`` options."""
    shares: dict[str, float] = {}
    for text in given:
        name, equals, number = text.partition("=")
        try:
            shares[name] = float(number)
        except ValueError:
            equals = ""
        if not equals:
            raise click.BadParameter(f"expected NAME=SHARE, such as drops-out=0.1, got {text!r}")
    return shares


@click.command(epilog="Example: spa rehearse my-study/study.toml --annotators 30 --out rehearsal")
@click.argument("study", type=click.Path(path_type=Path))
@click.option(
    "--annotators", type=click.IntRange(min=1), help="Places to fill. [default: the number in the study file]"
)
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("rehearsal"),
    show_default=True,
    help="Output folder; a rehearsal that is already in it is resumed.",
)
@click.option(
    "--share",
    "given",
    multiple=True,
    metavar="NAME=SHARE",
    callback=parse_shares,
    help="Share of participants who follow this scenario: drops-out, returns, never-opens, late, no-code, wrong-code, "
    "no-answers, second-device, declines, screened-out, fails-checks.",
)
@click.option(
    "--browsers",
    type=click.IntRange(min=0),
    default=0,
    help="Number of participants who use a real browser (Chromium).",
)
@click.option("--faults", is_flag=True, help="Inject failures into API requests and webhooks.")
@click.option("--bonus/--no-bonus", default=True, show_default=True, help="Pay bonuses as well.")
@click.option(
    "--seed",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    help="Random seed of the simulated participants.",
)
@click.option(
    "--openapi",
    type=click.Path(dir_okay=False, path_type=Path),
    help="The platform's published OpenAPI document; every request is validated against it.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the outcome as JSON.")
def rehearse(
    study: Path,
    annotators: int | None,
    out: Path,
    given: dict[str, float],
    browsers: int,
    faults: bool,
    bonus: bool,
    seed: int,
    openapi: Path | None,
    as_json: bool,
) -> None:
    """Run a whole Prolific study on this machine: no token, no internet, no money.

    Uses an emulated platform, the real survey server, simulated participants and the real commands, from the
    plan to the report and the bill. Some participants leave, come late, or claim to have finished. The last
    page says what happened, what it would have cost, and what is left to do. If interrupted, run it again to resume.
    """
    from prolific.rehearse.rehearsal import RehearsalOptions, run_rehearsal

    wanted = RehearsalOptions(
        study=study,
        annotators=annotators,
        out=out,
        shares=given,
        browsers=browsers,
        faults=faults,
        bonus=bonus,
        seed=seed,
        openapi=openapi,
    )
    content = run_rehearsal(wanted, show_progress=not as_json)
    if as_json:
        click.echo(json.dumps(_summary(content), indent=2, ensure_ascii=False, default=str))
        return
    bill = content["bill"]
    click.echo(f"{content['came']} people came, {bill.paid} submissions were paid; {bill.explained}")
    click.echo(
        f"  estimate {_money(bill.estimate)}, bill {_money(bill.total)} {bill.currency}, bonuses {_money(bill.bonuses)}"
    )
    click.echo(f"Report, with what is left to do for the real run: {out / 'rehearsal.html'}")


def _summary(content: Mapping[str, Any]) -> dict[str, Any]:
    bill = content["bill"]
    return {
        "came": content["came"],
        "paid": bill.paid,
        "estimate": bill.estimate,
        "bill": bill.total,
        "bonuses": bill.bonuses,
        "explained": bill.explained,
        "fates": content["fates"],
        "differences": content["differences"],
        "faults": content["faults"],
        "left_to_do": [one.text for one in content["to_do"]],
    }


def _money(cents: Any) -> str:
    return "unknown" if cents is None else f"{float(cents) / 100:,.2f}"

"""``spa prolific bonus``: pay bonuses."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from prolific.commands.shared import announce, study_options, yes_option
from spa.commands.options import StudyLocation

if TYPE_CHECKING:
    from collections.abc import Sequence

    from prolific.bonuses import ProlificBonusPayer
    from spa.platforms.bonuses import Bonus


@click.command(epilog="Example: spa prolific bonus my-study/study.toml --from bonuses.csv --yes")
@study_options
@click.option(
    "--from",
    "listed",
    type=click.Path(path_type=Path, dir_okay=False),
    help="CSV file with recipient (submission or participant id), amount (such as 1.50) and reason.",
)
@click.option("--completion", is_flag=True, help="Pay the study's completion bonus to those approved in all sessions.")
@click.option("--decided", is_flag=True, help="Pay the bonuses that reviewers decided on in the dashboard.")
@click.option("--cap", metavar="AMOUNT", help="Limit on each bonus, such as 1.50. [default: the reward]")
@click.option(
    "--settle",
    "settlement",
    type=click.Choice(["paid", "unpaid"]),
    help="Outcome seen on the platform for a payment without an answer.",
)
@yes_option("Pay")
def bonus(
    location: StudyLocation,
    listed: Path | None,
    completion: bool,
    decided: bool,
    cap: str | None,
    settlement: Literal["paid", "unpaid"] | None,
    yes: bool,
) -> None:
    """Pay bonuses to participants of STUDY, after printing their cost with fees.

    Each submission gets at most one bonus per reason, however often the command is run.
    """
    from prolific.api.money import cents, major, money
    from prolific.bonuses import (
        ProlificBonusPayer,
        bonuses_of_reviewers,
        check_bonuses,
        completion_bonuses,
        read_bonuses,
    )
    from prolific.collecting import look_at_all
    from prolific.prolific_study import open_prolific_study

    if [listed is not None, completion, decided].count(True) != 1:
        raise click.UsageError("expected one of --from, --completion and --decided")
    with open_prolific_study(location, alone=True, announce=announce) as prolific_study:
        prolific_study.need_study(1)
        payer, currency = ProlificBonusPayer(prolific_study), prolific_study.offer.currency
        payer.settle(settlement)
        collected = look_at_all(prolific_study)
        if listed is not None:
            bonuses = read_bonuses(listed, collected)
        else:
            bonuses = (completion_bonuses if completion else bonuses_of_reviewers)(prolific_study, collected)
        most = prolific_study.table.bonus_cap or major(prolific_study.offer.reward)
        if completion:
            most = max([most, *(one.amount for one in bonuses)])
        check_bonuses(bonuses, cap=most if cap is None else _amount(cap), currency=currency)
        paid, unpaid = payer.paid(), payer.unpaid(bonuses)
        click.echo(f"{len(bonuses)} bonuses, {len(bonuses) - len(unpaid)} already paid, {len(unpaid)} to pay")
        for one in bonuses:
            before = paid.get(payer.name(one), one.amount)
            if before != one.amount:
                click.echo(_corrected(one, before, currency))
        for one in unpaid:
            click.echo(f"  {one.submission_id}: {money(cents(one.amount), currency)} for {one.purpose}")
        for group in payer.groups(unpaid):
            _pay(payer, group, currency, yes=yes)
    if unpaid and not yes:
        click.echo("Nothing was paid; add --yes to pay.")


def _pay(payer: ProlificBonusPayer, group: Sequence[Bonus], currency: str, *, yes: bool) -> None:
    from prolific.api.money import money

    batch = payer.set_up(group)
    click.echo(
        f"session {group[0].session}: bonuses {money(batch.amount, currency)}, fees {money(batch.fees, currency)}, "
        f"taxes {money(batch.vat, currency)}, total {money(batch.total, currency)} (as quoted by Prolific)"
    )
    if not yes:
        return
    number = len(list(payer.pay(group)))
    *_, payment = payer.payments()
    unseen = payer.count_unseen(payment.entry)
    click.echo(f"  paid: {number}" + (f"; not yet shown by Prolific: {unseen}" if unseen else ""))


def _corrected(one: Bonus, paid: Decimal, currency: str) -> str:
    """Explain an amount that differs from the one paid for the same reason."""
    from prolific.api.money import cents, money

    was, now = money(cents(paid), currency), money(cents(one.amount), currency)
    line = f"  {one.submission_id}: expected {was} for {one.purpose}, as paid, got {now}: "
    if one.amount < paid:
        return line + "a payment cannot be reduced"
    return line + (
        f"the difference of {money(cents(one.amount - paid), currency)} is not paid; list it with another reason, "
        f"such as {one.purpose} (correction)"
    )


def _amount(text: str) -> Decimal:
    from prolific.api.money import cents, major

    try:
        return major(cents(Decimal(text)))
    except (InvalidOperation, ValueError) as error:
        raise click.BadParameter(f"expected an amount such as 1.50, got {text!r}", param_hint="--cap") from error

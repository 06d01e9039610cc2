"""``spa prolific bonus``: pay bonuses."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from prolific.commands.shared import announce, study_options, yes_option

if TYPE_CHECKING:
    from collections.abc import Sequence

    from prolific.bonuses import ProlificBonus
    from prolific.prolific_study import ProlificStudy


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
    "said",
    type=click.Choice(["paid", "unpaid"]),
    help="Outcome seen on the platform for a payment without an answer.",
)
@yes_option("Pay")
def bonus(
    study: Path,
    store: str | None,
    endpoint_url: str | None,
    listed: Path | None,
    completion: bool,
    decided: bool,
    cap: str | None,
    said: Literal["paid", "unpaid"] | None,
    yes: bool,
) -> None:
    """Pay bonuses to participants of STUDY, after printing their cost with fees.

    Each submission gets at most one bonus per reason, however often the command is run.
    """
    from prolific.api.money import cents, money
    from prolific.bonus_payment import read_ledger, settle
    from prolific.bonuses import check_bonuses, completion_bonuses, decided_bonuses, read_bonuses
    from prolific.collecting import look
    from prolific.prolific_study import open_prolific_study

    if [listed is not None, completion, decided].count(True) != 1:
        raise click.UsageError("expected one of --from, --completion and --decided")
    with open_prolific_study(study, store, endpoint_url, alone=True, announce=announce) as prolific_study:
        prolific_study.need_study(1)
        settle(prolific_study, said)
        collected = [look(prolific_study, session) for session in prolific_study.created()]
        if listed is not None:
            wanted = read_bonuses(listed, collected)
        else:
            wanted = (
                completion_bonuses(prolific_study, collected)
                if completion
                else decided_bonuses(prolific_study, collected)
            )
        most = (
            prolific_study.offer.reward
            if prolific_study.table.bonus_cap is None
            else cents(prolific_study.table.bonus_cap)
        )
        if completion:
            most = max(most, *(one.amount for one in wanted)) if wanted else most
        check_bonuses(wanted, cap=most if cap is None else _cents(cap), currency=prolific_study.offer.currency)
        paid = read_ledger(prolific_study).paid
        new = [one for one in wanted if one.name not in paid]
        click.echo(f"{len(wanted)} bonuses, {len(wanted) - len(new)} already paid, {len(new)} to pay")
        for one in wanted:
            if paid.get(one.name, one.amount) != one.amount:
                click.echo(_corrected(one, paid[one.name], prolific_study.offer.currency))
        for one in new:
            click.echo(f"  {one.submission_id}: {money(one.amount, prolific_study.offer.currency)} for {one.reason}")
        for session in sorted({one.session for one in new}):
            _pay(prolific_study, session, [one for one in new if one.session == session], yes=yes)
    if new and not yes:
        click.echo("Nothing was paid; add --yes to pay.")


def _pay(prolific_study: ProlificStudy, session: int, bonuses: Sequence[ProlificBonus], *, yes: bool) -> None:
    from prolific.api.money import money
    from prolific.bonus_payment import last_payment, pay, set_up, wait_until_seen

    batch = set_up(prolific_study, session, bonuses)
    say = prolific_study.offer.currency
    click.echo(
        f"session {session}: bonuses {money(batch.amount, say)}, fees {money(batch.fees, say)}, taxes "
        f"{money(batch.vat, say)}, total {money(batch.total, say)} (as quoted by Prolific)"
    )
    if not yes:
        return
    pay(prolific_study, batch, bonuses)
    unseen = wait_until_seen(prolific_study, last_payment(prolific_study, batch.batch_id))
    click.echo(f"  paid: {len(bonuses)}" + (f"; not yet shown by Prolific: {unseen}" if unseen else ""))


def _corrected(one: ProlificBonus, paid: int, currency: str) -> str:
    """Explain an amount that differs from the one paid for the same reason."""
    from prolific.api.money import money

    was, now = money(paid, currency), money(one.amount, currency)
    told = f"  {one.submission_id}: expected {was} for {one.reason}, as paid, got {now}: "
    if one.amount < paid:
        return told + "a payment cannot be reduced"
    return told + (
        f"the difference of {money(one.amount - paid, currency)} is not paid; list it with another reason, "
        f"such as {one.reason} (correction)"
    )


def _cents(text: str) -> int:
    from prolific.api.money import cents

    try:
        return cents(Decimal(text))
    except (InvalidOperation, ValueError) as error:
        raise click.BadParameter(f"expected an amount such as 1.50, got {text!r}", param_hint="--cap") from error

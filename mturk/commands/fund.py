"""``spa mturk fund``: budgets of requesters."""

from __future__ import annotations

import click

from mturk.commands.keys import endpoint_store_option, opened


@click.command(epilog="Example: spa mturk fund lab 250.00 --store lab.sqlite --note 'grant 17'")
@click.argument("name")
@click.argument("amount", metavar="DOLLARS")
@endpoint_store_option
@click.option("--note", default="", help="Reason, for your records.")
def fund(name: str, amount: str, store: str, note: str) -> None:
    """Raise the budget of the requester NAME by DOLLARS; a negative amount (after `--`) lowers it.

    The budget only limits what the requester can spend; no money is transferred. `spa mturk ledger` shows the amounts
    owed.
    """
    from mturk.endpoint.money import fund as fund_requester

    with opened(store) as endpoint:
        left = endpoint.call(lambda tx: fund_requester(tx, name, amount, note=note))
    click.echo(f"{name} can now spend {left} US dollars")

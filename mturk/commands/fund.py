"""``spa mturk fund``: what a requester may spend."""

from __future__ import annotations

import click

from mturk.commands.keys import opened


@click.command(epilog="Example: spa mturk fund lab 250.00 --store lab.sqlite --note 'grant 17'")
@click.argument("name")
@click.argument("amount", metavar="DOLLARS")
@click.option("--store", required=True, metavar="PATH|URL", help="Store of the endpoint.")
@click.option("--note", default="", help="Why, for the record.")
def fund(name: str, amount: str, store: str, note: str) -> None:
    """Raise the budget of the requester NAME by DOLLARS; lower it where these are negative (after a `--`).

    A budget is a limit that the host sets. No money moves: what is owed stands in `spa mturk ledger`.
    """
    from mturk.endpoint.ledger import fund as fund_requester

    with opened(store) as endpoint:
        left = endpoint.call(lambda tx: fund_requester(tx, name, amount, note=note))
    click.echo(f"{name} may spend {left} US dollars now")

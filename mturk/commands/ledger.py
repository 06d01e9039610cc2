"""``spa mturk ledger``: rewards and bonuses that requesters owe workers."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import asdict, fields
from datetime import UTC, datetime

import click

from mturk.commands.keys import endpoint_store_option, opened


@click.command(epilog="Example: spa mturk ledger --store lab.sqlite --since 2026-11-01 --format csv > november.csv")
@endpoint_store_option
@click.option("--format", "kind", type=click.Choice(["csv", "json"]), default="csv", show_default=True)
@click.option(
    "--since", type=click.DateTime(["%Y-%m-%d", "%Y-%m-%dT%H:%M:%S"]), help="Only entries from this time on (UTC)."
)
def ledger(store: str, kind: str, since: datetime | None) -> None:
    """Print the rewards and bonuses owed, one row each, for payroll. No money is transferred.

    Workers are listed under the names entered by the host, which requesters never see.
    """
    from mturk.endpoint.money import LedgerEntry, entries

    start = None if since is None else since.replace(tzinfo=UTC).timestamp()
    with opened(store) as endpoint:
        rows = endpoint.call(lambda tx: [asdict(entry) for entry in entries(tx, since=start)])
    for row in rows:
        row["at"] = datetime.fromtimestamp(row["at"], UTC).isoformat(timespec="seconds")
    if kind == "json":
        click.echo(json.dumps([row | {"currency": "USD"} for row in rows], ensure_ascii=False, indent=1))
        return
    text = io.StringIO()
    writer = csv.DictWriter(text, [field.name for field in fields(LedgerEntry)])
    writer.writeheader()
    writer.writerows({name: _plain(value) for name, value in row.items()} for row in rows)
    click.echo(text.getvalue(), nl=False)


def _plain(value: object) -> object:
    """Return a cell that a spreadsheet does not read as a formula."""
    return f"'{value}" if isinstance(value, str) and value.startswith(("=", "+", "-", "@", "\t", "\r")) else value

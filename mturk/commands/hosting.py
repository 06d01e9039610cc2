"""``spa mturk keys``, ``workers``, ``invite``, ``fund`` and ``ledger``: what the host of an endpoint does."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, fields
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from spa.commands.options import (
    AMOUNT,
    Aliased,
    json_option,
    out_file_option,
    print_json,
    print_result,
    yes_option,
)
from spa.errors import PlatformError

if TYPE_CHECKING:
    from mturk.endpoint.service import MTurkService
    from mturk.endpoint.transaction import Transaction

endpoint_store_option = click.option("--store", required=True, metavar="PATH|URL", help="Store of the endpoint.")
MOST = 10_000  # invitations in one call; more is probably a typing error


@click.group(epilog="Example: spa mturk keys add lab --store lab.sqlite --budget 500")
def keys() -> None:
    """Issue, list and revoke the access keys of requesters."""


@keys.command(epilog="Example: spa mturk keys add lab --store lab.sqlite --budget 500")
@click.argument("name")
@click.option("--store", required=True, metavar="PATH|URL", help="Store of the endpoint; created if missing.")
@click.option("--budget", type=AMOUNT, help="Amount in US dollars to add to the requester's budget.")
@json_option
def add(name: str, store: str, budget: Decimal | None, as_json: bool) -> None:
    """Issue a key to the requester NAME, creating the requester if new. The secret is shown once."""
    from mturk.endpoint.keys import issue, load_host_key
    from mturk.endpoint.money import parse_money

    cents = 0 if budget is None else parse_money(str(budget), "--budget")
    with open_endpoint(store, create=True) as endpoint:
        host_key = load_host_key(store, create=True)
        issued = endpoint.call(lambda tx: issue(tx, name, host_key, budget=cents))
    if as_json:
        click.echo(json.dumps(asdict(issued)))
        return
    click.echo(f"requester {name}: {issued.requester_id}")
    click.echo(f"export AWS_ACCESS_KEY_ID={issued.access_key_id}")
    click.echo(f"export AWS_SECRET_ACCESS_KEY={issued.secret_access_key}")
    click.echo(f"notification signing secret: {issued.hook_secret}")
    click.echo("Store these safely; they are not shown again.")


@keys.command("list", epilog="Example: spa mturk keys list --store lab.sqlite")
@endpoint_store_option
@json_option
def list_keys(store: str, as_json: bool) -> None:
    """List all keys, without their secrets."""
    from mturk.endpoint.keys import known_keys

    with open_endpoint(store) as endpoint:
        found = endpoint.call(known_keys)
    if as_json:
        click.echo(json.dumps([asdict(key) for key in found]))
        return
    for key in found:
        state = "active" if key.revoked_at is None else f"revoked {_day(key.revoked_at)}"
        click.echo(f"{key.access_key_id}  {key.requester_id}  issued {_day(key.created_at)}  {state}  {key.name}")


@keys.command(epilog="Example: spa mturk keys revoke SPAK0123456789ABCDEF --store lab.sqlite")
@click.argument("access_key_id")
@endpoint_store_option
@json_option
def revoke(access_key_id: str, store: str, as_json: bool) -> None:
    """Revoke a key. The requester's HITs and results are kept. --json prints revoked (the key)."""
    from mturk.endpoint.keys import revoke as revoke_key

    with open_endpoint(store) as endpoint:
        endpoint.call(lambda tx: revoke_key(tx, access_key_id))
    print_result({"revoked": access_key_id}, [f"revoked {access_key_id}"], as_json=as_json)


@contextmanager
def open_endpoint(store: str, *, create: bool = False) -> Iterator[MTurkService]:
    """Open an endpoint's store while a server may be running on it; an emulator's store keeps its clock."""
    from mturk.endpoint.emulator import load_clock
    from mturk.endpoint.service import MTurkService
    from mturk.endpoint.store import open_store
    from mturk.endpoint.transaction import HostRules

    with open_store(store, create=create) as found:
        yield MTurkService(found, clock=load_clock(found), rules=HostRules(), alone=False)


def _day(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d")


@click.group(epilog="Example: spa mturk workers list --store lab.sqlite")
def workers() -> None:
    """List workers, sign them out or close their accounts."""


@workers.command("list", epilog="Example: spa mturk workers list --store lab.sqlite --json")
@endpoint_store_option
@json_option
def list_workers(store: str, as_json: bool) -> None:
    """List all workers with their names, which are hidden from requesters."""
    from mturk.endpoint.workers import known_workers

    with open_endpoint(store) as endpoint:
        found = endpoint.call(known_workers)
    if as_json:
        click.echo(json.dumps([asdict(one) for one in found], ensure_ascii=False))
        return
    for one in found:
        place = "-".join(part for part in (one.country, one.subdivision) if part) or "--"
        click.echo(f"{one.worker_id}  {place:6}  {'closed' if one.closed_at else 'open':6}  {one.name}")


@workers.command("sign-out", epilog="Example: spa mturk workers sign-out A1B2C3D4E5F6G7 --store lab.sqlite")
@click.argument("worker_id")
@endpoint_store_option
@json_option
def sign_out(worker_id: str, store: str, as_json: bool) -> None:
    """End all sessions of a worker and revoke their unused links. --json prints worker_id and ended (a number)."""
    from mturk.endpoint.site.sessions import end_all
    from mturk.endpoint.workers import find_worker

    with open_endpoint(store) as endpoint:
        endpoint.call(lambda tx: find_worker(tx, worker_id))
        ended = endpoint.call(lambda tx: end_all(tx, worker_id))
    facts = {"worker_id": worker_id, "ended": ended}
    print_result(facts, [f"{worker_id}: {ended} sessions and links ended"], as_json=as_json)


@workers.command(epilog="Example: spa mturk workers close A1B2C3D4E5F6G7 --store lab.sqlite --yes")
@click.argument("worker_id")
@endpoint_store_option
@yes_option
@json_option
def close(worker_id: str, store: str, yes: bool, as_json: bool) -> None:
    """Close a worker's account, so that they can no longer sign in. Their work and amounts owed are kept.

    --json prints worker_id, name and closed (true or false).
    """
    from mturk.endpoint.site.sessions import end_all
    from mturk.endpoint.workers import change_worker, find_worker

    with open_endpoint(store) as endpoint:
        worker = endpoint.call(lambda tx: find_worker(tx, worker_id))
        if yes:
            endpoint.call(lambda tx: change_worker(tx, worker_id, closed_at=tx.now))
            endpoint.call(lambda tx: end_all(tx, worker_id))
    who = f"{worker_id} ({worker.name})"
    line = f"closed {who}" if yes else f"would close the account of {who}; add --yes"
    print_result({"worker_id": worker_id, "name": worker.name, "closed": yes}, [line], as_json=as_json)


@click.command(epilog="Example: spa mturk fund lab 250.00 --store lab.sqlite --note 'grant 17'")
@click.argument("name")
@click.argument("amount", metavar="DOLLARS")
@endpoint_store_option
@click.option("--note", default="", help="Reason, for your records.")
@json_option
def fund(name: str, amount: str, store: str, note: str, as_json: bool) -> None:
    """Raise the budget of the requester NAME by DOLLARS; a negative amount (after `--`) lowers it.

    The budget only limits what the requester can spend; no money is transferred. `spa mturk ledger` shows the amounts
    owed. --json prints requester, left_amount and currency.
    """
    from mturk.endpoint.money import fund as fund_requester

    with open_endpoint(store) as endpoint:
        left = endpoint.call(lambda tx: fund_requester(tx, name, amount, note=note))
    facts = {"requester": name, "left_amount": str(left), "currency": "USD"}
    print_result(facts, [f"{name} can now spend {left} US dollars"], as_json=as_json)


@click.command(epilog="Example: spa mturk ledger --store lab.sqlite --since 2026-11-01 > november.csv")
@endpoint_store_option
@click.option("--format", "kind", type=click.Choice(["csv", "json"]), hidden=True)
@json_option
@click.option(
    "--since", type=click.DateTime(["%Y-%m-%d", "%Y-%m-%dT%H:%M:%S"]), help="Only entries from this time on (UTC)."
)
def ledger(store: str, kind: Literal["csv", "json"] | None, since: datetime | None, as_json: bool) -> None:
    """Print the rewards and bonuses owed as CSV, one row each, for payroll. No money is transferred.

    Workers are listed under the names entered by the host, which requesters never see.
    """
    from mturk.endpoint.money import LedgerEntry, entries

    start = None if since is None else since.replace(tzinfo=UTC).timestamp()
    with open_endpoint(store) as endpoint:
        rows = endpoint.call(lambda tx: [asdict(entry) for entry in entries(tx, since=start)])
    for row in rows:
        row["at"] = datetime.fromtimestamp(row["at"], UTC).isoformat(timespec="seconds")
    if as_json or kind == "json":
        print_json([row | {"currency": "USD"} for row in rows])
        return
    text = io.StringIO()
    writer = csv.DictWriter(text, [field.name for field in fields(LedgerEntry)])
    writer.writeheader()
    writer.writerows({name: _plain(value) for name, value in row.items()} for row in rows)
    click.echo(text.getvalue(), nl=False)


def _plain(value: object) -> object:
    """Return a cell that a spreadsheet does not read as a formula."""
    from spa.tables.formulas import without_formula

    return without_formula(value) if isinstance(value, str) else value


@click.command(
    epilog="Example: spa mturk invite --store lab.sqlite --worker Ada --locale GB --public-url https://hits.lab.org"
)
@click.option("--store", required=True, metavar="PATH|URL", help="Store of the endpoint; created if missing.")
@click.option(
    "--worker",
    "names",
    cls=Aliased,
    aliases=("--name",),
    multiple=True,
    metavar="NAME",
    help="Name of a new worker, hidden from requesters; repeatable.",
)
@click.option("--count", type=click.IntRange(1, MOST), help="Create this many workers, named by number.")
@click.option(
    "--renew",
    "again",
    cls=Aliased,
    aliases=("--again",),
    multiple=True,
    metavar="WORKER",
    help="Id of an existing worker who needs a new link; repeatable.",
)
@click.option("--locale", metavar="COUNTRY[-PART]", help="Location of the new workers, for example GB or US-CA.")
@click.option("--adult", is_flag=True, help="The new workers are adults.")
@click.option("--masters", is_flag=True, help="The new workers are Masters.")
@click.option(
    "--qualify", multiple=True, metavar="TYPE[=VALUE]", help="Grant the qualification with this id; repeatable."
)
@click.option("--days", type=click.IntRange(1, 365), default=30, show_default=True, help="Days until a link expires.")
@click.option(
    "--public-url",
    "address",
    cls=Aliased,
    aliases=("--address",),
    default="http://127.0.0.1:8470",
    show_default=True,
    metavar="URL",
    help="Public URL of the worker site.",
)
@out_file_option("Write the links to this file, one per line.")
@json_option
def invite(
    store: str,
    names: tuple[str, ...],
    count: int | None,
    again: tuple[str, ...],
    locale: str | None,
    adult: bool,
    masters: bool,
    qualify: tuple[str, ...],
    days: int,
    address: str,
    out: Path | None,
    as_json: bool,
) -> None:
    """Create workers and print a one-time sign-in link for each.

    Anyone with a link can use it: send each link only to its worker.
    """
    from mturk.endpoint.site.sessions import DAY
    from mturk.endpoint.site.sessions import invite as invite_worker
    from mturk.endpoint.site.settings import origin
    from mturk.endpoint.workers import add_worker, find_worker, known_workers
    from spa.files import write_text

    address = address.rstrip("/")
    if origin(address) != address:
        raise PlatformError(f"--public-url: expected an origin such as https://hits.example.org, got {address!r}")
    if not names and count is None and not again:
        raise click.UsageError("expected --worker, --count or --renew, got none")
    country, _, part = (locale or "").partition("-")
    grants = [_parse_grant(text) for text in qualify]

    def create_links(tx: Transaction) -> list[dict[str, str]]:
        first = len(known_workers(tx)) + 1 if count else 1
        people = [(worker_id, find_worker(tx, worker_id).name) for worker_id in again]
        for name in (*names, *(f"annotator {first + number}" for number in range(count or 0))):
            facts = {"country": country or None, "subdivision": part or None}
            people.append((add_worker(tx, name, **facts, adult=adult, masters=masters).worker_id, name))
        made = []
        for worker_id, name in people:
            for type_id, value in grants:
                _grant(tx, worker_id, type_id, value)
            token = invite_worker(tx, worker_id, life=days * DAY)
            made.append({"worker_id": worker_id, "name": name, "link": f"{address}/invite/{token}"})
        return made

    with open_endpoint(store, create=True) as endpoint:
        made = endpoint.call(create_links)
    if out is not None:
        write_text(out, "".join(f"{one['link']}\n" for one in made), private=True)
    if as_json:
        click.echo(json.dumps(made, ensure_ascii=False))
        return
    for one in made:
        click.echo(f"{one['worker_id']}  {one['name']}" + ("" if out is not None else f"  {one['link']}"))
    if out is not None:
        click.echo(f"wrote {len(made)} links to {out}")


def _parse_grant(text: str) -> tuple[str, int | None]:
    """Parse a value of ``--qualify``: the id of a qualification type, and the value to grant."""
    type_id, separator, value = text.partition("=")
    if separator and not (value.removeprefix("-").isascii() and value.removeprefix("-").isdigit()):
        raise PlatformError(f"--qualify: expected TYPE or TYPE=WHOLE NUMBER, got {text!r}")
    return type_id, int(value) if separator else None


def _grant(tx: Transaction, worker_id: str, type_id: str, value: int | None) -> None:
    from sqlalchemy import select

    from mturk.endpoint.schema import qualification_types
    from mturk.endpoint.workers import grant_qualification

    known = select(qualification_types.c.number).where(
        qualification_types.c.qualification_type_id == type_id, qualification_types.c.deleted_at.is_(None)
    )
    if tx.connection.scalar(known) is None:
        raise PlatformError(f"--qualify: expected the id of a qualification type of this endpoint, got {type_id!r}")
    grant_qualification(tx, type_id, worker_id, value)

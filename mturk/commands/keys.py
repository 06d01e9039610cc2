"""``spa mturk keys``: access keys of the endpoint's requesters."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import click

from spa.commands.options import json_option

if TYPE_CHECKING:
    from mturk.endpoint.service import MTurkService

endpoint_store_option = click.option("--store", required=True, metavar="PATH|URL", help="Store of the endpoint.")


@click.group(epilog="Example: spa mturk keys add lab --store lab.sqlite --budget 500")
def keys() -> None:
    """Issue, list and revoke the access keys of requesters."""


@keys.command(epilog="Example: spa mturk keys add lab --store lab.sqlite --budget 500")
@click.argument("name")
@click.option("--store", required=True, metavar="PATH|URL", help="Store of the endpoint; created if missing.")
@click.option("--budget", metavar="DOLLARS", help="Amount in US dollars to add to the requester's budget.")
@json_option
def add(name: str, store: str, budget: str | None, as_json: bool) -> None:
    """Issue a key to the requester NAME, creating the requester if new. The secret is shown once."""
    from mturk.endpoint.keys import issue, load_host_key
    from mturk.endpoint.money import parse_money

    cents = 0 if budget is None else parse_money(budget, "--budget")
    with opened(store, create=True) as endpoint:
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

    with opened(store) as endpoint:
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
def revoke(access_key_id: str, store: str) -> None:
    """Revoke a key. The requester's HITs and results are kept."""
    from mturk.endpoint.keys import revoke as revoke_key

    with opened(store) as endpoint:
        endpoint.call(lambda tx: revoke_key(tx, access_key_id))
    click.echo(f"revoked {access_key_id}")


@contextmanager
def opened(store: str, *, create: bool = False) -> Iterator[MTurkService]:
    """Open an endpoint's store while a server may be running on it; an emulator's store keeps its clock."""
    from mturk.endpoint.emulator import load_clock
    from mturk.endpoint.service import MTurkService
    from mturk.endpoint.store import open_store
    from mturk.endpoint.transaction import HostRules

    with open_store(store, create=create) as found:
        yield MTurkService(found, clock=load_clock(found), rules=HostRules(), alone=False)


def _day(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d")

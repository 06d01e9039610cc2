"""``spa mturk workers``: manage the endpoint's workers as its host."""

from __future__ import annotations

import json
from dataclasses import asdict

import click

from mturk.commands.keys import endpoint_store_option, opened
from spa.commands.options import json_option, yes_option


@click.group(epilog="Example: spa mturk workers list --store lab.sqlite")
def workers() -> None:
    """List workers, sign them out or close their accounts."""


@workers.command("list", epilog="Example: spa mturk workers list --store lab.sqlite --json")
@endpoint_store_option
@json_option
def list_workers(store: str, as_json: bool) -> None:
    """List all workers with their names, which are hidden from requesters."""
    from mturk.endpoint.workers import known_workers

    with opened(store) as endpoint:
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
def sign_out(worker_id: str, store: str) -> None:
    """End all sessions of a worker and revoke their unused links."""
    from mturk.endpoint.site.sessions import end_all
    from mturk.endpoint.workers import find_worker

    with opened(store) as endpoint:
        endpoint.call(lambda tx: find_worker(tx, worker_id))
        ended = endpoint.call(lambda tx: end_all(tx, worker_id))
    click.echo(f"{worker_id}: {ended} sessions and links ended")


@workers.command(epilog="Example: spa mturk workers close A1B2C3D4E5F6G7 --store lab.sqlite --yes")
@click.argument("worker_id")
@endpoint_store_option
@yes_option
def close(worker_id: str, store: str, yes: bool) -> None:
    """Close a worker's account, so that they can no longer sign in. Their work and amounts owed are kept."""
    from mturk.endpoint.site.sessions import end_all
    from mturk.endpoint.workers import change_worker, find_worker

    with opened(store) as endpoint:
        worker = endpoint.call(lambda tx: find_worker(tx, worker_id))
        if not yes:
            click.echo(f"would close the account of {worker_id} ({worker.name}); add --yes")
            return
        endpoint.call(lambda tx: change_worker(tx, worker_id, closed_at=tx.now))
        endpoint.call(lambda tx: end_all(tx, worker_id))
    click.echo(f"closed {worker_id} ({worker.name})")

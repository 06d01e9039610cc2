"""``spa mturk invite``: create workers of the endpoint and their sign-in links."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from spa.commands.options import Aliased, json_option, out_file_option
from spa.errors import PlatformError

if TYPE_CHECKING:
    from mturk.endpoint.transaction import Transaction

MOST = 10_000  # invitations in one call; more is taken for a typing error


@click.command(
    epilog="Example: spa mturk invite --store lab.sqlite --name Ada --locale GB --public-url https://hits.lab.org"
)
@click.option("--store", required=True, metavar="PATH|URL", help="Store of the endpoint; created if missing.")
@click.option("--name", "names", multiple=True, help="Name of a new worker, hidden from requesters; repeatable.")
@click.option("--count", type=click.IntRange(1, MOST), help="Create this many workers, named by number.")
@click.option(
    "--again", multiple=True, metavar="WORKER", help="Id of an existing worker who needs a new link; repeatable."
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
    from mturk.commands.keys import opened
    from mturk.endpoint.site.settings import origin
    from spa.files import written_whole

    if origin(address.rstrip("/")) != address.rstrip("/"):
        raise PlatformError(f"--public-url: expected an origin such as https://hits.example.org, got {address!r}")
    if not names and count is None and not again:
        raise click.UsageError("expected --name, --count or --again, got none")
    country, _, part = (locale or "").partition("-")
    facts: dict[str, object] = {
        "country": country or None,
        "subdivision": part or None,
        "adult": adult,
        "masters": masters,
    }
    grants = [_grant(text) for text in qualify]

    def work(tx: Transaction) -> list[dict[str, str]]:
        return _invite(tx, _named(tx, names, count), again, facts, grants, days, address.rstrip("/"))

    with opened(store, create=True) as endpoint:
        made = endpoint.call(work)
    if out is not None:
        with written_whole(out, private=True) as temporary:
            temporary.write_text("".join(f"{one['link']}\n" for one in made), encoding="utf-8")
    if as_json:
        click.echo(json.dumps(made, ensure_ascii=False))
        return
    for one in made:
        click.echo(f"{one['worker_id']}  {one['name']}" + ("" if out is not None else f"  {one['link']}"))
    if out is not None:
        click.echo(f"wrote {len(made)} links to {out}")


def _invite(
    tx: Transaction,
    names: list[str],
    again: tuple[str, ...],
    facts: dict[str, object],
    grants: list[tuple[str, int | None]],
    days: int,
    address: str,
) -> list[dict[str, str]]:
    from mturk.endpoint.site.sessions import DAY
    from mturk.endpoint.site.sessions import invite as invite_worker
    from mturk.endpoint.workers import add_worker, find_worker

    people = [(add_worker(tx, name, **facts).worker_id, name) for name in names]  # type: ignore[arg-type]
    people += [(worker_id, find_worker(tx, worker_id).name) for worker_id in again]
    made = []
    for worker_id, name in people:
        for type_id, value in grants:
            _qualify(tx, worker_id, type_id, value)
        token = invite_worker(tx, worker_id, life=days * DAY)
        made.append({"worker_id": worker_id, "name": name, "link": f"{address}/invite/{token}"})
    return made


def _named(tx: Transaction, names: tuple[str, ...], count: int | None) -> list[str]:
    from mturk.endpoint.workers import known_workers

    first = len(known_workers(tx)) + 1 if count else 1
    return [*names, *(f"annotator {first + number}" for number in range(count or 0))]


def _grant(text: str) -> tuple[str, int | None]:
    type_id, separator, value = text.partition("=")
    if separator and not (value.removeprefix("-").isascii() and value.removeprefix("-").isdigit()):
        raise PlatformError(f"--qualify: expected TYPE or TYPE=WHOLE NUMBER, got {text!r}")
    return type_id, int(value) if separator else None


def _qualify(tx: Transaction, worker_id: str, type_id: str, value: int | None) -> None:
    from sqlalchemy import select

    from mturk.endpoint.schema import qualification_types
    from mturk.endpoint.workers import grant_qualification

    known = select(qualification_types.c.number).where(
        qualification_types.c.qualification_type_id == type_id, qualification_types.c.deleted_at.is_(None)
    )
    if tx.connection.scalar(known) is None:
        raise PlatformError(f"--qualify: expected the id of a qualification type of this endpoint, got {type_id!r}")
    grant_qualification(tx, type_id, worker_id, value)

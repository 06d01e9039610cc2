"""``spa mturk serve``: the endpoint."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import click

from spa.errors import PlatformError

if TYPE_CHECKING:
    from fastapi import FastAPI
    from starlette.types import ASGIApp

    from mturk.endpoint.moment import Clock, Endpoint

LOOPBACK = ("127.0.0.1", "::1", "localhost")
PLAY_MONEY = 1_000_000  # cents: the budget of an emulator's requester


@click.command(epilog="Example: spa mturk serve lab.sqlite --port 8470")
@click.argument("store", metavar="STORE")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on; 0.0.0.0 is all of them.")
@click.option("--port", type=click.IntRange(0, 65535), default=8470, show_default=True, help="0 takes any free port.")
@click.option(
    "--fees", type=click.Choice(["none", "mturk"]), help="Fees on top of what is owed; none, but mturk with --emulate."
)
@click.option("--private-hooks", is_flag=True, help="Allow notifications to addresses of the own network, and http://.")
@click.option(
    "--emulate", is_flag=True, help="An emulator: clock and faults by hand under /emulator/, on this machine only."
)
def serve(store: str, host: str, port: int, fees: str | None, private_hooks: bool, emulate: bool) -> None:
    """Serve the MTurk requester protocol; STORE is a file, made where it is absent, or a PostgreSQL URL.

    Programs written with boto3 reach it with ``endpoint_url`` and a key of `spa mturk keys add`. Nothing is
    paid: `spa mturk ledger` says what is owed. A proxy in front has to bring https and leave the Host header as
    it is.
    """
    from mturk.endpoint.emulator import load_clock
    from mturk.endpoint.keys import load_host_key
    from mturk.endpoint.moment import Endpoint, Rules
    from mturk.endpoint.one_server import only_server
    from mturk.endpoint.store import open_store
    from mturk.endpoint.ticking import ticking
    from spa.annotators.listening import listen, run

    if emulate and host not in LOOPBACK:
        raise PlatformError(f"--emulate: wanted --host 127.0.0.1, got {host}; an emulator's controls ask for no key")
    kind = fees or ("mturk" if emulate else "none")
    with open_store(store, create=True) as opened, only_server(opened, store), listen(host, port) as listener:
        host_key = load_host_key(store, create=True)
        clock: Clock = load_clock(opened) if emulate else time.time
        rules = Rules(fees="mturk" if kind == "mturk" else "none", private_hooks=private_hooks)
        endpoint = Endpoint(opened, clock=clock, rules=rules)
        app = make_app(endpoint, host_key, emulate=emulate)
        click.echo(f"endpoint: {listener.address} (store {opened.name})")
        if emulate:
            _tell_play_key(endpoint, host_key)
        click.echo("Ctrl-C stops the server; everything stays.")
        with ticking(endpoint, host_key):
            run(app, listener)  # type: ignore[arg-type]


def make_app(endpoint: Endpoint, host_key: bytes, *, emulate: bool) -> ASGIApp:
    """Return the application: the protocol, and an emulator's controls where it is one."""
    from mturk.endpoint.app import create_app
    from mturk.endpoint.emulator import MovableClock, add_emulator

    app: FastAPI = create_app(endpoint, host_key)
    if emulate and isinstance(endpoint.clock, MovableClock):
        return add_emulator(app, endpoint, endpoint.clock)
    return app


def _tell_play_key(endpoint: Endpoint, host_key: bytes) -> None:
    """Say the emulator's own key, which opens nothing but play money."""
    from mturk.endpoint.emulator import play_key

    issued = play_key(endpoint, host_key, budget=PLAY_MONEY)
    click.echo(f"export AWS_ACCESS_KEY_ID={issued.access_key_id}")
    click.echo(f"export AWS_SECRET_ACCESS_KEY={issued.secret_access_key}")

"""``spa mturk serve``: host HITs and the worker site."""

from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING

import click

from spa.commands.options import Aliased, host_option, port_option
from spa.errors import PlatformError

if TYPE_CHECKING:
    from fastapi import FastAPI
    from starlette.types import ASGIApp

    from mturk.endpoint.service import Clock, MTurkService
    from mturk.endpoint.site.settings import SiteSettings
    from spa.server.http_server import Listener

LOOPBACK = ("127.0.0.1", "::1", "localhost")
EMULATOR_BUDGET = 1_000_000  # cents: the budget of an emulator's requester


@click.command(epilog="Example: spa mturk serve lab.sqlite --port 8470")
@click.argument("store", metavar="STORE")
@host_option
@port_option(8470)
@click.option(
    "--public-url",
    "address",
    cls=Aliased,
    aliases=("--address",),
    metavar="URL",
    help="Public URL of the worker site. [default: http://HOST:PORT]",
)
@click.option(
    "--frame-port", type=click.IntRange(0, 65535), help="Port that serves HITs in frames. [default: PORT + 1]"
)
@click.option(
    "--frame-url", metavar="URL", help="Public URL of the frame port; its origin must differ from --public-url."
)
@click.option(
    "--title",
    "name",
    cls=Aliased,
    aliases=("--name",),
    default="HITs",
    show_default=True,
    help="Title of the worker site.",
)
@click.option("--popups", is_flag=True, help="Let HITs open new windows, for HITs that link to other sites.")
@click.option(
    "--fees", type=click.Choice(["none", "mturk"]), help="Fees added to rewards. [default: none; with --emulate: mturk]"
)
@click.option("--private-hooks", is_flag=True, help="Allow notifications to private addresses and over plain HTTP.")
@click.option(
    "--emulate",
    is_flag=True,
    help="Run an emulator whose clock and faults are controlled under /emulator/; this machine only.",
)
def serve(
    store: str,
    host: str,
    port: int,
    address: str | None,
    frame_port: int | None,
    frame_url: str | None,
    name: str,
    popups: bool,
    fees: str | None,
    private_hooks: bool,
    emulate: bool,
) -> None:
    """Serve the MTurk protocol and the worker site; STORE is a file, created if missing, or a PostgreSQL URL.

    boto3 programs connect with `endpoint_url` and a key from `spa mturk keys add`. No money is transferred:
    `spa mturk ledger` shows the amounts owed. Workers sign in with the links of `spa mturk invite`. HITs are shown in
    frames of a second origin, on a second port. A reverse proxy must provide HTTPS for both ports and forward the
    Host header unchanged.
    """
    from mturk.endpoint.emulator import load_clock
    from mturk.endpoint.keys import load_host_key
    from mturk.endpoint.service import MTurkService
    from mturk.endpoint.site.app import serve_both_ports
    from mturk.endpoint.site.frames import create_frames
    from mturk.endpoint.store import open_store, server_lock
    from mturk.endpoint.transaction import HostRules
    from mturk.endpoint.webhooks import ticking
    from spa.server.http_server import listen

    if emulate and host not in LOOPBACK:
        raise PlatformError(f"--emulate: expected --host 127.0.0.1, got {host}; an emulator's controls need no key")
    kind = fees or ("mturk" if emulate else "none")
    behind = frame_port if frame_port is not None else (port + 1 if port else 0)
    with (
        open_store(store, create=True) as opened,
        server_lock(opened, store),
        listen(host, port) as listener,
        listen(host, behind) as frames,
    ):
        host_key = load_host_key(store, create=True)
        clock: Clock = load_clock(opened) if emulate else time.time
        rules = HostRules(fees="mturk" if kind == "mturk" else "none", private_hooks=private_hooks)
        endpoint = MTurkService(opened, clock=clock, rules=rules)
        settings = make_settings(listener, frames, address, frame_url, name, popups)
        app = make_app(endpoint, host_key, settings, emulate=emulate)
        click.echo(f"endpoint: {listener.address} (store {opened.name})")
        click.echo(f"worker site: {settings.site_url} (frames: {settings.frame_url})")
        if address is None and host not in LOOPBACK:
            click.echo("for workers on other machines, set --public-url and --frame-url")
        if emulate:
            _print_emulator_key(endpoint, host_key)
        how_to_stop = partial(click.echo, "Ctrl-C stops the server; the store keeps everything.")
        with ticking(endpoint, host_key):
            serve_both_ports(app, create_frames(endpoint, settings), listener, frames, when_ready=how_to_stop)


def make_settings(
    listener: Listener, frames: Listener, address: str | None, frame_url: str | None, name: str, popups: bool
) -> SiteSettings:
    """Return the settings of the worker site and its frames.

    Raises
    ------
    PlatformError
        If only one URL was given, or both have the same origin.
    """
    from mturk.endpoint.site.settings import SiteSettings

    if (address is None) != (frame_url is None):
        raise PlatformError(
            "--public-url and --frame-url go together: expected both, such as https://hits.example.org and "
            "https://frames.example.org, got one"
        )
    return SiteSettings(
        site_url=(address or listener.address).rstrip("/"),
        frame_url=(frame_url or frames.address).rstrip("/"),
        place=name,
        popups=popups,
        clock=time.time,  # sign-in limits use the real time, even in an emulator
    )


def make_app(endpoint: MTurkService, host_key: bytes, settings: SiteSettings, *, emulate: bool) -> ASGIApp:
    """Return the application: the protocol, the worker site and, in an emulator, its controls."""
    from mturk.endpoint.app import create_app
    from mturk.endpoint.emulator import MovableClock, add_emulator
    from mturk.endpoint.site.app import add_site

    app: FastAPI = create_app(endpoint, host_key)
    add_site(app, endpoint, settings)
    if emulate and isinstance(endpoint.clock, MovableClock):
        return add_emulator(app, endpoint, endpoint.clock)
    return app


def _print_emulator_key(endpoint: MTurkService, host_key: bytes) -> None:
    """Print the emulator's key, which spends only play money."""
    from mturk.endpoint.emulator import emulator_key

    issued = emulator_key(endpoint, host_key, budget=EMULATOR_BUDGET)
    click.echo(f"export AWS_ACCESS_KEY_ID={issued.access_key_id}")
    click.echo(f"export AWS_SECRET_ACCESS_KEY={issued.secret_access_key}")

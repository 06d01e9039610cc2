"""``spa prolific emulate``: run the emulated platform on this machine."""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path

import click

from spa.commands.options import INPUT, NEW_FILE, Aliased, port_option


@click.command(epilog="Example: spa prolific emulate --port 8090 --platform platform.sqlite --clock manual")
@port_option(8090)
@click.option(
    "--platform",
    "store",
    cls=Aliased,
    aliases=("--store",),
    type=NEW_FILE,
    default=Path("emulated-prolific.sqlite"),
    show_default=True,
    help="SQLite file of the emulated platform; created if missing.",
)
@click.option("--project", metavar="ID", help="Project id of a new store. [default: random]")
@click.option(
    "--currency", type=click.Choice(["USD", "GBP"]), default="USD", show_default=True, help="Currency of a new account."
)
@click.option(
    "--clock",
    type=click.Choice(["manual", "real"]),
    default="real",
    show_default=True,
    help="A manual clock advances only with POST /emulator/clock/.",
)
@click.option("--openapi", type=INPUT, help="Validate requests and responses against this OpenAPI document.")
def emulate(port: int, store: Path, project: str | None, currency: str, clock: str, openapi: Path | None) -> None:
    """Run an emulator of the Prolific API, with simulated participants, payments and faults.

    It listens on this machine only and accepts any token. Participants, the clock and faults are controlled under
    /emulator/; see prolific/emulator/README.md.
    """
    from prolific.emulator.app import create_app
    from prolific.emulator.contract import Contract
    from prolific.emulator.platform import ClockMode, EmulatedPlatform
    from prolific.emulator.request_transaction import PATTERN
    from prolific.emulator.webhooks import deliver_webhooks
    from spa.server.http_server import listen, run

    if project is not None and not re.fullmatch(PATTERN, project):
        raise click.BadParameter(f"expected 24 hexadecimal digits, got {project!r}", param_hint="--project")
    contract = None if openapi is None else Contract(openapi)
    with listen("127.0.0.1", port) as listener:
        mode: ClockMode = "manual" if clock == "manual" else "real"
        platform = EmulatedPlatform(store, clock=mode, project=project, currency=currency)
        click.echo(f"emulated Prolific: {listener.address}, store {store}, {clock} clock")
        for known, pays in platform.projects().items():
            click.echo(f"project {known}, currency {pays}")
        click.echo("In another terminal:")
        click.echo(f"  export PROLIFIC_API_URL={listener.address} PROLIFIC_API_TOKEN=emulated")
        how_to_stop = partial(click.echo, "No real money is involved. Ctrl-C stops the emulator.")
        with deliver_webhooks(platform):
            run(create_app(platform, contract), listener, when_ready=how_to_stop)
        platform.close()

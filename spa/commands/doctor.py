"""``spa doctor``: what keeps a study from being served well."""

from __future__ import annotations

from pathlib import Path

import click

from spa.commands.options import (
    Aliased,
    host_option,
    json_option,
    port_option,
    print_result,
    store_option,
    study_argument,
)


@click.command(epilog="Example: spa doctor my-study/study.toml --public-url https://study.example.org")
@study_argument
@host_option
@port_option(8000)
@click.option(
    "--public-url",
    cls=Aliased,
    aliases=("--address",),
    metavar="URL",
    help="URL at which people are to reach the server.",
)
@store_option
@json_option
def doctor(study: Path, host: str, port: int, public_url: str | None, store: str | None, as_json: bool) -> None:
    """Check store, rights, disk, clock, port, address, TLS and reachability of STUDY, one line each.

    Give the options of `spa serve`, best while it runs. Exit status 1 if something is a problem. Whether
    people far away reach the server is only known as far as this machine can.
    """
    from dataclasses import asdict

    from spa.commands.serve import check_public_url
    from spa.commands.workspace import default_store
    from spa.server.diagnosis import Served, examine
    from spa.study.load import former_fingerprints, load_study, study_fingerprint

    if public_url is not None:
        check_public_url(public_url)
    loaded = load_study(study)
    known = {study_fingerprint(loaded), *former_fingerprints(study, loaded)}
    served = Served(fingerprints=known, host=host, port=port, public_url=public_url)
    findings = list(examine(store or default_store(study), served))
    lines = [f"{found.state:8} {found.check}: {found.text}" for found in findings]
    print_result([asdict(found) for found in findings], lines, as_json=as_json)
    if any(found.state == "problem" for found in findings):
        raise click.exceptions.Exit(1)

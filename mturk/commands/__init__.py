"""``spa mturk``: run studies as HITs over the MTurk protocol, or host them on your own endpoint."""

from __future__ import annotations

import click

from spa.command_groups import LazyGroup

COMMANDS = {  # name -> function, in the order of use
    "plan": "mturk.commands.publishing:plan",
    "publish": "mturk.commands.publishing:publish",
    "status": "mturk.commands.publishing:status",
    "collect": "mturk.commands.collecting:collect",
    "advance": "mturk.commands.advance:advance",
    "approve": "mturk.commands.reviewing:approve",
    "reject": "mturk.commands.reviewing:reject",
    "bonus": "mturk.commands.reviewing:bonus",
    "block": "mturk.commands.people:block",
    "notify": "mturk.commands.people:notify",
    "extend": "mturk.commands.publishing:extend",
    "expire": "mturk.commands.publishing:expire",
    "export": "mturk.commands.collecting:export",
    "dispose": "mturk.commands.collecting:dispose",
    "journal": "mturk.commands.collecting:journal",
    "import": "mturk.commands.importing:import_",
    "serve": "mturk.commands.serve:serve",
    "invite": "mturk.commands.hosting:invite",
    "workers": "mturk.commands.hosting:workers",
    "keys": "mturk.commands.hosting:keys",
    "fund": "mturk.commands.hosting:fund",
    "ledger": "mturk.commands.hosting:ledger",
}


@click.group(
    cls=LazyGroup,
    places=COMMANDS,
    extra="mturk",
    epilog="Example: spa mturk plan my-study/study.toml --endpoint-url http://127.0.0.1:8470",
)
def mturk() -> None:
    """Publish a study as HITs over the MTurk protocol, collect, review and pay; or host the HITs yourself."""

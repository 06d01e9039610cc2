"""``spa prolific``: run a study on Prolific."""

from __future__ import annotations

import click

from spa.command_groups import LazyGroup

COMMANDS = {  # name -> function, in the order of use
    "emulate": "prolific.emulator.command:emulate",
    "plan": "prolific.commands.publishing:plan",
    "create": "prolific.commands.publishing:create",
    "publish": "prolific.commands.publishing:publish",
    "status": "prolific.commands.publishing:status",
    "collect": "prolific.commands.collecting:collect",
    "advance": "prolific.commands.advance:advance",
    "reconcile": "prolific.commands.collecting:reconcile",
    "approve": "prolific.commands.reviewing:approve",
    "reject": "prolific.commands.reviewing:reject",
    "bonus": "prolific.commands.reviewing:bonus",
    "message": "prolific.commands.message:message",
    "stop": "prolific.commands.publishing:stop",
    "journal": "prolific.commands.collecting:journal",
    "hooks": "prolific.commands.collecting:hooks",
}


@click.group(cls=LazyGroup, places=COMMANDS, epilog="Example: spa prolific plan my-study/study.toml")
def prolific() -> None:
    """Run a study on Prolific; nothing is published or paid without --yes.

    The API token is read from PROLIFIC_API_TOKEN. Interrupted commands can be run again: they resume.
    """

"""``spa prolific``: a study on Prolific, from the plan to the last payment."""

from __future__ import annotations

from importlib import import_module

import click

COMMANDS = {  # name -> where it is, in the order of a study's life
    "emulate": "prolific.emulator.command:emulate",
    "plan": "prolific.commands.plan:plan",
    "create": "prolific.commands.create:create",
    "publish": "prolific.commands.publish:publish",
    "status": "prolific.commands.status:status",
    "collect": "prolific.commands.collect:collect",
    "reconcile": "prolific.commands.collect:reconcile",
    "approve": "prolific.commands.approve:approve",
    "reject": "prolific.commands.reject:reject",
    "bonus": "prolific.commands.bonus:bonus",
    "message": "prolific.commands.message:message",
    "stop": "prolific.commands.stop:stop",
    "journal": "prolific.commands.journal:journal",
    "hooks": "prolific.commands.hooks:hooks",
}


class CommandsByName(click.Group):
    """A group whose commands are loaded when they are asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all commands in the order of a study's life."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Load one command; ``None`` where there is none of that name."""
        place = COMMANDS.get(cmd_name)
        if place is None:
            return None
        module, _, name = place.partition(":")
        command: click.Command = getattr(import_module(module), name)
        return command


@click.group(cls=CommandsByName, epilog="Example: spa prolific plan my-study/study.toml")
def prolific() -> None:
    """Run a study on Prolific: draft first, nothing published or paid without --yes.

    The token is read from PROLIFIC_API_TOKEN. Every command can be broken off and run again.
    """

"""``spa mturk``: studies as HITs over the MTurk protocol, and the endpoint that hosts them."""

from __future__ import annotations

from importlib import import_module
from keyword import iskeyword

import click

COMMANDS: dict[str, str] = {  # name -> module of this package that brings it, in the order of a study's life
    "plan": "publishing",
    "publish": "publishing",
    "status": "publishing",
    "collect": "collecting",
    "approve": "reviewing",
    "reject": "reviewing",
    "bonus": "reviewing",
    "block": "people",
    "notify": "people",
    "extend": "publishing",
    "expire": "publishing",
    "export": "collecting",
    "dispose": "collecting",
    "journal": "collecting",
    "import": "importing",
    "serve": "serve",
    "invite": "invite",
    "workers": "workers",
    "keys": "keys",
    "fund": "fund",
    "ledger": "ledger",
}


class CommandsByName(click.Group):
    """A group whose commands are loaded when they are asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all commands in the order of a study's life."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Load one command; ``None`` where there is none of that name."""
        module = COMMANDS.get(cmd_name)
        if module is None:
            return None
        attribute = f"{cmd_name}_" if iskeyword(cmd_name) else cmd_name.replace("-", "_")
        command: click.Command = getattr(import_module(f"mturk.commands.{module}"), attribute)
        return command


@click.group(
    cls=CommandsByName, epilog="Example: spa mturk plan my-study/study.toml --endpoint-url http://127.0.0.1:8470"
)
def mturk() -> None:
    """Publish a study as HITs over the MTurk protocol, collect, review and pay; or host HITs yourself."""

"""Groups of commands: loaded when they are asked for, nearly right names proposed, mistakes in one line."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from typing import IO, Any

import click

from spa.errors import PlatformError, how_to_install

KINDS = {  # how click calls types of values, in words that a user has
    "is not a valid integer range": "is not a whole number",
    "is not a valid integer": "is not a whole number",
    "is not a valid float range": "is not a number",
    "is not a valid float": "is not a number",
}


class MistypedCommand(click.UsageError):
    """What is wrong with a command as it was typed, in one line as for every other mistake."""

    def show(self, file: IO[Any] | None = None) -> None:
        """Print the line to stderr."""
        message = " ".join(self.format_message().split()).rstrip(".")
        for kind, words in KINDS.items():
            message = message.replace(kind, words)
        if message[1:2].islower() and message.split(" ")[0].isalpha():  # a sentence of click; ours begin with a place
            message = message[0].lower() + message[1:]
        help_shown = f"; see `{self.ctx.command_path} --help`" if self.ctx is not None else ""
        click.echo(f"spa: {message}{help_shown}", file=file, err=file is None)


@contextmanager
def mistakes_in_one_line() -> Iterator[None]:
    """Turn usage errors into such ones that print one line; a request for help stays what it is."""
    try:
        yield
    except (MistypedCommand, click.exceptions.NoArgsIsHelpError):
        raise
    except (click.exceptions.NoSuchCommand, click.NoSuchOption) as error:
        nearest = f" (did you mean {error.possibilities[0]}?)" if error.possibilities else ""
        raise MistypedCommand(error.message.rstrip(".") + nearest, error.ctx) from error
    except click.UsageError as error:
        raise MistypedCommand(error.format_message(), error.ctx) from error


@contextmanager
def naming_the_extra(extra: str | None, command: str) -> Iterator[None]:
    """Raise PlatformError where a command needs a package of an extra that is not installed."""
    try:
        yield
    except ModuleNotFoundError as missing:
        package = (missing.name or "").partition(".")[0]
        if extra is None or find_spec(package) is not None:
            raise
        raise PlatformError(f"{command} needs the package {package}: {how_to_install(extra)}") from missing


class SuggestingGroup(click.Group):
    """A group that proposes the commands whose names are nearly what was typed."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command that is named first."""
        try:
            return super().resolve_command(ctx, args)
        except click.exceptions.NoSuchCommand as error:
            known = self.list_commands(ctx)
            raise click.exceptions.NoSuchCommand(error.command_name, possibilities=known, ctx=ctx) from None


class LazyGroup(SuggestingGroup):
    """A group whose commands are loaded when they are asked for; ``places`` maps a name to "module:attribute".

    The help lists them in that order. Where they need the packages of an ``extra``, one that is missing is said.
    """

    def __init__(self, *args: Any, places: Mapping[str, str], extra: str | None = None, **options: Any) -> None:
        super().__init__(*args, **options)
        self.places = places
        self.extra = extra

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; PlatformError where a package of the extra is not installed."""
        with naming_the_extra(self.extra, ctx.command_path):
            return super().invoke(ctx)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all commands, in order."""
        return list(self.places)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Load one command; ``None`` where there is none of that name."""
        if cmd_name not in self.places:
            return None
        module, _, name = self.places[cmd_name].partition(":")
        command: click.Command = getattr(import_module(module), name)
        return command

"""Parses ``spa ...`` lines as the command line itself does, and runs nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from unittest.mock import patch

import click

from spa.cli import main
from tests.shell_lines import programs

PLACEHOLDERS = {"N": "2"}  # where a number stands; any word does for a file, a name or an id


def mistake_in(words: Sequence[str], *, named_only: bool = False) -> str | None:
    """Return what the command line has against a command, or None.

    Sub-commands and options must exist, the arguments must be as many as are expected, numbers and choices must fit.
    Whether files exist is not asked.

    Parameters
    ----------
    words : sequence of str
        What stands after ``spa``.
    named_only : bool
        A sentence names the command, and says no more of it than it needs: what is missing is no mistake.
    """
    try:
        with patch.object(click.Path, "convert", lambda _, value, param, ctx: value):
            _parse(main, "spa", [PLACEHOLDERS.get(word, word) for word in words])
    except click.UsageError as error:
        if named_only and isinstance(error, click.MissingParameter | click.BadOptionUsage):
            return None
        return f"{error.ctx.command_path if error.ctx else 'spa'}: {error.format_message()}"
    return None


def _parse(command: click.Command, name: str, words: list[str], parent: click.Context | None = None) -> None:
    if not isinstance(command, click.Group):
        command.make_context(name, words, parent=parent)
        return
    context = click.Context(command, info_name=name, parent=parent, **command.context_settings)
    _, rest, _ = command.make_parser(context).parse_args(words)
    if rest:
        found, below, rest = command.resolve_command(context, rest)
        assert found is not None
        assert below is not None  # resolve_command refuses what it does not know
        _parse(below, found, rest, context)


def every_command(group: click.Group = main, name: str = "spa") -> Iterator[tuple[str, click.Command]]:
    """Yield every command that does something, not those that hold others, with the words that call it."""
    context = click.Context(group)
    for word in group.list_commands(context):
        below = group.get_command(context, word)
        assert below is not None
        if isinstance(below, click.Group):
            yield from every_command(below, f"{name} {word}")
        else:
            yield f"{name} {word}", below


def examples(command: click.Command = main) -> Iterator[tuple[str, ...]]:
    """Yield the words of the examples that the help of all commands shows at its end."""
    shown = re.sub(r"^\s*Examples?:", "", (command.epilog or "").replace("\b", ""))  # click keeps lines after \b
    for line in shown.splitlines():
        yield from programs(line)
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            assert below is not None
            yield from examples(below)

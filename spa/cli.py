"""The ``spa`` script: finds commands by entry point and reports a user's mistake in one line.

Commands are loaded only when they are asked for, so that ``spa --help`` stays quick; a
command module imports what is heavy inside its functions.
"""

from __future__ import annotations

import atexit
import gc
import os
import sys
from functools import cache
from importlib.metadata import EntryPoint, EntryPoints, distribution, entry_points
from typing import Any

import click

from spa.command_groups import SuggestingGroup, mistakes_in_one_line
from spa.errors import SpaError

NEW_OBJECTS = 20_000  # after which Python looks for cycles among them; its default is 700
UNFOLDED = 1_000_000  # characters of a line of help in a pipe
GROUP = "spa.commands"  # entry points: name of the command -> click command
ORDER = (
    "init",
    "check",
    "plan",
    "build",
    "preview",
    "doctor",
    "serve",
    "status",
    "pause",
    "resume",
    "rate",
    "simulate",
    "rehearse",
    "import",
    "export",
    "metrics",
    "report",
    "explanations",
    "review-explanations",
    "settle-review",
    "contamination",
    "bundle",
    "replay",
    "forget",
    "backup",
    "restore",
    "demo",
)


@cache
def _own_commands() -> EntryPoints:
    """Look up our own commands once."""
    return distribution("spa-eval").entry_points.select(group=GROUP)


class CommandsByEntryPoint(SuggestingGroup):
    """A group whose commands come from every installed package that registers some."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all commands, in the order of a study's life."""
        names = {point.name for point in entry_points(group=GROUP)}
        return sorted(names, key=lambda name: (ORDER.index(name) if name in ORDER else len(ORDER), name))

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Load one command, ours before one of other packages; ``None`` where nobody registered it."""
        if cmd_name == "help":
            return asked_for_help
        own = _own_commands().select(name=cmd_name)
        found: EntryPoint | None = next(iter(own or entry_points(group=GROUP, name=cmd_name)), None)
        if found is None:
            return None
        command: click.Command = found.load()
        return command

    def make_context(self, *args: Any, **options: Any) -> click.Context:
        """Parse the words before the command; in a pipe, lines of help are as long as their text."""
        if not sys.stdout.isatty():
            options.setdefault("terminal_width", UNFOLDED)
        with mistakes_in_one_line():
            return super().make_context(*args, **options)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; a ``SpaError`` becomes one line a problem and exit code 1."""
        try:
            with mistakes_in_one_line():
                return super().invoke(ctx)
        except SpaError as error:
            command = self.get_command(ctx, ctx.invoked_subcommand or "")
            options = {given.name or "": given.opts[0] for given in command.params} if command else {}
            for problem in error.with_options(options):
                click.echo(f"spa: {problem}", err=True)
            ctx.exit(1)


@click.group(
    "spa",
    cls=CommandsByEntryPoint,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Example: spa demo --out demo-out",
)
@click.version_option(package_name="spa-eval", prog_name="spa")
def main() -> None:
    """Find out which generator of text, images, speech or video people prefer, and whether an LLM would.

    \b
    A study in six commands:
      spa init my-study            writes study.toml and example outputs
      spa check my-study/study.toml
      spa build my-study/study.toml
      spa serve my-study/study.toml
      spa rate my-study/study.toml --rater NAME
      spa report my-study/study.toml --out report

    A STUDY is a study file, or the folder of its study.toml; without one it is ./study.toml.
    """  # noqa: D301
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # our matrices are small: further threads wait at full load
    gc.set_threshold(NEW_OBJECTS)
    for stream in (sys.stdout, sys.stderr):  # a name in a user's data may not fit the terminal's encoding
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


@click.command(hidden=True)
@click.argument("words", nargs=-1, metavar="[COMMAND]...")
def asked_for_help(words: tuple[str, ...]) -> None:
    """Show what --help shows."""
    main.main(args=[*words, "--help"], prog_name="spa", standalone_mode=False)


def run() -> None:
    """Be the ``spa`` script.

    Without looking for garbage among the objects of all modules when they are freed at the end, ``spa report`` on the
    demo takes 1.6 s of CPU instead of 2.0, ``spa check`` 1.1 instead of 1.4.
    """
    atexit.register(gc.freeze)
    main()

"""One option, one meaning: a name that several commands share says the same and takes the same in all of them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

import click
import pytest

from spa.cli import main
from spa.commands.options import Aliased
from tests.parsed_commands import every_command

MEANINGS = {  # what names say that commands declare with words of their own; all others have one text everywhere
    "--also": "approve this one too",
    "--annotators": "how many annotators",
    "--budget": "the most that may be spent",
    "--cap": "limit on each bonus",
    "--cluster": "a Dask cluster that does the work",
    "--decided": "do what reviewers decided in the dashboard",
    "--encoding": "of text files that are not UTF-8",
    "--endpoint-url": "address of the platform's API",
    "--each": "path of the lists that become rows",
    "--embedding": "folder with a local model that embeds texts",
    "--every": "repeat at this interval",
    "--example": "an example study",
    "--format": "of the tables that are written",
    "--from": "file that lists submissions with what to do",
    "--fwer": "familywise error rate",
    "--key": "secret key of the pseudonyms",
    "--links": "write the personal links to this file",
    "--lower-is-better": "where less is better: a metric or a criterion",
    "--mapping": "TOML file that says what columns mean, or a column and its name",
    "--openapi": "validate against this OpenAPI document",
    "--out": "where the result is written: a file or a folder",
    "--public-url": "URL at which people reach the server",
    "--quotes": "of tables: double quotes enclose cells, or are text",
    "--rater": "a rater of the study, or its file",
    "--reason": "why: a message or a note",
    "--reviewer": "name of a reviewer",
    "--role": "what a link allows, or what a system is",
    "--seed": "of what is drawn",
    "--stop": "end recruitment once nobody else is needed",
    "--store": "store of the study or the endpoint",
    "--text": "a message",
    "--variant": "of a rater",
    "--yes": "go ahead: apply, or take what is proposed",
}
TWO_TYPES = {"--out", "--format", "--role"}  # a file or a folder; those kinds of files that a command can write; of
# people or systems
FORMER = {
    "spa dashboard": ("--browser", "--no-browser"),
    "spa report": ("--annotators",),
    "spa plan": ("--pairs",),
    "spa import csv": ("--map",),
    "spa import potato": ("--map",),
    "spa explanations": ("--model",),
    "spa contamination": ("--share", "--double"),
    "spa preview": ("--assignment",),
    "spa mturk notify": ("--again",),
    "spa mturk serve": ("--name",),
    "spa mturk invite": ("--name", "--again"),
    "spa mturk ledger": ("--format",),
    "spa prolific message": ("--difference",),
    "spa prolific publish": ("--despite",),
    "spa prolific emulate": ("--store",),
}


WITHOUT_JSON = {  # commands that print no result
    "spa preview": "shows a form in a browser until it is stopped",
    "spa serve": "serves forms until it is stopped",
    "spa dashboard": "serves pages until it is stopped",
    "spa mturk serve": "serves a worker site until it is stopped",
    "spa prolific emulate": "serves a platform until it is stopped",
}


def shared_options() -> Iterator[tuple[str, list[tuple[str, click.Option]]]]:
    """Yield each name that several commands have, with the commands and their options; hidden ones aside."""
    found: dict[str, list[tuple[str, click.Option]]] = defaultdict(list)
    for command, each in every_command():
        for option in each.params:
            if isinstance(option, click.Option) and not option.hidden:
                for name in (*option.opts, *option.secondary_opts):
                    found[name].append((command, option))
    yield from ((name, users) for name, users in sorted(found.items()) if len(users) > 1)


def what_it_takes(option: click.Option) -> tuple[object, ...]:
    """Return what follows the option: how it is read, what the help calls it, how many words."""
    kind: object = type(option.type).__name__
    if isinstance(option.type, click.Choice):
        kind = tuple(option.type.choices)
    elif isinstance(option.type, click.Path):
        kind = ("path", option.type.exists, option.type.file_okay, option.type.dir_okay)
    return kind, option.metavar, option.is_flag, option.nargs


def test_a_name_takes_the_same_in_every_command() -> None:
    clashes = {
        name: {what_it_takes(option): command for command, option in users}
        for name, users in shared_options()
        if name not in TWO_TYPES and len({what_it_takes(option) for _, option in users}) > 1
    }
    assert clashes == {}


def test_a_name_says_the_same_in_every_command() -> None:
    """Whoever gives a name that is taken to something else finds it here: choose another, or share the declaration."""
    several = {name for name, users in shared_options() if len({option.help for _, option in users}) > 1}
    assert several - MEANINGS.keys() == set()
    assert MEANINGS.keys() - several == set()


@pytest.mark.parametrize(("command", "names"), FORMER.items())
def test_former_option_names_work_and_are_hidden(command: str, names: tuple[str, ...]) -> None:
    """Former names still work where they were and are not shown."""
    found = dict(every_command())[command]
    context = click.Context(found, info_name=command, **main.context_settings)
    known = found.make_parser(context)._long_opt
    assert set(names) <= known.keys()
    for name in names:
        assert f"{name} " not in found.get_help(context).replace(",", " ")
        (option,) = [one for one in found.params if one is known[name].obj]
        assert isinstance(option, Aliased) or (isinstance(option, click.Option) and option.hidden)


def test_every_command_that_prints_a_result_prints_it_as_json() -> None:
    without = {name for name, command in every_command() if not any("--json" in each.opts for each in command.params)}
    assert without == WITHOUT_JSON.keys()

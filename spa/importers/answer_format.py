"""What a format of answers brings: how its files are recognised, and how they become tidy tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from spa.importers.tables import ImportedTables


class Fit(IntEnum):
    """How sure it is that a file or folder is of a format."""

    NONE = 0
    POSSIBLE = 1  # any table may be
    CERTAIN = 2  # it holds what this tool alone writes


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportRequest:
    """What is read: files or folders, what says how, the format's options.

    ``mapping`` is the file that does, ``pairs`` are columns with their names in tidy tables; a format that needs no
    mapping has neither. ``key`` is where the secret of pseudonyms lies, or will; ``None`` where ids are kept.
    ``options`` has the values of :attr:`AnswerFormat.options` by their names.
    """

    paths: tuple[Path, ...]
    mapping: Path | None = None
    pairs: tuple[tuple[str, str], ...] = ()
    key: Path | None = None
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class FileMeaning:
    """What a file of a format says where a good guess may go wrong: a row of the table of formats, a few words each.

    Parameters
    ----------
    sides : str
        Which of two systems a number or a word of the file prefers; ``""`` where none are compared.
    ties : str
        What is a tie.
    missing : str
        What is a missing answer.
    left_out : str
        Whose answers, or which rows, do not count.
    seen : str
        The tool and its version of which files were seen, or that its documentation was read.
    source : str
        Address of that tool, or of the documentation.
    """

    sides: str = ""
    ties: str = ""
    missing: str = ""
    left_out: str = ""
    seen: str
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerFormat:
    """One format: the files of one tool that collects answers.

    Parameters
    ----------
    key : str
        Its name in ``spa import KEY``, and that of its module (with ``_`` for ``-``).
    description : str
        Two lines: what is read, and what should be known of it.
    details : str
        Further paragraphs of the command's help.
    example : str
        A command that reads it.
    source : str
        What it is given: ``FOLDER`` or ``FILE``; with ``...`` one or several.
    mapping : str or None
        Help of ``--mapping``, where a file must say how names are read.
    pairs : str
        What OLD and NEW of ``--map OLD=NEW`` are.
    options : tuple of click.Option
        Those of its own.
    item_option : str or None
        Name of the one that says, by a regular expression, which part of a name is the item.
    extra : str or None
        Of ours, which has the packages that it needs.
    meaning : FileMeaning or None
        What its files mean; ``None`` of a format in which the user says so.
    recognised_by_columns : bool
        Its files are tables whose columns `spa report` recognises, which asks what is open; so it takes them as those.
    own_values : callable or None
        Of such a format: whether the answers in a file can be this tool's alone, so that it is read as that. Raises
        SpaError where they mean one thing to the tool and another in any table.
    recognise : callable
        Says how sure it is that a file or folder is of this format. It looks at names and beginnings alone, and raises
        nothing that a broken file causes.
    read : callable
        Returns the answers as they are named, people not by pseudonyms, with what is said of them and a count of all
        that was left out. Raises SpaError with file and place where something is not as the format has it.
    """

    key: str
    description: str
    details: str = ""
    example: str
    source: str = "FILE..."
    mapping: str | None = None
    pairs: str = "a column and its name in tidy tables"
    options: tuple[click.Option, ...] = ()
    item_option: str | None = None
    extra: str | None = None
    meaning: FileMeaning | None = None
    recognised_by_columns: bool = False
    own_values: Callable[[Path], bool] | None = None
    recognise: Callable[[Path], Fit]
    read: Callable[[ImportRequest], ImportedTables]

    def request(self, *paths: Path) -> ImportRequest:
        """Return the request that reads files without a mapping, each option at its default."""
        options = click.Command(self.key, params=list(self.options)).make_context(self.key, []).params
        return ImportRequest(paths=paths, options=options)


def key_options() -> tuple[click.Option, ...]:
    """Return the options that say under which keys of an object its system and its item stand."""
    return tuple(
        click.Option([f"--{name}-key", name], metavar="KEY", help=f"Key that names the {name}; dots lead into objects.")
        for name in ("system", "item")
    )

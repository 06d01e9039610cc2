"""``--mapping`` or ``--map``: a file that says what columns mean, or a column and its name in tidy tables."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeAlias

import click

from spa.errors import shortened
from spa.files import read_toml
from spa.importers.answer_format import ImportRequest

FileOrPair: TypeAlias = Path | tuple[str, str]


class FileOrPairType(click.Path):
    """A file, or two names around the last ``=``."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the path, or both names."""
        if not isinstance(value, str) or "=" not in value:
            return super().convert(value, param, ctx)
        old, _, new = (part.strip() for part in value.rpartition("="))
        if not old or not new:
            self.fail(f"expected a file or OLD=NEW, got {shortened(repr(value))}.", param, ctx)
        return old, new


def import_request(paths: tuple[Path, ...], mapping: tuple[FileOrPair, ...], own: Mapping[str, Any]) -> ImportRequest:
    """Return what is read, of what the option was given; raise StudyError where its file cannot be read as TOML."""
    file = next((one for one in mapping if isinstance(one, Path)), None)
    if file is not None:
        read_toml(file)  # a name that is wrong is said before anything is read
    pairs = tuple(one for one in mapping if isinstance(one, tuple))
    return ImportRequest(paths=paths, mapping=file, pairs=pairs, options=own)


def _one_file(context: click.Context, option: click.Parameter, given: tuple[FileOrPair, ...]) -> tuple[FileOrPair, ...]:
    files = [one for one in given if isinstance(one, Path)]
    if len(files) > 1:
        named = shortened(" and ".join(map(str, files)), 200)
        raise click.BadParameter(f"expected one mapping file, got {named}", context, option)
    return given


MAPPING: dict[str, Any] = {  # what the option is but for its help; repeatable, though it names one file at most
    "aliases": ("--map",),
    "required": True,
    "multiple": True,
    "type": FileOrPairType(path_type=Path),
    "metavar": "FILE|OLD=NEW",
    "callback": _one_file,
}

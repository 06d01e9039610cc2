"""``spa import``: answers collected with other tools, a command for each format of :mod:`spa.importers`."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from spa.command_groups import SuggestingGroup, naming_the_extra
from spa.commands.mapping_option import MAPPING, FileOrPair, import_request
from spa.commands.options import INPUT, NEW_FOLDER, Aliased, print_result
from spa.errors import shortened
from spa.importers import format_by_mapping, format_for, format_keys, format_of
from spa.importers.answer_format import AnswerFormat, ImportRequest

if TYPE_CHECKING:
    from spa.responses.table_files import TableFormat

MAPPING_NAMES = ("--mapping", "--map")
TABLE_FORMATS = click.Choice(["csv", "parquet", "jsonl"])


class FormatGroup(SuggestingGroup):
    """A group with a command for each format of :mod:`spa.importers`."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all formats."""
        return list(format_keys())

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the command that reads a format; ``None`` where there is none of that name."""
        return _command(format_of(cmd_name)) if cmd_name in format_keys() else None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the format that is named first; of a file in its place, the one that ``--from`` names or that it has."""
        path = Path(args[0])
        if args[0] in format_keys() or not path.exists():
            return super().resolve_command(ctx, args)
        named, rest = _without_from(args)
        found = format_for(path, named or ctx.params.get("from_"))
        if found is None:
            known = ", ".join(format_keys())
            raise click.UsageError(
                f"{shortened(args[0])}: expected answers as another tool keeps them ({known}), got something else; "
                "name its format with --from, or give a table to `spa report`",
                ctx,
            )
        if named is None:
            mapped = any(word.partition("=")[0] in MAPPING_NAMES for word in rest)
            if mapped and found.mapping is None:  # so its columns are to be read as the user says
                found = format_by_mapping(path) or found
            ctx.obj = found.key
            if found.mapping is not None and not mapped:
                raise click.UsageError(
                    f"{shortened(args[0])}: read as {found.key}, which needs a mapping: name it with --mapping, or "
                    "columns with --map OLD=NEW; a table whose columns say what they are goes to `spa report` as it is",
                    ctx,
                )
        return found.key, _command(found), rest


def _without_from(args: list[str]) -> tuple[str | None, list[str]]:
    """Take ``--from FORMAT`` out of what follows a file."""
    named, rest = None, []
    words = iter(args)
    for word in words:
        if word == "--from":
            named = next(words, "")
        elif word.startswith("--from="):
            named = word.partition("=")[2]
        else:
            rest.append(word)
    return named, rest


@click.group(
    "import",
    cls=FormatGroup,
    subcommand_metavar="[FORMAT] FILE... [OPTIONS]",
    epilog="Example: spa import potato annotations --mapping import.toml --out tables",
)
@click.option("--from", "from_", metavar="FORMAT", help="Format of a FILE; otherwise it is recognised.")
def import_(from_: str | None) -> None:
    """Convert answers collected elsewhere to tidy tables for `spa report`.

    `spa import FILE --out tables` recognises the format and says which it took; a format named first has options of its
    own. Files that need no mapping are read by `spa report FILE`, too.

    Annotators get pseudonyms unless --keep-ids is given; with the same key, a person always gets the same one.

    --json prints format, files (rows of each), notes, skipped, missing, twice, key, key_created, roles and unranked.
    """


def _command(read_as: AnswerFormat) -> click.Command:
    """Return the command that reads a format, with the options that all formats have and those of its own."""
    name = read_as.source.removesuffix("...")
    several = name != read_as.source
    beside = name if read_as.mapping is None else "MAPPING"
    source = click.Argument(["source"], type=INPUT, nargs=-1 if several else 1, required=True, metavar=read_as.source)
    mapping = Aliased(["--mapping"], help=f"{read_as.mapping} Or OLD=NEW, {read_as.pairs}; repeatable.", **MAPPING)
    options = (
        click.Option(["--out"], type=NEW_FOLDER, required=True, help="Folder for the tables."),
        click.Option(["--format", "format_"], type=TABLE_FORMATS, default="csv", show_default=True),
        click.Option(["--keep-ids"], is_flag=True, help="Keep the annotators' ids."),
        click.Option(
            ["--key"],
            type=INPUT,
            help=f"Secret key of the pseudonyms; created if missing. [default: pseudonyms.key beside {beside}]",
        ),
        click.Option(["--json", "as_json"], is_flag=True, help="Print the result as JSON."),
    )
    return click.Command(
        read_as.key,
        params=[source, *([] if read_as.mapping is None else [mapping]), *options, *read_as.options],
        callback=partial(_import, read_as),
        help="\n\n".join(filter(None, (read_as.description, read_as.details))),
        epilog=f"Example: {read_as.example}",
    )


def _import(
    read_as: AnswerFormat,
    *,
    source: Path | tuple[Path, ...],
    out: Path,
    format_: TableFormat,
    keep_ids: bool,
    key: Path | None,
    as_json: bool,
    mapping: tuple[FileOrPair, ...] = (),
    **own: Any,
) -> None:
    paths = source if isinstance(source, tuple) else (source,)
    request = import_request(paths, mapping, own)
    account = import_answers(read_as, request, out, format_=format_, keep_ids=keep_ids, key=key)
    taken = click.get_current_context().find_object(str)
    lines = account.lines(out)
    if taken is not None:
        lines = chain((f"read as {taken}: name another format with --from",), lines)
    print_result(account, lines, as_json=as_json)


def import_answers(
    read_as: AnswerFormat,
    request: ImportRequest,
    out: Path,
    *,
    format_: TableFormat = "csv",
    keep_ids: bool = False,
    key: Path | None = None,
) -> ImportAccount:
    """Read files of a format and write tidy tables to a folder, people under pseudonyms unless their ids are kept."""
    from spa.importers.pseudonyms import default_key_path, load_key
    from spa.importers.tables import NEAR, said_of_near, with_pseudonyms, write_imported

    if keep_ids and key is not None:
        raise click.UsageError("--key makes pseudonyms, which --keep-ids leaves out; give one of them")
    place = None if keep_ids else key or default_key_path(request.mapping or request.paths[0])
    with naming_the_extra(read_as.extra, f"spa import {read_as.key}"):
        imported = read_as.read(replace(request, key=place))
    secret = None if place is None else load_key(place)
    named = imported if secret is None else with_pseudonyms(imported, secret)
    alike = () if secret is None or any(note.startswith(NEAR) for note in imported.notes) else said_of_near(imported)
    written = write_imported(named, out, format=format_)
    missing = {table: {"missing": count, "answers": answers} for table, (count, answers) in imported.missing.items()}
    return ImportAccount(
        format=read_as.key,
        files={str(path): rows for path, rows in written.items()},
        notes=(*imported.notes, *alike),
        skipped=dict(imported.skipped),
        missing=missing,
        twice=dict(imported.twice),
        key=None if secret is None else str(secret.path),
        key_created=secret is not None and secret.created,
        roles=tuple(one.option() for one in imported.roles),
        unranked=None if imported.unranked is None else str(out / imported.unranked),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportAccount:
    """What an import wrote and what it left out."""

    format: str  # of which the files were
    files: dict[str, int]  # written -> rows
    notes: tuple[str, ...]
    skipped: dict[str, int]  # what -> rows
    missing: dict[str, dict[str, int]]  # table -> missing answers of all answers
    twice: dict[str, int]  # table -> answers that are the second of one annotator about the same
    key: str | None  # file of the pseudonyms' key
    key_created: bool
    roles: tuple[str, ...] = ()  # of systems that are rated but not ranked, as `spa report --role` takes them
    unranked: str | None = None  # folder of their answers

    def of_reading(self) -> Iterator[str]:
        """Yield what is to be said of how the files were read, and what was left out."""
        yield from self.notes
        for what, count in self.skipped.items():
            yield f"skipped: {count} of {what}"
        for table, counts in self.missing.items():
            if counts["missing"]:
                yield f"missing: {counts['missing']} of {counts['answers']} {table}"
        if self.key is not None:
            made = "written to" if self.key_created else "read from"
            yield f"pseudonyms: key {made} {self.key}; keep it for further imports, and to yourself"

    def lines(self, folder: Path) -> Iterator[str]:
        """Yield the account as text, with the next command, on the tables in ``folder``."""
        yield from self.of_reading()
        for file, rows in self.files.items():
            yield f"{file}: {rows} rows"
        for table, count in self.twice.items():
            yield (
                f"{table}: {count} {'answer is' if count == 1 else 'answers are'} the second of one annotator about "
                "the same, which spa report refuses; leave out rows that stand twice, or name what tells them apart"
            )
        if not self.twice:
            options = {"annotators": "annotator-table"}
            stems = [(Path(file).stem, shlex.quote(file)) for file in self.files if Path(file).parent == folder]
            stems += [
                (Path(file).stem, shlex.quote(file)) for file in self.files if str(Path(file).parent) == self.unranked
            ]
            tables = " ".join(f"--{options.get(stem, stem)} {file}" for stem, file in stems)
            tables += "".join(f" --role {shlex.quote(one)}" for one in self.roles)
            yield f"next: spa report {tables} --out report"

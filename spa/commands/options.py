"""Options that several commands declare, so that each has one name and one text everywhere."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, is_dataclass
from decimal import Decimal, InvalidOperation
from functools import partial, wraps
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from spa.commands.terminal import Stages
from spa.waiting import SHOWN

Command = TypeVar("Command", bound=Callable[..., Any])


class Aliased(click.Option):
    """An option with former names, ``aliases``, which still work and are not shown in the help.

    Those of a switch may have an opposite: ``--browser/--no-browser``.
    """

    def __init__(self, *args: Any, aliases: tuple[str, ...], **options: Any) -> None:
        super().__init__(*args, **options)
        self.aliases = aliases

    def add_to_parser(self, parser: Any, ctx: click.Context) -> None:
        """Let the parser know the former names too."""
        former = [alias.partition("/") for alias in self.aliases]
        shown = self.opts, self.secondary_opts
        self.opts = [*self.opts, *(on for on, _, _ in former)]
        self.secondary_opts = [*self.secondary_opts, *(off for _, _, off in former if off)]
        super().add_to_parser(parser, ctx)
        self.opts, self.secondary_opts = shown


class Amount(click.ParamType[Decimal]):
    """An amount of money above 0, in major units."""

    name = "amount"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Decimal:
        """Read it as written: 3.50 is exactly 3.50."""
        try:
            amount = Decimal(value)
        except InvalidOperation:
            amount = Decimal(0)
        if not (amount.is_finite() and amount > 0):
            self.fail(f"{value!r} is not an amount above 0, such as 250 or 3.50.", param, ctx)
        return amount


class Finite(click.FloatRange):
    """A number within a range that is neither infinite nor NaN."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Refuse what a comparison with a bound lets through."""
        number = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"a finite number is expected, got {value!r}", param, ctx)
        return number


DEFAULT_STUDY = "study.toml"  # in the current folder: the study of every command that is given none


def study_file(named: str | Path) -> Path:
    """Return the study file that a user named: a folder means its ``study.toml``, whether or not it has one."""
    path = Path(named)
    return path / DEFAULT_STUDY if path.is_dir() else path


if TYPE_CHECKING:
    PathType = click.Path[Path]
else:
    PathType = click.Path  # generic from click 8.5.1 on only


class StudyPath(PathType):
    """What names a study: its file, or the folder of its ``study.toml``."""

    def __init__(self) -> None:
        super().__init__(path_type=Path)

    def convert(self, value: str | PathLike[str], param: click.Parameter | None, ctx: click.Context | None) -> Path:
        """Return the study file; whether it exists is asked where it is read."""
        return study_file(super().convert(value, param, ctx))


class NewPath(PathType):
    """A file or folder of this machine that is written."""

    def convert(self, value: str | PathLike[str], param: click.Parameter | None, ctx: click.Context | None) -> Path:
        """Refuse an address, which would become a folder called ``s3:``."""
        from spa.tables.addresses import address_of

        if address_of(Path(value)) is not None:
            self.fail(f"{str(value)!r} is an address, and results are written on this machine", param, ctx)
        return super().convert(value, param, ctx)


INPUT = click.Path(path_type=Path)  # whoever reads it says in one line what is wrong with it
AMOUNT = Amount()
NEW_FILE = NewPath(dir_okay=False, path_type=Path)
NEW_FOLDER = NewPath(file_okay=False, path_type=Path)
PORT = click.IntRange(0, 65535)


def _show_long_work(ctx: click.Context, param: click.Parameter, study: Path) -> Path:
    """Let a terminal show what takes long while the study is read, until the command ends."""
    token = SHOWN.set(Stages)
    ctx.call_on_close(lambda: SHOWN.reset(token))
    return study


study_argument = click.argument("study", type=StudyPath(), default=DEFAULT_STUDY, callback=_show_long_work)
store_option = click.option(
    "--store",
    cls=Aliased,
    aliases=("--database",),
    metavar="PATH|URL",
    help="SQLite file or PostgreSQL URL of the study's store. [default: STUDY with the suffix .sqlite]",
)
rehearsal_option = click.option(
    "--rehearsal",
    is_flag=True,
    help="Use the rehearsal's store, beside that of the study, where simulated visits are kept.",
)
licence_option = click.option(
    "--licence", default="unknown", show_default=True, help="Licence of what is written: an id as cc0-1.0."
)
NUMBER_OF_ANNOTATORS = click.IntRange(1, 1_000_000)
json_option = click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
yes_option = click.option("--yes", is_flag=True, help="Apply; the default is a dry run.")
host_option = click.option(
    "--host", default="127.0.0.1", show_default=True, help="Address to listen on; 0.0.0.0 listens on all."
)
draw_seed_option = click.option(
    "--seed", type=click.IntRange(min=0), help="Seed of the random draw. [default: the study's]"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyLocation:
    """A study file, its store where that is not beside it, and the address of a platform's API where it is given."""

    study: Path
    store: str | None = None
    endpoint_url: str | None = None


def platform_study_options(endpoint_help: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return what adds STUDY, ``--store`` and ``--endpoint-url`` to a command, which gets them as ``location``."""

    def add(command: Callable[..., None]) -> Callable[..., None]:
        @wraps(command)
        def run(study: Path, store: str | None, endpoint_url: str | None, **options: Any) -> None:
            command(StudyLocation(study=study, store=store, endpoint_url=endpoint_url), **options)

        endpoint_option = click.option("--endpoint-url", metavar="URL", help=endpoint_help)
        return study_argument(store_option(endpoint_option(run)))

    return add


def print_json(facts: object) -> None:
    """Print a result as ``--json`` asks for it."""
    click.echo(json.dumps(facts, ensure_ascii=False, indent=2, default=str, allow_nan=False))


def print_result(result: object, lines: Iterable[str], *, as_json: bool) -> None:
    """Print what a command found or did: a record (or a mapping) as ``--json`` asks for it, else its lines."""
    if as_json:
        print_json(asdict(result) if is_dataclass(result) and not isinstance(result, type) else result)
        return
    for line in lines:
        click.echo(line)


def printer(*, as_json: bool) -> Callable[[str], None]:
    """Return what prints a line at once, as what follows costs money or may fail; with ``--json`` it goes to stderr."""
    return partial(click.echo, err=as_json)


def announce(text: str) -> None:
    """Print a progress message to stderr."""
    click.echo(text, err=True)


def annotators_option(text: str) -> Callable[[Command], Command]:
    """Return ``--annotators``, a number."""
    return click.option("--annotators", type=NUMBER_OF_ANNOTATORS, help=f"{text} [default: the study's]")


def port_option(default: int) -> Callable[[Command], Command]:
    """Return ``--port`` with a default."""
    return click.option("--port", type=PORT, default=default, show_default=True, help="0 picks any free port.")


def seed_option(default: int) -> Callable[[Command], Command]:
    """Return ``--seed`` of a simulation."""
    return click.option(
        "--seed", type=click.IntRange(min=0), default=default, show_default=True, help="Seed of the simulation."
    )


def every_option(until: str) -> Callable[[Command], Command]:
    """Return ``--every`` of a command that repeats at an interval until something has happened."""
    text = f"Repeat at this interval until {until}."
    return click.option("--every", type=Finite(min=5), metavar="SECONDS", help=text)


def out_folder_option(text: str, *, required: bool = False, default: str | None = None) -> Callable[[Command], Command]:
    """Return ``--out`` for a folder."""
    if default is not None:
        return click.option("--out", type=NEW_FOLDER, default=default, show_default=True, help=text)
    return click.option("--out", type=NEW_FOLDER, required=required, help=text)  # click misses none that has a default


def out_file_option(text: str, name: str = "--out") -> Callable[[Command], Command]:
    """Return ``--out``, or an option of another name, for a file that is written."""
    return click.option(name, type=NEW_FILE, help=text)


def given_options(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options that were given to a command that has no defaults; a 0 was given."""
    return {name: value for name, value in values.items() if value is not None and value is not False and value != ()}


def values_of_columns(pairs: Iterable[str], option: str) -> dict[str, tuple[str, ...]]:
    """Return the values of each column, of an option COLUMN=VALUE that is repeated."""
    found: dict[str, tuple[str, ...]] = {}
    for text in pairs:
        column, value = two_sides(text, option, "COLUMN=VALUE")
        found[column] = (*found.get(column, ()), value)
    return found


def two_sides(text: str, option: str, form: str) -> tuple[str, str]:
    """Return what stands before and after the first ``=``."""
    old, sign, new = text.partition("=")
    if not (old and sign and new):
        raise click.UsageError(f"expected {option} {form}, got {text!r}")
    return old, new

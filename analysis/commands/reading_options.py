"""Options that say how tables from elsewhere are read, the same for every command that reads them."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from spa.commands.options import INPUT, two_sides, values_of_columns
from spa.errors import shortened

if TYPE_CHECKING:
    from analysis.answers.columns import Scale
    from analysis.answers.options import Reading
    from analysis.answers.recognised import RecognisedTables
    from spa.records.system_roles import UnrankedSystem

Command = TypeVar("Command", bound=Callable[..., Any])
OPTIONS = (
    click.option(
        "--map",
        "mapping",
        multiple=True,
        metavar="OLD=NEW",
        help="Rename a column, a path (model.name, scores[0]) or several (document+segment); repeatable.",
    ),
    click.option(
        "--set",
        "constants",
        multiple=True,
        metavar="NAME=VALUE",
        help="Column that the answers lack; {row} differs in each, {file} is the file's name; repeatable.",
    ),
    click.option("--keep", multiple=True, metavar="COLUMN=VALUE", help="Read only these rows; repeatable."),
    click.option("--drop", multiple=True, metavar="COLUMN=VALUE", help="Leave these rows out; repeatable."),
    click.option(
        "--each",
        metavar="PATH",
        help="Lists or objects that become rows: completions, or questions{question}.{system}.reviews[].",
    ),
    click.option("--encoding", metavar="NAME", help="Of text files that are not UTF-8 and do not say it: cp1252."),
    click.option(
        "--quotes", type=click.Choice(["csv", "text"]), help="Of CSV files: double quotes enclose cells, or are text."
    ),
    click.option("--sheet", metavar="NAME", help="Of workbooks (.xlsx): the sheet that is read.  [the first]"),
    click.option("--cut-system", is_flag=True, help="Take the system's name out of item_id, where it names outputs."),
    click.option(
        "--item-from",
        metavar="REGEX",
        help="Fits item_id as a whole, where it names outputs; its group (?P<item>...), else the first, is the item.",
    ),
    click.option("--llm", "llms", multiple=True, metavar="ID", help="Annotator that is an LLM; repeatable."),
    click.option(
        "--same",
        multiple=True,
        metavar="[COLUMN:]OLD=NEW",
        help="Two names of one; or a COLUMN, whose names that are nearly the same all become one; repeatable.",
    ),
    click.option("--people", type=INPUT, help="Who each annotator_id is: annotator_id, person."),
    click.option(
        "--value",
        "values",
        multiple=True,
        metavar="WORD=VALUE",
        help="What a word in a column of answers counts: a number; x, y, tie, both_bad; missing. Repeatable.",
    ),
    click.option(
        "--numbers", metavar="X:Y", help="Comparisons are numbers: X says that system_x is better, Y system_y."
    ),
    click.option(
        "--sides",
        type=click.Choice(["names", "places"]),
        help="What a winner is that is a system's name and a place, too (A, B, 1, 2).",
    ),
    click.option(
        "--criteria",
        multiple=True,
        metavar="A,B",
        help="Columns that hold scores, a criterion each (no column score); repeatable.",
    ),
    click.option(
        "--systems",
        multiple=True,
        metavar="A,B=NAME",
        help="Columns that hold scores or ranks, a system each (no column system); repeatable.",
    ),
    click.option(
        "--annotator-columns",
        multiple=True,
        metavar="A,B",
        help="Columns that hold answers, an annotator each (no column annotator_id); repeatable.",
    ),
    click.option(
        "--name", "names", multiple=True, metavar="WORD", help="A word such as NA that is a name; repeatable."
    ),
    click.option("--scale", multiple=True, metavar="[CRITERION=]LOW:HIGH", help="Allowed range of scores; repeatable."),
    click.option(
        "--unnamed", is_flag=True, help="Answers are lists whose places are no people: the cell's mean, tested by item."
    ),
    click.option("--means", is_flag=True, help="Values are means of several people, one per output; tested by item."),
    click.option(
        "--control",
        "controls",
        multiple=True,
        metavar="SYSTEM",
        help="System that is an attention check; repeatable. It leaves; who prefers it failed (--max-failed-checks).",
    ),
    click.option("--missing", multiple=True, metavar="VALUE", help='Answer that means "no answer": -1; repeatable.'),
    click.option(
        "--rescale",
        multiple=True,
        metavar="ID=LOW:HIGH",
        help="Annotator's own scale, mapped onto that of the others (--scale, else as they used it); repeatable.",
    ),
    click.option("--ends", type=click.Choice(["included", "excluded"]), help="Of marked errors.  [excluded]"),
    click.option(
        "--clean-outputs", is_flag=True, help="No rows of marked errors, beside others of the item, mean no errors."
    ),
    click.option(
        "--weight",
        "weights",
        multiple=True,
        metavar="[CATEGORY:]WORD=NUMBER|wmt",
        help="Of marked errors, by severity, category or both; wmt: WMT's weights; repeatable.",
    ),
)


ROLES: dict[str, Any] = {
    "multiple": True,
    "metavar": "SYSTEM=ROLE",
    "help": "hidden_reference, or anchor[:HZ] (low-passed there), which are rated but not ranked; system. Repeatable.",
}


def role_option(*names: str) -> Callable[[Command], Command]:
    """Return the option that says what a system is; commands give it names of their own."""
    return click.option(*names, "system_roles", **ROLES)


def reading_options(command: Command) -> Command:
    """Add the options."""
    for option in reversed(OPTIONS):
        command = option(command)
    return command


def reading_of(options: Mapping[str, Any]) -> Reading:
    """Return how to read, from the values of the options."""
    from analysis.answers.options import Reading
    from analysis.answers.people import read_people

    people = options.get("people")
    return Reading(
        mapping=_mapping(options.get("mapping", ())),
        constants=_constants(options.get("constants", ())),
        keep=values_of_columns(options.get("keep", ()), "--keep"),
        drop=values_of_columns(options.get("drop", ()), "--drop"),
        each=options.get("each"),
        cut_system=bool(options.get("cut_system")),
        item_from=_item_pattern(options.get("item_from")),
        encoding=_encoding(options.get("encoding")),
        quotes=options.get("quotes"),
        sheet=options.get("sheet"),
        values=_values(options.get("values", ())),
        numbers=_numbers(options.get("numbers")),
        sides=options.get("sides"),
        criteria=_columns(options.get("criteria", ())),
        systems=_systems(",".join(options.get("systems", ()))),
        annotator_columns=_columns(options.get("annotator_columns", ())),
        names=tuple(options.get("names", ())),
        llms=tuple(options.get("llms", ())),
        same=tuple(options.get("same", ())),
        people=None if people is None else read_people(Path(people)),
        scales=tuple(_scale(text) for text in options.get("scale", ())),
        unnamed=bool(options.get("unnamed")),
        means=bool(options.get("means")),
        controls=tuple(options.get("controls", ())),
        system_roles=dict(_role(text) for text in options.get("system_roles", ())),
        missing=tuple(options.get("missing", ())),
        rescale=dict(_own_scale(text) for text in options.get("rescale", ())),
        ends=options.get("ends"),
        clean_outputs=bool(options.get("clean_outputs")),
        weights={word: weight for text in options.get("weights", ()) for word, weight in _weights(text).items()},
    )


def print_found(recognised: RecognisedTables, *, err: bool = False) -> None:
    """Say what each column was taken for, with the option of the command that corrects it."""
    options = {param.name or "": param.opts[0] for param in click.get_current_context().command.params}
    for one in recognised.found:
        for column in one.columns:
            line = column.line(options) if column.otherwise.parameter in options else column.note
            click.echo(f"{Path(one.place).name}: {line}", err=err)


def _mapping(texts: Sequence[str]) -> dict[str, str]:
    """Return what columns are called; one column is one thing."""
    found: dict[str, str] = {}
    for text in texts:
        old, new = _last_sides(text)
        if found.setdefault(old, new) != new:
            raise click.UsageError(f"--map {old}: expected one name, got {found[old]} and {new}; a column is one thing")
    return found


def _last_sides(text: str) -> tuple[str, str]:
    """Return what stands before and after the last ``=``: a path may hold one, a column of ours does not."""
    old, sign, new = text.rpartition("=")
    if not (old and sign and new):
        raise click.UsageError(f"expected --map OLD=NEW, got {text!r}")
    return old, new


def _encoding(name: str | None) -> str | None:
    from spa.tables.encodings import known_encoding

    return None if name is None else known_encoding(name)


def _constants(given: Sequence[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for text in given:
        name, value = two_sides(text, "--set", "NAME=VALUE")
        if found.setdefault(name, value) != value:
            raise click.UsageError(f"--set {name}: expected one value, got {found[name]!r} and {value!r}")
    return found


def _values(texts: Iterable[str]) -> dict[str, str]:
    """Return what words count: what stands before and after the last ``=`` (a word may hold one: ``A=B=tie``)."""
    values: dict[str, str] = {}
    for text in texts:
        word, sign, value = text.rpartition("=")
        if not (word and sign and value.strip()) or value.strip() == "?":
            raise click.UsageError(f"expected --value WORD=VALUE, got {text!r}")
        if values.get(word, value.strip()) != value.strip():
            raise click.UsageError(f"--value {word}: expected one value, got {values[word]} and {value.strip()}")
        values[word] = value.strip()
    return values


def _numbers(text: str | None) -> tuple[float, float] | None:
    if text is None:
        return None
    first, _, second = text.partition(":")
    try:
        ends = float(first), float(second)
    except ValueError:
        ends = math.nan, math.nan
    if not all(map(math.isfinite, ends)) or ends[0] == ends[1]:
        raise click.UsageError(f"expected --numbers X:Y, two numbers, got {text!r}")
    return ends


def _columns(texts: Sequence[str]) -> tuple[str, ...]:
    """Return names of columns, with commas between."""
    return tuple(name.strip() for name in ",".join(texts).split(",") if name.strip())


def _systems(text: str) -> dict[str, str]:
    """Return the system of each column: what stands behind the last ``=``, else the column's own name."""
    found: dict[str, str] = {}
    for part in (one.strip() for one in text.split(",") if one.strip()):
        column, sign, name = part.rpartition("=")
        if sign and not (column and name):
            raise click.UsageError(f"expected --systems COLUMN or COLUMN=NAME, with commas between, got {part!r}")
        found[column if sign else part] = name if sign else part
    return found


def _scale(text: str) -> Scale:
    from analysis.answers.columns import Scale

    criterion, sign, bounds = text.rpartition("=")
    ends = _ends(bounds)
    if ends is None or (sign and not criterion):
        raise click.UsageError(f"expected --scale LOW:HIGH or CRITERION=LOW:HIGH, got {text!r}")
    return Scale(criterion=criterion if sign else None, low=ends[0], high=ends[1])


def _weights(text: str) -> Mapping[str, float]:
    """Return what one option weighs."""
    from analysis.answers.span_weights import WMT

    if text == "wmt":
        return WMT
    word, _, number = text.rpartition("=")
    try:
        weight = float(number)
    except ValueError:
        weight = math.nan
    if not word or not math.isfinite(weight):
        raise click.UsageError(f"expected --weight [CATEGORY:]WORD=NUMBER or wmt, got {text!r}")
    return {word.lower(): weight}


def _role(text: str) -> tuple[str, UnrankedSystem | None]:
    """Return a system and what it is; ``None``: a system as others."""
    from spa.records.system_roles import role_of

    found = role_of(text)
    if found is None:
        raise click.UsageError(
            "expected --role SYSTEM=hidden_reference, SYSTEM=anchor, SYSTEM=anchor:HZ or SYSTEM=system, got "
            f"{shortened(text, 80)!r}"
        )
    return found


def _item_pattern(text: str | None) -> str | None:
    if text is None:
        return None
    try:
        pattern = re.compile(text)
    except re.error as error:
        raise click.UsageError(
            f"--item-from: expected a regular expression, got {shortened(text, 80)!r}: {error}"
        ) from error
    if not pattern.groups:
        raise click.UsageError(
            f"--item-from: expected a group, such as '(?P<item>.+)_[^_]+', got {shortened(text, 80)!r}"
        )
    return text


def _own_scale(text: str) -> tuple[str, tuple[float, float]]:
    annotator, _, bounds = text.rpartition("=")
    ends = _ends(bounds)
    if ends is None or not annotator:
        raise click.UsageError(f"expected --rescale ID=LOW:HIGH, got {text!r}")
    return annotator, ends


def _ends(text: str) -> tuple[float, float] | None:
    """Return two numbers with a colon between them, the first below the second; ``None`` if it is something else."""
    low, colon, high = text.partition(":")
    try:
        ends = float(low), float(high)
    except ValueError:
        return None
    return ends if colon and -math.inf < ends[0] < ends[1] < math.inf else None

"""Names of what strengths may be controlled for: properties of the outputs that answers may follow."""

from __future__ import annotations

from typing import Final

LENGTH, MARKDOWN = "length", "markdown"
CONTROL: Final = r"^(length|markdown|column:\S(.*\S)?)$"


def control_column(control: str) -> str | None:
    """Return the column of the outputs that a name such as "column:toxicity" means.

    >>> control_column("column:toxicity"), control_column("length")
    ('toxicity', None)
    """
    prefix, sign, column = control.partition(":")
    return column if sign and prefix == "column" else None


def control_columns(controls: tuple[str, ...]) -> tuple[str, ...]:
    """Return the columns that names mean."""
    return tuple(column for one in controls if (column := control_column(one)) is not None)

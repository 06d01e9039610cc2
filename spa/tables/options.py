"""How a file is read, whatever it holds: what its columns are called, which rows stay."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class TableOptions:
    """How files from elsewhere are read.

    Parameters
    ----------
    mapping : mapping of str to str
        Column of the file, path into its records, or several of them joined by ``+`` -> column of the tidy table.
    constants : mapping of str to str
        Column of the tidy table -> what stands in every row of a table that lacks it; ``{row}`` is another in each,
        ``{file}`` the name of the file.
    keep, drop : mapping of str to tuple of str
        Column -> values of the rows that are read, or left out.
    each : str, optional
        Path of the lists or objects of a record that become rows of their own.
    encoding : str, optional
        Of text files that are neither UTF-8 nor begin with a byte order mark.
    quotes : {"csv", "text"}, optional
        Of delimited text where it is in doubt: double quotes enclose cells, or are text.
    sheet : str, optional
        Of workbooks: which one is read, if not the first that can be seen.
    """

    mapping: Mapping[str, str] = field(default_factory=dict)
    constants: Mapping[str, str] = field(default_factory=dict)
    keep: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    drop: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    each: str | None = None
    encoding: str | None = None
    quotes: Literal["csv", "text"] | None = None
    sheet: str | None = None

"""Names of columns that R takes without quoting them: letters, digits and underscores, no word of the language."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from hashlib import sha256

LONGEST = 32
FITS = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
RESERVED = frozenset(  # R's ?Reserved
    "if else repeat while function for next break TRUE FALSE NULL Inf NaN NA NA_integer_ NA_real_ NA_complex_ "
    "NA_character_ in".split()
)
BEFORE, AFTER = "x_", "_"  # what a name begins with that begins with no letter, and what a word of R ends with


def r_names(columns: Sequence[str]) -> dict[str, str]:
    """Return the name in R of each column of one table, which is its own where that fits; no two are the same.

    Names that would be too long, or two columns', end in four digits of a hash of the column's own name, so that they
    hang on nothing else.

    >>> r_names(["criterion", "repeat", "screening:native", "2nd"])
    {'criterion': 'criterion', 'repeat': 'repeat_', 'screening:native': 'screening_native', '2nd': 'x_2nd'}
    >>> r_names(["interview:a-b", "interview:a.b"])
    {'interview:a-b': 'interview_a_b_a071', 'interview:a.b': 'interview_a_b_1a50'}
    """
    plain = {column: _plain(column) for column in columns}
    times = Counter(name.casefold() for name in plain.values())
    found = {}
    for column, name in plain.items():
        alone = name == column or times[name.casefold()] == 1
        found[column] = name if alone and len(name) <= LONGEST else _told_apart(name, column)
    return found


def own_names(columns: Iterable[str], known: Iterable[str]) -> dict[str, str]:
    """Return which of a table's columns are names in R of known columns that it lacks, and of which.

    >>> own_names(["annotator_id", "repeat_"], ["annotator_id", "repeat"])
    {'repeat_': 'repeat'}
    """
    there = set(columns)
    named = r_names([*known])
    return {alias: own for own, alias in named.items() if alias != own and alias in there and own not in there}


def _plain(column: str) -> str:
    if FITS.fullmatch(column):
        return f"{column}{AFTER}" if column in RESERVED else column
    name = re.sub(r"[^A-Za-z0-9_]", "_", column)
    return name if name[:1].isalpha() else f"{BEFORE}{name}"


def _told_apart(name: str, column: str) -> str:
    return f"{name[: LONGEST - 5]}_{sha256(column.encode('utf-8', 'surrogatepass')).hexdigest()[:4]}"

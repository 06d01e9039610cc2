"""Names of annotators that a person can read: ids made here are long, and their first characters tell them apart."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

SHORTEST = 6  # characters; of 500 annotators two begin alike in seven of a thousand studies
_LONG = re.compile(r"[0-9a-f]{12,}")


def short_names(annotators: Iterable[str]) -> Mapping[str, str]:
    """Return the name to show for each annotator: the beginning of an id in hexadecimal digits, any other id whole.

    All are shortened alike, to six characters or as many as tell all of them apart.

    >>> dict(short_names(["8ce3872243bfa2ce7677", "8ce3872f0ab1c22d9e01", "Ada"]))
    {'8ce3872243bfa2ce7677': '8ce38722', '8ce3872f0ab1c22d9e01': '8ce3872f', 'Ada': 'Ada'}
    """
    names = list(dict.fromkeys(annotators))
    long = [name for name in names if _LONG.fullmatch(name)]
    length = SHORTEST
    while len({name[:length] for name in long}) < len(long):
        length += 1
    return {name: name[:length] if _LONG.fullmatch(name) else name for name in names}

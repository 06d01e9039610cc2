"""An order of several names in one cell: ``b > a = c``, ``["b", "a", "c"]``."""

from __future__ import annotations

import re

from spa.tables.paths import inside

BETTER, WORSE = re.compile(r"\s*(?:>+|≻)\s*"), re.compile(r"\s*(?:<+|≺)\s*")
EQUAL = re.compile(r"\s*[=~≈]+\s*")


def places_of(cell: str) -> list[list[str]] | None:
    """Return the names in a cell, best first, those that share a place together; ``None`` where it holds no order.

    Lists are taken for best first; signs say it themselves.

    >>> places_of("b > a = c"), places_of("a<b"), places_of('["b", ["a", "c"]]'), places_of("b, a, c")
    ([['b'], ['a', 'c']], [['b'], ['a']], [['b'], ['a', 'c']], None)
    """
    found = inside(cell)
    if isinstance(found, list):
        places = [[str(name) for name in one] if isinstance(one, list) else [str(one)] for one in found]
    else:
        signs = [sign for sign in (BETTER, WORSE) if found is None and sign.search(cell)]
        if len(signs) != 1:
            return None
        places = [EQUAL.split(one) for one in signs[0].split(cell.strip())]
        places = places[::-1] if signs[0] is WORSE else places
    names = [name.strip() for place in places for name in place]
    if len(names) < 2 or not all(names) or len({*names}) < len(names):
        return None
    return [[name.strip() for name in place] for place in places]

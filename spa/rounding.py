"""Numbers as people read them; a rounded bound never says what the bound does not."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import ROUND_HALF_UP, Context, Decimal
from functools import lru_cache

MINUS = "\u2212"
NONE = "\u2013"  # stands where there is no number
ROUNDING = Context(prec=400, rounding=ROUND_HALF_UP)  # any float, with its decimals
FURTHER = 3  # decimals at most by which a bound between two marks is told from both


@lru_cache(maxsize=4096)
def number(value: float | None, decimals: int = 2, *, shift: int = 0) -> str:
    """Return a number, times 10 to the ``shift``, with a true minus sign.

    A half is rounded away from zero, of the number as results.json writes it and not of its nearest binary fraction.

    >>> number(-0.822), number(-0.001), number(None)
    ('\u22120.82', '0.00', '\u2013')
    >>> number(0.625), number(-0.225), number(0.2885, 1, shift=2), len(number(1e300))
    ('0.63', '\u22120.23', '28.9', 404)
    """
    return NONE if value is None else _shown(_rounded(_exact(value, shift), decimals))


def bound(value: float, decimals: int = 2, *, shift: int = 0, marks: Iterable[float] = (0.0,)) -> str:
    """Return a bound of an interval as :func:`number`, on the side of each mark on which it lies.

    What would be rounded onto a mark, or beyond it, is said to be below or above it.

    Parameters
    ----------
    value : float
        The bound.
    decimals, shift : int
        As of :func:`number`.
    marks : iterable of float
        What a reader compares the bound with, such as no difference and a margin, on the scale of ``value``.

    >>> bound(0.497, 0, shift=2, marks=[0.5]), bound(0.5004, 1, shift=2, marks=[0.5]), bound(0.5, 0, shift=2)
    ('below 50', 'above 50', '50')
    >>> bound(-0.001), bound(-0.2), bound(0.4746, 0, shift=2, marks=[0.5, 0.473])
    ('below 0', '\u22120.20', 'above 47.3')
    """
    exact = _exact(value, shift)
    places = [_exact(float(f"{mark:.12g}"), shift) for mark in marks]  # 0.57, not 0.5 + 0.07
    for further in range(FURTHER + 1):
        rounded = _rounded(exact, decimals + further)
        crossed = [mark for mark in places if rounded.compare(mark) != exact.compare(mark)]
        if not crossed:
            return _shown(rounded)
        if len(crossed) == 1:
            break
    mark = min(crossed, key=lambda one: abs(one - exact))
    side = "" if exact == mark else "above " if exact > mark else "below "
    return side + _shown(_rounded(mark, max(0, -int(mark.normalize().as_tuple().exponent))))


def bounds(low: float, high: float, decimals: int = 2, *, shift: int = 0, marks: Iterable[float] = (0.0,)) -> str:
    """Return an interval as "61.0 to 75.0", each end as :func:`bound` says it."""
    at = tuple(marks)
    return " to ".join(bound(end, decimals, shift=shift, marks=at) for end in (low, high))


def _exact(value: float, shift: int) -> Decimal:
    return Decimal(repr(float(value))).scaleb(shift, context=ROUNDING)


def _rounded(exact: Decimal, decimals: int) -> Decimal:
    return exact.quantize(Decimal(1).scaleb(-decimals), context=ROUNDING)


def _shown(rounded: Decimal) -> str:
    text = f"{rounded:,f}"
    if not text.strip("-0.,"):
        text = text.lstrip("-")
    return text.replace("-", MINUS)

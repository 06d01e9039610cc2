"""Numbers and names as a reader sees them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from hashlib import sha256

from analysis.figures.plain_text import percent as percent
from analysis.figures.plain_text import shown_name
from analysis.records.results import Results
from spa.rounding import MINUS as MINUS
from spa.rounding import NONE as NONE
from spa.rounding import bound, bounds
from spa.rounding import number as number

LEVEL, MOST_DECIMALS = 0.05, 6  # of p-values: one above the level is not printed as it
SPACE = "\u00a0"  # where a line must not break
SOURCES = {
    "preferences": "SPA",
    "ratings": "ratings",
    "choices": "choices",
    "ratings_bt": "ratings as comparisons",
}


def rule_name(rule: str) -> str:
    """Return a rule of exclusion as a reader sees it.

    >>> rule_name("self_consistency"), rule_name("reading_speed")
    ('self-consistency', 'reading speed')
    """
    return "self-consistency" if rule == "self_consistency" else shown_name(rule.replace("_", " "))


def signed(value: float | None, decimals: int = 2) -> str:
    """Return a difference with its sign."""
    text = number(value, decimals)
    return f"+{text}" if value is not None and value > 0 and text.strip("0.,") else text


def count(value: float | None) -> str:
    """Return a whole number, or one decimal where it is none."""
    if value is None:
        return NONE
    return number(value, 0) if float(value).is_integer() else number(value, 1)


def p_value(value: float | None) -> str:
    r"""Return a p-value to three digits, without the zero before the point; more where three would make it .05.

    >>> p_value(0.0121), p_value(0.00004), p_value(1.0), p_value(0.0502)
    ('.012', '<\xa0.001', '1.000', '.0502')
    """
    if value is None:
        return NONE
    if value < 0.001:
        return f"<{SPACE}.001"
    decimals = 3
    while value > LEVEL and decimals < MOST_DECIMALS and round(value, decimals) <= LEVEL:
        decimals += 1
    return number(value, decimals).removeprefix("0")


def p_words(value: float | None) -> str:
    """Return "adjusted p = .012" or "adjusted p < .001"."""
    text = p_value(value)
    return f"adjusted p{SPACE}{text}" if text.startswith("<") else f"adjusted p{SPACE}={SPACE}{text}"


def interval(
    low: float | None,
    high: float | None,
    *,
    as_percent: bool = False,
    decimals: int = 2,
    marks: Iterable[float] = (0.0,),
) -> str:
    """Return "61.0 to 75.0"; no percent signs, the column says them.

    ``marks`` are values that a reader looks for in it, on the scale of the ends; no end is rounded onto one.

    >>> interval(0.2, 0.711), interval(-0.3, -0.001), interval(0.0004, 0.02, as_percent=True)
    ('0.20 to 0.71', '\u22120.30 to below 0', 'above 0 to 2.0')
    """
    if low is None or high is None:
        return NONE
    return bounds(low, high, 1 if as_percent else decimals, shift=2 if as_percent else 0, marks=marks)


def share_interval(low: float | None, high: float | None, *, marks: Iterable[float] = (0.5,)) -> str:
    """Return the interval of a share in percent, cut at 0 and 100: a t interval does not know that it ends there.

    ``marks`` are as for :func:`interval`.

    >>> share_interval(0.86, 0.95), share_interval(0.86, 1.029), share_interval(0.11, 0.4997)
    ('86.0 to 95.0', '86.0 to 100 (cut)', '11.0 to below 50')
    >>> share_interval(-0.02, 0.14), share_interval(-0.2, 1.2)
    ('0 (cut) to 14.0', '0 to 100 (both cut)')
    """
    if low is None or high is None:
        return NONE
    if low < 0 and high > 1:
        return "0 to 100 (both cut)"
    first, last = (bound(end, 1, shift=2, marks=tuple(marks)) for end in (low, high))
    return f"{'0 (cut)' if low < 0 else first} to {'100 (cut)' if high > 1 else last}"


def compared_with(results: Results, source: str) -> tuple[float, ...]:
    """Return what the ends of a test's interval are compared with: no difference, and a declared margin around it."""
    rated, settings = source == "ratings", results.settings
    margin = settings.equivalence_margin_ratings if rated else settings.equivalence_margin
    none = 0.0 if rated else 0.5
    return (none,) if margin is None else (none - margin, none, none + margin)


def t_value(value: float | None) -> str:
    """Return t with two decimals, from 100 on with none.

    >>> t_value(2.514), t_value(-144.92), t_value(None)
    ('2.51', '\u2212145', '\u2013')
    """
    return number(value, 2 if value is None or abs(value) < 99.995 else 0)


def slug(text: str) -> str:
    """Return a part of a file name: ASCII letters and digits, never empty, told apart by a short number.

    >>> slug("fluency"), slug("fluency!").startswith("fluency-")
    ('fluency', True)
    """
    kept = "".join(character if character.isascii() and character.isalnum() else "_" for character in text)[:40]
    same = kept == text.lower()
    return kept if same else f"{kept.strip('_')}-{sha256(text.encode()).hexdigest()[:4]}".lstrip("-")


def plural(number_of: int, one: str, many: str | None = None) -> str:
    """Return "1 pair", "5 pairs", "1,200 pairs"."""
    return f"{number_of:,} {one if number_of == 1 else many or one + 's'}"


def shortened_list(names: Sequence[str], shown: int) -> list[str]:
    """Return the first names, and how many more there are.

    >>> shortened_list(["a", "b", "c"], 2)
    ['a', 'b', '1 more']
    """
    return [*names[:shown], *([f"{len(names) - shown} more"] if len(names) > shown else [])]


def listed(parts: Sequence[str]) -> str:
    """Return "a", "a and b" or "a, b and c"."""
    return " and ".join([", ".join(parts[:-1]), parts[-1]]) if len(parts) > 1 else "".join(parts)


def sentence(text: str) -> str:
    """Return the text with a capital at its start; a name in it keeps its own letters."""
    return text[:1].upper() + text[1:]

"""Names that are nearly the same: what the eye cannot tell apart, and ways of writing one and the same name."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

import polars as pl

from spa.errors import shortened

# Letters of other scripts that look like Latin ones, by their small form.
LOOKALIKES = str.maketrans(
    {
        **dict(zip("авекмнорстухѕіјһԁԛԝҽү", "abekmhopctyxsijhdqwey", strict=True)),
        **dict(zip("αβεικμνορτυχγζη", "abeikmvoptuxyzn", strict=True)),
        **dict(zip("ıɑɡᴀᴄᴏᴜᴠᴡᴢꞁ", "iagacouvwzl", strict=True)),
        **dict.fromkeys("‘’ʼ‛′`´", "'"),
        **dict.fromkeys("“”„‟″", '"'),
    }
)
# Written otherwise in capitals than the small form of the same letter looks.
CAPITALS = str.maketrans("ΝΗΥ", "nhy")
SELECTORS = re.compile("[\ufe00-\ufe0f\u034f\u115f\u1160\u3164\u180e]")
NUMBER = re.compile(r"0*(\d+)(?:\.0)?")  # a whole number, with leading zeros or as a fractional number
ROOM = re.compile(r"[\x00-\x20\x7f]+")
FEW = 1_000  # names, up to which polars takes longer
DATED = re.compile(r"(?P<name>.+?)[-_@: ](?:19|20)\d\d(?:-?[01]\d-?[0-3]\d)")
SHOWN, LONGEST = 2, 40  # pairs of names that a message shows, and characters of each


@dataclass(frozen=True, slots=True, kw_only=True)
class NearMatch:
    """Names that may be one, the plainest first."""

    names: tuple[str, ...]


def near_matches(names: Iterable[str], *, versions: bool = False) -> list[NearMatch]:
    r"""Group names that differ in what is easily overlooked; names without such another are left out.

    That is: letter case, letters of other scripts that look the same, characters that take no room, kinds of spaces,
    hyphens and quotation marks, several spaces for one, and whole numbers written with leading zeros or as ``1.0``.

    Parameters
    ----------
    names : iterable of str
        Different names of one kind of thing.
    versions : bool
        Whether ``openai/x`` and ``x-2026-01-01`` are near ``x``, too: of models, not of items.

    Returns
    -------
    list of NearMatch
        The same for any order of the names. O(n log n) time.

    >>> [match.names for match in near_matches(["gpt", "GPT", "x", "1", "001", "gpt\u200b", "y"])]
    [('1', '001'), ('gpt', 'GPT', 'gpt\u200b')]
    >>> [match.names for match in near_matches(["openai/x", "x", "x-2026-01-01", "openai/y"], versions=True)]
    [('x', 'openai/x', 'x-2026-01-01')]
    """
    different = list(dict.fromkeys(names))
    if len(different) <= FEW:
        keys = list(map(_key, different))
    else:
        many = skeletons(pl.Series(different, dtype=pl.String))
        if not versions and many.n_unique() == len(many):
            return []
        keys = many.to_list()
    table = list(zip(keys, different, strict=True))
    often = Counter(keys)
    groups: dict[str, list[str]] = {}
    for key, name in table:
        if often[key] > 1:
            groups.setdefault(key, []).append(name)
    if versions:
        _join_versions(groups, table)
    found = [NearMatch(names=tuple(sorted(own, key=_plainness))) for own in groups.values() if len(own) > 1]
    return sorted(found, key=lambda match: match.names)


def _join_versions(groups: dict[str, list[str]], table: Iterable[tuple[str, str]]) -> None:
    """Put names of a provider or with a date to those without, in place."""
    by_key: dict[str, list[str]] = {}
    for key, name in table:
        by_key.setdefault(key, []).append(name)
    for key in sorted(by_key):
        plain = next((other for other in _plainer(key) if other in by_key), None)
        further = plain
        while further is not None:  # the skeleton of a space is ""
            plain, further = further, next((one for one in _plainer(further) if one in by_key), None)
        if plain is not None:
            groups.setdefault(plain, list(by_key[plain])).extend(by_key[key])
            groups.pop(key, None)


def _plainer(key: str) -> Iterable[str]:
    """Yield a name without its provider, without its date, and without both."""
    parts = key.split("/")
    without = ["/".join(parts[first:]) for first in range(1, len(parts))]
    dated = DATED.fullmatch(key)
    yield from without
    if dated is not None:
        yield dated["name"]
        yield from ("/".join(dated["name"].split("/")[first:]) for first in range(1, len(parts)))


def nearest_names(names: Iterable[str], known: Collection[str], *, versions: bool = False) -> dict[str, str]:
    """Return, for each of some names that is near to a known one, the plainest such.

    >>> nearest_names(["A0", "zz"], ["a0", "a1"])
    {'A0': 'a0'}
    """
    wanted, there = {*names}, {*known}
    found: dict[str, str] = {}
    for match in near_matches([*there, *(wanted - there)], versions=versions):
        near = [name for name in match.names if name in there]
        if near:
            found |= {name: near[0] for name in match.names if name in wanted and name != near[0]}
    return found


def skeletons(names: pl.Series) -> pl.Series:
    """Return what is left of names when differences that are easily overlooked are taken out."""
    plain = names.str.len_bytes() == names.str.len_chars()
    keys = names.str.to_lowercase().str.replace_all(ROOM.pattern, " ")
    if not plain.all():
        other = names.filter(~plain)
        keys = keys.scatter((~plain).arg_true(), pl.Series([_skeleton(name) for name in other.to_list()]))
    return keys.str.strip_chars(" ").str.replace(f"^{NUMBER.pattern}$", "${1}")


def _key(name: str) -> str:
    """Return what :func:`skeletons` does of one name, which is faster where names are few."""
    key = ROOM.sub(" ", name.lower()) if name.isascii() else _skeleton(name)
    key = key.strip(" ")
    whole = NUMBER.fullmatch(key)
    return key if whole is None else whole[1]


def _skeleton(name: str) -> str:
    """Return the skeleton of a name that is not of ASCII."""
    text = unicodedata.normalize("NFKC", SELECTORS.sub("", name)).translate(CAPITALS).casefold().translate(LOOKALIKES)
    return " ".join("".join(map(_sign, unicodedata.normalize("NFKC", text))).split(" "))


def _sign(character: str) -> str:
    kind = unicodedata.category(character)
    if kind == "Cf":
        return ""
    if kind == "Pd" or character == "\u2212":
        return "-"
    return " " if character.isspace() or kind in ("Zs", "Cc") else character


def _plainness(name: str) -> tuple[int, int, int, str]:
    return (len(_odd(name)), len(name), sum(map(str.isupper, name)), name)


def _odd(name: str) -> list[int]:
    """Return the places of characters that the eye cannot tell from others, or does not see."""
    doubled = {place for found in re.finditer(r"\s{2,}", name) for place in range(*found.span())}
    return [place for place, sign in enumerate(name) if place in doubled or _is_odd(sign)]


def _is_odd(character: str) -> bool:
    if character.isascii():
        return not character.isprintable()
    return _skeleton(character) != unicodedata.normalize("NFC", character).casefold()


def as_shown(name: str) -> str:
    r"""Return a name with the code points of characters that the eye cannot tell from others.

    >>> as_shown("alpha\u200b"), as_shown("GPT\u20114"), as_shown("café")
    ('alpha<U+200B>', 'GPT<U+2011>4', 'café')
    """
    odd = {*_odd(name)}
    signs = (f"<U+{ord(sign):04X}>" if place in odd else sign for place, sign in enumerate(name))
    return shortened("".join(signs), LONGEST)


def escaped(name: str) -> str:
    r"""Return a name in which such characters are written as in Python, to be typed.

    >>> escaped("alpha\u200b")
    'alpha\\u200b'
    """
    odd = {*_odd(name)}
    signs = (
        (f"\\u{ord(sign):04x}" if ord(sign) < 1 << 16 else f"\\U{ord(sign):08x}") if place in odd else sign
        for place, sign in enumerate(name)
    )
    return "".join(signs)


def unescaped(text: str) -> str:
    r"""Return the name that :func:`escaped` wrote.

    >>> unescaped("alpha\\u200b") == "alpha\u200b"
    True
    """
    return re.sub(r"\\u([0-9a-fA-F]{4})|\\U(000[0-9a-fA-F]{5})", lambda found: chr(int(found[1] or found[2], 16)), text)


def matches_shown(matches: Sequence[NearMatch]) -> str:
    r"""Name matches in a sentence, the first of them with their code points.

    >>> matches_shown([NearMatch(names=("gpt", "GPT")), NearMatch(names=("x", "x\u200b"))])
    'gpt and GPT, x and x<U+200B>'
    """
    pairs = [" and ".join(map(as_shown, match.names[:2])) for match in matches[:SHOWN]]
    more = sum(len(match.names) - 1 for match in matches) - len(pairs)
    return ", ".join(pairs) + (f" and {more} more" if more else "")

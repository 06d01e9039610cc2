"""Words for the outcome of a comparison of two: by name, by place, by a sign between letters, or as a tie.

What a word means is decided here alone, for tables, imports and replies of LLMs. "First" is ``system_x``.

=========================================================================== ========================= ========
word (letter case, ``_`` and ``-`` do not matter)                            means                     is
=========================================================================== ========================= ========
a system of its row; one between signs (``alpha > beta``)                    that system               read
``x``, ``y`` (under ``system_x``, ``system_y`` also where systems are called
so); ``system_x``, ``model_a``, the name of the system's column              first, second             read
``[[A]]``, ``[[B]]``; ``A>B``, ``[[A>>B]]``, ``[[B<<A]]`` where the columns
are ``system_x``, ``system_y`` or told apart by such signs                   first, second             read
the same where the columns say nothing of sides (``model``, ``baseline``)    first, second             proposed
``[[C]]``, ``A=B``                                                           tie                       read
``tie``, ``draw``, ``tie (inconsistent)``                                    tie                       read
``tie (bothbad)``, ``both_bad``                                              tie, both bad             read
``A``, ``B``; ``1``, ``2``; ``left``, ``right``, ... where the columns of
the two systems are told apart by the same signs (``model_1``, ``model_2``)  that column               read
the same elsewhere; ``response_1``, ``Assistant B``, ``option (a)``; ``C``,
``0``; ``A is much better``, ``prefer B``                                    first, second; tie        proposed
``similar``, ``same``, ``equal``, ``neither``, ``no preference``, ``gleich``,
``égalité`` ...                                                              tie                       proposed
``both are bad``, ``beide schlecht``, ``les deux sont mauvais`` ...          tie, both bad             proposed
``error``, ``garbage``, ``invalid`` ...                                      missing                   proposed
=========================================================================== ========================= ========
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

Winner = Literal["x", "y", "tie"]
Sides = Literal["names", "places"]
ReadingStatus = Literal["read", "proposed", "differs", "unknown"]
COLUMNS = ("system_x", "system_y")
MISSING = "missing"  # what a word is said to count where it is no answer
BOTH_BAD = "both_bad"


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What a word says of two systems.

    ``winner`` is x, the first, y or a tie, and ``None`` where there is no answer. ``status``: ``read``; ``proposed``:
    only likely, to be confirmed; ``differs``: a system's name that is also a place, which say different things;
    ``unknown``.
    """

    winner: Winner | None = None
    both_bad: bool = False
    status: ReadingStatus = "read"

    @property
    def word(self) -> str:
        """The outcome as tables write it."""
        return BOTH_BAD if self.both_bad else self.winner or MISSING


UNKNOWN = Outcome(status="unknown")
DIFFERS = Outcome(status="differs")
TIE, BAD = Outcome(winner="tie"), Outcome(winner="tie", both_bad=True)
FAMILIES = (  # signs by which two places are told apart
    ("x", "y"),
    ("a", "b"),
    ("1", "2"),
    ("left", "right"),
    ("first", "second"),
    ("one", "two"),
    ("top", "bottom"),
    ("links", "rechts"),
    ("gauche", "droite"),
    ("erste", "zweite"),
    ("erster", "zweiter"),
    ("erstes", "zweites"),
    ("premier", "second"),
    ("première", "seconde"),
    ("premier", "deuxième"),
    ("première", "deuxième"),
)
PLACES = {sign: place for signs in reversed(FAMILIES) for place, sign in enumerate(signs)}
NOUN = (
    "(?:system|model|modell|modèle|système|assistant|assistent|response|antwort|réponse|output|ausgabe|sortie|answer"
    "|option|candidate|completion|generator|summary|translation|übersetzung|traduction|text|texte|story|image|bild"
    "|side|sample|audio|video|clip|recording|version|player|reply|choice|post|conversation)"
)
PLACE = re.compile(
    rf"(?:the )?(?:{NOUN} ?)?[(\[]?({'|'.join(sorted(PLACES, key=len, reverse=True))})[)\]]?"
    rf"(?: {NOUN}| one)?"
)
SIGNED = re.compile(r"([^<>=≈~]*[^<>=≈~\s])\s*(>{1,3}|<{1,3}|={1,2}|≈|~)\s*([^<>=≈~\s][^<>=≈~]*)")
NUMBERED = re.compile(rf"(?:{NOUN} ?)?[(\[]?(?:[a-h]|\d{{1,2}}|middle|third|mitte|dritte)[)\]]?")
BETTER = re.compile(  # "A is much better", "prefer B"
    r"(?:(?:i )?(?:(?:strongly|slightly|somewhat|clearly) )?prefers? )?(?P<place>.{1,24}?)"
    r"(?P<said> (?:(?:is|was|are|ist|est) )?(?:(?:much|slightly|somewhat|clearly|significantly|far|a bit|a little|etwas"
    r"|viel|deutlich|un peu|nettement|légèrement) )*(?:better|preferred|stronger|wins|won|besser|gewinnt|meilleure?))?"
)
VOTED = re.compile(r"^(left|right|tie|bothbad|both bad|a|b) ?votes?$")  # as arenas write it: "leftvote"
BRACKETED = re.compile(r"\[\[\s*([^\[\]]+?)\s*\]\]")
READ = {
    **dict.fromkeys(("tie", "draw", "tie (inconsistent)"), TIE),
    **dict.fromkeys(("tie (bothbad)", "tie (both bad)", "both bad", "bothbad"), BAD),
}
PROPOSED = {
    **dict.fromkeys(
        (
            *("c", "0", "tied", "ties", "both", "neither", "none", "similar", "same", "the same", "about the same"),
            *("equal", "equally good", "equals", "equivalent", "even", "no preference", "no difference", "indifferent"),
            *("both good", "both are good", "both equally good", "both are equally good", "same quality", "undecided"),
            *("gleich", "gleich gut", "gleichwertig", "unentschieden", "beide", "beide gut", "beide gleich", "keine"),
            *("beide gleich gut", "keine präferenz", "kein unterschied", "keines", "keiner", "ähnlich", "gleichstand"),
            *("égal", "égalité", "égaux", "pareil", "identique", "les deux", "aucun", "aucune", "aucune préférence"),
            *("match nul", "nul", "les deux sont bons", "aucune différence", "similaire", "équivalent"),
        ),
        TIE,
    ),
    **dict.fromkeys(
        (
            *("both are bad", "both are equally bad", "equally bad", "all bad", "neither is good", "both poor"),
            *("neither good", "none is good", "beide schlecht", "beide sind schlecht", "gleich schlecht"),
            *("les deux sont mauvais", "les deux sont mauvaises", "les deux mauvais", "aucun des deux"),
        ),
        BAD,
    ),
    **dict.fromkeys(
        (
            *(
                "garbage",
                "error",
                "invalid",
                "unknown",
                "failed",
                "failure",
                "parse error",
                "unparsable",
                "unparseable",
            ),
            *("unreadable", "timeout", "refused", "refusal", "skip", "skipped", "not answered", "no answer", "unclear"),
            *("ungültig", "fehler", "keine antwort", "weiss nicht", "erreur", "invalide", "sans réponse"),
        ),
        Outcome(),
    ),
}


def outcome(
    word: str,
    first: str,
    second: str,
    *,
    columns: tuple[str, str] = COLUMNS,
    sides: Sides | None = None,
    named: bool = False,
) -> Outcome:
    """Return what a word says of the two systems of its row.

    Parameters
    ----------
    word : str
        As the cell holds it.
    first, second : str
        The systems, ``system_x`` and ``system_y``.
    columns : pair of str
        What the columns of the two are called where the word was written: of ``model_b, model_a`` the word
        ``model_a`` is the second, and so is ``A``.
    sides : {"names", "places"}, optional
        What a word is that is both a system's name and a place, such as ``A`` where systems are called A and B.
    named : bool
        Other winners of the table are names, so that ``x`` and ``y`` of systems called so may be, too.

    >>> outcome("model_b", "gpt", "vicuna").winner, outcome("gpt", "vicuna", "gpt").winner
    ('y', 'y')
    >>> outcome("A", "B", "A").status, outcome("A", "B", "A", sides="names").winner
    ('differs', 'y')
    """
    placed = place_outcome(word, columns)
    by_name = _named(one_way(word), one_way(first), one_way(second)) if one_way(first) != one_way(second) else None
    if by_name is None:
        return placed
    if not named and columns == COLUMNS and sides != "names" and word.strip() in ("x", "y"):
        return placed  # the tidy table's own words
    if placed.status == "unknown" or sides == "names" or placed.winner == by_name.winner:
        return by_name
    if sides == "places":
        return Outcome(winner=placed.winner, both_bad=placed.both_bad)
    return DIFFERS


def one_way(name: str) -> str:
    """Return a name as ids of two columns are compared: composed, without outer blanks, a whole number without ``.0``.

    >>> one_way(" 2.0"), one_way("1.10")
    ('2', '1.10')
    """
    return re.sub(r"^(-?\d+)\.0+$", r"\1", unicodedata.normalize("NFC", name).strip())


def _named(word: str, first: str, second: str) -> Outcome | None:
    """Return what a word says by the names of the row's systems."""
    if word in (first, second):
        return Outcome(winner="x" if word == first else "y")
    inner = found[1] if (found := BRACKETED.fullmatch(word)) else word
    if inner != word and inner in (first, second):
        return Outcome(winner="x" if inner == first else "y")
    signed = SIGNED.fullmatch(inner)
    if signed is None or {signed[1].strip(), signed[3].strip()} != {first, second}:
        return None
    return _by_sign(signed[2], first=signed[1].strip() == first)


def _by_sign(sign: str, *, first: bool) -> Outcome:
    if sign[0] in "=≈~":
        return TIE
    return Outcome(winner="x" if (sign[0] == ">") == first else "y")


@lru_cache(maxsize=4096)
def place_outcome(word: str, columns: tuple[str, str] = COLUMNS) -> Outcome:
    """Return what a word says whatever the systems are called.

    >>> place_outcome("[[A>>B]]").winner, place_outcome("tie (bothbad)").both_bad, place_outcome("similar").status
    ('x', True, 'proposed')
    >>> place_outcome("A", ("model_b", "model_a"))
    Outcome(winner='y', both_bad=False, status='read')
    """
    key = _key(word)
    family, turned = orientation(columns)
    if key in ("x", "y"):
        if word.strip() in ("X", "Y") and family not in (("x", "y"), ("", "")):
            return UNKNOWN  # on a sheet of A and B people write X for a tie
        return Outcome(winner="x" if key == "x" else "y")
    for column, side in zip(columns, ("x", "y"), strict=True):
        if word.strip() == column and columns[0] != columns[1]:
            return Outcome(winner="x" if side == "x" else "y")
    if key in READ:
        return READ[key]
    sided = columns == COLUMNS or family != ("", "")  # whether the columns say which of them a place is
    inner = BRACKETED.fullmatch(key)
    if inner is not None and inner[1] in ("c", "tie"):
        return TIE
    if signed := SIGNED.fullmatch(inner[1] if inner else key):
        first, second = (PLACES.get(end.strip()) for end in (signed[1], signed[3]))
        if first is None or second is None or first == second:
            return UNKNOWN
        found = _by_sign(signed[2], first=(first == 0) != turned)
        return found if sided or found.winner == "tie" else Outcome(winner=found.winner, status="proposed")
    place = PLACE.fullmatch(inner[1] if inner else key)
    if place is not None:
        own = key in ("system x", "system y") and family != ("x", "y")  # the tidy table's names, whatever the file's
        sure = place[1] in family or (sided and (key in ("model a", "model b") or (inner and place[1] in "ab")))
        second_won = (PLACES[place[1]] == 1) != (turned and not own)
        return Outcome(winner="y" if second_won else "x", status="read" if sure or own else "proposed")
    better = BETTER.fullmatch(key)
    if better is not None and better["place"] != key and PLACE.fullmatch(better["place"]):
        return Outcome(winner=place_outcome(better["place"], columns).winner, status="proposed")
    likely = PROPOSED.get(key)
    return UNKNOWN if likely is None else Outcome(winner=likely.winner, both_bad=likely.both_bad, status="proposed")


@lru_cache(maxsize=64)
def orientation(columns: tuple[str, str]) -> tuple[tuple[str, str], bool]:
    """Return the signs by which two columns' names are told apart, and whether the second place comes first.

    >>> orientation(("model_a", "model_b")), orientation(("output_2", "output_1")), orientation(("mine", "other"))
    ((('a', 'b'), False), (('1', '2'), True), (('', ''), False))
    """
    first, second = (re.findall(r"[A-Z]?[a-zà-ÿ]+|[A-Z]+|\d+", name) for name in columns)
    differ = [(one.lower(), other.lower()) for one, other in zip(first, second, strict=False) if one != other]
    if len(first) != len(second) or len(differ) != 1:
        return ("", ""), False
    one, other = differ[0]
    for family in FAMILIES:
        if (one, other) == family:
            return family, False
        if (other, one) == family:
            return family, True
    return ("", ""), False


def are_sides(columns: tuple[str, str]) -> bool:
    """Whether two columns' names are told apart by signs of two places.

    >>> are_sides(("A", "B")), are_sides(("Response 2", "Response 1")), are_sides(("model", "baseline"))
    (True, True, False)
    """
    return orientation(columns)[0] != ("", "")


def is_place(name: str) -> bool:
    """Whether a name is that of a place on a page or in a file, and of no system.

    >>> is_place("A"), is_place("response_2"), is_place("left"), is_place("gpt-4"), is_place("x")
    (True, True, True, False, False)
    """
    key = _key(name)
    return key not in ("x", "y") and (PLACE.fullmatch(key) is not None or NUMBERED.fullmatch(key) is not None)


def proposals(words: Iterable[str], columns: tuple[str, str] = COLUMNS) -> Mapping[str, str]:
    """Return, for words that need a mapping, what each is likely to count: x, y, tie, both_bad, missing, or "?".

    >>> proposals(["1", "2", "0", "hm"])
    {'1': 'x', '2': 'y', '0': 'tie', 'hm': '?'}
    >>> proposals(["0", "1"])
    {'0': '?', '1': '?'}
    """
    found: dict[str, str] = {}
    distinct = list(dict.fromkeys(words))
    numbers = {one for word in distinct if re.fullmatch(r"-?\d+(\.\d+)?", one := _key(word))}
    three = numbers == {"1", "2", "3"}
    known = three or (numbers <= {"0", "1", "2"} and ("0" not in numbers or "2" in numbers))  # else a margin, 0 and 1
    for word in distinct:
        placed, key = place_outcome(word, columns), _key(word)
        unknown = placed.status == "unknown" or (key in numbers and not known)
        found[word] = "tie" if three and key == "3" else "?" if unknown else placed.word
    return found


def says_nothing_of_sides(words: Iterable[str], columns: tuple[str, str]) -> bool:
    """Whether words name places, and the columns do not say which of them a place is.

    >>> says_nothing_of_sides(["A>B"], ("model", "baseline")), says_nothing_of_sides(["A"], ("model_a", "model_b"))
    (True, False)
    """
    sided = columns == COLUMNS or are_sides(columns)
    return not sided and any(place_outcome(word, columns).winner in ("x", "y") for word in words)


def _key(word: str) -> str:
    """Return a word in small letters, without decoration, its parts parted by one blank."""
    plain = unicodedata.normalize("NFC", word).casefold().strip(" \t\n*`\"'“”„.!")
    plain = re.sub(r"^(-?\d+)\.0$", r"\1", plain)  # as a column with gaps is written
    parts = " ".join(re.sub(r"(?<=\w)[_-](?=\w)|\s+", " ", plain).split())
    return VOTED.sub(r"\1", parts)

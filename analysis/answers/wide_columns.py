"""Columns of answers that are a criterion, a system or an annotator each, by their names and by what they hold."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from analysis.answers.column_contents import Columns, is_vote
from analysis.answers.column_names import (
    KNOWN_CRITERIA,
    METRICS,
    PEOPLE,
    SCORED,
    SYSTEMS,
    is_system_like,
    ranks_named,
    systems_named,
    words_of,
)
from analysis.answers.extremes import ends_named
from analysis.answers.reading import NO_SCORE
from spa.tables.orders import places_of
from spa.tables.other_rows import TOTALS
from spa.tables.scale_words import sounds_bad

NO_CRITERION = frozenset(
    "confidence familiarity attention check checks passed consent approved approval progress finished reward bot flag "
    "latitude longitude valid expected gold label start lead difficulty suggestion prediction predicted output "
    "outputs completion generation target".split()
)
NO_PEOPLE = KNOWN_CRITERIA | METRICS | {"q", "question", "criterion", "aspect", "dimension"}
ORDERS = frozenset(
    "rank ranks ranking rankings ranked order ordering preference preferences rangfolge classement".split()
)
BEAT = {
    "winner": "loser",
    "won": "lost",
    "winning": "losing",
    "chosen": "rejected",
    "preferred": "dispreferred",
    "better": "worse",
}
TIES = frozenset(("tie", "ties", "tied", "draw", "draws"))
MADE = frozenset(  # words of numbers that were made of others
    "z zs zscore zscores std standardized standardised norm normed normalized normalised scaled rescaled rank ranked "
    "percent percentage percentile pct recoded reversed rev inverted centered centred adjusted minmax".split()
)
VOTES = frozenset("vote votes choice preference preferred winner verdict label annotation".split())
HIGHEST, MOST_STEPS = 1000, 101  # of scores
MOST_VOTES = 4  # different words, or numbers, of one person about two sides
MOST_LEVELS = 21  # of a scale of which people give whole numbers


def scored_columns(columns: Columns, free: Collection[str], about: Collection[str]) -> list[str]:
    """Return the free columns that look like scores of outputs, and not like properties of what they are ``about``."""
    names = [
        name
        for name in free
        if columns.scored(name)
        and columns.distinct(name) <= MOST_STEPS
        and (sounds_bad(name) or not NO_SCORE.search("_".join(_words_but_turn(name))))
        and not {*words_of(name)} & NO_CRITERION
        and columns.highest(name) <= HIGHEST
        and not columns.is_property(name, about)
    ]
    names = [name for name in names if not {*words_of(name)} & METRICS] or names  # metrics alone are asked about
    names = [name for name in names if not TOTALS.fullmatch(name.strip())] or names
    names = [name for name in names if columns.distinct(name) > 1] or names
    measured = _measured(columns, names)
    return [name for name in names if name not in measured]


def _words_but_turn(name: str) -> list[str]:
    """Return the words of a name, of a score of a turn ("score_turn_2") without that of the turn."""
    words = words_of(name)
    turned = "turn" in words[:-1] and words[-1].isdigit() and not {*words}.isdisjoint(SCORED)
    return [word for word in words if word != "turn"] if turned else words


def _measured(columns: Columns, names: Collection[str]) -> set[str]:
    """Return the columns of many different fractions that stand beside whole numbers of a scale: seconds, likelihoods.

    A column that is called as criteria are is none.
    """
    whole = [name for name in names if not columns.fractional(name)]
    if not any(columns.distinct(name) <= MOST_LEVELS for name in whole):
        return set()
    others = {name for name in names if columns.fractional(name) and columns.distinct(name) > MOST_LEVELS}
    return {name for name in others if not {*words_of(name)} & KNOWN_CRITERIA}


def systems_on_one_scale(columns: Columns, scored: Collection[str]) -> dict[str, str] | None:
    """Return the system of each column of scores, where their names say that each is a system.

    ``None`` where one of another name has scores beyond those of the columns that are called as systems are: whether it
    is a system or counts something, nobody knows.
    """
    known = [name for name in scored if is_system_like(name)]
    ends = [end for name in known if (end := columns.ends(name)) is not None]
    if ends:
        low, high = min(end[0] for end in ends), max(end[1] for end in ends)
        others = [columns.ends(name) for name in scored if name not in known]
        if any(end is None or end[0] < low or end[1] > high for end in others):
            return None
    return systems_named([*scored])


def restated(columns: Columns, scored: Sequence[str], who: str) -> list[tuple[str, str, int]]:
    """Return the columns that say what another says, that one, and 1, or -1 where high means low.

    The numbers of both rise together of everybody: a score and its z, rank, percent. Names that say how numbers were
    made come after the others.
    """
    left, found = sorted(scored, key=lambda name: (is_made(name), name)), list[tuple[str, str, int]]()
    for place, name in enumerate(left):
        for other in left[place + 1 :]:
            if all(other != one for one, _, _ in found) and (way := columns.follow(name, other, who)):
                found.append((other, name, way))
    return found


def is_made(name: str) -> bool:
    """Whether a name says that numbers were made of others.

    >>> is_made("z_score"), is_made("rawScore"), is_made("fluency_norm")
    (True, False, True)
    """
    return not MADE.isdisjoint(words_of(name))


def people_columns(free: Collection[str]) -> list[str]:
    """Return the columns that are called one person each: annotator1, annotator2."""
    numbered = [name for name in free if {*words_of(name)[:-1]} & {*PEOPLE} and words_of(name)[-1].isdigit()]
    return numbered if len(numbered) > 1 else []


def vote_columns(columns: Columns, free: Collection[str]) -> list[str]:
    """Return the columns with what one person each said of two sides: vote_w1, vote_w2, or annotator1, annotator2."""
    people = people_columns(free)
    called = [name for name in free if name in people or {*words_of(name)[:-1]} & VOTES or words_of(name)[0] in VOTES]
    return [name for name in called if all(map(is_vote, columns.values(name))) and columns.distinct(name) <= MOST_VOTES]


def rated_subjects(free: Collection[str]) -> list[str]:
    """Return the columns that name who or what is rated where raters have a column each, as "Subject" does."""
    return [name for name in free if words_of(name)[:1] in (["subject"], ["subjects"], ["participant"], ["target"])]


def rank_columns(columns: Columns, free: Sequence[str]) -> dict[str, str]:
    """Return the system of each column of ranks: rank_gpt, rank_t5, numbers from 1 to as many as there are columns."""
    named = {name: system for name, system in ranks_named(free).items() if columns.numeric(name)}
    ends = [columns.ends(name) for name in named]
    ranks = all(one is not None and 1 <= one[0] <= one[1] <= len(named) for one in ends)
    return named if len(named) > 1 and ranks and len({*named.values()}) == len(named) else {}


def won_and_lost(columns: Columns, free: Collection[str]) -> tuple[str, str] | None:
    """Return the columns of the system that won and of the one that lost: "winner, loser", which hold the same names.

    ``None`` where there are none, several that differ, or ties stand elsewhere.
    """
    if any({*words_of(name)} & TIES for name in free):
        return None
    turned = best_and_rest(free)
    same_names = {frozenset(pair) for pair in columns.compared([name for pair in turned for name in pair])}
    named = [pair for pair in turned if all(_names_system(columns, name) for name in pair)]
    found = [pair for pair in turned if frozenset(pair) in same_names or pair in named]
    same = all(columns.same(*sides) for pair in found[1:] for sides in zip(pair, found[0], strict=True))
    return found[0] if found and same else None


def best_and_rest(names: Collection[str]) -> list[tuple[str, str]]:
    """Return the pairs of names of which one says better, the other worse, in the same words.

    >>> best_and_rest(["rejected", "chosen_model", "rejected_model", "chosen"])
    [('chosen_model', 'rejected_model'), ('chosen', 'rejected')]
    """
    by_words = {tuple(words_of(name)): name for name in names}
    pairs = ((won, by_words.get(tuple(_turned(words_of(won), word)))) for won in names for word in BEAT)
    return [(won, lost) for won, lost in pairs if lost is not None]


def _names_system(columns: Columns, name: str) -> bool:
    """Whether a column is called the system of something, and holds names, few."""
    return bool({*words_of(name)} & {*SYSTEMS}) and columns.is_word(name)


def _turned(words: Sequence[str], won: str) -> list[str]:
    """Return the words of a name with that of losing in the place of that of winning."""
    return [BEAT[won] if word == won else word for word in words] if won in words else []


def order_column(columns: Columns, free: Collection[str]) -> str | None:
    """Return the one column that is called a ranking or an order, all of whose cells hold orders of names."""
    called = [name for name in free if {*words_of(name)} & ORDERS and columns.distinct(name)]
    found = [name for name in called if all(places_of(cell) for cell in columns.values(name))]
    return found[0] if len(found) == 1 else None


def names_on_a_page(columns: Columns, free: Collection[str]) -> tuple[list[str], list[str]] | None:
    """Return three and more columns that hold the same names, never one twice, and those of the best and the worst.

    The columns are the options of a page, or the places of an order; the others are two, or none.
    """
    ends = [*(ends_named(columns, [*free]) or ())]
    pairs = columns.compared({*free} - {*ends})
    options = sorted({name for pair in pairs for name in pair})
    whole = len(pairs) == len(options) * (len(options) - 1) // 2  # each beside each other
    return (options, ends) if len(options) > 2 and whole else None


def may_be_people(criteria: Sequence[str]) -> bool:
    """Whether columns of scores may as well be a person each: several, and none is called as criteria are."""
    return len(criteria) > 1 and not any({*words_of(name)} & NO_PEOPLE for name in criteria)

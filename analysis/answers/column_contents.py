"""What stands in the columns of a file that nobody explained: numbers on a scale, names that repeat, winners."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Sequence
from functools import cached_property
from itertools import combinations

import polars as pl

from analysis.answers.column_names import KNOWN_CRITERIA, words_of
from spa.tables.other_rows import totals
from spa.tables.paths import inside
from spa.tables.scale_words import LEVELS, MISSING
from spa.tables.verdicts import are_sides, outcome

DECIMAL_COMMA = r"^(-?\d+),(\d+)$"
MOST_NAMES, LONGEST_NAME = 200, 80  # different names of systems, and the letters of one
SHORT, FEW = 60, 40  # letters of an answer in a word, and different ones of them
QUESTION = 3  # words of a column's name that say a sentence: "The text is fluent"
BEGINNING = 3  # columns in which a row's first cell stands
LONGEST_STATE, MOST_WORDS = 40, 12  # letters of a state, and different words of a scale
LEAST_ORDERS, LEAST_OF_TWO = 6, 20  # orders that tell ranks from scores, and those of two alone
STARTS, LEAST_STEPS = 1_000, 8  # rows looked at first, and steps between values that tell one column from another's
LEAST_WINNERS = 0.5  # least share of the rows in which a winner is a system of its row
NO_NAMES = re.compile(
    r"(?i)(?:^|[\W_])(?:text|output|response|answer|comment|comments|explanation|reason|reasoning|rationale|feedback"
    r"|note|notes|time|timestamp|date|created|updated|url|link|version|language|lang|split|dataset|category|source|best|worst|vs|versus)s?"
    r"(?:$|[\W_\d])"
)
ENDED_EARLY = re.compile(
    r"(?i)reject|return|timed.?out|time.?out|discard|draft|preview|spam|cancel|incomplete|invalid|screened|fail|aborted"
)
STATUS = re.compile(r"(?i)(?:^|[\W_])(?:status|state)$|status$|^approval$|^(?:was|is)[\W_](?:cancelled|spam|preview)$")


class Columns:
    """Columns of a file as texts without spaces around them; what is missing is null."""

    def __init__(self, frame: pl.DataFrame) -> None:
        filled = pl.DataFrame([_texts(frame[name]) for name in frame.columns])
        self.frame = filled.filter(pl.any_horizontal(pl.all().is_not_null())) if filled.width else filled
        self._numbers: dict[str, bool] = {}
        self._distinct: dict[tuple[str, ...], int] = {}

    @property
    def height(self) -> int:
        """How many rows hold something."""
        return self.frame.height

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The columns in the order of their names, so that theirs in the file does not matter."""
        return tuple(sorted(self.frame.columns))

    def distinct(self, *names: str) -> int:
        """Count the different values, or combinations of them."""
        key = tuple(dict.fromkeys(names))
        if key not in self._distinct:
            alone = self.frame[key[0]].drop_nulls().n_unique
            self._distinct[key] = alone() if len(key) == 1 else self.frame.select(key).n_unique()
        return self._distinct[key]

    def values(self, name: str) -> list[str]:
        """Return the different values of a column."""
        return sorted(self.frame[name].drop_nulls().unique().to_list())

    def numeric(self, name: str) -> bool:
        """Whether all that a column holds are numbers, or words for a missing one."""
        if name not in self._numbers:
            given = self.frame[name].drop_nulls().unique()
            plain = given.filter(~given.str.contains(MISSING)).str.replace(DECIMAL_COMMA, "$1.$2")
            self._numbers[name] = len(plain) > 0 and not plain.cast(pl.Float64, strict=False).has_nulls()
        return self._numbers[name]

    def scored(self, name: str) -> bool:
        """Whether a column may hold scores: numbers, words of one scale, or words that begin with a number."""
        if self.numeric(name):
            return True
        words = {" ".join(word.casefold().split()) for word in self.values(name) if not re.match(MISSING, word)}
        if not 2 <= len(words) <= MOST_WORDS:
            return False
        levels = any(words <= {*scale} for scale in LEVELS)
        if NO_NAMES.search(name):
            return levels and len(words_of(name)) >= QUESTION
        return levels or all(re.match(r"-?\d+(?:\.\d+)?\s*[-–:=(.]?\s*[^\W\d]", word) for word in words)

    def holding_lists(self) -> list[str]:
        """Return the columns of texts that hold lists or objects of JSON."""
        firsts = {name: next(iter(self.frame[name].drop_nulls().head(1).to_list()), "") for name in self.names}
        return [name for name, first in firsts.items() if isinstance(inside(first), list | dict)]

    def ends(self, name: str) -> tuple[float, float] | None:
        """Return the smallest and the largest number of a column; ``None`` where they are words."""
        given = self.frame[name].drop_nulls().str.replace(DECIMAL_COMMA, "$1.$2").cast(pl.Float64, strict=False)
        low, high = given.drop_nans().min(), given.drop_nans().max()
        return (low, high) if isinstance(low, float) and isinstance(high, float) else None

    def fractional(self, name: str) -> bool:
        """Whether some numbers of a column are not whole."""
        return bool(self.frame[name].drop_nulls().str.contains(r"^-?\d*[.,]\d*[1-9]").any())

    def highest(self, name: str) -> float:
        """Return the largest size of a column's numbers; 0 where they are words."""
        return max(map(abs, self.ends(name) or (0.0,)))

    def depends(self, name: str, on: str) -> bool:
        """Whether a column has one value for each of another's."""
        return name == on or self.distinct(on, name) == self.frame[on].n_unique()

    def a_row_each(self, name: str) -> bool:
        """Whether a column has another value in every row."""
        return self.height > 1 and self.distinct(name) == self.height

    def same(self, one: str, other: str) -> bool:
        """Whether two columns tell the same rows apart."""
        return self.depends(one, other) and self.depends(other, one)

    def same_names(self, one: str, other: str) -> bool:
        """Whether two columns hold some of the same names."""
        return not {*self.values(one)}.isdisjoint(self.values(other))

    def longest(self, name: str) -> int:
        """Return how many letters the longest text of a column has."""
        longest = self.frame[name].str.len_chars().max()
        return longest if isinstance(longest, int) else 0

    def is_word(self, name: str) -> bool:
        """Whether a column holds few short words or numbers."""
        return self.distinct(name) <= FEW and self.longest(name) <= SHORT

    def is_name(self, name: str) -> bool:
        """Whether a column may hold names of systems, and not what they wrote."""
        return self.longest(name) <= 2 * SHORT and not is_text(name)

    def are_criteria(self, name: str) -> bool:
        """Whether a column holds few words, and some are those of criteria."""
        values = self.values(name) if self.distinct(name) <= FEW else []
        return any({*words_of(value)} & KNOWN_CRITERIA for value in values)

    def is_property(self, name: str, of: Collection[str]) -> bool:
        """Whether a number belongs to an item, a person or a system with several rows, and is no score."""
        return any(
            self.distinct(name) > 1 and 2 * self.distinct(other) <= self.height and self.depends(name, other)
            for other in of
        )

    def systems_like(self, names: Collection[str]) -> list[str]:
        """Return the columns of short names, few, that come again and again."""
        return [name for name in names if self._are_few(name) and not NO_NAMES.search(name)]

    def _are_few(self, name: str) -> bool:
        """Whether a column holds short names, few, that come again and again."""
        return (
            not self.scored(name)
            and not {*words_of(name)} & {"name", "kind", "type", "group"}
            and 2 <= self.distinct(name) <= min(MOST_NAMES, self.height // 2)
            and not all(map(is_vote, self.values(name)))
            and not self.frame[name].has_nulls()
            and self.longest(name) <= LONGEST_NAME
        )

    def compared(self, names: Collection[str]) -> list[tuple[str, str]]:
        """Return the pairs of columns that hold the same few names, never the same one in a row.

        Columns that are called as texts are stand among them where their names are two sides.
        """
        found = []
        few = sorted(name for name in names if self._are_few(name))
        for one, other in combinations(few, 2):
            if not are_sides((one, other)) and any(map(NO_NAMES.search, (one, other))):
                continue
            shared = {*self.values(one)} & {*self.values(other)}
            apart = not (self.frame[one] == self.frame[other]).any()
            if apart and 2 * len(shared) >= min(self.distinct(one), self.distinct(other)):
                found.append((one, other))
        return found

    def compared_by(self, names: Collection[str]) -> list[tuple[str, str]]:
        """Return those of them beside which another column names a system, or a side, of the row.

        Where a third one holds the same names, and is no answer about the two, as of options of a page, or of answers
        of one kind, none is a side.
        """
        found = []
        few = [name for name in names if self._are_few(name)]
        for pair in self.compared(names):
            others = [name for name in names if name not in pair]
            known = {value for name in pair for value in self.values(name)}
            third = [name for name in few if name not in pair and {*self.values(name)} & known]
            alike = [name for name in third if 2 * len({*self.values(name)} & known) >= len(known)]
            answers = {*self.winners(third, pair, named=True)}
            if answers >= {*alike} and self.winners(others, pair, named=not are_sides(pair)):
                found.append(pair)
        return found

    def winners(self, names: Collection[str], pair: tuple[str, str], *, named: bool = False) -> list[str]:
        """Return the columns whose values are names in two other columns, or words for one side or a tie.

        With ``named`` most of those of a column must be names.
        """
        first, second = pair
        found = []
        for name in names:
            told = self.frame.select(name, first, second).drop_nulls().unique()
            if self.distinct(name) > MOST_NAMES or self.numeric(name) or not told.height:
                continue
            read = [outcome(word, one, two, columns=pair).status for word, one, two in told.iter_rows()]
            names_there = sum(word in (one, two) for word, one, two in told.iter_rows())
            enough = names_there if named else len(read) - read.count("unknown")
            if enough >= LEAST_WINNERS * len(read):
                found.append(name)
        return found

    def each_once(self, names: Sequence[str]) -> bool:
        """Whether every row holds the numbers from 1 to as many as there are columns, each once, as ranks do."""
        rows = self.frame.select(names).drop_nulls()
        ranks = {f"{n}" for n in range(1, len(names) + 1)}
        told = [{cell.removesuffix(".0") for cell in row} for row in rows.unique().iter_rows()]
        return rows.height >= _least_orders(len(names)) and all(one == ranks for one in told)

    def each_once_within(self, name: str, keys: Sequence[str]) -> bool:
        """Whether a column holds the numbers from 1 to the size of each group of rows, each once, all of one size."""
        if not keys or not self.numeric(name):
            return False
        rows = self.frame.select(*keys, name).drop_nulls()
        groups = rows.group_by(keys).agg(pl.col(name).str.replace(r"\.0$", "")).get_column(name).to_list()
        sizes = {len(group) for group in groups}
        ranks = {f"{n}" for n in range(1, max(sizes, default=0) + 1)}
        enough = len(sizes) == 1 and len(groups) >= _least_orders(len(ranks))
        return enough and all({*group} == ranks for group in groups)

    def follow(self, one: str, other: str, within: str) -> int:
        """Return 1 where a column's numbers rise with another's, -1 where they fall, of everybody ``within`` a column.

        0 where neither holds: a value of one stands beside two of the other, people differ, or there are few values.
        """
        way = 0
        for rows in (self.frame.head(STARTS), self.frame):
            pairs = rows.select(within, one, other).unique().drop_nulls(within)
            numbers = pairs.select(within, one=_number(one), other=_number(other)).unique().drop_nulls()
            if numbers.height < pairs.filter(pl.col(one).is_not_null() | pl.col(other).is_not_null()).height:
                return 0  # one was answered where the other was not
            steps = numbers.sort(within, "one", "other").select(pl.col("one", "other").diff().over(within)).drop_nulls()
            way = next((sign for sign in (1, -1) if (steps["other"] * sign > 0).all()), 0)
            if way == 0 or steps.height < LEAST_STEPS or not (steps["one"] > 0).all():
                return 0
        return way

    def totals(self) -> tuple[str, list[str]] | None:
        """Return the column in which rows of totals begin at the end of the file, and their words."""
        return totals({name: self.frame[name].to_list() for name in self.frame.columns[:BEGINNING]})

    def holding_names(self, names: Collection[str], system: str) -> list[str]:
        """Return the columns whose cells all hold the name of their row's system, and more: they name outputs."""
        if not system:
            return []
        rows = {name: self.frame.select(name, system).drop_nulls().unique().rows() for name in names if name != system}
        return [name for name, own in rows.items() if own and all(of in cell and of != cell for cell, of in own)]

    def matrix(self) -> tuple[str, list[str]] | None:
        """Return the column that names the rows of a matrix of systems by systems, and the systems."""
        for name in self.names:
            rows = {*self.values(name)}
            named = [other for other in self.names if other in rows and self.numeric(other)]
            if len(rows) == self.height > 1 and self.height - 1 <= len(named) == len(self.names) - 1:
                return name, named
        return None

    def ended_early(self, settled: Collection[str]) -> list[tuple[str, list[str]]]:
        """Return columns of states, and which of several values say that a row may not count."""
        found = []
        for name in self.names:
            if name in settled or not STATUS.search(name) or not 2 <= self.distinct(name) <= 12:
                continue
            if max(map(len, self.values(name))) > LONGEST_STATE:
                continue
            flag = {value.lower() for value in self.values(name)} <= {"true", "false", "1", "0", "1.0", "0.0"}
            early = [
                value
                for value in self.values(name)
                if ENDED_EARLY.search(value) or (flag and value.lower() in ("true", "1", "1.0"))
            ]
            if early:
                found.append((name, early))
        return found


def _least_orders(size: int) -> float:
    """Return how many orders of a size tell ranks from scores."""
    return math.inf if size < 2 else LEAST_OF_TWO if size == 2 else LEAST_ORDERS


def _number(name: str) -> pl.Expr:
    """Return a column's texts as numbers."""
    return pl.col(name).str.replace(DECIMAL_COMMA, "$1.$2").cast(pl.Float64, strict=False)


def is_vote(word: str) -> bool:
    """Whether a word says which of two sides is better, or that neither is."""
    return outcome(word, "\0", "\0\0").status != "unknown"


def is_text(name: str) -> bool:
    """Whether a column is called as texts of systems are."""
    return bool({*words_of(name)} & {"text", "output", "response", "answer", "completion", "summary"})


def _texts(column: pl.Series) -> pl.Series:
    texts = column.cast(pl.String).str.strip_chars()
    return texts.set(texts.str.len_bytes() == 0, None)


def shown(names: Sequence[str], most: int = 4) -> str:
    r"""Return some names for a message, quoted where they hold a comma or what no terminal shows.

    >>> print(shown(["Fluency", "a,b", "\x1b[31mred"]))
    Fluency, 'a,b', '\x1b[31mred'
    """
    odd = [not name.isprintable() or "," in name or name != name.strip() for name in names[:most]]
    quoted = [repr(name) if strange else name for name, strange in zip(names[:most], odd, strict=True)]
    more = len(names) - most
    return ", ".join(quoted) + (f" and {more} more" if more > 0 else "")

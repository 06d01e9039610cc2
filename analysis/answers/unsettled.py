"""What of a file's columns is not settled: lines that name what a column may be, and the argument that says it."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TypeAlias

from analysis.answers.column_contents import is_text, is_vote, shown
from analysis.answers.column_names import GIVEN_TO_SYSTEMS, likeliest, plain_name, words_of
from analysis.answers.columns_found import WHAT
from analysis.answers.reading import NO_SCORE
from analysis.answers.same_names import CALLED
from spa.errors import AnalysisError, ArgumentProblem, shortened
from spa.tables.near_matches import NearMatch, matches_shown
from spa.tables.other_rows import NUMBER

CUT, PASTED, LONGEST = 130, 80, 36  # letters of a list of columns, of one to paste, and of a column in it
ANSWERS_IN_LISTS = frozenset(
    "answers annotations labels votes ratings scores responses reviews judgements judgments games completions".split()
)
LOST = frozenset(("loser", "lost", "losing", "losermodel", "losersystem", "rejected", "worse"))
Records: TypeAlias = Mapping[str, Mapping[str, object]]  # column of lists -> the first record, or {column: value}
NO_RECORDS: Records = MappingProxyType({})
FAR = 80  # of a path; of a longer one the name is said


class Unsettled:
    """Collects what is not settled about one file, a line each; missing columns share one."""

    def __init__(self, place: str, columns: Sequence[str], lists: Sequence[str], records: Records = NO_RECORDS) -> None:
        self.place = place if len(place) <= FAR else shortened(Path(place).name, FAR)
        lists = [name for name in lists if not {*words_of(name)} & GIVEN_TO_SYSTEMS]
        self.columns, self.lists = columns, sorted(lists, key=_is_answer, reverse=True)
        self.records = records
        self.lines: list[str] = []
        self.missing: dict[str, str] = {}  # our column -> what else may be done

    def __bool__(self) -> bool:
        return bool(self.lines or self.missing)

    def refuse(self) -> None:
        """Raise an error if anything is not settled."""
        if self.missing:
            self.lines.append(self._missing_line())
        if self.lines:
            raise AnalysisError(*self.lines)

    def answers_in_lists(self) -> bool:
        """Whether lists are called as answers are, so that numbers beside them may be something else."""
        return any({*words_of(name)} & ANSWERS_IN_LISTS for name in self.lists)

    def doubt(self, names: Sequence[str], roles: Collection[str], more: str = "") -> None:
        """Tell which of our columns some columns, or one, may be."""
        what = " or ".join(f"the {WHAT[role]}" for role in roles)
        some = f"column {shown(names)}" if len(names) == 1 else f"columns {shown(names)}"
        pairs = [(name, role) for name in names[:3] for role in roles]
        self._argued("mapping", f"{some} may be {what}; say which: ", dict(pairs[:1]), pairs, more)

    def several(self, names: Sequence[str]) -> None:
        """Tell of several columns that hold scores beside a column of criteria, or are called so."""
        both = shlex.quote(",".join(names[:6]))
        pairs = [(name, "score") for name in names[:2]]
        more = f", or each a criterion: --criteria {both}"
        self._argued("mapping", f"columns {shown(names)} may be the score; say which: ", dict(pairs[:1]), pairs, more)

    def together(self, first: str, other: str) -> None:
        """Tell of two columns of which neither names the item alone."""
        pairs = [(f"{first}+{other}", "item_id"), (first, "item_id"), (other, "item_id")]
        before = f"columns {shown([first, other])} may name the item, and neither follows from the other; say which, "
        self._argued("mapping", f"{before}or both together: ", dict(pairs[:1]), pairs, "")

    def lack(self, role: str, more: str = "") -> None:
        """Tell of a column that is missing."""
        self.missing[role] = more

    def turns(self, name: str, values: Sequence[str], criterion: str | None) -> None:
        """Tell of scores of several turns of an output, beside criteria."""
        before = f"column {shown([name])} tells scores of turns apart ({shown(values)}); of their means by output say "
        keep = shlex.quote(f"{name}={values[0]}")
        more = f", of one turn --keep {keep}"
        if criterion is not None:
            more += f", of each --map {shlex.quote(f'{criterion}+{name}=criterion')}"
        self._argued("mapping", before, {name: "turn"}, [(name, "turn")], more)

    def rows_for_items(self, name: str) -> None:
        """Tell of a column without a clear name that has one system for each value."""
        before = (
            f"column {shown([name])} has one system for each value, so it may name rows or outputs, not items; name "
            "the column of items: "
        )
        self._argued("mapping", before, {"YOURS": "item_id"}, [("YOURS", "item_id"), (name, "item_id")], "")

    def scored_pair(self, sides: Sequence[str], score: str) -> None:
        """Tell of a score beside two systems, which may compare them."""
        before = f"columns {shown(sides)} are two systems, beside {shown([score])}; if it compares them, say "
        more = ", and --numbers X:Y for its ends; if it is of one of them, leave the other's column out of the file"
        self._argued("mapping", before, {score: "preference"}, [(score, "preference")], more)

    def stated_twice(self, of: str, name: str, way: int, left: Sequence[str], every: Sequence[str]) -> None:
        """Tell of a column whose numbers rise, or fall, with those of another, of every annotator."""
        same = f"say the same{'' if way > 0 else ', one the other way round'}, of every annotator"
        which = "read one" if way > 0 else "read the one in which high is good"
        self.lines.append(
            ArgumentProblem(
                "criteria",
                before=f"{self.place}: columns {shown([of, name])} {same}; {which}: ",
                in_python=f"={(*left,)}",
                in_command=f" {_pasted(left)}",
                after=f"; if people gave both: --criteria {_pasted(every)}",
            )
        )

    def systems_or_criteria(self, names: Sequence[str]) -> None:
        """Tell of columns of scores where none names the systems."""
        kept = _pasted(names)
        few = "column" if len(names) == 1 else "columns"
        holds = "holds" if len(names) == 1 else "hold"
        before = (
            f"{self.place}: no column names the system, and {few} {shown(names)} {holds} scores; if each is a system: "
        )
        after = (
            f"; if each is a criterion: --map {self._own_system()}=system, or --set system=NAME; if each is a question "
            "about one of several systems: spa import csv"
        )
        systems = {name: name for name in names[:2]}
        self.lines.append(
            ArgumentProblem("systems", before=before, in_python=f"={systems}", in_command=f" {kept}", after=after)
        )

    def machines(self, kind: str, words: Sequence[str], who: Sequence[str]) -> None:
        """Tell of annotators that are LLMs by a column with words of its own."""
        named = [name for name in who[:4] if name.isprintable()]
        self.lines.append(
            ArgumentProblem(
                "llms",
                before=f"{self.place}: {kind} is {shown(words)} for {shown(who)}; name annotators that are LLMs: ",
                in_python=f"={named}",
                in_command=" " + " --llm ".join(map(shlex.quote, named)),
                after=f" (and {len(who) - len(named)} more)" if len(who) > len(named) else "",
            )
        )

    def people_or_criteria(self, names: Sequence[str]) -> None:
        """Tell of columns of scores that may be a person each."""
        both = _pasted(names)
        self.lines.append(
            ArgumentProblem(
                "annotator_columns",
                before=f"{self.place}: columns {shown(names)} may be an annotator each, or a criterion each: ",
                in_python=f"={(*names[:2],)}",
                in_command=f" {both}",
                after=f", or --criteria {both}",
            )
        )

    def people_in_columns(self, names: Sequence[str]) -> None:
        """Tell of columns that are a person each."""
        self.lines.append(
            f"{self.place}: columns {shown(names)} look like a column for each annotator; make a row of each answer by "
            "spa import csv, whose questions name them under annotators"
        )

    def votes_in_lists(self) -> str:
        """Return the column whose lists hold words that say who won; nothing where there is none."""
        called = (name for name in self.lists if {*words_of(name)} & ANSWERS_IN_LISTS)
        return next((name for name in called if is_vote(str(self.records.get(name, {}).get(name, "")))), "")

    def no_systems_of_sides(self, pair: Sequence[str], votes: Sequence[str] = ()) -> None:
        """Tell of outputs of two sides of which no column says whose they are; ``votes`` are of a person each."""
        before = f"{self.place}: columns {shown(pair)} hold two outputs, and no column names the systems; name theirs: "
        after = ", system_y alike; where each side is always the same system: --set system_x=NAME --set system_y=NAME"
        if listed := "" if votes else self.votes_in_lists():
            each = ["--each", listed, "--map", f"{listed}=winner", "--map", f"{listed}[#]=annotator_id"]
            after += f" {shlex.join(each)}"
        if votes and len(",".join(votes)) <= PASTED:
            after += f" --annotator-columns {shlex.quote(','.join(votes))}"
        self.lines.append(
            ArgumentProblem(
                "mapping",
                before=before,
                in_python="={'YOURS': 'system_x'}",
                in_command=" YOURS=system_x",
                after=after,
            )
        )

    def no_systems_of_preferred(self, pair: Sequence[str]) -> None:
        """Tell of texts that were preferred to others, of which no column says whose they are."""
        before = (
            f"{self.place}: columns {shown(pair)} hold outputs, and no column names the systems that wrote them, so "
            "that none can be compared; add two columns with their names, and say "
        )
        self.lines.append(
            ArgumentProblem(
                "mapping",
                before=before,
                in_python="={'YOURS': 'system_x'}",
                in_command=" YOURS=system_x --map YOURS=system_y --set winner=x",
                after=f" (that of {shown(pair[:1])} first)",
            )
        )

    def one_row_a_system(self, name: str, columns: Sequence[str]) -> None:
        """Tell of a table with a row for each system."""
        self.lines.append(
            f"{self.place}: expected a row an answer, got one of each system ({shown([name])}) with numbers in "
            f"{shown(columns)}; if these are items, turn the table (pandas: DataFrame.T): a row an item, a column a "
            "system; if they are means, take the table that has a row an answer"
        )

    def matrix(self, name: str, systems: Sequence[str]) -> None:
        """Tell of a table with a row and a column for each system."""
        self.lines.append(
            f"{self.place}: expected a row an answer, got a matrix of {shown(systems)} (rows: {shown([name])}); of "
            "counts or shares of wins nobody knows who answered about which items, so that nothing is tested; take the "
            "table that has a row a choice (annotator_id, item_id, system_x, system_y, winner)"
        )

    def rows_that_may_not_count(self, name: str, early: Sequence[str], others: Sequence[str]) -> None:
        """Tell of a column of states by which some rows were rejected, or never ended."""
        out = " --drop ".join(shlex.quote(f"{name}={value}") for value in early[:4])
        all_of_them = " --keep ".join(shlex.quote(f"{name}={value}") for value in [*others, *early][:6])
        self.lines.append(
            ArgumentProblem(
                "drop",
                before=f"{self.place}: {name} is {shown(early)} in some rows; leave them out with ",
                in_python=f"={ {name: (*early[:4],)} }",
                in_command=f" {out}",
                after=f", or count all with --keep {all_of_them}",
            )
        )

    def names_that_may_be_one(self, column: str, matches: Sequence[NearMatch]) -> None:
        """Tell of names that differ so little that they may be one, and would be counted apart."""
        two = " ".join(f"--name {shlex.quote(name)}" for name in matches[0].names if name.isprintable())
        n = sum(len(match.names) for match in matches)
        self.lines.append(
            ArgumentProblem(
                "same",
                before=f"{self.place}: {n} {CALLED[column]} have nearly the same names ({matches_shown(matches)}); "
                "where they are one, ",
                in_python=f"=({column!r},)",
                in_command=f" {column}",
                after=f" joins them; where not, {two}" + (" and so on" if len(matches) > 1 else ""),
            )
        )

    def systems_that_may_be_controls(self, names: Sequence[str]) -> None:
        """Tell of systems that are called as attention checks are."""
        checks = "an attention check" if len(names) == 1 else "attention checks"
        self.lines.append(
            ArgumentProblem(
                "controls",
                before=f"{self.place}: {shown(names)} may be {checks}, not to be ranked; take out: ",
                in_python=f"={(*names,)}",
                in_command=" " + " --control ".join(map(shlex.quote, names)),
                after=f"; if a system: --role {shlex.quote(f'{names[0]}=system')}",
            )
        )

    def items_that_may_be_checks(self, column: str, names: Sequence[str]) -> None:
        """Tell of items that are called as attention checks are, whose answers would count like the others."""
        few = names[:6]
        left, kept = (
            f" --{option} ".join(shlex.quote(f"{before}{name}") for name in few)
            for option, before in (("drop", f"{column}="), ("name", ""))
        )
        self.lines.append(
            ArgumentProblem(
                "drop",
                before=f"{self.place}: item{'s' * (len(names) > 1)} {shown(names, 3)} may be attention checks, whose "
                "answers compare no systems; leave out: ",
                in_python=f"={ {column: (*few,)} }",
                in_command=f" {left}",
                after=f"; if an item like others: --name {kept}",
            )
        )

    def places_in_orders(self, column: str, names: Sequence[str]) -> None:
        """Tell of orders of what may be places on a page."""
        kept = " ".join(f"--name {shlex.quote(name)}" for name in names[:6])
        self.lines.append(
            f"{self.place}: column {shown([column])} orders {shown(names)}, which may be places on a page; where each "
            f'stands for a system of its row: spa import csv (kind = "order", labels); where they are systems: {kept}'
        )

    def nothing_shown(self, ends: Sequence[str]) -> None:
        """Tell of columns of the best and the worst of systems that no column lists."""
        before = f"columns {shown(ends)} name the best and the worst, and no column the systems shown; name theirs: "
        more = " (cells such as a|b|c), or, of a column each, --systems option1,option2,..."
        self._argued("mapping", before, {"YOURS": "shown"}, [("YOURS", "shown")], more)

    def marked_extremes(self, ends: Sequence[str]) -> None:
        """Tell of columns that mark in 1 and 0 which one of its page is the best, and which the worst."""
        self.lines.append(
            f"{self.place}: columns {shown(ends)} mark in 1 and 0 the best and the worst of a page: "
            "two signs of one answer; write one column in their place (1 best, -1 worst, 0 the others) and name it and "
            "the page: --map YOURS=score --map PAGE=item_id --map YOURS=system; or write a row a page: best, worst, "
            "shown (a|b|c)"
        )

    def places_of_an_order(self, options: Sequence[str]) -> None:
        """Tell of columns that hold the same names, each once in a row."""
        self.lines.append(
            f"{self.place}: columns {shown(options)} hold the same names, each once in a row; if they are the places "
            "of an order, write it into one column, best first (ranking: b > a > c), or a row a system: annotator_id, "
            "item_id, system, rank; of best-worst answers name the columns best and worst: --map YOURS=best"
        )

    def scores_that_may_be_ranks(self, names: Sequence[str], roles: Mapping[str, str]) -> None:
        """Tell of scores that are the numbers of an order, each once, of which 1 may be the best."""
        if len(names) == 1:
            do, where = f"--map {shlex.quote(f'{names[0]}=rank')}", "for each annotator and item"
        else:
            maps = [part for role, name in roles.items() for part in ("--map", f"{name}={role}") if name != role]
            do = shlex.join(["--orders", "FILE", "--systems", ",".join(names), *maps])
            where = "in each row"
        self.lines.append(
            f"{self.place}: {shown(names)} {'holds' if len(names) == 1 else 'hold'} the numbers of an order, each once "
            f"{where}; if they are ranks, of which 1 is the best: {do}; if they are scores: --scale LOW:HIGH"
        )

    def totals(self, name: str, words: Sequence[str]) -> None:
        """Tell of rows at the end that are no answers."""
        left = [shlex.quote(f"{name}={word}") for word in words]
        self.lines.append(
            ArgumentProblem(
                "drop",
                before=f"{self.place}: rows at the end begin with {shown(words)}, as totals do; leave them out: ",
                in_python=f"={ {name: (*words,)} }",
                in_command=f" {' --drop '.join(left)}",
            )
        )

    def _argued(
        self, parameter: str, before: str, given: Mapping[str, str], pairs: Sequence[tuple[str, str]], more: str
    ) -> None:
        ways = [shlex.quote(f"{old if old.isprintable() else 'YOURS'}={new}") for old, new in pairs]
        after = "".join(f", or {way}" for way in ways[1:]) + more
        self.lines.append(
            ArgumentProblem(
                parameter,
                before=f"{self.place}: {before}",
                in_python=f"={dict(given)}",
                in_command=f" {ways[0]}",
                after=after,
            )
        )

    def _missing_line(self) -> str:
        roles = [*self.missing]
        what = ", the ".join(WHAT[role] for role in roles)
        there = shortened(shown(self.columns, len(self.columns)), CUT) or "none"
        after = "".join(dict.fromkeys(self.missing.values()))
        if each := next(filter(None, (self._each(name) for name in self.lists)), ""):
            after = each
        elif self.lists:  # what is missing may stand in them
            some = [shortened(name, LONGEST) for name in self.lists]
            holds = "holds" if len(some) == 1 else "hold"
            after = f"; {shown(some, 2)} {holds} lists or objects: --each PATH makes rows of them, and "
            after += shlex.join(["--map", f"{some[0]}.KEY={roles[0]}"]) + " names what is inside"
            after += f" (several scores: --criteria {some[0]}.A,{some[0]}.B)" if "score" in roles else ""
        elif "score" in roles and any(map(is_text, self.columns)):
            after = "; a study of outputs: spa init FOLDER --outputs FILE"
        elif {"system", "score"} & {*roles}:
            after += "; a column for each question: spa import csv"
        own = self._own_system() if roles[0] == "system" else "YOURS"
        return ArgumentProblem(
            "mapping",
            before=f"{self.place}: no column is known as the {what} (there are: {there}); name yours with ",
            in_python=f"={ {own: roles[0]} }",
            in_command=f" {own}={roles[0]}",
            after=after,
        )

    def _each(self, name: str) -> str:
        """Say how the records in lists become rows, where they hold numbers that are scores."""
        record = self.records.get(name, {})
        numbers = [key for key, value in record.items() if NUMBER.fullmatch(str(value))]
        scores = [key for key in numbers if not NO_SCORE.search(key)]
        if scores and all(key.startswith(f"{name}.") for key in record):
            several = shlex.join(
                ["--criteria", ",".join(scores)] if len(scores) > 1 else ["--map", f"{scores[0]}=score"]
            )
            return f"; {shown([name])} holds {shown(scores)}: {several}" if len(several) <= CUT else ""
        if not scores or name in record or not {*words_of(name)} & ANSWERS_IN_LISTS:
            return ""
        nobody = "annotator_id" in self.missing and not likeliest(record, "annotator_id")
        who = ["--map", f"{name}[#]=annotator_id"] if nobody else []
        people = " where its places are people, else --unnamed" if nobody else ""
        return f"; {shown([name])} holds records with {shown(scores)}: {shlex.join(['--each', name, *who])}{people}"

    def _own_system(self) -> str:
        """Return the column that names systems, where a column of ours is likely to, though it says more elsewhere."""
        return "variant" if "variant" in self.columns else "YOURS"


def joint(known: Mapping[str, str], other: str, *roles: str) -> str:
    """Say that a column may name the item or the system together with the one that is known to (role -> column)."""
    there = [(role, shlex.quote(f"{known[role]}+{other}={role}")) for role in roles if role in known]
    return "".join(f", or {both} if both name the {WHAT[role]}" for role, both in there)


def better_and_worse(free: Collection[str], won: str | None) -> str:
    """Say what to do with columns that name the system that won, and the one that lost."""
    lost = next((name for name in free if plain_name(name) in LOST), None)
    won = won or next((name for _, name in likeliest(free, "winner") if name != lost), None)
    both = won and lost and shown([won, lost])
    return f"; if {both} are systems, call them system_x and system_y in the file, with --set winner=x" if both else ""


def _is_answer(name: str) -> bool:
    """Whether a column is called as answers are."""
    return bool(likeliest([name], "score") or likeliest([name], "winner"))


def _pasted(names: Sequence[str]) -> str:
    """Return columns as they are typed in a command; of many the first, and that others follow."""
    whole = ",".join(names)
    return shlex.quote(whole if len(whole) <= PASTED else f"{names[0]},...")

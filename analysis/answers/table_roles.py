"""One file of answers whose columns nobody explained: the role of each, by its name and by what it holds."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

import polars as pl

from analysis.answers.column_contents import NO_NAMES, Columns, is_text, shown
from analysis.answers.column_names import (
    Role,
    is_llm,
    kind_column,
    likeliest,
    plain_name,
    sides_named,
    systems_named,
    words_of,
)
from analysis.answers.columns import KINDS
from analysis.answers.columns_found import WHAT, TableFound, are_means, with_lines
from analysis.answers.names_asked import ask_of_names
from analysis.answers.options import Reading
from analysis.answers.unsettled import NO_RECORDS, Records, Unsettled, better_and_worse, joint
from analysis.answers.wide_columns import (
    may_be_people,
    names_on_a_page,
    order_column,
    people_columns,
    rank_columns,
    rated_subjects,
    scored_columns,
    won_and_lost,
)

REPEATED = ("repeat", "sample", "sample_x", "sample_y", "variant", "assignment_id", "exposure")
OURS = frozenset((*WHAT, *REPEATED, "group", "elicitation", "missing_reason", "start", "end"))
MACHINES = frozenset("llm llms ai model models machine machines automatic auto bot gpt simulated synthetic".split())
ANSWERED = ("choice", "vote", "rate", "selected")  # a score where a row is about one system
ALWAYS_ONE = "; where one is always the same, say --set system_x=NAME"
PARTS = frozenset("batch block chunk fold form page part round run seed session split trial".split())
FEWEST_ITEMS = 3  # that tell what a column is
FEW_PEOPLE = 2  # who may be LLMs under names of their own


class TableRoles:
    """Finds the role of each column of one file."""

    def __init__(
        self, place: str, columns: Columns, lists: Sequence[str], options: Reading, records: Records = NO_RECORDS
    ) -> None:
        self.place, self.columns, self.options = place, columns, options
        lists = [*lists, *columns.holding_lists()]
        self.unsettled = Unsettled(place, columns.frame.columns, lists, records)
        named = {options.mapping.get(name, name): name for name in columns.names}
        self.roles = {new: old for new, old in named.items() if new in OURS}  # our column -> that of the file
        if self.roles.get("preference") == "preference" and not columns.numeric("preference"):
            del self.roles["preference"]  # words say who won
        self.given = {*self.roles, *(name for name in options.constants if name in OURS)}  # or settled otherwise
        if options.systems:
            self.given |= {"system", "score"}
        if options.criteria:
            self.given |= {"criterion", "score"}
        if options.annotator_columns:
            self.given |= {"annotator_id", *self._answered(options.annotator_columns)}
        wide = {*options.systems, *options.criteria, *options.annotator_columns}
        taken = {*self.roles.values(), *options.mapping, *wide}
        self.free = [name for name in columns.names if name not in taken and columns.distinct(name)]
        self.criteria: tuple[str, ...] = ()
        self.systems: Mapping[str, str] = {}
        self.constants: Mapping[str, str] = {}  # columns that stand in no file, as those that are found say
        self.annotator_columns: tuple[str, ...] = ()
        self.counts_rows: str | None = None  # taken for the item, though it may number the rows

    def found(self) -> TableFound:
        """Return what the file is.

        Raises
        ------
        AnalysisError
            With a line for each column that may be two things, and one for those that are missing.
        """
        settled = {*self.options.keep, *self.options.drop}
        for name, early in self.columns.ended_early(settled):
            others = [value for value in self.columns.values(name) if value not in early]
            self.unsettled.rows_that_may_not_count(name, early, others)
        if (ended := self.columns.totals()) is not None and ended[0] not in settled:
            self.unsettled.totals(*ended)
        pair = self._pair()
        if pair is None and (page := names_on_a_page(self.columns, self.free)) is not None:
            self.unsettled.names_on_a_page(*page)
        self._annotator(pair)
        self.unsettled.refuse()  # of the shape of the table; the rest of it would mislead
        self._item(compared=pair is not None)
        if pair is not None:
            kind = self._compared(*pair)
        elif self._named("severity", self.columns.is_word):
            kind = "spans"
        elif not {"system", "rank"} & self.given and (ranks := rank_columns(self.columns, self.free)):
            kind, self.systems = "orders", ranks
            self.given |= {"system", "rank"}
            self.free = self._without(ranks)
        elif not {"system", "rank"} & self.given and (order := order_column(self.columns, self.free)) is not None:
            kind = "orders"
            self._take("rank", order)
            self.given.add("system")
        elif self._named("rank", self.columns.numeric):
            kind = "orders"
        else:
            kind = "ratings"
        if pair is None:
            self._system()
        self._criterion()
        if kind == "ratings":
            self._scores()
        self._rest(kind)
        wide = self.systems or self.options.systems
        if self.counts_rows is not None and not (self.unsettled or wide) and self._one_system_each():
            self.unsettled.rows_for_items(self.counts_rows)
        ask_of_names(self.columns, self.roles, self.systems, self.options, self.unsettled)
        self.unsettled.refuse()
        return self._made(kind)

    def _one_system_each(self) -> bool:
        """Whether the column of items may number rows or outputs: of several systems, it has one for each value."""
        system = self.roles.get("system", "")
        several = bool(system) and self.columns.distinct(system) > 1
        return several and self.columns.depends(system, self.roles["item_id"])

    def _take(self, role: str, name: str) -> None:
        self.roles[role] = name
        self.given.add(role)
        self.free = [one for one in self.free if one != name]

    def _doubt(self, names: Sequence[str], *roles: str, more: str = "") -> None:
        self.unsettled.doubt(names, roles, more)
        self.given |= {*roles}

    def _named(self, role: Role, fits: Callable[[str], bool]) -> bool:
        """Take the column that is called so and ``fits``; tell whether there is one."""
        if role in self.given:
            return True
        names = [name for _, name in likeliest(self.free, role) if fits(name)]
        if names and not self._rivals(names):
            self._take(role, names[0])
        elif names:
            self._doubt(names, role, more=joint({role: names[0]}, self._rivals(names)[0], "system"))
        return role in self.given

    def _rivals(self, names: Sequence[str]) -> list[str]:
        """Return the names that say something else than the first."""
        return [name for name in names[1:] if not self.columns.same(name, names[0])]

    def _follows(self, name: str, *roles: str) -> bool:
        """Whether a column says no more than another one that is known."""
        return any(self.columns.depends(name, self.roles[role]) for role in roles if role in self.roles)

    # roles

    def _pair(self) -> tuple[str, str] | None:
        """Return the columns of the two systems of a comparison."""
        if {"system_x", "system_y"} & self.given:
            return self.roles.get("system_x", ""), self.roles.get("system_y", "")
        if "score" in self.given or "system" in self.given:
            return None
        pairs = [pair for pair in sides_named(self.free) if all(map(self.columns.is_name, pair))]
        if not pairs and not likeliest(self.free, "score")[:1]:
            pairs = self.columns.compared_by(self.free)
        if not pairs and (pair := won_and_lost(self.columns, self.free)) is not None:
            self.constants = {"winner": "x"}
            self.given.add("winner")
            return pair
        if pairs and all(self.columns.same(*sides) for pair in pairs[1:] for sides in zip(pair, pairs[0], strict=True)):
            return pairs[0]
        if pairs:
            self._doubt([*dict.fromkeys(pair[0] for pair in pairs)], "system_x")
            return pairs[0]
        texts = sides_named([name for name in self.free if is_text(name)], texts=True)
        won = [name for _, name in likeliest(self.free, "winner") if self.columns.is_word(name)]
        asked = bool({"winner", "preference"} & self.given)
        if texts and (won or asked) and not likeliest(self.free, "system"):
            self.unsettled.no_systems_of_sides(texts[0])
        elif (asked and not self._rated()) or (won and self._is_won(won[0])):
            return "", ""
        return None

    def _is_won(self, name: str) -> bool:
        """Whether a column says who won where nothing else is rated."""
        clear = {name for place, name in likeliest(self.free, "winner") if place <= 1}
        return name in clear and not self.columns.scored(name) and not self._rated()

    def _rated(self) -> bool:
        """Whether columns are called system or score."""
        called = [*likeliest(self.free, "score"), *likeliest(self.free, "system")]
        return bool(called or {"system", "score"} & self.given)

    def _without(self, names: Collection[str]) -> list[str]:
        return [name for name in self.free if name not in names]

    def _annotator(self, pair: tuple[str, str] | None) -> None:
        if "annotator_id" not in self.given:
            names = [name for _, name in likeliest(self._without(self._sides()), "annotator_id")]
            names = [name for name in names if self.columns.distinct(name) > 1] or names
            names = [] if people_columns(self.free) and {*names} <= {*rated_subjects(names)} else names
            if names and not self._rivals(names):
                self._take("annotator_id", names[0])
            elif names:
                self._doubt([names[0], *self._rivals(names)], "annotator_id")
            elif people := people_columns(self.free):
                self._people_each(people, pair)
        kind = None if "annotator_kind" in self.given else kind_column(self.free)
        if kind is not None and {*self.columns.values(kind)} <= {*KINDS}:
            self._take("annotator_kind", kind)
        elif kind is not None and "annotator_id" in self.roles and not self.options.llms:
            self._kinds(kind, self.roles["annotator_id"])

    def _people_each(self, people: Sequence[str], pair: tuple[str, str] | None) -> None:
        """Take columns that are called as people are for the answers of one each, where a row says of which outputs."""
        compared = pair is not None and all(pair) and {*self.columns.winners(people, pair)} >= {*people}
        about = "system" in self.given or bool(likeliest(self.free, "system"))
        rated = pair is None and about and all(map(self.columns.scored, people))
        if not (compared or rated):
            self.unsettled.people_in_columns(people)
            return
        self.annotator_columns = tuple(people)
        self.given |= {"annotator_id", "winner" if compared else "score"}
        self.free = self._without(people)

    def _answered(self, names: Sequence[str]) -> tuple[str, ...]:
        """Return which of our columns the answers in some columns are."""
        if {"system_x", "system_y"} & self.given or sides_named(self.columns.names):
            return ("winner",) if not all(map(self.columns.numeric, names)) else ("preference",)
        return ("score",)

    def _kinds(self, kind: str, who: str) -> None:
        """Ask who is an LLM where a column says it in words of its own."""
        words = [word for word in self.columns.values(kind) if {*words_of(word)} & MACHINES]
        if words:
            rows = self.columns.frame.filter(pl.col(kind).is_in(words))[who].drop_nulls().unique().sort()
            self.unsettled.machines(kind, words, rows.to_list())

    def _sides(self) -> list[str]:
        return [name for pair in sides_named(self.free) for name in pair]

    def _item(self, *, compared: bool) -> None:
        if "item_id" in self.given:
            return
        names = [name for _, name in likeliest(self._without(self._sides()), "item_id")]
        names += rated_subjects(self.free) if self.annotator_columns else []
        again = self._crossing([name for name in names if not self.columns.a_row_each(name)] or names)
        clear = [name for name in again if not self.columns.are_criteria(name)] or again
        weak = next((place for place, name in enumerate(clear) if self._is_weak(name)), len(clear))
        plain = clear[:weak] or clear  # likelier than an id, or all: an id, and texts
        finest = [one for one in plain if all(self.columns.depends(name, one) for name in plain)]
        same = [name for name in plain if finest and self.columns.same(name, finest[0])]
        if same:
            finer = [name for name in clear if not self.columns.depends(name, same[0])]
            if finer and plain != clear and not self._answered_once(same[0]):
                self.unsettled.together(same[0], finer[0])
            self._take("item_id", same[0])
            if self._is_weak(same[0]):
                self.counts_rows = same[0]
        elif plain:
            crossed = [name for name in plain[1:] if not self.columns.depends(name, plain[0])]
            self.unsettled.together(plain[0], (crossed or plain[1:])[0])
            self.given.add("item_id")

    def _crossing(self, names: list[str]) -> list[str]:
        """Leave out names of outputs, of one system each, where another column says what several of them are about."""
        system = self.roles.get("system") or next((name for _, name in likeliest(self.free, "system")), None)
        if system is None or self.columns.distinct(system) < 2:
            return names
        shared = [name for name in names if not self.columns.depends(system, name) and self._answered_once(name)]
        finer = [name for name in names if self.columns.depends(system, name)]
        outputs = [name for name in finer if any(self.columns.depends(one, name) for one in shared)]
        return [name for name in names if name not in outputs]

    def _is_weak(self, name: str) -> bool:
        """Whether a name may as well be that of rows or outputs."""
        return words_of(name) in (["id"], ["index"], ["idx"], ["uid"], ["uuid"])

    def _answered_once(self, item: str) -> bool:
        """Whether nobody answered twice about a system and an item, as far as the columns' names tell."""
        others = [name for _, name in likeliest(self._without([item]), "system")[:1]] + self._sides()
        others += [name for _, name in likeliest(self._without([item]), "criterion")[:1]]
        return self._told_apart(item, *others)

    def _system(self) -> None:
        several = self._named("system", lambda name: self.columns.distinct(name) > 1)
        if not several:
            self._named("system", lambda name: self.columns.distinct(name) == 1)

    def _criterion(self) -> None:
        if "criterion" in self.given:
            return
        names = [name for _, name in likeliest(self.free, "criterion") if not self.columns.numeric(name)]
        names += [name for _, name in likeliest(self.free, "item_id") if self.columns.are_criteria(name)]
        names = [name for name in dict.fromkeys(names) if not self._follows(name, "item_id", "annotator_id", "system")]
        if names and not self._rivals(names):
            self._take("criterion", names[0])
        elif names:
            self._doubt(names, "criterion")

    def _compared(self, first: str, second: str) -> str:
        """Find who won, or how likely the first is preferred; return the kind of table."""
        for role, name in (("system_x", first), ("system_y", second)):
            if role not in self.given and name:
                self._take(role, name)
            elif role not in self.given:
                self.unsettled.lack(role, better_and_worse(self.free, self.roles.get("winner")) or ALWAYS_ONE)
        if {"preference", "winner"} & self.given:
            return "preferences" if "preference" in self.given else "choices"
        numbers = [name for _, name in likeliest(self.free, "preference") if self.columns.numeric(name)]
        words = self.columns.winners(self.free, (first, second)) if first and second else []
        called = [n for _, n in likeliest(self.free, "winner") if n not in numbers and self.columns.is_word(n)]
        sure = [name for name in called if name in words] or called
        winners = sure or ([] if numbers else words)
        if len(numbers) + len(winners) == 1 or (winners and not numbers and not self._rivals(winners)):
            self._take("preference" if numbers else "winner", [*numbers, *winners][0])
        elif numbers and not winners and not self._rivals(numbers):
            self._take("preference", numbers[0])
        elif numbers and winners:
            self._doubt([*winners, *numbers][:1], "winner", more=f", or {numbers[0]}=preference")
        elif winners or numbers:
            self._doubt(winners or numbers, "winner" if winners else "preference")
        else:
            rated = sides_named([name for name in self.free if self.columns.numeric(name)], texts=True)
            both = f"; {shown(rated[0])} are a score of each: spa import csv makes a rating of either" if rated else ""
            self.unsettled.lack("winner", both)
        return "preferences" if "preference" in self.roles else "choices"

    def _scores(self) -> None:
        """Find the column of scores, or those of criteria or systems."""
        if "score" in self.given:
            return
        named = likeliest(self.free, "score")
        called = [(place, name) for place, name in named if self.columns.scored(name)]
        about = [self.roles[role] for role in ("item_id", "annotator_id", "system") if role in self.roles]
        scored = scored_columns(self.columns, self.free, about)
        if not (called or scored):  # of the plainest name, whatever it holds: reading says what its words may count
            called = [(place, name) for place, name in named if place <= 2 and self.columns.is_word(name)]
        clear = [name for place, name in called if place <= 2]
        if len(clear) > 1 or (not clear and len(called) > 1 and len(scored) <= len(called)):
            self.unsettled.several(clear or [name for _, name in called])
            self.given.add("score")
        elif clear or (len(called) == 1 and {*scored} <= {called[0][1]}):
            self._take("score", clear[0] if clear else called[0][1])
        elif not scored or (not self.options.each and self.unsettled.answers_in_lists()):
            self.unsettled.lack("score")
        elif "criterion" in self.given:
            if len(scored) == 1:
                self._take("score", scored[0])
            else:
                self.unsettled.several(scored)
                self.given.add("score")
        elif len(scored) == 1 and plain_name(scored[0]) in ANSWERED:
            self._take("score", scored[0])
        else:
            self._wide(scored)

    def _wide(self, scored: Sequence[str]) -> None:
        """Take several columns of scores for criteria, where systems are named, or for systems."""
        systems = None if "system" in self.given else systems_named(scored)
        if systems is not None:
            self.systems = systems
        else:
            if "system" not in self.given:
                self._system_by_content()
            if "system" in self.given:
                self.criteria = tuple(scored)
            else:
                self.unsettled.systems_or_criteria(scored)
        self.given |= {"system", "score", *(("criterion",) if self.criteria else ())}
        self.free = self._without(scored)

    def _system_by_content(self) -> None:
        names = [n for n in self.columns.systems_like(self.free) if not self._follows(n, "item_id", "annotator_id")]
        needed = not self._told_apart() and all(map(self._told_apart, names))
        if len(names) == 1 and "annotator_id" in self.given and needed:
            self._take("system", names[0])
        elif names and "annotator_id" in self.given:
            self._doubt(names, "system")
        elif names:
            self._doubt(names, "system", "annotator_id")

    def _rest(self, kind: str) -> None:
        """Find by contents what no name says, and tell what is missing."""
        compared = kind in ("choices", "preferences")
        sides = [] if compared or "system" in self.given else sides_named(self.free)
        if sides and "score" in self.roles:
            self.unsettled.scored_pair(sides[0], self.roles["score"])
        elif not compared and "system" not in self.given:
            self._system_by_content()
            if "system" not in self.given:
                self.unsettled.lack("system", "; of one system say --set system=NAME")
        if "item_id" not in self.given and kind != "preferences":
            self._item_by_content()
        elif self.counts_rows is not None and compared and self.columns.a_row_each(self.counts_rows):
            if names := self._items_by_content():
                self._doubt([self.counts_rows, *names], "item_id")
        if "annotator_id" not in self.given:
            self._annotator_by_content()
            if who := self.roles.get("annotator_id"):
                self.criteria = tuple(n for n in self.criteria if not self.columns.is_property(n, [who]))
        unclear = kind in ("orders", "spans") or bool(self.unsettled.lists)  # who answered may stand in a list
        if "annotator_id" not in self.given and unclear and not (self.options.unnamed or self.options.means):
            self.unsettled.lack("annotator_id", "; of one annotator say --set annotator_id=NAME")
        nameless = "annotator_id" not in self.given and not (self.options.unnamed or self.options.means)
        if nameless and may_be_people(self.criteria):
            self.unsettled.people_or_criteria(self.criteria)
        if "criterion" not in self.given and not self.unsettled and not self._told_apart():
            names = [name for name in self._names() if self._told_apart(name)]
            if names and "item_id" not in self.given:
                self._doubt(names, "item_id", "criterion")
            elif len(names) == 1 and PARTS.isdisjoint(words_of(names[0])):
                self._take("criterion", names[0])
        if not self.unsettled and "repeat" not in self.given and kind != "spans" and not self._told_apart():
            names = [n for n in self.free if self.columns.is_word(n) and not is_text(n) and self._told_apart(n)]
            if names:
                both = joint(self.roles, names[0], "item_id", "system")
                self._doubt(names, "repeat", *(() if "criterion" in self.given else ("criterion",)), more=both)

    def _cell(self) -> list[str]:
        """Return the columns that say what was answered, by whom."""
        keys = ("annotator_id", "item_id", "system", "system_x", "system_y", "criterion", *REPEATED)
        return [self.roles[role] for role in keys if role in self.roles]

    def _told_apart(self, *more: str, without: str = "") -> bool:
        """Whether no cell is answered twice, with more columns beside those that are known."""
        cell = [name for name in [*self._cell(), *more] if name != without]
        return bool(cell) and self.columns.distinct(*cell) == self.columns.height

    def _names(self) -> list[str]:
        """Return the columns of names that say more than those that are known."""
        return [n for n in self.columns.systems_like(self.free) if not self._follows(n, "item_id", "system")]

    def _items_by_content(self) -> list[str]:
        """Return the columns that tell apart what is answered several times without an item."""
        known = self.roles.get("item_id", "")
        if self._told_apart(without=known):
            return []
        return [
            name
            for name in self.free
            if FEWEST_ITEMS <= self.columns.distinct(name) <= self.columns.height // 2
            and not (self.columns.scored(name) or NO_NAMES.search(name))
            and not self.columns.frame[name].has_nulls()
            and self._told_apart(name, without=known)
        ]

    def _item_by_content(self) -> None:
        names = self._items_by_content()
        if len(names) == 1:
            self._take("item_id", names[0])
        elif names:
            self._doubt(names, "item_id")
        else:
            compared = "system_x" in self.given
            self.unsettled.lack("item_id", "; where each row is about another item: --set item_id={row}" * compared)

    def _annotator_by_content(self) -> None:
        names = self._names()
        apart = [name for name in names if not self._told_apart() and self._told_apart(name)]
        if len(apart) == 1 and len(names) == 1 and "criterion" in self.given:
            self._take("annotator_id", apart[0])
        elif names:
            roles = ("annotator_id",) if "criterion" in self.given else ("annotator_id", "criterion")
            self._doubt(names, *roles, more="; of people whom no column names say --unnamed")

    def _made(self, kind: str) -> TableFound:
        unnamed = "annotator_id" not in self.given and not (self.options.unnamed or self.options.means)
        means = unnamed and are_means(self.roles.get("score", ""), self.columns)
        new = {role: name for role, name in self.roles.items() if name != role and name not in self.options.mapping}
        found = TableFound(
            place=self.place,
            kind=kind,
            mapping={name: role for role, name in new.items()},
            criteria=self.criteria,
            systems=dict(self.systems),
            annotator_columns=self.annotator_columns,
            llms=tuple(filter(is_llm, self._who())),
            constants=self.constants,
            unnamed=unnamed and not means,
            means=means,
        )
        return with_lines(found, self.columns, self.roles, unread=self.free, judges=self._people_of_judges())

    def _who(self) -> list[str]:
        """Return the annotators, where nothing says which of them are LLMs."""
        who, columns = self.roles.get("annotator_id"), [*self.annotator_columns, *self.options.annotator_columns]
        if "annotator_kind" in self.given or self.options.llms or self.options.unnamed:
            return []
        return columns if who is None else self.columns.values(who)

    def _people_of_judges(self) -> list[str]:
        """Return one or two annotators, in a column called as those of LLMs often are."""
        judges = {*words_of(self.roles.get("annotator_id", ""))} & {"judge", "annotator", "evaluator"}
        names = self._who() if judges and self.roles["annotator_id"] != "annotator_id" else []
        return names if len(names) <= FEW_PEOPLE else []

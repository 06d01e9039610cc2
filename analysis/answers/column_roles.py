"""The roles of one file's columns as far as they are known: what each step of recognising asks, and adds to."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

from analysis.answers.column_contents import Columns
from analysis.answers.column_names import Role, likeliest, sides_named
from analysis.answers.columns_found import WHAT
from analysis.answers.options import Reading
from analysis.answers.unsettled import Unsettled, joint

REPEATED = ("repeat", "sample", "sample_x", "sample_y", "variant", "assignment_id", "exposure")
OURS = frozenset((*WHAT, *REPEATED, "group", "elicitation", "missing_reason", "start", "end"))


class ColumnRoles:
    """What is known of one file's columns.

    Attributes
    ----------
    columns : Columns
        Of the file.
    options : Reading
        What is known already: its mapping, constants and named columns go first.
    unsettled : Unsettled
        Collects what may be two things, and what is missing.
    roles : dict of str to str
        Our column -> the file's.
    settled : set of str
        Our columns that need not be looked for: found, made by an option, or asked about.
    free : list of str
        Columns of the file without a role, in the order of their names.
    criteria, annotator_columns : tuple of str
        Columns of answers that are a criterion, or an annotator, each.
    systems : mapping of str to str
        Columns of answers that are a system each -> the system.
    constants : mapping of str to str
        Columns of ours that stand in no file, as those that are found say -> their value.
    restated : dict of str to str
        Columns that are not read, as they say what another says -> that one.
    counts_rows : str, optional
        The column that is taken for the item, though it may number the rows.
    """

    def __init__(self, columns: Columns, options: Reading, unsettled: Unsettled) -> None:
        self.columns, self.options, self.unsettled = columns, options, unsettled
        named = {options.mapping.get(name, name): name for name in columns.names}
        self.roles = {new: old for new, old in named.items() if new in OURS}
        if self.roles.get("preference") == "preference" and not columns.numeric("preference"):
            del self.roles["preference"]  # words say who won
        self.settled = {*self.roles, *(name for name in options.constants if name in OURS)}
        if options.systems:
            self.settled |= {"system", "score"}
        if options.criteria:
            self.settled |= {"criterion", "score"}
        if options.annotator_columns:
            self.settled |= {"annotator_id", self._answered(options.annotator_columns)}
        wide = {*options.systems, *options.criteria, *options.annotator_columns}
        taken = {*self.roles.values(), *options.mapping, *wide}
        self.free = [name for name in columns.names if name not in taken and columns.distinct(name)]
        self.criteria: tuple[str, ...] = ()
        self.systems: Mapping[str, str] = {}
        self.constants: Mapping[str, str] = {}
        self.annotator_columns: tuple[str, ...] = ()
        self.restated: dict[str, str] = {}
        self.counts_rows: str | None = None

    def _answered(self, names: Sequence[str]) -> str:
        """Return which of our columns the answers in some columns are."""
        if {"system_x", "system_y"} & self.settled or sides_named(self.columns.names):
            return "preference" if all(map(self.columns.numeric, names)) else "winner"
        return "score"

    def take(self, role: str, name: str) -> None:
        """Give a role to a column of the file."""
        self.roles[role] = name
        self.settled.add(role)
        self.free = [one for one in self.free if one != name]

    def doubt(self, names: Sequence[str], *roles: str, more: str = "") -> None:
        """Ask which of our columns some columns are, so that no later step looks for these."""
        self.unsettled.doubt(names, roles, more)
        self.settled |= {*roles}

    def take_named(self, role: Role, fits: Callable[[str], bool]) -> bool:
        """Take the column that is called so and ``fits``; tell whether there is one."""
        if role in self.settled:
            return True
        names = [name for _, name in likeliest(self.free, role) if fits(name)]
        if names and not self.rivals(names):
            self.take(role, names[0])
        elif names:
            self.doubt(names, role, more=joint({role: names[0]}, self.rivals(names)[0], "system"))
        return role in self.settled

    def rivals(self, names: Sequence[str]) -> list[str]:
        """Return the names that say something else than the first."""
        return [name for name in names[1:] if not self.columns.same(name, names[0])]

    def follows(self, name: str, *roles: str) -> bool:
        """Whether a column says no more than another one that is known."""
        return any(self.columns.depends(name, self.roles[role]) for role in roles if role in self.roles)

    def without(self, names: Collection[str]) -> list[str]:
        """Return the free columns but some."""
        return [name for name in self.free if name not in names]

    def sides(self) -> list[str]:
        """Return the free columns that are called as one of two sides."""
        return [name for pair in sides_named(self.free) for name in pair]

    def told_apart(self, *more: str, without: str = "", every: str = "") -> bool:
        """Whether no cell is answered twice, with more columns beside those that are known.

        With ``every`` each cell must have all values of that column.
        """
        cell = [name for name in [*self._cell(), *more] if name != without]
        apart = bool(cell) and self.columns.distinct(*cell) == self.columns.height
        if not (apart and every):
            return apart
        rest = [name for name in cell if name != every]
        return bool(rest) and self.columns.distinct(*rest) * self.columns.distinct(every) == self.columns.height

    def _cell(self) -> list[str]:
        """Return the columns that say what was answered, by whom."""
        keys = ("annotator_id", "item_id", "system", "system_x", "system_y", "criterion", *REPEATED)
        return [self.roles[role] for role in keys if role in self.roles]

    def repeating_names(self) -> list[str]:
        """Return the columns of names that say more than those that are known."""
        return [n for n in self.columns.systems_like(self.free) if not self.follows(n, "item_id", "system")]

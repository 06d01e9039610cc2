"""Who sees what, as a file says it: as published, or as another tool drew it (``[design] assignments``).

Each row must name what there is. Of what a form does not say, the study's own draw decides: columns, samples, and what
each way of asking asks about.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, pairwise

from spa.elicitation import ways
from spa.errors import StudyError
from spa.records.outputs import Outputs
from spa.records.problems import StudyProblem, mistake, nearest, quote
from spa.records.study import Section, Study
from spa.study.output_files import display_path
from spa.study.page_rows import PAGE, POSITION, SAMPLE, Mistakes, PageRow, read_page_rows
from spa.study.replaced_marks import without_marks

NEAREST_OF = 2_000  # ids among which one that is unknown is looked for


class RowChecks:
    """Checks rows one by one; what is wrong becomes a mistake, of the same item or system once."""

    def __init__(self, study: Study, outputs: Outputs, mistakes: Mistakes) -> None:
        self.study, self.outputs, self.say = study, outputs, mistakes.say
        self.systems = list(study.systems_shown)
        self.asking = [key for key in study.sections if study.page_table(key) == key]
        self.dropped = {one.item_id: one for one in outputs.dropped}
        marked = [item.item_id for item in outputs.items] if study.outputs.replace else []
        self.as_shown = {without_marks(study, item_id).strip(): item_id for item_id in marked}
        self.unknown_items: dict[str, list[PageRow]] = {}
        self.unknown_systems: dict[str, list[PageRow]] = {}
        self.alone = study.single_outputs or study.deals_pairs

    def check(self, row: PageRow) -> None:
        """Check one row."""
        if row.asked and row.asked not in self.asking:
            host = self.study.page_table(row.asked) if row.asked in self.study.sections else None
            do = nearest(row.asked, self.asking) if host is None else f"[{host}] says what it is asked about"
            self.say("ways", row, "nothing or a way of asking in column asked", quote(row.asked), do)
            return
        compares = bool(row.asked) and ways()[row.asked].assigned_as == "comparisons"
        if not compares:
            self._item(row)
        elif row.item:
            self.say("items", row, f"no item in a comparison of [{row.asked}]", quote(row.item), "empty it")
        self._system(row, compares=compares)

    def finish(self) -> None:
        """Say which items and systems are unknown, and in how many rows."""
        for item, rows in self.unknown_items.items():
            expected, got, do = self._unknown_item(item)
            self.say("items", rows[0], expected, f"{got}{_more(rows)}", do)
        for system, rows in self.unknown_systems.items():
            got = f"{quote(system) if system else 'nothing'}{_more(rows)}"
            self.say("systems", rows[0], "a system that is compared", got, nearest(system, self.systems))

    def _item(self, row: PageRow) -> None:
        if row.item not in self.outputs.by_id:
            self.unknown_items.setdefault(row.item, []).append(row)

    def _unknown_item(self, item: str) -> tuple[str, str, str]:
        """Return what was expected, what was found and what to do."""
        if (left := self.dropped.get(item)) is not None:
            got = f"{quote(item)}, which {left.rule} left out ({left.evidence[:120]})"
            return "an item that stays", got, "remove the filter, or this form"
        if (known := self.as_shown.get(item)) is not None:
            do = "write that one, as replace changes texts and not ids"
            return "an id as the outputs have it", f"{quote(item)}, which replace makes of {quote(known)}", do
        if item:
            return "the id of an item", quote(item), nearest(item, list(self.outputs.by_id)[:NEAREST_OF])
        return "the id of an item", "nothing", "fill it in"

    def _system(self, row: PageRow, *, compares: bool) -> None:
        if not row.system and not row.asked and not self.alone and self.study.shares_items:
            if POSITION in row.numbers or SAMPLE in row.numbers:
                self.say("systems", row, "a system beside position or sample", "none", "fill it in")
        elif row.system not in self.systems:
            self.unknown_systems.setdefault(row.system, []).append(row)
        elif not compares and row.item in self.outputs.by_id:
            samples, named = len(self.outputs.of(row.item, row.system)), row.numbers.get(SAMPLE, 1)
            if named > samples:
                expected = f"an output of {quote(row.system)} for item {quote(row.item)}"
                got = f"sample {named} of {samples}"
                self.say("outputs", row, expected, got, "correct it")


PLACE = "[design] assignments"


@dataclass(frozen=True, slots=True)
class PageCell:
    """One output on a page; of a comparison the system alone."""

    item_id: str
    system: str
    sample: int | None  # None: the next of those there are


Page = tuple[PageCell, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AssignedForm:
    """What one form shows and asks, as far as its file says."""

    name: str
    columns: tuple[str, ...] | None  # the systems from the first column to the last; None: drawn
    shown: tuple[Page, ...]
    asked: Mapping[str, tuple[Page, ...]]  # by way of asking, in order


@dataclass(frozen=True, slots=True, kw_only=True)
class AssignedPages:
    """All forms of a file, in its order."""

    file: str
    forms: tuple[AssignedForm, ...]
    notes: tuple[str, ...]


def assignment_problems(study: Study) -> Iterator[StudyProblem]:
    """Yield what cannot be asked by forms from a file."""
    if study.design.assignments is None:
        return
    for key, section in study.sections.items():
        if ways()[key].assigned_as is None:
            yield mistake(PLACE, "ways of asking whose pages a file can hold", f"[{key}]", "remove one of them", key)
        if len(section.exposures()) > 1 or section.systems():
            got = "an exposure study, which shows a system under several labels"
            yield mistake(PLACE, "one exposure", got, "remove one of them", key)
    if study.design.answers_per_output is not None:
        expected = "no answers_per_output beside it, as the file says how often each output is shown"
        yield mistake(PLACE, expected, str(study.design.answers_per_output), "remove one of them")
    if study.stopping.rule != "fixed":
        do = "remove one of them: others drew these forms in no random order"
        yield mistake(PLACE, 'rule = "fixed" in [stopping]', quote(study.stopping.rule), do, "stopping")


def load_pages(study: Study, outputs: Outputs) -> AssignedPages:
    """Read the file of assignments of a study.

    Raise StudyError with every mistake in it, one line each: ids that are unknown or were left out, pages on which a
    system is missing or twice, columns that change within a form, questions about what a form does not show.
    """
    path = study.design.assignments
    if path is None:
        raise ValueError(f"study {study.id!r} draws its assignments")
    rows, notes = read_page_rows(path)
    mistakes = Mistakes()
    checks = RowChecks(study, outputs, mistakes)
    for row in rows:
        checks.check(row)
    checks.finish()
    mistakes.refuse()
    by_form: dict[str, list[PageRow]] = defaultdict(list)
    for row in rows:
        by_form[row.form].append(row)
    reader = _FormReader(study, mistakes)
    forms = tuple(reader.form(name, own) for name, own in by_form.items())
    mistakes.refuse()
    pages = AssignedPages(file=display_path(path), forms=forms, notes=notes)
    if problems := [*_sizes(study, pages)]:
        raise StudyError(*problems)
    return pages


def _sizes(study: Study, pages: AssignedPages) -> Iterator[str]:
    """Yield what the study says otherwise of how much a form shows, or how many forms there are."""
    needed = study.people.assignments_for(study.people.annotators)
    if needed > len(pages.forms):
        do = "add forms, or change [people] annotators, sessions or per_assignment"
        yield f"{pages.file}: expected {needed} forms, one an assignment of [people], got {len(pages.forms)}; {do}"
    longest = max(len(form.shown) for form in pages.forms)
    key, told = "[design] items", study.design.items
    if study.single_outputs:
        longest = max(sum(map(len, form.shown)) for form in pages.forms)
        key, told = "[design] outputs", study.design.outputs
    elif (dealt := study.pairs_dealt) is not None:
        (section,) = study.sections.values()
        key, told = f"[{section.key}] per_annotator", dealt
        longest = -(-longest // 2) if section.asks_again() else longest
    elif study.exposures:
        return  # each form was compared with it
    if longest != told:
        yield f"{pages.file}: expected {key} = {longest}, as many as its longest form shows, got {told}; set it"


class _FormReader:
    """Makes forms of their rows; what is wrong with them becomes a mistake."""

    def __init__(self, study: Study, mistakes: Mistakes) -> None:
        self.study, self.say = study, mistakes.say
        self.systems = list(study.systems_shown)
        self.alone = study.single_outputs or study.deals_pairs  # a form shows only what it asks about
        self.kinds = {key: ways()[key].assigned_as for key in study.sections}

    def form(self, name: str, rows: Sequence[PageRow]) -> AssignedForm:
        """Return one form."""
        by_way: dict[str, list[PageRow]] = defaultdict(list)
        for row in rows:
            by_way["" if self.alone else row.asked].append(row)
        shown = self._cut(by_way.pop("", []), None)
        asked = {key: self._cut(own, self.kinds[key]) for key, own in by_way.items()}
        pages = [self._with_all_systems(page) for page in shown] or self._shown_for(asked)
        if not pages:
            self.say("forms", rows[0], f"pages that form {quote(name)} shows", "comparisons alone", "add its items")
            return AssignedForm(name=name, columns=None, shown=(), asked={})
        columns = None if self.alone else self._columns(name, pages)
        if self.study.deals_pairs:
            (section,) = self.study.sections.values()
            self._groups(name, section, pages)
        else:
            self._once(name, pages)
        for key, own in asked.items():
            self._questions(name, self.study.sections[key], own, pages)
        return AssignedForm(
            name=name, columns=columns, shown=_cells(pages), asked={key: _cells(own) for key, own in asked.items()}
        )

    def _cut(self, rows: list[PageRow], kind: str | None) -> list[list[PageRow]]:
        """Cut rows into pages, each in the order of its positions."""
        for column in (PAGE, POSITION):
            lacking = next((row for row in rows if column not in row.numbers), None)
            if lacking is not None and any(column in row.numbers for row in rows):
                expected = f"a number in column {column} of all such rows of form {quote(lacking.form)}, or of none"
                self.say("numbers", lacking, expected, "nothing", "fill it in")
                return []
        if not rows:
            return []
        if PAGE in rows[0].numbers:
            ordered = sorted(rows, key=lambda row: row.numbers[PAGE])
            pages = [list(own) for _, own in groupby(ordered, key=lambda row: row.numbers[PAGE])]
        elif kind == "comparisons":
            pages = [rows[start : start + 2] for start in range(0, len(rows), 2)]
        elif kind == "rated" or self.study.single_outputs:
            pages = [[row] for row in rows]
        elif kind is None and not self.study.shares_items:
            expected = "column page, as systems have items of their own"
            self.say("numbers", rows[0], expected, f"none in form {quote(rows[0].form)}", "number the pages")
            return []
        else:
            pages = [list(own) for _, own in groupby(rows, key=lambda row: row.item)]
        for page in pages:
            if POSITION in page[0].numbers:
                page.sort(key=lambda row: row.numbers[POSITION])
                for earlier, row in pairwise(page):
                    if earlier.numbers[POSITION] == row.numbers[POSITION]:
                        got = f"{row.numbers[POSITION]} twice in form {quote(row.form)}"
                        self.say("numbers", row, "each position of a page once", got, "number the pages in column page")
        return pages

    def _with_all_systems(self, page: list[PageRow]) -> list[PageRow]:
        if len(page) > 1 or page[0].system:
            return page
        return [replace(page[0], system=system) for system in self.systems]

    def _shown_for(self, asked: Mapping[str, list[list[PageRow]]]) -> list[list[PageRow]]:
        """Return what must be shown for what is asked: its items in order, with the outputs of all systems."""
        by_item: dict[str, dict[str, PageRow]] = defaultdict(dict)
        for key, pages in asked.items():
            for row in (row for page in pages for row in page if self.kinds[key] != "comparisons"):
                by_item[row.item].setdefault(row.system, row)
        made = []
        for rows in by_item.values():
            first = next(iter(rows.values()))
            numbers = {system: {SAMPLE: row.numbers[SAMPLE]} for system, row in rows.items() if SAMPLE in row.numbers}
            made.append(
                [replace(first, system=system, asked="", numbers=numbers.get(system, {})) for system in self.systems]
            )
        return made

    def _once(self, name: str, pages: list[list[PageRow]]) -> None:
        """Check that nothing is shown twice."""
        seen: dict[object, PageRow] = {}
        pages_of: dict[str, int] = {}
        for number, page in enumerate(pages):
            for row in page:
                first = seen.setdefault((row.item, row.system, row.numbers.get(SAMPLE, 1)), row)
                if first is not row:
                    got = f"{quote(row.system)} for item {quote(row.item)} again in form {quote(name)}"
                    self.say("outputs", row, "each output once", f"{got} (as in {first.place})", "remove it")
                elif not self.alone and pages_of.setdefault(row.item, number) != number:
                    got = f"{quote(row.item)} on two pages of form {quote(name)}"
                    self.say("outputs", row, "an item on one page", got, "put them on one")

    def _columns(self, name: str, pages: list[list[PageRow]]) -> tuple[str, ...] | None:
        """Check that every page shows every system once; return their order where positions say it."""
        order = [row.system for row in pages[0]]
        for page in pages:
            systems = [row.system for row in page]
            if sorted(systems) != sorted(self.systems):
                times = Counter(systems)
                odd = next(f"no {one}" if not times[one] else f"{one} twice" for one in self.systems if times[one] != 1)
                do = "complete it" if odd.startswith("no ") else "number the pages in column page"
                self.say("pages", page[0], "each system once on a page", f"{odd} in form {quote(name)}", do)
                return None
            if self.study.shares_items and len({row.item for row in page}) > 1:
                got = f"{quote(page[0].item)} and others in form {quote(name)}"
                self.say("pages", page[0], "one item on a page", got, "number the pages by item")
                return None
            if POSITION in page[0].numbers and systems != order:
                column = next(place for place, one in enumerate(systems) if one != order[place])
                got = f"{quote(systems[column])} where form {quote(name)} had {quote(order[column])} before"
                self.say("pages", page[column], "a system in one column of a form", got, "order all pages alike")
                return None
        if self.study.exposures and len(pages) != self.study.exposures[0]:
            expected = f"{self.study.exposures[0]} pages, as the exposure says"
            got = f"{len(pages)} in form {quote(name)}"
            self.say("pages", pages[-1][-1], expected, got, "correct one of them")
        return tuple(order) if POSITION in pages[0][0].numbers else None

    def _questions(self, name: str, section: Section, asked: list[list[PageRow]], pages: list[list[PageRow]]) -> None:
        """Check what one way asks about: outputs that the form shows, or systems that it compares."""
        if self.kinds[section.key] == "comparisons":
            self._comparisons(name, section, asked)
            return
        shown = {(row.item, row.system): row.numbers.get(SAMPLE) for page in pages for row in page}
        for row in (row for page in asked for row in page):
            output = row.item, row.system
            if output not in shown or row.numbers.get(SAMPLE, shown[output]) != shown[output]:
                got = f"{quote(row.system)} for item {quote(row.item)}"
                do = "show it there too, or ask about another"
                self.say("questions", row, f"an output that form {quote(name)} shows", got, do)
        if self.kinds[section.key] == "rated":
            page_of = {(row.item, row.system): number for number, page in enumerate(pages) for row in page}
            self._rated(name, section, [row for page in asked for row in page], page_of)
        else:
            self._groups(name, section, asked)

    def _rated(self, name: str, section: Section, rows: list[PageRow], page_of: Mapping[tuple[str, str], int]) -> None:
        seen: set[tuple[str, str]] = set()
        for row in rows:
            if (row.item, row.system) in seen:
                got = f"{quote(row.system)} for item {quote(row.item)} again in form {quote(name)}"
                self.say("questions", row, f"an output once in [{section.key}]", got, "remove it")
            seen.add((row.item, row.system))
        selection, pages = section.judged(), len(set(page_of.values()))
        told = min(selection, pages) if isinstance(selection, int) else 1 if selection == "first" else pages
        if rows and (found := len({page_of.get((row.item, row.system)) for row in rows})) != told:
            expected = f"ratings of {told} pages of a form, as [{section.key}] outputs = {quote(selection)}"
            self.say("questions", rows[0], expected, f"of {found} in form {quote(name)}", "correct one of them")

    def _groups(self, name: str, section: Section, pages: list[list[PageRow]]) -> None:
        """Check outputs judged together: how many, of one item, of a pair that is compared, in both orders if asked."""
        size, pairs = section.outputs_together(self.study), section.pairs(self.study)
        groups = Counter(tuple((row.item, row.system) for row in page) for page in pages)
        for page in pages:
            own = tuple((row.item, row.system) for row in page)
            listed = ", ".join(f"{row.system} for {quote(row.item)}" for row in page[:3])
            got = f"{listed}{', ...' * (len(page) > 3)} in form {quote(name)}"
            if len(page) != size or len({row.item for row in page}) > 1 or len({row.system for row in page}) < size:
                expected = f"outputs of one item by {size} systems in [{section.key}]"
                self.say("questions", page[0], expected, got, "correct it, or number the pages in column page")
            elif pairs and not any({row.system for row in page} == set(pair) for pair in pairs):
                self.say("questions", page[0], f"a pair that [{section.key}] compares", got, "add it to comparisons")
            elif groups[own] > 1:
                self.say("questions", page[-1], "each question once", f"{got} again", "remove it")
            elif section.asks_again() and own[::-1] not in groups:
                expected = f'both orders, as [{section.key}] directions = "both"'
                self.say("questions", page[0], expected, f"one of {got}", "add the other, or ask in one")

    def _comparisons(self, name: str, section: Section, asked: list[list[PageRow]]) -> None:
        pairs = {frozenset(pair) for pair in section.pairs(self.study)}
        seen: set[frozenset[str]] = set()
        for page in asked:
            own = frozenset(row.system for row in page)
            got = f"{' and '.join(row.system for row in page[:3])} in form {quote(name)}"
            if len(page) != 2 or own not in pairs:
                expected = f"two systems that [{section.key}] compares"
                self.say("questions", page[0], expected, got, "correct them, or number comparisons in column page")
            elif own in seen:
                do = f"remove it ([{section.key}] directions says whether both are asked)"
                self.say("questions", page[0], "each pair once", f"{got} again", do)
            seen.add(own)


def _cells(pages: Sequence[Sequence[PageRow]]) -> tuple[Page, ...]:
    return tuple(tuple(PageCell(row.item, row.system, row.numbers.get(SAMPLE)) for row in page) for page in pages)


def _more(rows: list[PageRow]) -> str:
    return f" ({len(rows)} rows)" if len(rows) > 1 else ""

"""Whether a row of assignments names what there is: an item that stays, a system that is compared, a way of asking."""

from __future__ import annotations

from spa.elicitation import ways
from spa.records.outputs import Outputs
from spa.records.problems import nearest, quote
from spa.records.study import Study
from spa.study.page_rows import POSITION, SAMPLE, Mistakes, PageRow
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


def _more(rows: list[PageRow]) -> str:
    return f" ({len(rows)} rows)" if len(rows) > 1 else ""

"""What the systems made of the items: records that a study is made of once its files are read."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from spa.records.materials import Material
from spa.records.study import Study

Key = tuple[str, str]  # (item_id, system)


@dataclass(frozen=True, slots=True, kw_only=True)
class Item(Material):
    """What every system was given, shown with the outputs where the study names it; else there is nothing of it."""

    item_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Output(Material):
    """What a system made of an item."""

    item_id: str
    system: str
    sample: int  # 1, 2, ...; which of several outputs of that system for that item
    numbers: tuple[tuple[str, float | None], ...] = ()  # columns that the analysis controls for; None: an empty cell


@dataclass(frozen=True, slots=True, kw_only=True)
class DroppedItem:
    """An item that left the study, the rule that it failed and what was seen."""

    item_id: str
    rule: str
    evidence: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Outputs:
    """All outputs of a study that remain after filters and length matching."""

    items: tuple[Item, ...]
    dropped: tuple[DroppedItem, ...]
    cells: dict[Key, tuple[Output, ...]]  # (item_id, system) -> samples in order
    by_id: dict[str, Item]
    unreadable: dict[Key, int]  # characters replaced by U+FFFD; the system of an item text is ""
    references: dict[str, tuple[str, ...]] = field(default_factory=dict)  # item_id -> texts that metrics compare with
    item_notes: dict[Key, Item] = field(default_factory=dict)  # (item_id, "rubric" or "reference") -> what is shown
    clips: dict[str, Item] = field(default_factory=dict)  # of screening questions and attention checks, by their names
    notes: tuple[str, ...] = ()  # what is to be said of how the files were read

    def item(self, item_id: str) -> Item:
        """Return one item."""
        return self.by_id[item_id]

    def of(self, item_id: str, system_id: str) -> tuple[Output, ...]:
        """Return what a system made of an item, in the order of the samples; nothing where it was not asked."""
        return self.cells.get((item_id, system_id), ())

    def output(self, item_id: str, system_id: str, sample: int) -> Output:
        """Return one sample, numbered from 1."""
        return self.cells[item_id, system_id][sample - 1]

    def all(self) -> Iterator[Output]:
        """Yield every output: items in order, systems in the order of the study file."""
        for samples in self.cells.values():
            yield from samples

    def shown(self) -> Iterator[Material]:
        """Yield everything that may be shown: what systems were given, every output, and clips of checks."""
        yield from (item for item in self.items if item.is_given)
        yield from self.all()
        yield from self.clips.values()

    def of_compared(self, study: Study) -> Iterator[Output]:
        """Yield every output of the systems that are compared, in the same order."""
        compared = {one.id for one in study.compared}
        return (output for output in self.all() if output.system in compared)

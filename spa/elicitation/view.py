"""What one assignment shows, as exhibits under their labels: the only place that looks a label up in the key."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from hashlib import sha256

from spa.elicitation.text_cache import TextCache
from spa.elicitation.word_diff import mark_differences
from spa.errors import StudyError
from spa.media import medium_of
from spa.records.assignment import Assignment, BlindingKey, ShownOutput, label_name
from spa.records.clean_text import cleaned
from spa.records.form import Exhibit, Segment
from spa.records.outputs import Item, Output, Outputs
from spa.records.study import OVERALL, Criterion, Study


@dataclass(frozen=True, slots=True, kw_only=True)
class ExhibitRow:
    """One row of a block: an output of every label, as exhibits in the same order."""

    outputs: tuple[ShownOutput, ...]
    exhibits: tuple[Exhibit, ...]
    heading: Exhibit | None  # the item text; of the first output where they are of several items
    one_item: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class AssignmentView:
    """One assignment with what is needed to show it. Exhibits of the same thing are the same record."""

    study: Study
    outputs: Outputs
    assignment: Assignment
    key: BlindingKey
    text_cache: TextCache
    _made: dict[tuple[object, ...], Exhibit] = field(default_factory=dict)
    _numbers: dict[str, int] = field(default_factory=dict)  # item -> its place in the order of appearance
    _rows: dict[int, tuple[ExhibitRow, ...]] = field(default_factory=dict)  # index of a block -> its rows

    def say(self, name: str, **values: str) -> str:
        """Return a text of the table [form]; a wording for the medium of the outputs comes first."""
        return self.text_cache.say(name, **values)

    def system(self, label: str) -> str:
        """Return what a system is called on the form; the systems of a dealt pair are A and B on each page."""
        if not self.text_cache.deals_pairs:
            return self.text_cache.system(label)
        (place,) = (block.labels.index(label) for block in self.assignment.blocks if label in block.labels)
        return self.say("pair_label", label=label_name(place))

    def criteria_of(self, elicitation: str) -> tuple[str, ...]:
        """Return the criteria of an elicitation in the order asked."""
        return self.text_cache.cached(
            ("asked", elicitation),
            # the whole before its aspects, so that no aspect colours it
            lambda: tuple(sorted(self.study.criteria_of(elicitation), key=lambda criterion: criterion != OVERALL)),
        )

    def ask(self, kind: str, criterion_id: str, **systems: str) -> str:
        """Return what a page of this kind asks about a criterion, or as a whole."""
        if criterion_id == OVERALL:
            return self.say(f"{kind}_overall", **systems)
        return self.say(f"{kind}_criterion", criterion=self.criterion(criterion_id).name, **systems)

    def criterion(self, criterion_id: str) -> Criterion:
        """Return a criterion of the study."""
        return self.text_cache.criteria[criterion_id]

    def number(self, item_id: str) -> int:
        """Return an item's number on this form, by first appearance in the blocks."""
        if not self._numbers:
            items = dict.fromkeys(output.item_id for block in self.assignment.blocks for output in block.shown)
            self._numbers.update((each, place) for place, each in enumerate(items, start=1))
        return self._numbers[item_id]

    def views(self, elicitation: str) -> tuple[list[str], list[str], list[str]]:
        """Return the criteria asked without the item text, beside it, and beside it with the differences marked."""
        return self.text_cache.cached(("views", elicitation), lambda: self._views(elicitation))

    def _views(self, elicitation: str) -> tuple[list[str], list[str], list[str]]:
        bare: list[str] = []
        plain: list[str] = []
        marking: list[str] = []
        for criterion in self.criteria_of(elicitation):
            marks = (
                not self.study.sections[elicitation].compares
                and criterion != OVERALL
                and self.criterion(criterion).mark_differences
            )
            shows = self.study.shows_item_text(elicitation, criterion)
            (marking if marks else plain if shows else bare).append(criterion)
        return bare, plain, marking

    def item(self, item_id: str) -> Exhibit | None:
        """Return the item text as an exhibit; ``None`` where the study shows none."""
        if (found := self._made.get(("item", item_id))) is not None:
            return found
        item = self.outputs.item(item_id)
        if not item.is_given:
            return None
        return self._exhibit(("item", item_id), self._item_caption(item_id), None, item)

    def output(self, output: ShownOutput) -> Exhibit:
        """Return an output under its label."""
        place = ("output", output.label, output.item_id, output.sample)
        if (found := self._made.get(place)) is not None:
            return found
        return self._exhibit(place, self._output_caption(output), output.label, self._output(output))

    def turns(self, output: ShownOutput) -> tuple[Exhibit, ...]:
        """Return the turns of an output that are rated one by one, each with what led to it."""
        made = self._output(output)
        cut = medium_of(made).turns
        if cut is None:
            raise ValueError(f"an output of {made.medium} has no turns")
        caption = self._output_caption(output)
        names_within = medium_of(made).names_within
        shown = []
        for number, text in enumerate(cut(made.text or "").each, start=1):
            named = dict(names_within(text)) if made.within else {}
            within = tuple(one for one in made.within if one.name in named)
            said = self.say("turn_caption", text=caption, number=str(number))
            place = ("turn", number, output.label, output.item_id, output.sample)
            shown.append(self._exhibit(place, said, output.label, replace(made, text=text, within=within), turn=number))
        return tuple(shown)

    def compared_with_item(self, output: ShownOutput) -> tuple[Exhibit, Exhibit]:
        """Return the item text and an output, with the words that differ marked in both."""
        item_id, made = output.item_id, self._output(output)
        item = self._source(item_id)
        place = ("compared", output.label, item_id, output.sample)
        if (*place, "item") not in self._made:
            in_source, in_output = mark_differences(cleaned(item.text or ""), cleaned(made.text or ""))
            self._exhibit((*place, "item"), self._item_caption(item_id), None, item, segments=in_source)
            caption = self._output_caption(output)
            self._exhibit((*place, "output"), caption, output.label, made, segments=in_output)
        return self._made[*place, "item"], self._made[*place, "output"]

    def copy_of_item(self, item_id: str) -> tuple[Exhibit, Exhibit]:
        """Return the item text and an output that equals it, under no label."""
        item = self._source(item_id)
        heading = self.item(item_id)
        if heading is None:
            raise ValueError(f"item {item_id!r} has no text")
        return heading, self._exhibit(("copy", item_id), self.say("unnamed_caption"), None, item)

    def reference(self, item_id: str, system_id: str, caption: str) -> Exhibit:
        """Return a reference's output, shown as such."""
        made = self.outputs.of(item_id, system_id)[0]
        return self._exhibit(("reference", system_id, item_id), caption, None, made)

    def example(self, place: tuple[object, ...], caption: str, shown: Item | Output) -> Exhibit:
        """Return what is shown in an answered example, under no label."""
        return self._exhibit(("example", *place), caption, None, shown)

    def clip(self, name: str) -> Exhibit | None:
        """Return the clip of a screening question or an attention check; ``None`` where it has none."""
        found = self.outputs.clips.get(name)
        return None if found is None else self._exhibit(("clip", name), self.say("clip_caption"), None, found)

    def note(self, item_id: str, note: str) -> Exhibit | None:
        """Return the rubric or the reference of an item, under its caption; ``None`` where it has none."""
        found = self.outputs.item_notes.get((item_id, note))
        if found is None:
            return None
        return self._exhibit(("note", note, item_id), self.say(f"{note}_of_item"), None, found)

    def rows(self, block: int) -> tuple[ExhibitRow, ...]:
        """Return a block's outputs row by row: the first of every label, the second, ..."""
        if (found := self._rows.get(block)) is None:
            found = self._rows[block] = tuple(map(self._row, self.assignment.blocks[block].rows))
        return found

    def row_of(self, output: ShownOutput) -> tuple[int, int]:
        """Return the block and the row in which an output is shown."""
        index = self.key.blocks[output.label]
        block = self.assignment.blocks[index]
        return index, block.shown.index(output) // len(block.labels)

    def _row(self, outputs: tuple[ShownOutput, ...]) -> ExhibitRow:
        first = outputs[0].item_id
        return ExhibitRow(
            heading=self.item(first),
            exhibits=tuple(map(self.output, outputs)),
            outputs=outputs,
            one_item=all([output.item_id == first for output in outputs]),
        )

    @property
    def _hides_item_text(self) -> bool:
        return self.text_cache.cached("hides", lambda: any(self.views(table)[0] for table in self.study.sections))

    def _source(self, item_id: str) -> Item:
        item = self.outputs.item(item_id)
        if item.text is None:
            raise StudyError(
                f"study {self.study.id!r}: item {item_id!r} has no item text to compare with; set outputs.item_text"
            )
        return item

    def _output(self, output: ShownOutput) -> Output:
        return self.outputs.output(output.item_id, self.key.systems[output.label], output.sample)

    def _item_caption(self, item_id: str) -> str:
        number, name = str(self.number(item_id)), self.study.outputs.item_name
        return self.say("item_caption", number=number) if name is None else f"{self.text_cache.clean(name)} {number}"

    def _output_caption(self, output: ShownOutput) -> str:
        system = self.system(output.label)
        if self.text_cache.single_outputs:
            return self.say("unnamed_caption")
        block = self.assignment.blocks[self.key.blocks[output.label]]
        if block.exposure == 1 or (self.outputs.item(output.item_id).is_given and not self._hides_item_text):
            return system  # the item text beside it says which one it is
        return self.say("output_caption", system=system, number=str(self.row_of(output)[1] + 1))

    def _exhibit(
        self,
        place: tuple[object, ...],
        caption: str,
        label: str | None,
        shown: Item | Output,
        *,
        segments: tuple[Segment, ...] = (),
        turn: int | None = None,
    ) -> Exhibit:
        if place in self._made:
            return self._made[place]
        if not segments and shown.text is not None:
            segments = self.text_cache.segments(shown.text)
        exhibit = Exhibit(
            exhibit_id=f"e{len(self._made) + 1}",
            caption=caption,
            label=label,
            item_id=shown.item_id,
            sample=shown.sample if isinstance(shown, Output) else 1,
            turn=turn,
            medium=shown.medium,
            segments=segments,
            file=shown.shown_file,
            seconds=shown.seconds,
            captions=shown.captions_copy,
            names=tuple((name, self.say(name)) for name in medium_of(shown).names),
            within=shown.within,
        )
        self._made[place] = exhibit
        return exhibit


def seeded_position(view: AssignmentView, name: str, places: int) -> int:
    """Return one of ``places`` numbers from 0: always the same one for this seed, assignment and name.

    A form is built anew whenever a page is asked for, so the place cannot be drawn from a generator.
    """
    seed = f"{view.study.seed}/{view.assignment.assignment_id}/{name}"
    return int.from_bytes(sha256(seed.encode()).digest()[:8], "big") % places

"""Reads the systems' outputs: which item, which system, which text or file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from math import inf, isfinite
from pathlib import Path
from typing import Any

from spa.errors import StudyError, shortened
from spa.media import medium_of, medium_of_file
from spa.records.clean_text import REPLACEMENT, cleaned
from spa.records.covariates import control_columns
from spa.records.materials import Material
from spa.records.outputs import DroppedItem, Item, Key, Output, Outputs
from spa.records.problems import quote
from spa.records.study import Study
from spa.records.toml_table import NOTHING
from spa.study.filters import cut_to_sentences, failures
from spa.study.materials import MaterialReader
from spa.study.output_files import OutputFileRow, OutputFileRows, display_files, display_path, read_rows
from spa.study.output_table import Cells, RawOutput, first_few, required_columns, sort_rows
from spa.study.rated_turns import unrated_turns
from spa.study.replaced_marks import with_marks_replaced
from spa.tables.selection import chosen_problems

REPLACED = "nothing once [outputs] replace is done"
EMPTY_ADVICE = '[[outputs.filters]] field = "{field}" min_characters = 1 leaves such items out'


def too_few_outputs(study: Study, place: str, outputs: Outputs) -> list[str]:
    """Return a problem where there are fewer outputs than one annotator rates, of a study that deals single ones."""
    found = sum(1 for _ in outputs.of_compared(study))
    if found >= study.design.outputs:
        return []
    expected = f"at least {study.design.outputs} outputs, as many as an annotator rates"
    return [f"{place}: expected {expected}, got {found}; add outputs or lower [design] outputs"]


def count_rules(dropped: Iterable[DroppedItem]) -> str:
    """Return how many items each rule left out, as "2 by min_words"."""
    return ", ".join(f"{count} by {rule}" for rule, count in Counter(item.rule for item in dropped).items())


def load_outputs(study: Study) -> Outputs:
    """Read the outputs of a study, leave out what the filters drop, match lengths.

    Characters that no page can show (control characters, halves of surrogate pairs) become U+FFFD
    and are counted.

    Every system answers every item, unless single outputs are dealt. Raise StudyError with every mistake in the files,
    one line each.
    """
    written = _read_cells(study)
    cells = with_marks_replaced(study, written)
    reader = MaterialReader(study.folder)
    made, items = _build_outputs(study, cells, reader), _build_items(study, cells, reader)
    noted = _build_notes(study, cells, reader)
    clips = dict(_clips(study, reader))
    problems = first_few([*reader.problems, *reader.unshown.values()], "cells that cannot be shown")
    unrated, turns_said = ([], []) if problems else unrated_turns(study, cells, made)
    problems += unrated
    if problems:  # what is not taken cannot be filtered
        raise StudyError(*problems, *_empty_outputs(study, items, made, written))
    items, dropped = _filtered(study, items, made, written)
    problems += _empty_outputs(study, items, made, written)
    if problems:
        raise StudyError(*problems)
    items, emptied = _length_matched(study, items, made)
    dropped += emptied
    least = study.least_items
    if len(items) < least and not study.single_outputs:
        left_out = f" ({len(dropped)} left out: {count_rules(dropped)})" if dropped else ""
        raise StudyError(
            f"{display_files(study.outputs.files)}: expected at least {least} items, as many as an annotator reads, "
            f"got {len(items)}{left_out}; add items or lower the exposure"
        )
    by_id = {item.item_id: item for item in items}
    keys = [(item_id, one.id) for item_id in by_id for one in study.systems]
    outputs = Outputs(
        items=tuple(items),
        dropped=tuple(dropped),
        cells={key: made[key] for key in keys if key in made},
        by_id=by_id,
        unreadable=_unreadable(cells, by_id),
        references=_references(study, cells, made, by_id),
        item_notes={key: note for key, note in noted.items() if key[0] in by_id},
        clips=clips,
        notes=(*cells.notes, *turns_said),
    )
    outputs = replace(outputs, notes=(*outputs.notes, *_files_within(outputs, reader.absent)))
    if study.single_outputs and (lacking := too_few_outputs(study, display_files(study.outputs.files), outputs)):
        raise StudyError(*lacking)
    return outputs


def _read_cells(study: Study) -> Cells:
    read: list[OutputFileRows] = []
    problems: list[str] = []
    for file in study.outputs.files:
        try:
            read.append(read_rows(file, required_columns(study), study.outputs.options(), _nested(study)))
        except StudyError as error:
            problems += error.problems
    if not problems:
        chosen = (one for file in read for one in file.chosen)
        found = chosen_problems(study.outputs.options(), chosen)
        problems += [problem.with_option(f"[outputs] {problem.parameter}") for problem in found]
    if not problems:
        cells, problems = sort_rows(study, [row for file in read for row in file.rows])
    if problems:
        raise StudyError(*problems)
    return replace(cells, notes=tuple(note for file in read for note in file.notes))


def _nested(study: Study) -> frozenset[str]:
    """Return the columns whose cells may hold lists and objects."""
    outputs = study.outputs
    systems = (outputs.output,) if outputs.layout == "long" else tuple(one.id for one in study.systems)
    named = {name: outputs.kind for name in systems} | {outputs.item_text: outputs.item_kind}
    return frozenset(name for name, kind in named.items() if name is not None and medium_of(kind).nested)


def _build_items(study: Study, cells: Cells, reader: MaterialReader) -> list[Item]:
    medium = medium_of(study.outputs.item_kind)
    items = []
    reader.prepare(medium, [(cell, cells.first[item_id]) for item_id, cell in cells.texts.items() if cell is not None])
    for item_id, cell in cells.texts.items():
        given = Material(medium=medium.key, text=None)
        if cell is not None:
            given = reader.read(medium, cell, cells.first[item_id])
        items.append(Item(item_id=item_id, **_fields(given)))
    return items


def _build_notes(study: Study, cells: Cells, reader: MaterialReader) -> dict[Key, Item]:
    """Return rubrics as texts of the medium of item texts, references as those of the outputs where these are texts."""
    kinds = {"rubric": study.outputs.item_kind, "reference": study.outputs.kind}
    media = {note: medium_of(kind) for note, kind in kinds.items()}
    plain = medium_of("text")
    return {
        (item_id, note): Item(
            item_id=item_id,
            **_fields(reader.read(media[note] if media[note].is_text else plain, raw.value, raw.row)),
        )
        for (item_id, note), raw in cells.item_notes.items()
    }


@dataclass(frozen=True, slots=True)
class _ClipPlace(OutputFileRow):
    """Where the study file names a clip."""

    @property
    def place(self) -> str:
        """Return the table and key."""
        table, _, name = str(self.values["name"]).partition("/")
        tables = {"screening": "[[screening]]", "check": "[[attention_checks]]"}
        return f"{display_path(self.file)}: {tables[table]} {name}, clip"


def _clips(study: Study, reader: MaterialReader) -> Iterator[tuple[str, Item]]:
    """Yield what screening questions and attention checks show, of the medium that their suffixes name."""
    for name, clip in study.clips.items():
        place = _ClipPlace((study.folder or Path()) / "study.toml", 0, {"name": name})
        medium = medium_of_file(clip)
        if medium is None or medium.files is None:
            expected = "a file of sound, film or a picture by its suffix"
            reader.problems.append(f"{place.place}: expected {expected}, got {quote(str(clip))}; convert or rename it")
            continue
        yield name, Item(item_id=name, **_fields(reader.read(medium, str(clip), place)))


def _build_outputs(study: Study, cells: Cells, reader: MaterialReader) -> dict[Key, tuple[Output, ...]]:
    medium = medium_of(study.outputs.kind)
    made: dict[Key, tuple[Output, ...]] = {}
    reader.prepare(medium, [(raw.value, raw.row) for raws in cells.outputs.values() for raw in raws])
    for (item_id, system), raws in cells.outputs.items():
        made[item_id, system] = tuple(
            Output(
                item_id=item_id,
                system=system,
                sample=number,
                numbers=tuple(_numbers(study, raw, reader.problems)),
                **_fields(reader.read(medium, raw.value, raw.row, given=False)),
            )
            for number, raw in enumerate(raws, start=1)
        )
    return made


def _fields(material: Material) -> dict[str, Any]:
    return {field.name: getattr(material, field.name) for field in fields(Material)}


def _numbers(study: Study, raw: RawOutput, problems: list[str]) -> Iterator[tuple[str, float | None]]:
    """Yield the numbers of an output that the analysis controls for."""
    for column in control_columns(study.analysis.control):
        text = raw.row.values[column]
        try:
            value = None if text is None or text in NOTHING else float(text)
        except ValueError:
            value = inf
        if value is not None and not isfinite(value):
            problems.append(f'{raw.place}: expected a number in "{column}", got {quote(text or "")}; correct it')
            value = None
        yield column, value


def _filtered(
    study: Study, items: Sequence[Item], made: dict[Key, tuple[Output, ...]], written: Cells
) -> tuple[list[Item], list[DroppedItem]]:
    remaining: list[Item] = []
    dropped: list[DroppedItem] = []
    for item in items:
        failed = next(_failures(study, item, made, written), None)
        if failed is None:
            remaining.append(item)
        else:
            dropped.append(failed)
    return remaining, dropped


def _failures(study: Study, item: Item, made: dict[Key, tuple[Output, ...]], written: Cells) -> Iterator[DroppedItem]:
    for condition in study.outputs.filters:
        if condition.field == "item_text":
            text = written.texts[item.item_id] if condition.as_written else item.text
            texts = [("item text", cleaned(text or ""))]
        else:
            texts = [
                (
                    f"output of {one.id}",
                    medium_of(output).reads(cleaned(raw.value) if condition.as_written else output.text or ""),
                )
                for one in study.systems
                for raw, output in zip(
                    written.outputs.get((item.item_id, one.id), ()), made.get((item.item_id, one.id), ()), strict=True
                )
            ]
        for name, text in texts:
            for rule, evidence in failures(condition, text):
                yield DroppedItem(item_id=item.item_id, rule=rule, evidence=f"{name}: {evidence}")


def _empty_outputs(
    study: Study, items: Sequence[Item], made: dict[Key, tuple[Output, ...]], written: Cells
) -> list[str]:
    lines = []
    empty: Counter[str] = Counter()
    for item in items:
        place, what = written.first[item.item_id].place, f"of item {quote(item.item_id)}"
        if study.outputs.item_text is not None and not item.is_given:
            do = "name its file or remove the item"
            lines.append(f"{place}: expected {medium_of(item).one} {what}, got nothing; {do}")
        elif item.text is not None and not item.text.strip():
            do = f"fill it in, or {EMPTY_ADVICE.format(field='item_text')}"
            lines.append(f"{place}: expected the text {what}, got {_nothing(written.texts[item.item_id])}; {do}")
        for one in study.systems:
            key = (item.item_id, one.id)
            for raw, output in zip(written.outputs.get(key, ()), made.get(key, ()), strict=True):
                if not output.is_given:
                    do = "name its file or remove the item"
                    expected = f"{medium_of(output).one} of {quote(one.id)}"
                    lines.append(f"{raw.place}: expected {expected}, got nothing; {do}")
                if output.text is not None and not output.text.strip():
                    empty[one.id] += 1
                    got = _nothing(raw.value, "an empty text")
                    lines.append(
                        f"{raw.place}: expected an output of {quote(one.id)}, got {got}; "
                        f"fill it in, or {EMPTY_ADVICE.format(field='output')}"
                    )
    lines = first_few(lines, "empty texts")
    if empty.total() > 1:
        counted = ", ".join(f"{count} of {quote(system)}" for system, count in empty.items())
        lines.append(f"{display_files(study.outputs.files)}: empty outputs by system: {counted}")
    return lines


def _nothing(written: str | None, empty: str = "nothing") -> str:
    """Return what is called empty: a text, or what is left of one."""
    return REPLACED if (written or "").strip() else empty


def _length_matched(
    study: Study, items: Sequence[Item], made: dict[Key, tuple[Output, ...]]
) -> tuple[list[Item], list[DroppedItem]]:
    """Cut the texts of one system to whole sentences, none longer than the longest of the others."""
    system = study.outputs.match_length_of
    if system is None:
        return list(items), []
    remaining: list[Item] = []
    emptied: list[DroppedItem] = []
    others = [one.id for one in study.compared if one.id != system]
    for item in items:
        longest = max(len((output.text or "").strip()) for other in others for output in made[item.item_id, other])
        samples = made[item.item_id, system]
        cut = tuple(_cut(output, longest) for output in samples)
        made[item.item_id, system] = cut
        if all(output.text for output in cut):
            remaining.append(item)
            continue
        length = max(len(output.text or "") for output in samples)
        evidence = (
            f"no whole sentence of {system} ({length} characters) fits in the {longest} of the longest other output"
        )
        emptied.append(DroppedItem(item_id=item.item_id, rule="match_length_of", evidence=evidence))
    return remaining, emptied


def _cut(output: Output, longest: int) -> Output:
    text = cut_to_sentences(output.text or "", longest)
    named = dict(medium_of(output).names_within(text))
    return replace(output, text=text, within=tuple(one for one in output.within if one.name in named))


def _references(
    study: Study, cells: Cells, made: dict[Key, tuple[Output, ...]], remaining: Iterable[str]
) -> dict[str, tuple[str, ...]]:
    """Return each item's different references: its texts in the columns, then the outputs of systems that are one."""
    systems = [one.id for one in study.systems if one.id in study.outputs.references]
    found = {}
    for item_id in remaining:
        theirs = [output.text for system in systems for output in made.get((item_id, system), ()) if output.text]
        found[item_id] = tuple(dict.fromkeys([*cells.references.get(item_id, ()), *theirs]))
    return found if study.outputs.references else {}


def _files_within(outputs: Outputs, absent: Sequence[str]) -> Iterator[str]:
    """Say how many files are shown within texts, and how many are not."""
    if absent:
        yield (
            f"outputs name pictures that are not in the study's folder, {len(absent):,} in all (first: "
            f"{shortened(absent[0], 160)}): their words alone are shown; put files there if they are not made up"
        )
    for name, texts in (("texts of items", outputs.items), ("outputs", tuple(outputs.all()))):
        holding = [one for one in texts if one.within]
        if holding:
            count, many = sum(len(one.within) for one in holding), medium_of(holding[0].within[0].medium).many
            yield f"{len(holding):,} of {len(texts):,} {name} show {count:,} {many} that lie beside the table"


def _unreadable(cells: Cells, remaining: dict[str, Item]) -> dict[Key, int]:
    """Count the characters that were replaced, by item and system."""
    counts: dict[Key, int] = {}
    texts = [((item_id, ""), text) for item_id, text in cells.texts.items()]
    texts += [(key, raw.value) for key, raws in cells.outputs.items() for raw in raws]
    for key, text in texts:
        if text is not None and key[0] in remaining:
            replaced = cleaned(text).count(REPLACEMENT) - text.count(REPLACEMENT)
            if replaced:
                counts[key] = counts.get(key, 0) + replaced
    return counts

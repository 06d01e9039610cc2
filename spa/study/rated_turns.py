"""Studies that rate the turns of outputs one by one: what they may ask, and which outputs can be cut into turns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from spa.elicitation import ways
from spa.media import all_media, medium_of
from spa.records.outputs import Key, Output
from spa.records.problems import StudyProblem, mistake, quote
from spa.records.study import Study
from spa.study.output_files import display_files
from spa.study.output_table import Cells, first_few

PLACE = '[outputs] unit = "turn"'


def turn_problems(study: Study) -> Iterator[StudyProblem]:
    """Yield what keeps a study from rating turns one by one."""
    if study.outputs.unit != "turn":
        return
    if medium_of(study.outputs.kind).turns is None:
        kinds = " or ".join(quote(one.key) for one in all_media() if one.turns is not None)
        yield mistake(PLACE, f"kind = {kinds} beside it", quote(study.outputs.kind), "set that kind, or remove unit")
    fit = ", ".join(f"[{way.key}]" for way in ways().values() if way.settings.of_turns)
    for key, section in study.sections.items():
        if not section.of_turns:
            yield mistake(PLACE, f"{fit} alone", f"[{key}]", f"remove [{key}], or unit: it compares whole outputs", key)
    if study.sections and not study.rating_tables and all(one.of_turns for one in study.sections.values()):
        rating = [way.key for way in ways().values() if way.settings.of_turns and way.settings.rates]
        expected = f"a section that rates: [{'], ['.join(rating)}]"
        yield mistake(PLACE, expected, "none", "add one, or remove unit", *rating)


def unrated_turns(study: Study, cells: Cells, made: Mapping[Key, tuple[Output, ...]]) -> tuple[list[str], list[str]]:
    """Return a problem for each output without a turn to rate, and what is to be said of turns that nobody rates."""
    cut = medium_of(study.outputs.kind).turns
    if study.outputs.unit != "turn" or cut is None:
        return [], []
    compared = {one.id for one in study.compared}
    problems = []
    ending = 0
    for key, samples in made.items():
        if key[1] not in compared:
            continue
        for raw, output in zip(cells.outputs[key], samples, strict=True):
            if not (output.text or "").strip():
                continue  # said elsewhere
            turns = cut(output.text or "")
            ending += turns.rest
            if not turns.each:
                problems.append(f"{raw.place}: expected a turn of the assistant to rate, got none; remove the item")
    notes = [
        f"{display_files(study.outputs.files)}: {ending} of the outputs end with a turn of the user, not shown: "
        "turns of the assistant are rated, each after what led to it"
    ]
    return first_few(problems, "outputs without a turn to rate"), notes if ending else []

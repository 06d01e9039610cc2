"""Rubrics and references of items: columns that become blocks of the form, for everybody or for raters."""

from __future__ import annotations

from pathlib import Path

import pytest

from spa.errors import StudyError
from spa.forms.build import build_form
from spa.forms.prompt_turns import turns_of
from spa.forms.texts import load_texts
from spa.records.form import ExhibitsBlock, Form
from spa.records.raters import Rater, RaterProtocol, rater_variants
from spa.study.load import check_study, load_study, study_fingerprint
from spa.study.outputs import load_outputs
from spa.study.sampling import sample_assignments, study_rng
from spa.study.warnings import study_warnings
from tests.spa.forms.test_form_equality import check_one_form
from tests.spa.study_files import HEAD, OUTPUTS, ROWS, write_rows, write_study

NOTED = OUTPUTS + 'item_rubric = "rubric"\nitem_reference = "gold"\n'
LIKERT = "[likert]\n[[criteria]]\nid = 'sense'\nname = 'sense'\n[design]\nitems = 3\n"
READER = '[[raters]]\nid = "judge"\nmodel = "m"\nitem_notes = true\n'
CAPTIONS = ("What counts here", "A good answer, for orientation. Do not rate it.")


def noted_rows(**changed: str) -> list[dict[str, str]]:
    """Return outputs whose items have a rubric each, and a reference but for the first item."""
    rows = [
        {
            **row,
            "rubric": f"Names {row['item_id']}.",
            "gold": "" if row["item_id"] == "i0" else f"Gold {row['item_id']}.",
        }
        for row in ROWS
    ]
    rows[-1] |= changed
    return rows


def forms_of(
    folder: Path, *, outputs: str = NOTED, rest: str = LIKERT, protocol: RaterProtocol | None = None
) -> list[Form]:
    study = load_study(write_study(folder, outputs=outputs, rest=rest))
    texts = load_texts(study.language, study.texts)
    draws = sample_assignments(study, load_outputs(study), count=4, rng=study_rng(1))
    return [build_form(study, load_outputs(study), *draw, texts, protocol) for draw in draws]


def notes_before_outputs(form: Form) -> list[tuple[str, list[str]]]:
    """Return each item shown on a page, and the notes that stand above its outputs, the nearest first."""
    found: list[tuple[str, list[str]]] = []
    for page in form.pages:
        above: list[str] = []
        seen: set[str] = set()
        for block in page.blocks:
            if not isinstance(block, ExhibitsBlock):
                continue
            items = {one.item_id for one in block.exhibits if one.label is not None}
            if items - seen:
                found.append(((items - seen).pop(), above))
                above = []
            elif not items:
                texts = ["".join(part.text for part in one.segments) for one in block.exhibits]
                above = [f"{one.caption}: {text}" for one, text in zip(block.exhibits, texts, strict=True)] + above
            seen |= items
    return found


def test_notes_stand_above_the_outputs_of_their_item(tmp_path: Path) -> None:
    """Once a page, rubric before reference; page and prompt say the same."""
    write_rows(tmp_path / "outputs.jsonl", noted_rows())
    for form in forms_of(tmp_path):
        check_one_form(form)
        shown = notes_before_outputs(form)
        assert shown
        for item_id, above in shown:
            gold = [] if item_id == "i0" else [f"{CAPTIONS[1]}: Gold {item_id}."]
            assert above == [*gold, f"{CAPTIONS[0]}: Names {item_id}."]


@pytest.mark.parametrize("rest", ["[choices]\n[design]\nitems = 2\n", "[spa]\nexposure = 2\n", "[ranking]\n"])
def test_every_way_that_shows_outputs_shows_notes(tmp_path: Path, rest: str) -> None:
    """Choices, rankings and the pages on which systems are read."""
    write_rows(tmp_path / "outputs.jsonl", noted_rows())
    for form in forms_of(tmp_path, rest=rest):
        check_one_form(form)
        assert all(above for _, above in notes_before_outputs(form))


def test_a_question_put_alone_brings_its_notes(tmp_path: Path) -> None:
    """What a rater that is asked question by question reads of an item holds its rubric."""
    write_rows(tmp_path / "outputs.jsonl", noted_rows())
    [form, *_] = forms_of(tmp_path, protocol=RaterProtocol(conversation="question"))
    for turn in turns_of(form, "question"):
        [item_id] = {one.item_id for page in turn.pages for one in page.outputs}
        texts = [
            "".join(part.text for part in one.segments)
            for page in turn.pages
            for b in page.exhibits
            for one in b.exhibits
        ]
        assert f"Names {item_id}." in texts


def test_notes_for_raters_reach_no_person(tmp_path: Path) -> None:
    """Only a rater with item_notes reads them, which makes it a variant."""
    write_rows(tmp_path / "outputs.jsonl", noted_rows())
    parts = {"outputs": f'{NOTED}notes_for = "raters"\n', "rest": LIKERT + READER}
    for protocol in (None, RaterProtocol()):
        assert not any(
            above for form in forms_of(tmp_path, **parts, protocol=protocol) for _, above in notes_before_outputs(form)
        )
    [form, *_] = forms_of(tmp_path, **parts, protocol=RaterProtocol(item_notes=True))
    assert all(above for _, above in notes_before_outputs(form))
    [plain], [reads] = (rater_variants(Rater(id="r", model="m", item_notes=notes)) for notes in (False, True))
    assert plain.identical
    assert not reads.identical
    assert plain.fingerprint != reads.fingerprint
    assert plain.form_key != reads.form_key


def test_studies_without_notes_keep_their_fingerprint(tmp_path: Path) -> None:
    """The new keys count only where they are set."""
    write_rows(tmp_path / "outputs.jsonl", noted_rows())
    before, after = (
        study_fingerprint(load_study(write_study(tmp_path, outputs=outputs, rest=LIKERT)))
        for outputs in (OUTPUTS, NOTED)
    )
    assert before != after
    assert '"item_rubric"' not in load_study(write_study(tmp_path, rest=LIKERT)).outputs.model_dump_json()


def test_rows_of_an_item_that_differ_are_refused(tmp_path: Path) -> None:
    """Two rubrics of one item are a mistake, an empty cell beside a full one is none."""
    write_rows(tmp_path / "outputs.jsonl", noted_rows(rubric="Another."))
    with pytest.raises(StudyError, match='expected the same "rubric" for all rows of item "i5"'):
        load_outputs(load_study(write_study(tmp_path, outputs=NOTED, rest=LIKERT)))
    write_rows(tmp_path / "outputs.jsonl", noted_rows(rubric="", gold=""))
    found = load_outputs(load_study(write_study(tmp_path, outputs=NOTED, rest=LIKERT)))
    assert found.item_notes["i5", "rubric"].text == "Names i5."
    assert ("i0", "reference") not in found.item_notes


def test_a_column_that_is_absent_is_told(tmp_path: Path) -> None:
    """The file and the column are named."""
    with pytest.raises(StudyError, match="rubric"):
        load_outputs(load_study(write_study(tmp_path, outputs=NOTED, rest=LIKERT)))


@pytest.mark.parametrize(
    ("outputs", "rest", "told"),
    [
        (f'{NOTED}notes_for = "raters"\n', LIKERT, "[outputs] notes_for: expected a rater with item_notes"),
        (f'{OUTPUTS}notes_for = "everybody"\n', LIKERT, "[outputs] notes_for: expected item_rubric or item_reference"),
        (NOTED, LIKERT + READER, "[[raters]] judge, item_notes: expected [outputs] item_rubric"),
        (OUTPUTS, LIKERT + READER, "got no notes"),
    ],
)
def test_mistakes_in_a_study_file_are_told(tmp_path: Path, outputs: str, rest: str, told: str) -> None:
    """Each in one line with the place and what to do."""
    problems = check_study(write_study(tmp_path, outputs=outputs, rest=rest)).problems
    assert any(told in line and len(line) < 500 for line in problems), problems


def test_a_note_that_names_a_system_is_warned_of(tmp_path: Path) -> None:
    """A rubric may tell which system wrote what, as any text may."""
    rows = [{**row, "system": {"x": "parrot", "y": "novelist"}[row["system"]]} for row in noted_rows()]
    rows = [{**row, "rubric": "Better than a parrot."} for row in rows]
    write_rows(tmp_path / "outputs.jsonl", rows)
    systems = '[[systems]]\nid = "parrot"\n[[systems]]\nid = "novelist"\n'
    study = load_study(write_study(tmp_path, head=HEAD, outputs=NOTED, systems=systems, rest=LIKERT))
    assert any("6 rubrics and references" in line for line in study_warnings(study, load_outputs(study)))

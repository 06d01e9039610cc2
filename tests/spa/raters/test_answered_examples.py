"""Answered examples: which items are set apart, what is drawn and kept, and that nothing of it is asked about."""

from __future__ import annotations

import json
import shutil
from itertools import chain
from pathlib import Path

import pytest

from spa.commands.workspace import Workspace, open_workspace
from spa.errors import ResponseError, StudyError
from spa.forms.build import StudyForms
from spa.forms.texts import load_texts
from spa.raters.examples import KEY, ExampleSource, example_set
from spa.raters.prompt_messages import all_prompts
from spa.raters.visits import rater_visits
from spa.records.examples import AnsweredExample, ExampleSet, items_apart
from spa.records.form import ExplanationTarget, Form, Judgement
from spa.records.raters import Rater, RaterExamples, beside_examples, rater_variants
from spa.study.load import load_study, study_fingerprint
from spa.study.outputs import load_outputs
from spa.study.sampling import sample_assignments, study_rng
from tests.spa.forms.test_form_equality import check_one_form
from tests.spa.rehearsed import spa
from tests.spa.study_files import HEAD, OUTPUTS, SYSTEMS, long_rows, problems_of, write_rows, write_study

ITEMS = [f"i{number}" for number in range(9)]
ASKED = """
[likert]
outputs = "all"
[choices]
overall = false
[[criteria]]
id = "sense"
name = "sense"
[design]
items = 3
"""
RATER = '[[raters]]\nid = "judge"\nmodel = "simulated-rater"\n[raters.examples]\nnumber = 4\n'
NAMES = ("firstsystem", "othersystem")


def study_in(folder: Path, *, rest: str = ASKED, annotators: int = 6) -> Path:
    rows = long_rows({item: {name: f"{item}, {place}." for place, name in enumerate(NAMES)} for item in ITEMS})
    write_rows(folder / "outputs.jsonl", rows)
    systems = "".join(f'[[systems]]\nid = "{name}"\n' for name in NAMES)
    given = OUTPUTS + 'item_text = "source"\n'
    return write_study(
        folder, outputs=given, systems=systems, rest=rest + RATER + f"[people]\nannotators = {annotators}\n"
    )


@pytest.fixture(scope="module")
def rated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a study that six people and the rater answered, with examples and without."""
    path = study_in(tmp_path_factory.mktemp("rated"))
    spa("build", path)
    spa("simulate", path)
    said = json.loads(spa("rate", path, "--simulate", "--rater", "judge", "--json").output)
    assert said["missing"] == {}
    assert any("4 answered examples of 2 items, kept as drawn" in note for note in said["notes"])
    assert any("2 of 9 items are set apart" in note for note in said["notes"])
    return path


@pytest.fixture
def copied(rated: Path, tmp_path: Path) -> Path:
    shutil.copytree(rated.parent, tmp_path / "copy")
    return tmp_path / "copy" / rated.name


def source_of(workspace: Workspace) -> ExampleSource:
    return ExampleSource(
        study=workspace.study,
        outputs=workspace.outputs,
        texts=workspace.texts,
        store=workspace.store,
        form_of=workspace.form,
    )


def items_asked(form: Form) -> set[str]:
    """Return the items of questions, and of all that stands under a label."""
    targets = [question.target for question in form.questions("everybody")]
    judged = [one.of if isinstance(one, ExplanationTarget) else one for one in targets]
    outputs = chain.from_iterable(one.outputs() or () for one in judged if isinstance(one, Judgement))
    shown = {one.item_id for page in form.pages for one in page.outputs}
    return {item for _, item, _ in outputs} | shown


def test_items_apart_depend_on_seed_and_share_alone() -> None:
    """Not on their order; a larger share holds a smaller one; some are always left."""
    for seed in range(20):
        smaller, larger = (items_apart(ITEMS, seed=seed, share=share) for share in (0.25, 0.5))
        assert smaller < larger
        assert (len(smaller), len(larger)) == (2, 4)
        assert items_apart(ITEMS[::-1], seed=seed, share=0.25) == smaller
        assert len(items_apart(ITEMS, seed=seed, share=0.999)) == 8
        assert len(items_apart(ITEMS, seed=seed, share=0.001)) == 1
    drawn = [item for seed in range(900) for item in items_apart(ITEMS, seed=seed, share=0.25)]
    assert all(abs(drawn.count(item) - 200) < 60 for item in ITEMS)  # 4 standard deviations


def test_an_example_of_an_item_asked_about_cannot_be_made() -> None:
    """The set of examples itself refuses it."""
    one = AnsweredExample(kind="rating", item_id="i1", outputs=(("x", 1),), answers=())
    with pytest.raises(ValueError, match="'i1', which is asked about"):
        ExampleSet(apart=frozenset({"i0"}), shown=(one,))


@pytest.mark.parametrize("layout", ["output", "item", "system", "one"])
@pytest.mark.parametrize("rest", ["", "[continuous]\ncriteria = ['fun']\noverall = false\nsame_page_as = 'likert'\n"])
def test_no_form_asks_about_an_item_set_apart(tmp_path: Path, layout: str, rest: str) -> None:
    """However pages are laid out; page and prompt say the same; all other items are asked about as before."""
    criteria = '[[criteria]]\nid = "fun"\nname = "fun"\nguidelines = "Jokes count."\nreason = true\n'
    sections = f'[likert]\noutputs = "all"\npages = "{layout}"\ncriteria = ["sense"]\n{rest}[choices]\n'
    asked = f"{sections}[[criteria]]\nid = 'sense'\nname = 'sense'\n{criteria}[design]\nitems = 4\n"
    study = load_study(study_in(tmp_path, rest=asked))
    outputs, texts = load_outputs(study), load_texts("en", {})
    forms = StudyForms(study, outputs, texts)
    apart = items_apart(ITEMS, seed=study.seed, share=0.25)
    [bare, _] = rater_variants(study.raters[0])
    met: set[str] = set()
    for assignment, key in sample_assignments(study, outputs, count=9, rng=study_rng(1)):
        form = forms.build(assignment, key, bare.protocol, ExampleSet(apart=apart))
        check_one_form(form)
        whole = items_asked(forms.build(assignment, key))
        met |= whole
        assert items_asked(form) == whole - apart
        assert all(page.questions for page in form.pages if page.shows)
    assert met >= apart


@pytest.mark.parametrize("conversation", ["form", "page", "question"])
def test_prompts_with_examples_leak_nothing(rated: Path, conversation: str) -> None:
    """No item set apart is asked about; no system or person is named; each conversation opens with the examples."""
    with open_workspace(rated, rehearsal=True) as workspace:
        rater = workspace.study.raters[0].model_copy(update={"conversation": conversation})
        bare, shown = rater_variants(rater)
        apart = items_apart(ITEMS, seed=workspace.study.seed, share=0.25)
        people = {one.annotator_id for one in workspace.store.submissions() if one.annotator_kind != "llm"}
        for name in workspace.store.assignments.ids():
            forms = [workspace.form(name, one.protocol) for one in (bare, shown)]
            check_one_form(forms[1])
            assert items_asked(forms[0]) == items_asked(forms[1])
            assert items_asked(forms[1]).isdisjoint(apart)
            said = json.dumps([[*messages] for _, messages in all_prompts(workspace.texts, [shown])(forms[1])])
            assert not any(word in said for word in (*NAMES, *people))
            for turn, messages in all_prompts(workspace.texts, [shown])(forms[1]):
                assert ("People answered: " in messages[-1]["content"]) == turn.alone
            plain = json.dumps([[*messages] for _, messages in all_prompts(workspace.texts, [bare])(forms[0])])
            assert "People answered" not in plain


def test_examples_are_kept_once_with_their_hash(copied: Path) -> None:
    """What people answer later changes nothing; another number changes no item held out; a change is refused."""
    wanted = RaterExamples(number=4, share=0.25)
    with open_workspace(copied, rehearsal=True) as workspace:
        source = source_of(workspace)
        before = example_set(source, wanted)
        assert len(before.shown) == 4
        for number in (0, 1, 3):
            assert example_set(source, wanted.model_copy(update={"number": number})).apart == before.apart
        name = f"{KEY}4 0.25"
        kept = workspace.store.meta(name)
        assert kept is not None
        with workspace.store.transaction() as connection:
            connection.exec_driver_sql("DELETE FROM answers")
        assert example_set(source, wanted) == before
        other = kept.replace('"value":"', '"value":"9', 1)
        workspace.store.set_meta(name, other)
        with pytest.raises(ResponseError, match="examples as they were kept"):
            example_set(source, wanted)


def test_answers_of_examples_are_those_of_people(rated: Path) -> None:
    """Medians of scales and the most frequent choice, by system, whatever label it had; several answers are met."""
    with open_workspace(rated, rehearsal=True, read_only=True) as workspace:
        given: dict[tuple[object, ...], list[str]] = {}
        for one in workspace.store.submissions():
            if one.annotator_kind == "llm":
                continue
            systems = workspace.store.assignments.key(one.assignment_id, "people").systems
            for answer in one.answers:
                if isinstance(answer.target, Judgement):
                    [row, *_] = answer.target.rows(
                        answer.raw or "", type("Labels", (), {"systems": systems, "positions": {}})()
                    )
                    given.setdefault(row[:4] if answer.target.kind == "choice" else row[:3], []).append(str(answer.raw))
        shown = example_set(source_of(workspace), RaterExamples(number=4, share=0.25)).shown
        assert {one.kind for one in shown} == {"rating", "choice"}
        for one in shown:
            for answer in one.answers:
                names = [system for system, _ in one.outputs]
                if one.kind == "rating":
                    found = sorted(given[one.item_id, names[0], answer.criterion], key=float)
                    assert answer.value == found[(len(found) - 1) // 2]
                else:
                    turned = {"x": "y", "y": "x", "tie": "tie"}
                    found = given.get((one.item_id, *names, answer.criterion), [])
                    found = found + [turned[v] for v in given.get((one.item_id, *names[::-1], answer.criterion), [])]
                    assert all(found.count(answer.value) > found.count(v) for v in turned if v != answer.value)


def test_too_few_answers_are_told_in_a_line(rated: Path, tmp_path: Path) -> None:
    """Before people have answered, and where they answered too little."""
    with open_workspace(rated, rehearsal=True, read_only=True) as workspace:
        with pytest.raises(
            StudyError, match=r"expected 50 outputs, or pairs of them, .* on the 2 items set apart, got \d"
        ):
            example_set(source_of(workspace), RaterExamples(number=50, share=0.25))
    path = study_in(tmp_path)
    spa("build", path)
    with open_workspace(path) as workspace, pytest.raises(StudyError, match="got 0; collect their answers first"):
        example_set(source_of(workspace), RaterExamples(number=1, share=0.25))


def test_an_assignment_of_items_set_apart_is_not_asked(tmp_path: Path) -> None:
    """Forms that would ask nothing are no visits; all others are, with examples and without."""
    path = study_in(tmp_path, rest=ASKED.replace("items = 3", "items = 1"), annotators=9)
    spa("build", path)
    with open_workspace(path) as workspace:
        variants = rater_variants(workspace.study.raters[0])
        apart = items_apart(ITEMS, seed=workspace.study.seed, share=0.25)
        visits = rater_visits(workspace.store, variants, asking=workspace.asking)
        asked = {one.assignment_id for one in visits}
        items = {
            name: {shown.item_id for block in workspace.store.assignments.draw(name)[0].blocks for shown in block.shown}
            for name in workspace.store.assignments.ids()
        }
        assert asked == {name for name, shown in items.items() if shown - apart}
        assert 0 < len(asked) < 9
        assert len(visits) == 2 * len(asked)


def test_a_rater_with_examples_has_two_ways_of_each() -> None:
    """Named after what they read; other raters and what was stored of them stay as they are."""
    plain = Rater(id="r", model="m")
    [before] = rater_variants(plain)
    assert (before.variant, before.identical, before.fingerprint) == (None, True, "84491f30f4e158cb")
    rater = Rater(id="r", model="m", examples=RaterExamples(), grid={"temperature": (0, 1)})
    names = [one.variant for one in rater_variants(rater)]
    assert names == [
        *("temperature=0, no examples", "temperature=0, examples"),
        *("temperature=1, no examples", "temperature=1, examples"),
    ]
    assert not any(one.identical for one in rater_variants(rater))
    assert len({one.fingerprint for one in rater_variants(rater)}) == 4
    alone = Rater(id="r", model="m", examples=RaterExamples())
    assert list(beside_examples(alone)) == [("r/examples", "r/no examples")]


def test_answers_about_systems_take_no_examples(tmp_path: Path) -> None:
    """Each in one line, which says why; the study as built does not know of raters' examples."""
    examples = '[[raters]]\nid = "judge"\nmodel = "m"\n[raters.examples]\n'
    [line] = problems_of(write_study(tmp_path, rest="[spa]\nexposure = 1\n" + examples))
    assert "got [spa]: its answers are about systems" in line
    assert len(line) < 500
    variants = '[[raters]]\nid = "judge"\nmodel = "m"\nvariants = [{ id = "v", examples = { number = 2 } }]\n'
    [line] = problems_of(write_study(tmp_path, rest="[likert]\n" + variants))
    assert '"examples" belongs in [[raters]]' in line
    with_it = study_fingerprint(load_study(write_study(tmp_path, rest="[likert]\n" + examples)))
    assert with_it == study_fingerprint(
        load_study(write_study(tmp_path, head=HEAD, systems=SYSTEMS, rest="[likert]\n"))
    )

"""Some pairs for each annotator instead of all: balanced as drawn, and dealt anew by earlier answers."""

from __future__ import annotations

import json
import tomllib
from collections import Counter
from itertools import combinations
from pathlib import Path

import pytest
from click.testing import CliRunner

from analysis.answers.study_answers import answers_of
from analysis.live.next_pairs import open_pairs
from analysis.live.state import live_states
from analysis.report import render_report
from analysis.results.analyse import analyse
from spa.cli import main
from spa.commands.workspace import open_workspace
from spa.elicitation.choices import ChoiceTarget
from spa.errors import StudyError
from spa.forms.prompt import render_prompt
from spa.records.form import ExhibitsBlock
from spa.study.load import load_study
from spa.study.narrowing import DealtPair
from spa.study.outputs import load_outputs
from spa.study.sampling import sample_assignments, study_rng
from spa.study.stopping import stopping_facts
from spa.study.study_file import read_study
from spa.widgets import OptionsAnswer
from tests.spa.small_study import answer_form
from tests.spa.store_steps import complete, lease_assignment

SYSTEMS = [f"s{number}" for number in range(6)]
PAIRS = list(combinations(SYSTEMS, 2))
STUDY = f"""
id = "many"
title = "Many systems"
seed = 2
outputs = {{files = ["outputs.jsonl"], item_text = "text"}}
systems = [{", ".join(f'{{id = "{system}"}}' for system in SYSTEMS)}]
people.annotators = 10
choices.per_annotator = 6
"""
ORDER = '[stopping]\nrule = "when_decided"\nleast = 2\norder = true\ntolerance = 0.5\n'
BEST = '[stopping]\nrule = "when_decided"\nleast = 2\ntop = 2\ntolerance = 0.3\n'


def written(folder: Path, text: str = STUDY) -> Path:
    rows = [
        {
            "item_id": f"i{item}",
            "system": system,
            "text": f"Topic {item}.",
            "output": f"{item} as told by number {place}.",
        }
        for item in range(9)
        for place, system in enumerate(SYSTEMS)
    ]
    (folder / "outputs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    path = folder / "study.toml"
    path.write_text(text)
    return path


def test_dealt_pairs_are_balanced(tmp_path: Path) -> None:
    """Pairs items and sides are balanced and labels tell of no system."""
    study = load_study(written(tmp_path))
    drawn = list(sample_assignments(study, load_outputs(study), count=30, rng=study_rng(study.seed)))
    pairs, items, first = Counter(), Counter(), Counter()  # type: ignore[var-annotated]
    for assignment, key in drawn:
        assert len({choice[0].item_id for choice in assignment.groups_of("choices")}) == 6
        assert len(set(key.systems)) == 12
        for choice in assignment.groups_of("choices"):
            x, y = key.systems[choice[0].label], key.systems[choice[1].label]
            assert choice[0].item_id == choice[1].item_id
            pairs[frozenset((x, y))] += 1
            items[choice[0].item_id] += 1
            first[x < y, frozenset((x, y))] += 1
    assert set(pairs.values()) == {180 // len(PAIRS)}
    assert set(items.values()) == {20}
    assert all(abs(first[True, pair] - first[False, pair]) <= 1 for pair in pairs)


def test_dealt_pages_show_text_a_and_text_b(tmp_path: Path) -> None:
    """Every page shows text A and text B and the instructions say so."""
    path = written(tmp_path)
    assert CliRunner().invoke(main, ["build", str(path)]).exit_code == 0
    with open_workspace(path) as workspace:
        form = workspace.form("a00001")
    said = str(render_prompt(form))
    blocks = [block for page in form.pages for block in page.blocks]
    shown = [[one.caption for one in block.exhibits] for block in blocks if isinstance(block, ExhibitsBlock)]
    asked = [each for each in form.questions("everybody") if isinstance(each.target, ChoiceTarget)]
    options = [
        [one.text for one in each.answer.options[:2]] for each in asked if isinstance(each.answer, OptionsAnswer)
    ]
    assert shown == options == [["Text A", "Text B"]] * 6
    assert len({each.target.label_x for each in asked if isinstance(each.target, ChoiceTarget)}) == 6
    assert "pairs of texts" in said
    assert "System" not in said


def test_pairs_dealt_anew_are_asked_and_exported(tmp_path: Path) -> None:
    path = written(tmp_path)
    assert CliRunner().invoke(main, ["build", str(path)]).exit_code == 0
    hand = [DealtPair(system_x="s5", system_y="s0", subject="s0")] * 5
    hand += [DealtPair(system_x="s1", system_y="s4", subject="s1")]
    with open_workspace(path) as workspace:
        stored = workspace.store.assignments
        drawn = stored.draw("a00002")
        assert stored.deal(hand * 2, each=6) == 2
        assert stored.deal(hand * 2, each=6) == 0
        assert stored.dealt() == {"a00001": hand, "a00002": hand}
        assignment, key = stored.draw("a00002")
        assert assignment == drawn[0]
        assert [key.systems[choice[0].label] for choice in assignment.groups_of("choices")] == ["s5"] * 5 + ["s1"]
        assert {each.assignment_id: each for each in stored.keys()}["a00002"] == key
        form = workspace.form("a00002")
        blocks = [block for page in form.pages for block in page.blocks if isinstance(block, ExhibitsBlock)]
        shown = {exhibit.label: exhibit.text for block in blocks for exhibit in block.exhibits}
        targets = [each.target for each in form.questions("everybody") if isinstance(each.target, ChoiceTarget)]
        told = [str(shown[target.label_x]) for target in targets]
        assert [text.rpartition(" ")[2] for text in told] == ["5."] * 5 + ["1."]


def test_the_place_of_decided_pairs_goes_to_the_open_ones() -> None:
    study = read_study(tomllib.loads(STUDY + '[stopping]\nrule = "when_decided"\nfreed = "open_pairs"'))
    left = [pair for pair in PAIRS if "s0" not in pair]
    dealt = list(open_pairs(study, left, of=len(PAIRS), seed=(1, 2)))
    assert dealt == list(open_pairs(study, left, of=len(PAIRS), seed=(1, 2)))
    count = Counter(frozenset((pair.system_x, pair.system_y)) for pair in dealt)
    assert set(count) == {frozenset(pair) for pair in PAIRS if "s0" not in pair}
    assert max(count.values()) - min(count.values()) <= 1
    first = Counter((pair.system_x, pair.system_y) for pair in dealt)
    assert all(abs(first[x, y] - first[y, x]) <= 1 for x, y in count)
    assert list(open_pairs(study, PAIRS, of=len(PAIRS), seed=(1, 2))) == []


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("[likert]\n", "[choices] per_annotator: expected no other section and no outputs"),
        (
            'choices.outputs = "all"',
            "[choices] per_annotator: expected no other section and no outputs",
        ),
        (BEST.replace("top = 2", "top = 6"), "[stopping] top: expected less than the 6 systems, got 6"),
        (BEST + "order = true", "[stopping] order: expected no top beside it, got 2"),
        (
            f"choices.comparisons = [['s0', 's1']]\n{ORDER}",
            '[stopping] order: expected comparisons = "all"',
        ),
        (BEST.replace("top = 2\n", ""), "[stopping] tolerance: expected top or order beside it, got none"),
        (BEST.replace("tolerance", "#").replace("[stopping]", "choices.ties = true\n[stopping]"), None),
    ],
)
def test_a_design_that_cannot_be_dealt_is_refused(tmp_path: Path, change: str, said: str | None) -> None:
    path = written(tmp_path, STUDY + change)
    if said is None:
        assert load_study(path).stopping.top == 2
        return
    with pytest.raises(StudyError) as refused:
        load_study(path)
    assert said in str(refused.value)


def test_the_former_name_of_a_key_is_read(tmp_path: Path) -> None:
    """`epsilon` is that of the alternative-annotator test alone; what we write keeps the name of this one."""
    former = load_study(written(tmp_path, STUDY + BEST.replace("tolerance", "epsilon")))
    assert former.stopping.tolerance == 0.3
    assert former.stopping == load_study(written(tmp_path, STUDY + BEST)).stopping
    assert stopping_facts(former)["epsilon"] == 0.3
    with pytest.raises(StudyError, match=r"\[stopping\] epsilon: expected .* less than 1, got 7"):
        load_study(written(tmp_path, STUDY + BEST.replace("tolerance = 0.3", "epsilon = 7")))
    with pytest.raises(StudyError, match=r'\[stopping\] epsilon: expected one of its two names, got "tolerance" too'):
        load_study(written(tmp_path, STUDY + BEST.replace("tolerance = 0.3", "tolerance = 0.3\nepsilon = 0.3")))


@pytest.mark.parametrize("subject", [None, "s5"])
def test_dealt_pair_counts_for_which_system(tmp_path: Path, subject: str | None) -> None:
    """A dealt pair counts for both systems or for the unsettled one."""
    path = written(tmp_path, STUDY + ORDER)
    assert CliRunner().invoke(main, ["build", str(path)]).exit_code == 0
    hand = [DealtPair(system_x="s5", system_y=f"s{number % 5}", subject=subject) for number in range(6)]
    with open_workspace(path) as workspace:
        assert workspace.store.assignments.deal(hand, each=6) == 1
        lease = lease_assignment(workspace.store, "person", source="link", annotator_kind="human")
        complete(workspace.store, answer_form(lease, workspace.form(lease.assignment_id)), completion_code="code")
        (state,) = live_states(workspace.study, workspace.store)
    counted = {row.system for row in state.systems if row.n}
    assert counted == (set(SYSTEMS) if subject is None else {"s5"})


def test_a_live_study_finds_the_order_and_says_it(tmp_path: Path) -> None:
    path = written(tmp_path, STUDY.replace("annotators = 10", "annotators = 400") + ORDER + "error_rate = 0.4")
    assert CliRunner().invoke(main, ["build", str(path)]).exit_code == 0
    truth = tmp_path / "truth.toml"
    truth.write_text("[utilities]\n" + "".join(f"{system} = {1.2 * place}\n" for place, system in enumerate(SYSTEMS)))
    done = CliRunner().invoke(main, ["simulate", str(path), "--truth", str(truth), "--seed", "1"])
    assert done.exit_code == 0, done.output
    status = CliRunner().invoke(main, ["status", str(path)]).output
    assert "the order is decided, no further answers are needed" in status
    lines = [line.strip() for line in status.splitlines() if "; rank " in line]
    assert [line.partition(":")[0] for line in lines] == SYSTEMS[::-1]
    with open_workspace(path, rehearsal=True) as workspace:
        (state,) = live_states(workspace.study, workspace.store)
        answers = answers_of(workspace)
    assert all(row.rank_low <= rank <= row.rank_high for rank, row in enumerate(reversed(state.systems), start=1))
    results = analyse(answers.tables, plan=answers.plan, study=answers.facts)
    report = render_report(results, full=True)["report.md"]
    assert (
        "Found in this order (none before one that wins 50 points more), with an error rate of at most 40%: s5"
        in report
    )
    assert "looked for an order of the systems, none before one that wins 50 points more" in report


def test_live_study_finds_the_best_few(tmp_path: Path) -> None:
    """A live study asks for the best few and ends when they are known."""
    path = written(tmp_path, STUDY.replace("annotators = 10", "annotators = 60") + BEST)
    assert CliRunner().invoke(main, ["build", str(path)]).exit_code == 0
    truth = tmp_path / "truth.toml"
    truth.write_text("[utilities]\n" + "".join(f"{system} = {1.2 * place}\n" for place, system in enumerate(SYSTEMS)))
    done = CliRunner().invoke(main, ["simulate", str(path), "--truth", str(truth), "--seed", "1"])
    assert done.exit_code == 0, done.output
    status = CliRunner().invoke(main, ["status", str(path)])
    assert "the best 2 are decided, no further answers are needed" in status.output
    lines = [line.strip() for line in status.output.splitlines() if "among the best so far" in line]
    assert [line.partition(":")[0] for line in lines] == ["s5", "s4"]
    with open_workspace(path, rehearsal=True) as workspace:
        people = workspace.store.visits.count_completed()
        assert 2 <= people < 60
        assert workspace.store.assignments.dealt()

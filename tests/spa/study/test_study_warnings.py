"""What is unwise in a study and its outputs is told, and stops nothing."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from spa.commands.check import overview_of
from spa.study.load import load_study
from spa.study.outputs import load_outputs
from spa.study.warnings import study_warnings
from tests.spa.study_files import (
    OUTPUTS,
    SPA,
    SYSTEMS,
    long_rows,
    outputs_of,
    write_rows,
    write_study,
)


def test_advice(tmp_path: Path) -> None:
    """Each warning once, on a study that is allowed and odd in every way."""
    rows = long_rows(
        {f"i{n}": {"alpha": "alpha says this and a lot more " * 3, "y": f"short {n % 5}"} for n in range(6)}
    )
    rows += long_rows({"same": {"alpha": "the same", "y": "the same"}, "gone": {"alpha": "", "y": "y"}})
    write_rows(tmp_path / "outputs.jsonl", rows)
    systems = '[[systems]]\nid = "alpha"\n[[systems]]\nid = "y"\n'
    rest = (
        '[spa]\nexposure = 2\ndirections = "one"\n[people]\nannotators = 3\n[design]\nlabels = "fixed"\nitems = 3\n'
        '[[criteria]]\nid = "count"\nname = "count"\noptions = [{text = "a", score = 1}, {text = "b", score = 2}]\n'
    )
    study = load_study(
        write_study(
            tmp_path,
            outputs=OUTPUTS + '[[outputs.filters]]\nfield = "output"\nmin_characters = 1\n',
            systems=systems,
            rest=rest,
        )
    )
    told = "\n".join(study_warnings(study, load_outputs(study)))
    for part in (
        "exposure = 2: the SPA paper advises at least 4",
        'directions = "one": self-consistency cannot be checked',
        "annotators = 3",
        'labels = "fixed"',
        "[[criteria]] count: no section asks it",
        "[design] items: not used",
        "1 of 8 items left out: 1 by min_characters",
        'match_length_of = "alpha"',
        "alpha and y gave the same text for 1 of 7 items",
        '"alpha", the name of a system, appears in 6 outputs',
    ):
        assert part in told
    assert len(told.splitlines()) == 10


def test_models_that_speak_of_themselves_are_told(tmp_path: Path) -> None:
    """By a system's name up to its number, or as models and makers are called; not where they were asked about."""
    texts = {
        "i0": {"llama-3-8b": "I am Llama 3 and say so.", "y": "As Claude, I say so."},
        "i1": {"llama-3-8b": "Claude Monet, as ChatGPT paints.", "y": "Gemini is in June."},
        "i2": {"llama-3-8b": "A llama and 3 more.", "y": "As Claude Monet did."},
    }
    write_rows(tmp_path / "outputs.jsonl", long_rows(texts))
    systems = '[[systems]]\nid = "llama-3-8b"\n[[systems]]\nid = "y"\n'
    study = load_study(write_study(tmp_path, systems=systems, rest="[spa]\nexposure = 3\n"))
    (told,) = (line for line in study_warnings(study, load_outputs(study)) if "name a model" in line)
    listed = "(Llama, 1 of llama-3-8b; llama-3, 1 of llama-3-8b; Claude, 1 of y; ...)"
    assert told.startswith(f"3 of 6 outputs name a model or its maker {listed}: annotators may")
    write_rows(tmp_path / "outputs.jsonl", [{**row, "source": "Does chatgpt paint?"} for row in long_rows(texts)])
    asked = OUTPUTS + 'item_text = "source"\n'
    study = load_study(write_study(tmp_path, systems=systems, outputs=asked, rest="[spa]\nexposure = 3\n"))
    (told,) = (line for line in study_warnings(study, load_outputs(study)) if "name a model" in line)
    assert told.startswith(f"2 of 6 outputs name a model or its maker {listed.replace('; ...', '')}: annotators may")


NAMED = '[[systems]]\nid = "x-1"\nname = "Big Model"\n[[systems]]\nid = "y"\nname = "模板"\n'
THREE = '[[systems]]\nid = "x"\n[[systems]]\nid = "y"\n[[systems]]\nid = "z"\n'
TITLE = 'id = "small"\ntitle = "{}"\n'
ON_PROLIFIC = f'project = "{"5" * 24}"\nreward = 9\nminutes = 30\n'
QUESTION = 'id = "q"\nquestion = "Is BIG MODEL a colour?"\noptions = ["Yes", "No"]\n'
COUNTED = '[[criteria]]\nid = "c"\nname = "c"\noptions = [{text = "Good", score = 1}, {text = "bad", score = 2}]\n'
ODD = [
    ({"head": TITLE.format("x 1 and people"), "systems": NAMED}, '"x-1", the name of a system, appears in title'),
    ({"head": TITLE.format("比较模板与人"), "systems": NAMED}, '"模板", the name of a system, appears in title'),
    ({"systems": NAMED, "rest": SPA + '[instructions]\ntext = "Read **Big-Model**."\n'}, "appears in [instructions]"),
    ({"systems": NAMED, "rest": SPA + '[consent]\ntext = "Of x-1?"\n'}, "appears in [consent]"),
    ({"systems": NAMED, "rest": SPA + '[[criteria]]\nid = "c"\nname = "like x-1"\n'}, "appears in [[criteria]] c"),
    ({"systems": NAMED, "rest": SPA + '[likert]\nhigh = "as x-1"\n'}, "appears in [likert]"),
    ({"systems": NAMED, "rest": SPA + f'[[screening]]\n{QUESTION}eligible = ["Yes"]\n'}, "appears in [[screening]] q"),
    (
        {"systems": NAMED, "rest": SPA + f'[[attention_checks]]\n{QUESTION}expected = "No"\n'},
        "in [[attention_checks]] q",
    ),
    ({"systems": NAMED, "rest": SPA + '[texts]\n"page.next" = "x-1"\n'}, "appears in [texts] page.next"),
    (
        {"systems": NAMED, "rest": SPA + f'[prolific]\n{ON_PROLIFIC}description = "<p>x-1</p>"\n'},
        "appears in [prolific] description",
    ),
    ({"systems": NAMED, "rest": SPA + '[[raters]]\nid = "l"\nmodel = "m"\nguidelines = "x-1"\n'}, "in [[raters]] l"),
    ({"systems": NAMED, "outputs": OUTPUTS + 'item_text = "source"\n'}, "appears in 1 item texts, 1 outputs"),
    ({"outputs": OUTPUTS + 'item_text = "source"\n'}, 'item_text = "source": annotators read "Prompt 1" above it'),
    ({"systems": THREE.replace('"z"', '"X"')}, "[[systems]] id: x and X are nearly the same: readers"),
    ({"systems": SYSTEMS + 'name = "A"\n[[systems]]\nid = "z"\nname = "A"\n'}, '[[systems]] name "A" twice: readers'),
    (
        {"systems": THREE, "rest": SPA + 'comparisons = [["x", "y"]]\n'},
        "2 groups of systems with no comparison between",
    ),
    (
        {"systems": THREE, "rest": '[choices]\ncomparisons = [["y", "z"]]\n'},
        "[choices] comparisons: 2 groups of systems",
    ),
    (
        {"rest": SPA + '[likert]\nlow = "Very excellent"\nhigh = "poor"\n'},
        '[likert]: low end "Very excellent" seems to',
    ),
    (
        {"rest": SPA + '[continuous]\nhigh = "Terrible!"\n'},
        '[continuous]: high end "Terrible!" seems to be reversed',
    ),
    (
        {"rest": COUNTED + "[categories]\n[design]\nitems = 3\n"},
        '[[criteria]] c, options: low end "Good" seems to be reversed',
    ),
    ({"outputs": OUTPUTS + 'item_text = "source"\n'}, "1 of 6 items repeat the text of an earlier item: i5 (as i4)"),
    (
        {"rest": SPA + "[people]\npay = 0.001\nminutes = 6\n"},
        "[people] pay = 0.001 is 0.01 USD an hour, below the minimum",
    ),
    ({"rest": SPA + '[people]\npay = 0.001\ncurrency = "EUR"\n'}, "EUR an hour, below the minimum of 0.01"),
    ({"rest": SPA + "[people]\npay = 30\nminutes = 6\n"}, "is 300.00 USD an hour, more than 10 times the minimum of 8"),
    (
        {"rest": SPA + "[people]\npay = 1\nminutes = 6\nminimum_hourly_pay = 12\n"},
        "below the minimum of 12 ([people] min",
    ),
    ({"rest": SPA + "[people]\nminutes_allowed = 0.1\n"}, "[people] minutes_allowed = 0.1: the form takes about"),
]


@pytest.mark.parametrize(("parts", "said"), ODD, ids=[said[:40] for _, said in ODD])
def test_what_is_unwise_is_told_and_stops_nothing(tmp_path: Path, parts: dict[str, str], said: str) -> None:
    ids = re.findall(r'\bid = "([^"]*)"', parts.get("systems", SYSTEMS))
    rows = [
        {"item_id": f"i{n}", "system": one, "output": f"He {n} {place}.", "source": f"Of {min(n, 4)}."}
        for n in range(6)
        for place, one in enumerate(ids)
    ]
    if "systems" in parts:
        rows[0] |= {"output": "By x-1."}
        rows = [
            {**row, "source": f"{row['source']} {row['item_id']} {'x-1' * (row['item_id'] == 'i0')}"} for row in rows
        ]
    write_rows(tmp_path / "outputs.jsonl", rows)
    warnings = overview_of(write_study(tmp_path, **parts)).warnings
    (told,) = (line for line in warnings if said in line)
    assert len(told) < 500


def test_allowed_names_and_lower_is_better_are_not_warned_of(tmp_path: Path) -> None:
    head = TITLE.format("Big Model and a human") + 'allowed_names = ["Big Model"]\n'
    systems = NAMED + '[[systems]]\nid = "human"\nrole = "human"\n'
    rest = (
        '[spa]\n[likert]\ncriteria = ["c"]\noverall = false\nlow = "good"\nhigh = "bad"\n[people]\npay = 0\n'
        '[[criteria]]\nid = "c"\nname = "errors"\nlower_is_better = true\n'
    )
    texts = {f"i{n}": {"x-1": f"He {n}.", "y": f"She {n}.", "human": f"We {n}."} for n in range(6)}
    write_rows(tmp_path / "outputs.jsonl", long_rows(texts))
    assert overview_of(write_study(tmp_path, head=head, systems=systems, rest=rest)).warnings == ()


def test_nothing_to_warn_about(tmp_path: Path) -> None:
    made = outputs_of(tmp_path, long_rows({f"i{n}": {"x": f"He {n}.", "y": f"She {n}."} for n in range(6)}))
    study = load_study(write_study(tmp_path, rest="[spa]\n"))
    assert study_warnings(study, made) == ()

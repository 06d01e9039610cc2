"""What `spa check` says of outputs that nobody can judge."""

from __future__ import annotations

from pathlib import Path

from spa.commands.check import overview_of
from spa.study.load import load_study
from spa.study.outputs import load_outputs
from spa.study.warnings import study_warnings
from tests.spa.study_files import OUTPUTS, SPA, long_rows, write_rows, write_study


def test_warning_counts_outputs_that_cannot_be_judged(tmp_path: Path) -> None:
    """Outputs that cannot be judged are counted with the filter that leaves them out."""
    texts = {f"i{n}": {"x": f"The fox came back {n} times.", "y": f"Nobody saw the fox on day {n}."} for n in range(8)}
    texts["i1"]["y"] = "Yes."
    texts["i2"]["y"] = "..."
    texts["i3"]["x"] = "\U0001f600"
    texts["i4"]["x"] = "狐狸在第三天早上又回来了。"
    texts["i5"]["y"] = "Лиса вернулась утром"
    texts["i6"] = dict.fromkeys("xy", "The fox came back.")
    write_rows(tmp_path / "outputs.jsonl", long_rows(texts))
    rest = "[choices]\n[design]\nitems = 2\n"
    warnings = overview_of(write_study(tmp_path, rest=rest)).warnings
    for beginning in (
        "3 of 16 outputs have one word or none (2 of y, 1 of x; first: item i1): [[outputs.filters]]",
        '2 of 16 outputs are not in the script of language = "en" (1 of x, 1 of y; first: item i4): remove',
        "x and y gave the same text for 1 of 8 items: nobody can tell them apart there",
    ):
        assert len([line for line in warnings if line.startswith(beginning)]) == 1, warnings
    filtered = OUTPUTS + '[[outputs.filters]]\nfield = "output"\nmin_words = 2\n'
    warnings = overview_of(write_study(tmp_path, outputs=filtered, rest=rest)).warnings
    assert "3 of 8 items left out: 3 by min_words" in warnings
    assert not [line for line in warnings if "one word or none" in line]


def test_outputs_that_are_all_in_another_script_are_meant_to_be(tmp_path: Path) -> None:
    texts = {f"i{n}": {"x": "狐狸在第三天早上又回来了" * n, "y": "没有人看见狐狸回来的样子"} for n in range(1, 8)}
    write_rows(tmp_path / "outputs.jsonl", long_rows(texts))
    assert not [line for line in overview_of(write_study(tmp_path)).warnings if "script" in line]


def test_the_script_of_a_conversation_is_of_what_is_said(tmp_path: Path) -> None:
    """Not of the names of its turns, which are Latin in every language."""
    asked = {"role": "user", "content": "كيف حالك يا صديقي"}
    texts = {
        f"i{n}": {
            name: [asked, {"role": "assistant", "content": "أنا بخير اليوم " * much}]
            for name, much in (("x", n), ("y", 20 + n))
        }
        for n in range(1, 8)
    }
    write_rows(tmp_path / "outputs.jsonl", long_rows(texts))
    study = load_study(write_study(tmp_path, outputs=OUTPUTS + 'kind = "conversation"\n'))
    lines = study_warnings(study.model_copy(update={"language": "ar"}), load_outputs(study))
    assert not [line for line in lines if "script" in line]


def test_lengths_that_were_matched_are_not_to_be_matched_again(tmp_path: Path) -> None:
    texts = {
        f"i{n}": {"x": "The fox came back. " * 9, "y": f"No fox on day {n}.", "z": "The fox! " * 12} for n in range(8)
    }
    write_rows(tmp_path / "outputs.jsonl", long_rows(texts))
    systems = '[[systems]]\nid = "x"\n[[systems]]\nid = "y"\n[[systems]]\nid = "z"\n'

    def told(outputs: str) -> str:
        (line,) = (
            line
            for line in overview_of(write_study(tmp_path, outputs=outputs, systems=systems)).warnings
            if "times as long" in line
        )
        return line

    assert told(OUTPUTS).endswith('of y on average; length may decide (see [outputs] match_length_of = "x")')
    matched = told(OUTPUTS + 'match_length_of = "x"\n')
    assert matched.startswith("outputs of z are ")
    assert matched.endswith("([outputs] match_length_of cuts x to each item's longest other output, no further)")


def test_warning_of_free_text_in_other_languages(tmp_path: Path) -> None:
    """What raters of a German form say is asked for as JSON, not read by words of other languages."""
    path = write_study(tmp_path, rest=SPA + '[[raters]]\nid = "judge"\nmodel = "m"\n')
    study, outputs = load_study(path), load_outputs(load_study(path))
    asked = {"answer_format": "text", "conversation": "question"}
    for language, keys, told in (("de", asked, 1), ("zh-TW", asked, 0), ("ar", asked, 0), ("tr", {}, 0)):
        raters = tuple(rater.model_copy(update=keys) for rater in study.raters)
        lines = study_warnings(study.model_copy(update={"language": language, "raters": raters}), outputs)
        found = [line for line in lines if "is not read reliably" in line]
        assert [('answer_format = "json"' in line, '"de"' in line) for line in found] == [(True, True)] * told

"""What `spa check` says of outputs that nobody can judge."""

from __future__ import annotations

from pathlib import Path

from spa.commands.check import overview_of
from spa.study.load import load_study
from spa.study.outputs import load_outputs
from spa.study.warnings import study_warnings
from tests.spa.study_files import HEAD, OUTPUTS, SPA, long_rows, write_rows, write_study
from tests.spa.tiny_images import tiny_png


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


def test_warning_of_systems_that_introduce_themselves(tmp_path: Path) -> None:
    """By the first word of a system's name or by who made them; not where the word is a word."""
    told = {
        "i0": ("As Falcon, I fly.", "An AI assistant developed by Big Labs."),
        "i1": ("A Falcon flies.", "Yes, sir."),
    }
    texts = {item: dict(zip(("falcon-40b", "y"), own, strict=True)) for item, own in told.items()}
    write_rows(tmp_path / "outputs.jsonl", long_rows(texts))
    systems = '[[systems]]\nid = "falcon-40b"\n[[systems]]\nid = "y"\n'
    beginning = "2 of 4 outputs name a model or its maker (falcon, 1 of falcon-40b; Big Labs, 1 of y): "
    for allowed, said in (
        ("", beginning),
        ('allowed_names = ["falcon-40b"]\n', "1 of 4 outputs name a model or its maker"),
    ):
        study = load_study(write_study(tmp_path, head=HEAD + allowed, systems=systems))
        (line,) = (one for one in study_warnings(study, load_outputs(study)) if "name a model" in one)
        assert line.startswith(said)


def test_warning_of_refusals_languages_and_same_files(tmp_path: Path) -> None:
    """Each is told with whose outputs these are; systems that write alike are not."""
    ways = {
        "x": "The river is wide in the north and it is cold in the winter of the year, day {}.",
        "y": "It is in the winter that the cold of the north is seen on the river, day {}.",
        "z": "Der Fluss ist im Norden breit und im Winter eines jeden Jahres wird er kalt, Tag {}.",
    }
    texts = {f"i{n}": {system: way.format(n) for system, way in ways.items()} for n in range(8)}
    texts["i2"]["x"] = "I'm sorry, but I can't help with that."
    texts["i3"]["x"] = "As an AI language model, I cannot say."
    texts["i4"]["x"] = "I can't help but smile at it, as it is in the north that the river is wide."
    write_rows(tmp_path / "outputs.jsonl", long_rows(texts))
    systems = "".join(f'[[systems]]\nid = "{one}"\n' for one in ways)
    study = load_study(write_study(tmp_path, systems=systems))
    lines = study_warnings(study, load_outputs(study))
    for beginning in (
        "2 of 24 outputs begin as refusals do (2 of x; first: item i2): people judge",
        "outputs of 1 of 3 systems hardly hold the commonest words of the others (z 6% of their share): another",
    ):
        assert len([line for line in lines if line.startswith(beginning)]) == 1, lines
    for name, content in (("a", 0), ("b", 1), ("same", 0)):
        (tmp_path / f"{name}.png").write_bytes(tiny_png(content, 1))
    files = {"i1": ("same", "same"), "i2": ("a", "b")}
    rows = [
        {"item_id": item, "system": system, "output": f"{file}.png"}
        for item, own in files.items()
        for system, file in zip("ab", own, strict=True)
    ]
    write_rows(tmp_path / "outputs.jsonl", rows)
    systems = '[[systems]]\nid = "a"\n[[systems]]\nid = "b"\n'
    images = load_study(write_study(tmp_path, outputs=OUTPUTS + 'kind = "image"\n', systems=systems))
    assert [line for line in study_warnings(images, load_outputs(images)) if "gave the same" in line] == [
        "a and b gave the same file for 1 of 2 items: nobody can tell them apart there; remove these items unless ties "
        "are meant, as no filter does"
    ]
    rows = [
        {**row, "output": f"![]({row['output']})" if row["item_id"] == "i1" else "See the two rivers."} for row in rows
    ]
    rows[-1]["output"] = "Yes."
    write_rows(tmp_path / "outputs.jsonl", rows)
    pictures = load_study(write_study(tmp_path, outputs=OUTPUTS + 'kind = "markdown"\n', systems=systems))
    lines = study_warnings(pictures, load_outputs(pictures))
    assert [line[:32] for line in lines if "one word" in line] == ["1 of 4 outputs have one word or "]

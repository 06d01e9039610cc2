"""Study files: every mistake in one line, all at once; what is right becomes a frozen Study."""

from __future__ import annotations

import shutil
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from spa.errors import StudyError
from spa.study.load import load_study, study_fingerprint
from spa.study.mistakes import describe, study_tables
from tests.spa.study_files import HEAD, OUTPUTS, SPA, problems_of, write_study

CRITERIA = '[[criteria]]\nid = "clear"\nname = "clarity"\n'
TEXT = 'item_text = "source"\n'


def test_a_right_file_becomes_a_frozen_study(tmp_path: Path) -> None:
    study = load_study(write_study(tmp_path, rest=SPA + '[people]\npay = "2.50"\nminutes = 5\n'))
    assert study.people.pay == Decimal("2.50")
    assert study.people.minutes == 5.0
    assert study.outputs.files == ((tmp_path / "outputs.jsonl").resolve(),)
    assert study.pairs == (("x", "y"),)
    with pytest.raises(ValidationError):
        study.title = "other"  # type: ignore[misc]


@pytest.mark.parametrize(("written", "meant"), [('"2.50"', "2.50"), ("2.5", "2.5"), ("2", "2")])
def test_pay_is_an_exact_decimal_however_it_is_written(tmp_path: Path, written: str, meant: str) -> None:
    study = load_study(write_study(tmp_path, rest=SPA + f"[people]\npay = {written}\n"))
    assert str(study.people.pay) == meant


def test_instructions_are_read_from_their_file(tmp_path: Path) -> None:
    (tmp_path / "how.md").write_text("# Lies **genau**", encoding="utf-8")
    study = load_study(write_study(tmp_path, rest=SPA + '[instructions]\nfile = "how.md"\n'))
    assert study.instructions.text == "# Lies **genau**"


def test_the_form_of_a_line(tmp_path: Path) -> None:
    assert problems_of(write_study(tmp_path, rest='[spa]\nexposure = "five"\n')) == [
        "study.toml: [spa] exposure: wanted a whole number of at least 1, "
        'got "five"; write it without quotes, in digits'
    ]


GROUP = '[[people.groups]]\nname = "g"\nparameter = "p"\nvalues = ["v"]\n{}\n'
SCREENED = '[[screening]]\nid = "s"\nquestion = "?"\noptions = ["Yes", "No"]\neligible = ["Yes"]\n'
# What a user may write instead, and what the one line about it must say.
SINGLE_MISTAKES = [
    ({"rest": "[spa]\nexposure = 5.0\n"}, "[spa] exposure: wanted a whole number of at least 1, got 5.0"),
    ({"rest": "[spa]\nexposre = 5\n"}, '[spa] exposre: unknown key; did you mean "exposure"?'),
    ({"rest": SPA + "[sap]\n"}, 'sap: unknown key; did you mean "spa"?'),
    ({"head": HEAD + "fwer = 0.1\n"}, 'fwer: unknown key; "fwer" belongs in [analysis]'),
    ({"head": HEAD + "seed = nan\n"}, "seed: wanted a whole number of at least 0, got NaN"),
    ({"head": HEAD + "seed = true\n"}, "seed: wanted a whole number of at least 0, got true"),
    ({"head": 'id = "small"\ntitle = 2024-01-01\n'}, "title: wanted text or a number, got the date or time 2024-01-01"),
    ({"head": 'id = "small"\ntitle = "a\\u0000b"\n'}, "title: wanted readable text, got the control character U+0000"),
    ({"head": HEAD + 'language = "fr"\n'}, 'language: wanted one of ar, en, zh, got "fr"'),
    ({"head": HEAD + "language = 5\n"}, 'language: wanted a language tag such as "en"'),
    ({"systems": "[systems]\nid = 'x'\n"}, "[[systems]]: wanted an array of tables"),
    ({"systems": '[[systems]]\nid = "x"\n'}, "[[systems]]: wanted at least 2 that are no reference, got 1; "),
    ({"rest": SPA + "[analysis]\nconfidence = 95\n"}, "less than 1, got 95; 0.95 means 95 %"),
    ({"systems": '[[systems]]\nid = "x"\n[[systems]]\nid = "y "\n'}, "[[systems]] 2, id: wanted a text of 1 to 80"),
    ({"systems": '[[systems]]\nid = "x"\n[[systems]]\nid = "x"\n'}, '[[systems]] id: wanted each once, got "x" again'),
    ({"outputs": OUTPUTS.replace("outputs.jsonl", "no.jsonl")}, '[outputs] files: wanted a file, got "no.jsonl", no'),
    ({"outputs": OUTPUTS.replace("outputs.jsonl", ".")}, '[outputs] files: wanted a file, got ".", a directory'),
    ({"outputs": OUTPUTS.replace("outputs.jsonl", "o" * 300)}, "[outputs] files: wanted a file"),
    ({"outputs": OUTPUTS + 'match_length_of = "z"\n'}, '[outputs] match_length_of: wanted the id of a system, got "z"'),
    ({"outputs": OUTPUTS + 'kind = "image"\nmatch_length_of = "x"\n'}, "match_length_of: wanted text outputs"),
    ({"outputs": OUTPUTS + "[[outputs.filters]]\nmin_words = 1\n"}, "1: wanted [outputs] item_text, got none"),
    ({"outputs": OUTPUTS + TEXT + "[[outputs.filters]]\n"}, "[[outputs.filters]] 1: wanted a condition such as"),
    (
        {"outputs": OUTPUTS + TEXT + "[[outputs.filters]]\nmin_words = 3\nmax_words = 2\n"},
        "wanted min_words at most max_words, got 3 and 2",
    ),
    ({"outputs": OUTPUTS + 'layout = "wide"\nitem = "x"\n'}, "[outputs] layout: wanted a column of its own for each"),
    ({"rest": '[spa]\ncomparisons = [["x", "z"]]\n'}, '[spa] comparisons, entry 1: wanted the id of a system, got "z"'),
    ({"rest": '[spa]\ncomparisons = [["x", "x"]]\n'}, 'entry 1: wanted two systems, got "x" against itself'),
    ({"rest": '[spa]\ncomparisons = [["x","y"],["y","x"]]\n'}, "entry 2: wanted each pair once"),
    ({"rest": "[spa]\ncomparisons = []\n"}, "[spa] comparisons: wanted at least one pair, got []"),
    ({"rest": '[spa]\ncomparisons = [["x", "y", "x"]]\n'}, "[spa] comparisons: wanted one of"),
    ({"rest": '[spa]\ncomparisons = "baseline"\n'}, "[spa] baseline: wanted a system"),
    ({"rest": '[spa]\nbaseline = "x"\n'}, '[spa] baseline: wanted none unless comparisons = "baseline", got "x"'),
    ({"rest": '[spa]\ncriteria = ["clear"]\n'}, '[spa] criteria: wanted the id of a criterion, got "clear"'),
    ({"rest": '[spa]\ncriteria = ["overall"]\n'}, '[spa] criteria: wanted criteria, got "overall"'),
    ({"rest": "[spa]\noverall = false\n"}, "[spa]: wanted something to ask, got no criterion"),
    ({"rest": ""}, "nothing is asked: wanted at least one of [spa], [likert]"),
    ({"rest": '[spa.exposure_study]\nsystem_x = "x"\nsystem_y = "x"\n'}, "system_y: wanted another system than"),
    (
        {"rest": '[spa]\nexposure = 3\n[spa.exposure_study]\nsystem_x = "x"\nsystem_y = "y"\n'},
        "[spa] exposure: wanted none beside [spa.exposure_study]",
    ),
    (
        {"rest": '[spa.exposure_study]\nsystem_x = "x"\nsystem_y = "y"\nexposures = [2, 2]\n'},
        "[spa.exposure_study] exposures: wanted each once, got 2 again",
    ),
    ({"rest": SPA + "[likert]\n[continuous]\n"}, '[continuous]: wanted each criterion rated in one way, got "overall"'),
    ({"rest": SPA + CRITERIA + "[likert]\n[continuous]\noverall = false\n"}, "set criteria = [...] without it"),
    ({"rest": SPA + "[likert]\noutputs = 2\n"}, "[likert] outputs: wanted at most the 1 items"),
    ({"rest": SPA + "[likert]\nidentical_pairs = 1\n"}, "[likert] identical_pairs: wanted [outputs] item_text"),
    (
        {"outputs": OUTPUTS + TEXT, "rest": SPA + "[likert]\nidentical_pairs = 1\n"},
        "[likert] identical_pairs: wanted a criterion of [likert] with against_source = true, got none",
    ),
    (
        {
            "outputs": OUTPUTS + TEXT,
            "rest": SPA + "[likert]\nidentical_pairs = 2\n" + CRITERIA + "against_source = true\n",
        },
        "[likert] identical_pairs: wanted at most the 1 items that an annotator reads, got 2",
    ),
    ({"rest": SPA + "[categories]\n"}, "[categories]: wanted something to ask, got no criterion; give"),
    ({"rest": SPA + CRITERIA + '[categories]\ncriteria = ["clear"]\n'}, 'wanted criteria with options, got "clear"'),
    ({"rest": SPA + CRITERIA + 'options = [{text = "0", score = 1}]\n'}, "options: wanted at least 2, got 1"),
    (
        {"rest": SPA + CRITERIA + 'options = [{text = "0", score = 1}, {text = "1"}]\n'},
        'options: wanted a score for each, got none for "1"',
    ),
    ({"rest": SPA + CRITERIA.replace("clear", "overall")}, "[[criteria]] overall, id: wanted another name"),
    ({"rest": SPA + CRITERIA + "against_source = true\n"}, "against_source: wanted [outputs] item_text"),
    ({"rest": SPA + '[continuous]\nbest_reference = "x"\n'}, 'best_reference: wanted a system of role "reference"'),
    ({"rest": SPA + "same_items = false\n[choices]\n"}, "[spa] same_items: wanted true beside [choices], got false"),
    ({"rest": SPA + '[choices]\ncomparisons = [["x", "z"]]\n'}, "[choices] comparisons, entry 1: wanted the id"),
    ({"rest": SPA + '[instructions]\ntext = "a"\nfile = "b"\n'}, "[instructions]: wanted text or file, got both"),
    ({"rest": SPA + '[consent]\nfile = "none.md"\n'}, "[consent] file: none.md: wanted a file, got nothing"),
    (
        {"rest": SPA + '[[screening]]\nid = "s"\nquestion = "?"\noptions = ["Yes", "No"]\neligible = ["yes"]\n'},
        '[[screening]] s, eligible: wanted one of the options, got "yes"; did you mean "Yes"?',
    ),
    (
        {"rest": SPA + '[[attention_checks]]\nid = "a"\nquestion = "?"\noptions = ["1", "2"]\nexpected = "3"\n'},
        '[[attention_checks]] a, expected: wanted one of the options, got "3"',
    ),
    ({"rest": SPA + '[analysis]\nexpected = ["x < y"]\n'}, 'expected, entry 1: wanted "x > y" (x is preferred)'),
    ({"rest": SPA + '[analysis]\nexpected = ["x > q"]\n'}, 'expected, entry 1: wanted the id of a system, got "q"'),
    ({"rest": SPA + '[analysis]\nexpected = ["x > y", "y ~ x"]\n'}, "expected, entry 2: wanted two systems, each pair"),
    ({"rest": SPA + "[people]\npay = -1\n"}, "[people] pay: wanted a decimal number of at least 0, got -1"),
    ({"rest": SPA + '[people]\npay = "NaN"\n'}, '[people] pay: wanted a decimal number of at least 0, got "NaN"'),
    ({"rest": SPA + "[people]\nminutes = inf\n"}, "[people] minutes: wanted a number greater than 0, got Infinity"),
    ({"rest": SPA + "[people]\nper_assignment = 31\n"}, "per_assignment: wanted at most annotators, got 31 of 30"),
    ({"rest": SPA + '[people]\nfamily = "f"\n'}, "[people] family: wanted family_store beside it, got none"),
    (
        {"rest": SPA + "[people]\nend_after_failed_checks = 1\n"},
        "end_after_failed_checks: wanted at most the number of [[attention_checks]], got 1, and 0 attention checks",
    ),
    ({"rest": SPA + GROUP.format("places = 31")}, "wanted no more places than annotators, got 31 places and"),
    ({"rest": SPA + GROUP.format('places = 1\nscreening = "s"')}, "[[people.groups]] g: wanted screening or parameter"),
    (
        {"rest": SPA + GROUP.format("places = 1").replace("parameter", "screening")},
        '[[people.groups]] g, screening: wanted the id of a [[screening]] question, got "p"; add that question',
    ),
    (
        {"rest": SPA + 2 * GROUP.format("places = 1").replace('"g"', '"h"', 1)},
        "[[people.groups]] name: wanted each once",
    ),
    (
        {"rest": SPA + GROUP.format("places = 1") + GROUP.format("places = 1").replace('"g"', '"h"')},
        '[[people.groups]] values: wanted each value in one group, got "v" in g and h',
    ),
    (
        {"rest": SPA + SCREENED + GROUP.format("places = 1").replace('parameter = "p"', 'screening = "s"')},
        "[[people.groups]] g, values: wanted one of the eligible answers of s (Yes), got",
    ),
    ({"rest": SPA + CRITERIA.replace("clear", "NA")}, "[[criteria]] 1, id: wanted a text of 1 to 80 characters that"),
    (
        {"rest": SPA + "[people]\nannotators = 10000000\n"},
        "[people] annotators: wanted a whole number of at least 1 and",
    ),
    ({"rest": SPA + "[texts]\na = 1\n"}, "[texts] a: wanted a text in quotes, got 1"),
    ({"rest": SPA + '[[raters]]\nid = "human"\nmodel = "m"\n'}, '[[raters]] id: wanted another name, got "human"'),
    (
        {"rest": SPA + '[[raters]]\nid = "here"\nmodel = "m"\nprovider = "local"\n'},
        '[[raters]] here, answer_format: wanted "json" or "text": a model on this machine cannot be held to a schema, '
        'got "schema"; set one of them',
    ),
    (
        {
            "rest": SPA + '[[raters]]\nid = "llm"\nmodel = "m"\nreadout = "logit"\nconversation = "question"\n'
            'answer_format = "text"\nexplain = "before"\n'
        },
        '[[raters]] llm, readout: wanted explain = "no"',
    ),
]


@pytest.mark.parametrize(("parts", "said"), SINGLE_MISTAKES, ids=[said[:40] for _, said in SINGLE_MISTAKES])
def test_one_mistake_is_one_line(tmp_path: Path, parts: dict[str, str], said: str) -> None:
    """Each line names the file first and says what to do last; no mistake drags others along."""
    problems = problems_of(write_study(tmp_path, **parts))
    assert len(problems) == 1
    assert problems[0].startswith("study.toml: ")
    assert said in problems[0]
    assert "; " in problems[0]


def test_all_mistakes_are_told_at_once(tmp_path: Path) -> None:
    """Mistakes of shape and of meaning stand together, unless one table already holds the other's cause."""
    rest = (
        '[spa]\nexposure = 0\nbaseline = "x"\n[likert]\noutputs = 9\npoint = 5\n'
        '[analysis]\nexpected = ["x > z"]\n[people]\npay = "two"\n'
    )
    problems = problems_of(write_study(tmp_path, head='id = "Big"\ntitle = "T"\n', rest=rest))
    told = "\n".join(problems)
    for place in ("id:", "[spa] exposure", "[likert] point:", "[people] pay", "[analysis] expected, entry 1"):
        assert place in told
    assert "baseline" not in told  # [spa] is told for its exposure first


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"id = \n", "wanted TOML, got a mistake: Invalid value (at line 1, column 6)"),
        (b"id = 'a'\nb = [", "line 2, column 6, the end"),
        (b"a = " + b"[" * 4000, "too deep"),
        (b"\xff\xfei\x00", "got UTF-16"),
        (b"\xef\xbb\xbfid = 'a'", "got a byte order mark first"),
        (b"id = 'a'\ntitle = '\xe9'", "line 2: wanted UTF-8, got the byte 0xe9"),
    ],
)
def test_what_is_no_toml_is_one_line(tmp_path: Path, content: bytes, said: str) -> None:
    path = tmp_path / "study.toml"
    path.write_bytes(content)
    (problem,) = problems_of(path)
    assert said in problem


def test_no_file_is_one_line(tmp_path: Path) -> None:
    assert "got a directory" in problems_of(tmp_path)[0]
    assert "got nothing; no such file" in problems_of(tmp_path / "none.toml")[0]
    assert "wanted a readable file" in problems_of(tmp_path / ("x" * 300))[0]


TOML_VALUES = st.one_of(
    st.booleans().map(lambda value: str(value).lower()),
    st.integers(-3, 12).map(str),
    st.floats().map(str),
    st.sampled_from(['""', '"x"', '"z"', "[]", "[[]]", '["x"]', '[["x", "y"]]', "{}", "{a = 1}", "[{}]", "1979-05-27"]),
)
KEYS = [(table, key) for table, record in study_tables() for key in record.model_fields if table and "." not in table]


@settings(max_examples=120, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(place=st.sampled_from(KEYS), value=TOML_VALUES)
def test_any_value_anywhere_is_read_or_told(tmp_path: Path, place: tuple[str, str], value: str) -> None:
    """Never a traceback: whatever stands at a key, it is a study or a StudyError of single lines."""
    table, key = place
    path = write_study(tmp_path, rest=("" if table == "[spa]" else SPA) + f"{table}\n{key} = {value}\n")
    told: tuple[str, ...] = ()
    try:
        load_study(path)
    except StudyError as error:
        told = error.problems
    assert all("\n" not in problem and problem.startswith(str(path)) for problem in told)


def test_every_key_can_be_described() -> None:
    """A new key gets words without anybody writing them."""
    for _, record in study_tables():
        for field in record.model_fields.values():
            assert describe(field.annotation)


def test_texts_may_be_written_with_or_without_quotes(tmp_path: Path) -> None:
    quoted = load_study(write_study(tmp_path, rest=SPA + '[texts]\n"form.system_label" = "Writer {label}"\n'))
    bare = load_study(write_study(tmp_path, rest=SPA + '[texts]\nform.system_label = "Writer {label}"\n'))
    assert quoted.texts == bare.texts == {"form.system_label": "Writer {label}"}


def test_the_fingerprint_follows_content_and_not_place(tmp_path: Path) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    here.mkdir()
    (here / "how.md").write_text("Read.", encoding="utf-8")
    path = write_study(here, rest=SPA + '[instructions]\nfile = "how.md"\n')
    shutil.copytree(here, there)
    first = study_fingerprint(load_study(path))
    assert first == study_fingerprint(load_study(there / "study.toml"))
    for name, addition in (("outputs.jsonl", "\n"), ("how.md", "!"), ("study.toml", "[likert]\npoints = 3\n")):
        changed = there / name
        before = changed.read_text(encoding="utf-8")
        changed.write_text(before + addition, encoding="utf-8")
        assert study_fingerprint(load_study(there / "study.toml")) != first
        changed.write_text(before, encoding="utf-8")
    for addition in ("# note\n", '[[raters]]\nid = "gpt"\nmodel = "m"\n', "[analysis]\nfwer = 0.01\n"):
        changed = there / "study.toml"
        before = changed.read_text(encoding="utf-8")
        changed.write_text(before + addition, encoding="utf-8")
        assert study_fingerprint(load_study(changed)) == first
        changed.write_text(before, encoding="utf-8")


def test_what_is_only_rated_may_come_from_one_system(tmp_path: Path) -> None:
    one = '[[systems]]\nid = "x"\n'
    likert = CRITERIA + "[likert]\noverall = false\n"
    assert [system.id for system in load_study(write_study(tmp_path, systems=one, rest=likert)).compared] == ["x"]
    for compares in (SPA, "[choices]\n"):
        (told,) = problems_of(write_study(tmp_path, systems=one, rest=likert + compares))
        assert "[[systems]]: wanted at least 2 that are no reference, got 1" in told

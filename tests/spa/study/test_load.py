"""Study files: every mistake in one line, all at once; what is right becomes a frozen Study."""

from __future__ import annotations

import shutil
import tomllib
from decimal import Decimal
from pathlib import Path
from typing import get_args, get_origin

import pytest
from click.testing import CliRunner
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from spa.cli import main
from spa.errors import StudyError
from spa.study.load import load_study, study_fingerprint
from spa.study.schema_errors import describe, study_tables
from spa.study.study_file import read_study, written_tables
from tests.spa.study_files import HEAD, OUTPUTS, SPA, SYSTEMS, problems_of, write_study

CRITERIA = '[[criteria]]\nid = "clear"\nname = "clarity"\n'
TEXT = 'item_text = "source"\n'
PAGED = '[continuous]\noverall = false\nsame_page_as = "{}"\n'


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
        "study.toml: [spa] exposure: expected a whole number of at least 1, "
        'got "five"; write it without quotes, in digits'
    ]


HIDDEN = '[[systems]]\nid = "h"\nrole = "hidden_reference"\n'
LIKERT_SCREENED = '[likert]\npoints = 5\n[analysis]\npost_screening = ["bs1534"]\n'
GROUP = '[[people.groups]]\nname = "g"\nparameter = "p"\nvalues = ["v"]\n{}\n'
SCREENED = '[[screening]]\nid = "s"\nquestion = "?"\noptions = ["Yes", "No"]\neligible = ["Yes"]\n'
# What a user may write instead, and what the one line about it must say.
SINGLE_MISTAKES = [
    (
        {"systems": SYSTEMS + HIDDEN, "rest": SPA},
        'role = "hidden_reference": expected sections that rate outputs alone, got [spa]; change the role',
    ),
    (
        {"systems": SYSTEMS + HIDDEN + "low_pass = 7000\n", "rest": "[continuous]\n"},
        'h, low_pass: expected role = "anchor", got "hidden_reference"',
    ),
    (
        {"rest": '[continuous]\n[analysis]\npost_screening = ["bs1534"]\n'},
        'bs1534: expected a system of role "hidden_reference", got none',
    ),
    (
        {"systems": SYSTEMS + 'role = "hidden_reference"\n', "rest": LIKERT_SCREENED},
        "bs1534: expected ratings from 0 to 100, got a scale of 4 points",
    ),
    (
        {"systems": SYSTEMS + 'role = "anchor"\n', "rest": '[continuous]\n[analysis]\nexpected = ["x > y"]\n'},
        'expected a compared system, got "y" of role "anchor"',
    ),
    (
        {"rest": '[spa]\nexposure = 1\ndirections = "one"\n[instructions]\nexplain_sum = false\n'},
        'explain_sum: expected a section that asks for chances in both directions (directions = "both"), got none',
    ),
    ({"rest": SPA + '[instructions]\ntext = "Read."\nexplain_sum = false\n'}, "got text or file beside it; remove one"),
    ({"rest": "[spa]\nexposure = 5.0\n"}, "[spa] exposure: expected a whole number of at least 1, got 5.0"),
    ({"rest": "[spa]\nexposre = 5\n"}, '[spa] exposre: unknown key; did you mean "exposure"?'),
    ({"rest": SPA + "[sap]\n"}, 'sap: unknown key; did you mean "spa"?'),
    ({"head": HEAD + "fwer = 0.1\n"}, 'fwer: unknown key; "fwer" belongs in [analysis]'),
    ({"head": HEAD + "seed = nan\n"}, "seed: expected a whole number of at least 0, got NaN"),
    ({"head": HEAD + "seed = true\n"}, "seed: expected a whole number of at least 0, got true"),
    (
        {"head": 'id = "small"\ntitle = 2024-01-01\n'},
        "title: expected text or a number, got the date 2024-01-01",
    ),
    (
        {"head": 'id = "small"\ntitle = "a\\u0000b"\n'},
        "title: expected readable text, got the control character U+0000",
    ),
    ({"head": HEAD + 'language = "fr"\n'}, 'language: expected one of ar, en, zh, got "fr"'),
    ({"head": HEAD + "language = 5\n"}, 'language: expected a language tag such as "en"'),
    ({"systems": "[systems]\nid = 'x'\n"}, "[[systems]]: expected an array of tables"),
    ({"systems": '[[systems]]\nid = "x"\n'}, "[[systems]]: expected at least 2 that are no reference, got 1; "),
    ({"rest": SPA + "[analysis]\nconfidence = 95\n"}, "less than 1, got 95; 0.95 means 95%"),
    ({"systems": '[[systems]]\nid = "x"\n[[systems]]\nid = "y "\n'}, "[[systems]] 2, id: expected a text of 1 to 80"),
    (
        {"systems": '[[systems]]\nid = "x"\n[[systems]]\nid = "x"\n'},
        '[[systems]] id: expected no duplicates, got "x" twice',
    ),
    (
        {"outputs": OUTPUTS.replace("outputs.jsonl", "no.jsonl")},
        '[outputs] files: expected a file, got "no.jsonl", no',
    ),
    ({"outputs": OUTPUTS.replace("outputs.jsonl", ".")}, '[outputs] files: expected a file, got ".", a directory'),
    ({"outputs": OUTPUTS.replace("outputs.jsonl", "o" * 300)}, "[outputs] files: expected a file"),
    (
        {"outputs": OUTPUTS + 'match_length_of = "z"\n'},
        '[outputs] match_length_of: expected the id of a system, got "z"',
    ),
    ({"outputs": OUTPUTS + 'kind = "image"\nmatch_length_of = "x"\n'}, "match_length_of: expected text outputs"),
    ({"outputs": OUTPUTS + "[[outputs.filters]]\nmin_words = 1\n"}, "1: expected [outputs] item_text, got none"),
    ({"outputs": OUTPUTS + TEXT + "[[outputs.filters]]\n"}, "[[outputs.filters]] 1: expected a condition such as"),
    (
        {"outputs": OUTPUTS + TEXT + "[[outputs.filters]]\nmin_words = 3\nmax_words = 2\n"},
        "expected min_words at most max_words, got 3 and 2",
    ),
    ({"outputs": OUTPUTS + 'layout = "wide"\nitem = "x"\n'}, "[outputs] layout: expected a column of its own for each"),
    (
        {"rest": '[spa]\ncomparisons = [["x", "z"]]\n'},
        '[spa] comparisons, entry 1: expected the id of a system, got "z"',
    ),
    ({"rest": '[spa]\ncomparisons = [["x", "x"]]\n'}, 'entry 1: expected two systems, got "x" against itself'),
    ({"rest": '[spa]\ncomparisons = [["x","y"],["y","x"]]\n'}, "entry 2: expected each pair once"),
    ({"rest": "[spa]\ncomparisons = []\n"}, "[spa] comparisons: expected at least one pair, got []"),
    ({"rest": '[spa]\ncomparisons = [["x", "y", "x"]]\n'}, "[spa] comparisons: expected one of"),
    ({"rest": '[spa]\ncomparisons = "baseline"\n'}, "[spa] baseline: expected a system"),
    ({"rest": '[spa]\nbaseline = "x"\n'}, '[spa] baseline: expected none unless comparisons = "baseline", got "x"'),
    ({"rest": '[spa]\ncriteria = ["clear"]\n'}, '[spa] criteria: expected the id of a criterion, got "clear"'),
    ({"rest": '[spa]\ncriteria = ["overall"]\n'}, '[spa] criteria: expected criteria, got "overall"'),
    ({"rest": "[spa]\noverall = false\n"}, "[spa]: expected something to ask, got no criterion"),
    ({"rest": ""}, "nothing is asked: expected at least one of [spa], [likert]"),
    (
        {"rest": '[spa.exposure_study]\nsystem_x = "x"\nsystem_y = "x"\nexposures = [1]\n'},
        "system_y: expected another system than",
    ),
    (
        {"rest": '[spa]\nexposure = 3\n[spa.exposure_study]\nsystem_x = "x"\nsystem_y = "y"\nexposures = [1]\n'},
        "[spa] exposure: expected none beside [spa.exposure_study]",
    ),
    (
        {"rest": '[spa.exposure_study]\nsystem_x = "x"\nsystem_y = "y"\nexposures = [2, 2]\n'},
        "[spa.exposure_study] exposures: expected no duplicates, got 2 twice",
    ),
    (
        {"rest": SPA + "[likert]\n[continuous]\n"},
        '[continuous]: expected each criterion rated in one way, got "overall"',
    ),
    ({"rest": SPA + CRITERIA + "[likert]\n[continuous]\noverall = false\n"}, "set criteria = [...] without it"),
    ({"rest": SPA + "[likert]\noutputs = 2\n"}, "[likert] outputs: expected at most the 1 items"),
    ({"rest": SPA + "[likert]\nidentical_pairs = 1\n"}, "[likert] identical_pairs: expected [outputs] item_text"),
    (
        {"outputs": OUTPUTS + TEXT, "rest": SPA + "[likert]\nidentical_pairs = 1\n"},
        "[likert] identical_pairs: expected a criterion of [likert] with against_source = true, got none",
    ),
    (
        {
            "outputs": OUTPUTS + TEXT,
            "rest": SPA + "[likert]\nidentical_pairs = 2\n" + CRITERIA + "against_source = true\n",
        },
        "[likert] identical_pairs: expected at most the 1 items that an annotator reads, got 2",
    ),
    ({"rest": SPA + CRITERIA + PAGED.format("likert")}, "a rating section with pages of its own, "),
    (
        {"rest": "[likert]\ncriteria = []\n" + CRITERIA + PAGED.format("likert") + 'pages = "one"\n'},
        "none beside same_page_as, as [likert] says it",
    ),
    ({"rest": '[likert]\npages = "output"\n[design]\nitems = 2\n'}, "outputs (how many outputs an annotator rates"),
    ({"rest": '[likert]\npages = "output"\noutputs = 1\n'}, '"all", as pages = "output", '),
    (
        {"rest": "[likert]\n[design]\noutputs = 2\n"},
        'pages = "output" in every section that rates, and none that compares',
    ),
    ({"rest": "[likert]\nshow_item_text = false\n"}, "an item text to leave out"),
    ({"rest": '[likert]\nitem_text_position = "after"\n'}, "an item text to place"),
    ({"outputs": OUTPUTS + 'item_name = "Source"\n'}, "[outputs] item_name: expected [outputs] item_text to name"),
    (
        {"outputs": OUTPUTS + TEXT + 'item_name = "S"\n', "rest": SPA + '[texts]\n"form.item_caption" = "S"\n'},
        'item_name: expected no [texts] "form.item_caption" beside it, got both',
    ),
    (
        {"outputs": OUTPUTS + TEXT, "rest": SPA + CRITERIA + "show_item_text = false\n"},
        "none for a criterion of [spa]",
    ),
    (
        {
            "outputs": OUTPUTS + TEXT,
            "rest": "[likert]\n" + CRITERIA + "show_item_text = false\nagainst_source = true\n",
        },
        "true beside against_source, ",
    ),
    ({"rest": SPA + "[categories]\n"}, "[categories]: expected something to ask, got no criterion; give"),
    (
        {"rest": SPA + CRITERIA + '[categories]\ncriteria = ["clear"]\n'},
        'expected criteria with options, got "clear"',
    ),
    ({"rest": SPA + CRITERIA + 'options = [{text = "0", score = 1}]\n'}, "options: expected at least 2, got 1"),
    (
        {"rest": SPA + CRITERIA + 'options = [{text = "0", score = 1}, {text = "1"}]\n'},
        'options: expected a score for each, got none for "1"',
    ),
    ({"rest": SPA + CRITERIA.replace("clear", "overall")}, "[[criteria]] overall, id: expected another name"),
    ({"rest": SPA + CRITERIA + "against_source = true\n"}, "against_source: expected [outputs] item_text"),
    ({"rest": SPA + '[continuous]\nbest_reference = "x"\n'}, 'best_reference: expected a system of role "reference"'),
    (
        {"rest": SPA + "same_items = false\n[choices]\n"},
        "[spa] same_items: expected true beside [choices], got false",
    ),
    ({"rest": SPA + '[choices]\ncomparisons = [["x", "z"]]\n'}, "[choices] comparisons, entry 1: expected the id"),
    ({"rest": SPA + '[instructions]\ntext = "a"\nfile = "b"\n'}, "[instructions]: expected text or file, got both"),
    ({"rest": SPA + '[consent]\nfile = "none.md"\n'}, "[consent] file: none.md: no such file; check its name"),
    (
        {"rest": SPA + '[[screening]]\nid = "s"\nquestion = "?"\noptions = ["Yes", "No"]\neligible = ["yes"]\n'},
        '[[screening]] s, eligible: expected one of the options, got "yes"; did you mean "Yes"?',
    ),
    (
        {"rest": SPA + '[[attention_checks]]\nid = "a"\nquestion = "?"\noptions = ["1", "2"]\nexpected = "3"\n'},
        '[[attention_checks]] a, expected: expected one of the options, got "3"',
    ),
    ({"rest": SPA + '[analysis]\nexpected = ["x < y"]\n'}, 'expected, entry 1: expected "x > y" (x is preferred)'),
    ({"rest": SPA + '[analysis]\nexpected = ["x > q"]\n'}, 'expected, entry 1: expected the id of a system, got "q"'),
    (
        {"rest": SPA + '[analysis]\nexpected = ["x > y", "y ~ x"]\n'},
        "expected, entry 2: expected two systems, each pair",
    ),
    (
        {"rest": SPA + "[people]\npay = -1\n"},
        "[people] pay: expected a decimal number of at least 0 and at most 1000000, got -1",
    ),
    (
        {"rest": SPA + '[people]\npay = "NaN"\n'},
        '[people] pay: expected a decimal number of at least 0 and at most 1000000, got "NaN"',
    ),
    (
        {"rest": SPA + "[people]\nminutes = inf\n"},
        "[people] minutes: expected a number of at least 0.01 and at most 100000, got Infinity",
    ),
    (
        {"rest": SPA + "[people]\nper_assignment = 31\n"},
        "per_assignment: expected at most the number of annotators, got 31 of 30",
    ),
    ({"rest": SPA + '[people]\nfamily = "f"\n'}, "[people] family: expected family_store beside it, got none"),
    (
        {"rest": SPA + "[people]\nend_after_failed_checks = 1\n"},
        "end_after_failed_checks: expected at most the number of [[attention_checks]], got 1, and 0 attention checks",
    ),
    ({"rest": SPA + GROUP.format("places = 31")}, "expected no more places than annotators, got 31 places and"),
    (
        {"rest": SPA + GROUP.format('places = 1\nscreening = "s"')},
        "[[people.groups]] g: expected screening or parameter",
    ),
    (
        {"rest": SPA + GROUP.format("places = 1").replace("parameter", "screening")},
        '[[people.groups]] g, screening: expected the id of a [[screening]] question, got "p"; add that question',
    ),
    (
        {"rest": SPA + 2 * GROUP.format("places = 1").replace('"g"', '"h"', 1)},
        "[[people.groups]] name: expected no duplicates",
    ),
    (
        {"rest": SPA + GROUP.format("places = 1") + GROUP.format("places = 1").replace('"g"', '"h"')},
        '[[people.groups]] values: expected each value in one group, got "v" in g and h',
    ),
    (
        {"rest": SPA + SCREENED + GROUP.format("places = 1").replace('parameter = "p"', 'screening = "s"')},
        "[[people.groups]] g, values: expected one of the eligible answers of s (Yes), got",
    ),
    ({"rest": SPA + CRITERIA.replace("clear", "NA")}, "[[criteria]] 1, id: expected a text of 1 to 80 characters that"),
    (
        {"rest": SPA + "[people]\nannotators = 10000000\n"},
        "[people] annotators: expected a whole number of at least 1 and",
    ),
    ({"rest": SPA + "[texts]\na = 1\n"}, "[texts] a: expected a text in quotes, got 1"),
    ({"rest": SPA + '[[raters]]\nid = "human"\nmodel = "m"\n'}, '[[raters]] id: expected another name, got "human"'),
    (
        {"rest": SPA + '[[raters]]\nid = "here"\nmodel = "m"\nprovider = "local"\n'},
        'here, answer_format: expected "json" or "text": a model on this machine cannot be held to a schema, '
        'got "schema"; set one of them',
    ),
    (
        {"rest": SPA + '[[raters]]\nid = "r"\nmodel = "simulated-rater"\nprovider = "responses"\nseed = 1\n'},
        'r, seed: expected no seed: the Responses API takes none, got 1; remove it, or set provider = "chat"',
    ),
    (
        {"rest": SPA + '[[raters]]\nid = "r"\nmodel = "simulated-rater"\nprovider = "batch"\nconversation = "page"\n'},
        'expected conversation = "form", "page_alone" or "question": a batch file has no second turn, got "page"',
    ),
    (
        {"rest": SPA + "[mturk]\nlifetime_hours = 2024-01-01\n"},
        "[mturk] lifetime_hours: expected text or a number, got",
    ),
    (
        {"rest": SPA + '[panel]\nname = "a"\n[panel.redirects]\ncompleted = 2024-01-01\n'},
        "[panel.redirects] completed: expected text or a number, got the date 2024-01-01; write it in quotes",
    ),
    (
        {
            "rest": SPA + '[[raters]]\nid = "llm"\nmodel = "m"\nreadout = "logit"\nconversation = "question"\n'
            'answer_format = "text"\nexplain = "after"\n'
        },
        '[[raters]] llm, explain: expected explain = "no" or "before": nothing is said after probabilities',
    ),
    (
        {
            "rest": SPA + '[[raters]]\nid = "llm"\nmodel = "m"\nreadout = "logit"\nconversation = "question"\n'
            'answer_format = "text"\nexplain = "before"\nbatch = true\n'
        },
        '[[raters]] llm, explain: expected explain = "no" with readout = "logit" in batches, which have no second',
    ),
    (
        {
            "rest": SPA + '[[raters]]\nid = "llm"\nmodel = "m"\nreadout = "logit"\nconversation = "question"\n'
            'answer_format = "text"\nexplain = "before"\nprovider = "anthropic"\nmax_tokens = 9\n'
        },
        '[[raters]] llm, readout: expected "verbalised": Anthropic',
    ),
    ({"head": HEAD + f'seed = "{"9" * 100_000}"\n'}, "seed: expected a whole number of at least 0, got"),
    ({"head": f'id = "small"\n{"x" * 10_000} = 1\ntitle = "T"\n'}, "x: unknown key"),
    ({"head": HEAD.replace("small", "s" * 100_000)}, "id: expected small letters"),
    ({"head": HEAD + 'allowed_names = ["Z"]\n'}, 'allowed_names: expected the id or name of a system, got "Z"'),
    ({"head": HEAD + 'allowed_names = "x"\n'}, "allowed_names: expected a list of texts that are not empty"),
    (
        {"head": HEAD + 'language = "xx"\n', "rest": SPA + '[texts]\npage.next = "N"\n'},
        "every text of spa/forms/locales",
    ),
    ({"head": HEAD + f'language = "xx-{"a" * 9999}"\n', "rest": SPA + '[texts]\npage.next = "N"\n'}, "'xx-aaaa"),
    ({"outputs": OUTPUTS + 'layout = "tall"\n'}, '[outputs] layout: expected one of "long", "wide", got "tall"'),
    (
        {"outputs": OUTPUTS + 'kind = "scent"\n'},
        '[outputs] kind: expected one of "text", "markdown", "conversation", "image", "audio", "video", got "scent"',
    ),
    ({"outputs": OUTPUTS + "item = []\n"}, "[outputs] item: expected"),
    ({"outputs": "[outputs]\nfiles = []\n"}, "[outputs] files: expected a list of at least 1 file names, got []"),
    ({"outputs": '[outputs]\nfiles = "outputs.jsonl"\n'}, "[outputs] files: expected a list of at least 1 file names"),
    ({"systems": SYSTEMS + 'role = "judge"\n'}, '[[systems]] 2, role: expected one of "system", "human", "reference"'),
    ({"systems": SYSTEMS + 'model = "m"\n'}, "model: unknown key"),
    ({"rest": '[spa]\ndirections = "left"\n'}, '[spa] directions: expected one of "both", "one", got "left"'),
    ({"rest": '[spa]\ncomparisons = "al"\n'}, '[spa] comparisons: expected one of "all", "chain", "baseline"'),
    ({"rest": f'[spa]\ncomparisons = [["x", "{"z" * 80}"]]\n'}, "entry 1: expected the id of a system"),
    ({"rest": '[spa]\nreading = "last"\n'}, '[spa] reading: expected one of "first", "with_questions"'),
    (
        {"rest": '[spa.exposure_study]\nsystem_x = "x"\nsystem_y = "y"\nexposures = [0]\n'},
        "exposures, entry 1: expected",
    ),
    (
        {"rest": SPA + "[likert]\npoints = 12\n"},
        "[likert] points: expected a whole number of at least 2 and at most 11",
    ),
    ({"rest": SPA + '[likert]\noutputs = "second"\n'}, '[likert] outputs: expected one of "first", "all" or a whole'),
    ({"rest": SPA + '[likert]\nhalf_points = "up"\n'}, "[likert] half_points: expected one of"),
    (
        {"rest": SPA + "[likert]\npages = 1\n"},
        '[likert] pages: expected one of "output", "item", "system", "one", got 1',
    ),
    ({"rest": SPA + "[continuous]\npoints = 5\n"}, "[continuous] points: unknown key"),
    ({"rest": SPA + '[continuous]\nlow = ""\n'}, "[continuous] low: expected a text in quotes that is not empty"),
    ({"rest": SPA + '[choices]\nties = "yes"\n'}, '[choices] ties: expected true or false, got "yes"'),
    ({"rest": SPA + "[design]\nitems = 0\n"}, "[design] items: expected a whole number of at least 1, got 0"),
    ({"rest": SPA + '[design]\nlabels = "random"\n'}, '[design] labels: expected one of "counterbalanced", "fixed"'),
    (
        {"rest": SPA + SCREENED.replace('"Yes", "No"', '"Yes"')},
        "[[screening]] 1, options: expected a list of at least 2",
    ),
    ({"rest": SPA + SCREENED.replace('= ["Yes"]', "= []")}, "[[screening]] 1, eligible: expected a list of at least 1"),
    ({"rest": SPA + SCREENED.replace("Yes", "y" * 9999, 1)}, "[[screening]] s, eligible: expected one of the options"),
    ({"rest": SPA + CRITERIA + CRITERIA}, '[[criteria]] id: expected no duplicates, got "clear" twice'),
    ({"rest": SPA + CRITERIA.replace('name = "clarity"\n', "")}, "[[criteria]] 1, name: expected a text in quotes"),
    ({"rest": SPA + '[people]\ncurrency = "usd"\n'}, "[people] currency: expected a currency code of three capitals"),
    ({"rest": SPA + '[people]\ncompletion_url = "ftp://a"\n'}, "[people] completion_url: expected an address"),
    ({"rest": SPA + "[people]\nminutes_allowed = 0\n"}, "[people] minutes_allowed: expected a number greater than 0"),
    ({"rest": SPA + "[people]\nsessions = 0\n"}, "[people] sessions: expected a whole number of at least 1, got 0"),
    (
        {"rest": SPA + '[people]\npay = "1e999999"\n'},
        "[people] pay: expected a decimal number of at least 0 and at most",
    ),
    ({"rest": SPA + "[people]\npay = 1\nminutes = 1e-320\n"}, "[people] minutes: expected a number of at least 0.01"),
    (
        {"rest": SPA + f"[people]\nannotators = {'9' * 4000}\n"},
        "[people] annotators: expected a whole number of at least",
    ),
    ({"rest": SPA + "[people]\nminimum_hourly_pay = -1\n"}, "[people] minimum_hourly_pay: expected a decimal number"),
    ({"rest": SPA + "[people]\npay = 1979-05-27\n"}, "[people] pay: expected text or a number, got the date"),
    ({"rest": SPA + "[analysis]\nfwer = 0\n"}, "[analysis] fwer: expected a number greater than 0 and less than 1"),
    (
        {"rest": SPA + "[analysis]\nconsistency_tau = 3\n"},
        "[analysis] consistency_tau: expected a decimal number of at",
    ),
    ({"rest": SPA + '[analysis]\nunit = "person"\n'}, "[analysis] unit: expected one of"),
    ({"rest": SPA + '[analysis]\nexpected = ["x"]\n'}, '[analysis] expected, entry 1: expected "x > y"'),
    ({"rest": SPA + '[[raters]]\nid = "l"\n'}, "[[raters]] 1, model: expected a text in quotes that is not empty"),
    (
        {"rest": SPA + '[[raters]]\nid = "l"\nmodel = "m"\nprovider = "openai"\n'},
        "[[raters]] l, provider: expected one",
    ),
    ({"rest": SPA + '[[raters]]\nid = "l"\nmodel = "m"\ntemperature = 3\n'}, "[[raters]] 1, temperature: expected"),
    ({"rest": SPA + '[[raters]]\nid = "l"\nmodel = "m"\ngrid = {heat = [1]}\n'}, "[[raters]] l grid: expected values"),
    (
        {"rest": SPA + '[[raters]]\nid = "l"\nmodel = "m"\nreference = "z"\n'},
        "l, reference: expected the id of a system",
    ),
    ({"rest": SPA + '[texts]\n"form.nothing" = "a"\n'}, "texts: unknown key 'form.nothing'"),
    ({"rest": SPA + f'[texts]\n"form.system_label" = "{"a" * 9999}"\n'}, "must contain {label}"),
    ({"rest": SPA + '[instructions]\ntext = " "\n'}, "[instructions] text: expected words, got nothing to read"),
    ({"rest": SPA + '[consent]\nfile = "."\n'}, "expected a file, got a directory; name the file in it"),
]


@pytest.mark.parametrize("name", ["../how.md", "link.md", "sub/../../how.md", "{absolute}"])
@pytest.mark.parametrize("table", ["instructions", "consent", "debriefing"])
def test_a_text_comes_from_the_studys_own_folder(tmp_path: Path, table: str, name: str) -> None:
    folder = tmp_path / "study"
    (folder / "sub").mkdir(parents=True)
    (tmp_path / "how.md").write_text("Somebody else's.", encoding="utf-8")
    (folder / "link.md").symlink_to(tmp_path / "how.md")
    named = name.format(absolute=tmp_path / "how.md")
    (problem,) = problems_of(write_study(folder, rest=SPA + f'[{table}]\nfile = "{named}"\n'))
    assert f"[{table}] file: expected a file in the study's folder, its path relative to the study file, got" in problem
    assert problem.endswith("; copy the text there")
    assert "Somebody" not in problem
    (folder / "sub" / "own.md").write_text("Ours.", encoding="utf-8")
    (folder / "own.md").symlink_to(folder / "sub" / "own.md")
    own = load_study(write_study(folder, rest=SPA + f'[{table}]\nfile = "own.md"\n'))
    assert getattr(own, table).text == "Ours."


@pytest.mark.parametrize(("parts", "said"), SINGLE_MISTAKES, ids=[said[:40] for _, said in SINGLE_MISTAKES])
def test_one_mistake_is_one_line(tmp_path: Path, parts: dict[str, str], said: str) -> None:
    """Each short line names the file first and says what to do last; no mistake drags others along."""
    result = CliRunner().invoke(main, ["check", str(write_study(tmp_path, **parts))])
    assert result.exit_code == 1
    (problem,) = result.stderr.replace(f"{tmp_path}/", "").splitlines()
    assert problem.startswith("spa: study.toml: ")
    assert said in problem
    assert "; " in problem
    assert len(problem) < 500


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
        (
            b"id = 'a'\ntitle = Big\n",
            "study.toml line 2, column 9: expected TOML, got no value: title = Big; write a",
        ),
        (b"id = 'a'\nb = [", "line 2, column 6: expected TOML, got no value: b = [; "),
        (b"id = 'a'\nid = 'b'\n", "line 2, column 9: expected TOML, got a duplicate key: id = 'b'; remove"),
        (b"[spa]\n[spa]\n", "line 2, column 5: expected TOML, got a second table of this name: [spa]; merge"),
        (
            b'title = "a\nb"\n',
            "line 1, column 11: expected TOML, got quotes that are not closed on this line: title",
        ),
        (b"id 'a'\n", "line 1, column 4: expected TOML, got no = after the key: id 'a'; write key = value"),
        (b"title = " + b"a" * 99_999, "aaa ... aaa"),
        (b"a = " + b"[" * 4000, "too deep"),
        (b"a = " + b"[" * 90 + b"]" * 90, "expected at most 20 tables within tables, got more"),
        (b".".join([b"a"] * 900) + b" = 1", "expected at most 20 tables within tables, got more"),
        (b".".join([b"a"] * 100_000) + b" = 1", "expected at most 20 tables within tables, got more"),
        (b"\xff\xfei\x00", "got UTF-16; save the file as UTF-8, or run `iconv -f UTF-16 -t UTF-8 OLD > NEW`"),
        (b"i\x00d\x00", "got UTF-16"),
        (b"", "expected a study file, got an empty one; `spa init FOLDER` writes"),
        (b"\xef\xbb\xbf\n", "expected a study file, got an empty one"),
        (b'{"item_id": "1"}\n', "expected a study file in TOML, got outputs or other data; give the study.toml that"),
        (
            b"| id | output |\n",
            "got outputs or other data; give the study.toml that names this file in [outputs] files, or",
        ),
        (b"PK\x03\x04\xff", "got outputs or other data; give the study.toml"),
        (b"id = 'a'\ntitle = '\xe9'", "line 2: expected UTF-8, got the byte 0xe9"),
    ],
)
def test_what_is_no_toml_is_one_line(tmp_path: Path, content: bytes, said: str) -> None:
    path = tmp_path / "study.toml"
    path.write_bytes(content)
    (problem,) = problems_of(path)
    assert said in problem
    assert len(problem) < 495


def test_a_byte_order_mark_is_no_mistake(tmp_path: Path) -> None:
    path = write_study(tmp_path, rest=SPA + '[instructions]\nfile = "how.md"\n')
    (tmp_path / "how.md").write_bytes(b"\xef\xbb\xbfRead.")
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    assert load_study(path).instructions.text == "Read."


def test_many_mistakes_of_one_cause_are_counted(tmp_path: Path) -> None:
    problems = problems_of(write_study(tmp_path, head=HEAD + "".join(f"a{n}.b = 1\n" for n in range(20_000))))
    assert len(problems) == 101
    assert problems[-1] == "study.toml: 19900 more mistakes; correct these first"


def test_no_file_is_one_line(tmp_path: Path) -> None:
    assert "got a directory" in problems_of(tmp_path)[0]
    none = tmp_path / "none.toml"
    assert problems_of(none) == ["none.toml: no such file; name the study, or begin one with `spa init FOLDER`"]
    assert "cannot be read (File name too long)" in problems_of(tmp_path / ("x" * 300))[0]


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
    """A new key gets words without anybody writing them, and so do the entries of its lists."""
    for _, record in study_tables():
        for field in record.model_fields.values():
            assert describe(field.annotation)
            for entry in get_args(field.annotation) if get_origin(field.annotation) is tuple else ():
                assert entry is Ellipsis or describe(entry)


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


def test_a_later_key_that_is_not_set_stands_in_no_fingerprint(tmp_path: Path) -> None:
    rest = '[likert]\npages = "output"\n[design]\noutputs = 10\n[choices]\n' + CRITERIA
    study = read_study(tomllib.loads(HEAD + OUTPUTS + SYSTEMS + rest))
    dumped = written_tables(study).model_dump()
    for later, table in (("same_page_as", "likert"), ("show_item_text", "choices"), ("outputs", "design")):
        assert later not in dumped[table]
    assert "show_item_text" not in dumped["criteria"][0]
    assert "item_name" not in dumped["outputs"]


def test_what_is_only_rated_may_come_from_one_system(tmp_path: Path) -> None:
    one = '[[systems]]\nid = "x"\n'
    likert = CRITERIA + "[likert]\noverall = false\n"
    assert [system.id for system in load_study(write_study(tmp_path, systems=one, rest=likert)).compared] == ["x"]
    for compares in (SPA, "[choices]\n"):
        (told,) = problems_of(write_study(tmp_path, systems=one, rest=likert + compares))
        assert "[[systems]]: expected at least 2 that are no reference, got 1" in told

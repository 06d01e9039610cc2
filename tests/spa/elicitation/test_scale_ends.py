"""Words at the ends of a scale: a criterion's own, on every scale, and refused where no question shows them."""

from __future__ import annotations

from typing import Any

import pytest

from spa.elicitation.ratings import RatingTarget
from spa.forms.form_text import answer_text
from spa.study.validation import validate_study
from tests.spa.forms.test_build_form import forms_of
from tests.spa.forms.test_form_equality import check_one_form
from tests.strategies import small_study

SENSE = {"id": "sense", "name": "sense", "low": "none", "high": "complete"}


@pytest.mark.parametrize(
    ("section", "low"), [({"likert": {}}, "1"), ({"continuous": {}}, "0"), ({"spans": {"criteria": ["sense"]}}, "0")]
)
def test_words_at_the_ends_are_those_of_the_criterion(section: dict[str, Any], low: str) -> None:
    """Else those of the section, else the language's; on the page and in the prompt."""
    ((name, keys),) = section.items()
    others = [] if name == "spans" else ["weak", "strong"]
    tables = {name: {**keys, **dict(zip(("low", "high"), others, strict=False))}}
    form = forms_of(small_study(spa=None, criteria=[SENSE], **tables))[0]
    rated = [one for one in form.questions("everybody") if isinstance(one.target, RatingTarget)]
    ends = {one.target.criterion: [unit.text for unit in answer_text(one.answer)] for one in rated}
    assert ends["sense"][0] == f"{low} (none)"
    assert ends["sense"][-1].endswith(" (complete)")
    if others:
        assert ends["overall"][0] == f"{low} (weak)"
    check_one_form(form)


@pytest.mark.parametrize(
    ("criterion", "tables", "problem"),
    [
        ({"low": "none"}, {"likert": {}}, "[[criteria]] sense, high: expected words at both ends of its scale"),
        ({"low": "none", "high": "all"}, {"choices": {}}, "[[criteria]] sense, low and high: expected a rating in"),
        (
            {"low": "none", "high": "all", "options": [{"text": "a", "score": 0}, {"text": "b", "score": 1}]},
            {"categories": {}},
            "[[criteria]] sense, low and high: expected none beside options",
        ),
        (
            {"low": "none", "high": "all"},
            {"likert": {"overall": False, "low": "poor"}},
            "[likert] low: expected none where all criteria have words of their own",
        ),
        ({"low": "none", "high": "all"}, {"spans": {"criteria": ["sense"], "score": False}}, "expected a rating in"),
    ],
)
def test_words_at_the_ends_that_nobody_sees_are_refused(
    criterion: dict[str, Any], tables: dict[str, Any], problem: str
) -> None:
    study = small_study(spa=None, criteria=[{"id": "sense", "name": "sense", **criterion}], **tables)
    found = [one.message for one in validate_study(study)]
    assert any(problem in text for text in found), found
    fine = small_study(spa=None, criteria=[SENSE], likert={"overall": False})
    assert validate_study(fine) == []

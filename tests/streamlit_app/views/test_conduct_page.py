"""The dashboard's page of conduct, without a browser: sorted by one sign at a time, in plain words, no score."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from spa.responses.conduct_evidence import NAMES, PageConduct
from spa.responses.conduct_rows import VisitConduct
from streamlit_app.views import conduct

if TYPE_CHECKING:
    from streamlit.testing.v1 import AppTest

NOTHING = dict.fromkeys(NAMES, 0)


def summed(*, none: int = 0, **counted: Any) -> VisitConduct:
    page = PageConduct(**{**NOTHING, "answers": 9, **counted})
    return VisitConduct(
        pages=3, script=3 - none, none=none, unreadable=0, refuted=0, honeypot=0, injected=0, counted=page
    )


FOUND = {
    "s1": summed(letters=3, away=4, seconds=90.0),
    "s2": summed(letters=240, pastes=2),
    "s3": summed(none=3, answers=0),
}
VISITS = [
    SimpleNamespace(submission_id=name, annotator_id=f"{name}{'0' * 30}", annotator_kind=kind, pages=3)
    for name, kind in (("s1", "human"), ("s2", "human"), ("s3", "human"), ("s4", "simulated"))
]


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conduct.loading, "visits", lambda: VISITS)
    monkeypatch.setattr(conduct.loading, "state", lambda: "one")
    monkeypatch.setattr(conduct.loading, "conduct", lambda state: FOUND)
    monkeypatch.setattr(conduct.loading, "options", lambda: SimpleNamespace(name="small"))
    monkeypatch.setattr(conduct.downloads, "offer", lambda *given: None)


def drawn() -> None:
    from streamlit_app.views import conduct as page

    page.show()


def look() -> AppTest:
    from streamlit.testing.v1 import AppTest

    found = AppTest.from_function(drawn, default_timeout=120).run()
    assert not found.exception, found.exception
    return found


def test_visits_are_sorted_by_one_sign(shown: None) -> None:
    app = look()
    app.selectbox[0].set_value("Pasted letters").run()
    (table,) = app.dataframe
    assert table.value["Pasted letters"].tolist() == [240, 3, 0]
    app.selectbox[0].set_value("Minutes away").run()
    assert app.dataframe[0].value["Minutes away"].tolist() == [1.5, 0.0, 0.0]
    app.selectbox[0].set_value("Pages without evidence").run()
    assert app.dataframe[0].value["Form"].tolist()[0].endswith("s3")


def test_rarest_sign_seen_sorts_first(shown: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """What fewest visits show stands first, what nobody shows is not offered; without signs there is no choice."""
    (choice,) = look().selectbox
    assert choice.options == ["Pastes", "Times away", "Minutes away", "Pages without evidence", "Pasted letters"]
    nobody = {name: summed() for name in FOUND}
    monkeypatch.setattr(conduct.loading, "conduct", lambda state: {**nobody, "s2": summed(unprompted=1)})
    app = look()
    assert (app.selectbox[0].value, app.dataframe[0].value["Form"][0][-2:]) == ("Answers without input", "s2")
    monkeypatch.setattr(conduct.loading, "conduct", lambda state: nobody)
    app = look()
    assert not app.selectbox
    assert len(app.dataframe[0].value) == 3


def test_page_says_what_signs_are_not(shown: None) -> None:
    """Every column is explained, absent evidence is no guilt, and nothing sums signs up."""
    app = look()
    assert "nobody is refused, unpaid or excluded" in app.caption[0].value
    said = "\n".join(each.value for each in app.markdown)
    assert "no evidence is no guilt" in said
    assert {*conduct.SIGNS, *conduct.COUNTS} == {*app.dataframe[0].value.columns} - {"Annotator", "Form"}
    assert not any(word in str(app.dataframe[0].value.columns).casefold() for word in ("score", "risk", "bot"))


def test_page_without_visits_says_so(shown: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conduct.loading, "conduct", lambda state: {})
    assert "No page has been filled in" in look().info[0].value

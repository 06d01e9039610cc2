"""Words that stores and tables hold are values: who rewords one no longer finds what was stored before."""

from __future__ import annotations

from mturk.collecting import DOUBTS
from spa.responses.outcomes import NEVER_ASKED, NEVER_SHOWN
from spa.widgets.payload import NO_ANSWER


def test_why_answers_are_missing_is_written_as_in_earlier_stores() -> None:
    assert (NO_ANSWER, dict(NEVER_ASKED)) == (
        "no answer",
        {
            "screened_out": "screened out",
            "quota_full": "quota full",
            "failed_checks": "ended after failed checks",
            "no_consent": "no consent",
        },
    )
    assert set(NEVER_ASKED.values()) == NEVER_SHOWN


def test_doubts_about_who_submitted_are_found_in_earlier_stores() -> None:
    """A submission with one of them is approved by a person only."""
    assert set(DOUBTS.values()) == {
        "the same annotator submitted another HIT of this study before",
        "submitted without a visit to the survey server",
        "submitted by another annotator than the one who visited the survey server",
        "the form is finished, but what was submitted is not its receipt",
    }

"""Two reviewers: how far they agree, where they differ, and who settled what; nothing that only one has decided."""

from __future__ import annotations

import streamlit as st

from analysis.agreement.reviewers import ReviewAgreement, review_agreement
from analysis.monitoring.short_names import short_names
from analysis.printing.words import interval, number, sentence
from analysis.report.excluded import QUESTIONS
from spa.responses.two_reviewers import Review, reviews_of
from streamlit_app import loading
from streamlit_app.queue import action_words, address
from streamlit_app.rendering import plain, show_counts, show_statuses


def show() -> None:
    """Draw the page."""
    st.title("Reviewers")
    log = loading.decisions(of_all=True)
    reviews = reviews_of(log)
    both = [review for review in reviews if review.independent is not None]
    st.caption(
        "Two people decide on each submission. Neither sees the other's decision before making their own; where they "
        "differ, a third person decides. Only decisions that two agree on, or that a third made, are carried out."
    )
    mine = {each.submission_id for each in log if each.reviewer == loading.reviewer()}
    own = {"You decided on": f"{len(mine):,}"} if loading.reviewer() else {}
    show_statuses("Decided by two", [review.status for review in both], own)
    if not both:
        st.info("Nothing has been decided by two yet.")
        return
    st.subheader("Agreement")
    rows = review_agreement(log, named=True)
    show_counts([_agreement(row) for row in rows])
    st.caption(
        plain(
            "Counts the decisions that each made before seeing the other's. " + " ".join(dict.fromkeys(_reasons(rows)))
        )
    )
    differing = [review for review in both if review.status in ("conflict", "adjudicated")]
    if differing:
        st.subheader("Conflicts")
        _conflicts(differing)


def _agreement(row: ReviewAgreement) -> dict[str, object]:
    return {
        "Question": QUESTIONS[row.question],
        "Reviewers": " and ".join(row.reviewers),
        "Submissions": row.n,
        "Same decision": row.alike,
        "Cohen's kappa": number(row.kappa),
        "95% confidence interval": interval(row.kappa_low, row.kappa_high),
        "AC1": number(row.ac1),
        "95% confidence interval ": interval(row.ac1_low, row.ac1_high),
    }


def _reasons(rows: list[ReviewAgreement]) -> list[str]:
    return [sentence(f"{QUESTIONS[row.question]}: {row.reason}.") for row in rows if row.reason]


def _conflicts(reviews: list[Review]) -> None:
    """List conflicts, open ones first: a grid would want three taps for its link, and hide half of it on a phone."""
    visits = {visit.submission_id: visit for visit in loading.visits()}
    names = short_names([visit.annotator_id for visit in visits.values()])
    lines = []
    for review in sorted(reviews, key=lambda review: review.status != "conflict"):
        visit, third = visits[review.submission_id], review.adjudication
        said = "; ".join(_said(review, name) for name in review.reviewers)
        settled = "" if third is None else f". Decided by {_said(review, third.reviewer)}"
        link = f"[{plain(names[visit.annotator_id])}]({address(visit)})"
        lines.append(f"- {link}, {QUESTIONS[review.question]}: {plain(said + settled)}")
    st.markdown("\n".join(lines))


def _said(review: Review, reviewer: str) -> str:
    own = review.answers[reviewer]
    if not own:
        return f"{reviewer}: withdrawn"
    note = f" ({own[-1].note})" if own[-1].note else ""
    return f"{reviewer}: {action_words(own[-1].action)}{note}"

"""What raters and people wrote: a map on which a point opens its text and output, keywords, and reviewed errors.

Where two people reviewed explanations: how far they agree, where they differ, and a third's decision.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from html import escape
from itertools import cycle, islice
from typing import TYPE_CHECKING, Any

import streamlit as st

from analysis.explanations.separation import METHOD
from analysis.figures.drawing import COLOURS
from analysis.figures.plain_text import shown_name
from analysis.monitoring.short_names import short_names
from analysis.printing.names import Names
from analysis.printing.words import interval, number, sentence
from spa.errors import ResponseError
from spa.media.direction import direction_of
from streamlit_app import blinding, loading
from streamlit_app.rendering import plain, show_counts, show_material, show_sections, show_statuses

if TYPE_CHECKING:
    from analysis.explanations.exploration import Exploration
    from analysis.explanations.texts import ExplainedText
    from analysis.explanations.two_reviewers import CriterionAgreement, ExplanationReview, Place
    from spa.records.outputs import Outputs
    from spa.records.study import Study

MAP, KEYWORDS, ERRORS, TWO = "Map", "Keywords", "Errors found", "Two reviewers"
PICK = "picked"  # the name of the selection in the chart
SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down")
STARTS = 60  # characters of a text in the list
EVERYBODY = "everybody"
CONFLICT = "conflict"  # key of the session


def show() -> None:
    """Draw the page."""
    st.title("Explanations")
    state = loading.state()
    names, errors = loading.analysed(state).names, loading.errors_reviewed(state)
    two = loading.have_explanations_two_reviewers()
    parts = [MAP, KEYWORDS, *([ERRORS] if errors else []), *([TWO] if two else [])]
    part = st.segmented_control("Part", parts, default=MAP, required=True, label_visibility="collapsed")
    if part == ERRORS and errors:
        if not blinding.may_show():
            return
        show_sections({errors.id: errors})
        return
    if part == TWO:
        _two_reviewers()
        return
    if not loading.is_explored(state):
        _wait(state)
        return
    (_map if part == MAP else _keywords)(loading.exploration(state), names)


@st.fragment(run_every=2)
def _wait(state: str) -> None:
    if loading.is_explored(state):
        st.rerun()
    st.info("Reading the explanations\N{HORIZONTAL ELLIPSIS}", icon="spinner")


def _map(found: Exploration, names: Names) -> None:
    groups = list(dict.fromkeys(one.group for one in found.texts))
    chosen = EVERYBODY
    if len(groups) > 1:
        chosen = st.selectbox(
            "Written by", [EVERYBODY, *groups], format_func=lambda one: one if one == EVERYBODY else names.group(one)
        )
    places = [place for place, one in enumerate(found.texts) if chosen in (EVERYBODY, one.group)]
    left, right = st.columns([3, 2])
    with left:
        picked = _chart(found, places, names)
    with right:
        lines = {at: f"{names.criterion(found.texts[at].criterion)}: {found.texts[at].text[:STARTS]}" for at in places}
        invitation = "Choose a point or a text"
        listed = st.selectbox("Text", places, index=None, placeholder=invitation, format_func=lines.__getitem__)
        place = listed if picked is None else picked
        if place is not None:
            _open(found.texts[place], names)
    st.caption(plain(_how(found)))
    for row in found.separations:
        if chosen in (EVERYBODY, row.group):
            st.caption(plain(f"{names.group(row.group)}: {row.words()}."))


def _how(found: Exploration) -> str:
    shown = len(found.texts)
    some = f" {shown:,} of {found.n_texts:,} texts, drawn at random." if found.n_texts > shown else ""
    return (
        f"Texts close to each other have similar wording: {found.projection} of {found.embedding}.{some} "
        f"Larger distances on the map mean little. {METHOD}"
    )


def _chart(found: Exploration, places: Sequence[int], names: Names) -> int | None:
    """Draw the map; return the text whose point was picked."""
    rows = [
        {
            "point": place,
            "x": float(found.points[place, 0]),
            "y": float(found.points[place, 1]),
            "criterion": shown_name(names.criterion(found.texts[place].criterion)),
            "item": shown_name(found.texts[place].item_id or ""),
        }
        for place in places
    ]
    criteria = list(dict.fromkeys(row["criterion"] for row in rows))
    colours = {"domain": criteria, "range": list(islice(cycle(COLOURS), len(criteria)))}
    shapes = {"domain": criteria, "range": list(islice(cycle(SHAPES), len(criteria)))}
    legend = {"orient": "bottom", "columns": 2, "title": None}
    by = {"field": "criterion", "type": "nominal", "legend": legend}
    across: dict[str, Any] = {"type": "quantitative", "axis": None, "scale": {"zero": False}}
    spec = {
        "data": {"values": rows},
        "mark": {"type": "point", "filled": True, "size": 70},
        "params": [{"name": PICK, "select": {"type": "point", "fields": ["point"]}}],
        "encoding": {
            "x": {"field": "x", **across},
            "y": {"field": "y", **across},
            "color": {**by, "scale": colours},
            "shape": {**by, "scale": shapes},
            "opacity": {"condition": {"param": PICK, "value": 0.9}, "value": 0.25},
            "tooltip": [{"field": name, "type": "nominal"} for name in ("criterion", "item")],
        },
        "height": 460,
        "usermeta": {"embedOptions": {"renderer": "svg"}},
    }
    alt = f"A map of {len(rows):,} texts by criterion; the list beside it opens each of them."
    event: Any = st.vega_lite_chart(spec, on_select="rerun", selection_mode=PICK, alt=alt)
    picked: list[Mapping[str, Any]] = event["selection"].get(PICK) or []
    return int(picked[0]["point"]) if picked and picked[0]["point"] in places else None


def _open(one: ExplainedText, names: Names) -> None:
    hidden = blinding.are_hidden()
    systems = [names.system(system) for system in (one.system, one.system_y) if system is not None and not hidden]
    about = [names.criterion(one.criterion), " over ".join(systems), one.item_id or ""]
    answer = "" if one.value is None else f": {number(one.value)}"
    st.markdown(f"**{plain(', '.join(filter(None, about)))}**{plain(answer)}")
    (short,) = short_names([one.annotator_id]).values()
    whole = None if short == one.annotator_id else plain(f"Annotator {one.annotator_id}")
    st.caption(plain(f"{names.group(one.group)}, {short}"), help=whole)
    _quote(one.text)
    if not loading.has_store() or one.item_id is None:
        return
    outputs = loading.workspace().outputs
    item = outputs.by_id.get(one.item_id)
    if item is not None and item.is_given:
        st.markdown("**What systems were given**")
        show_material(st, item)
    for system, sample in ((one.system, one.sample), (one.system_y, one.sample_y)):
        samples = () if system is None else outputs.of(one.item_id, system)
        output = samples[int(sample or 1) - 1] if samples else None
        if output is None:
            continue
        st.markdown("**Output**" if hidden else f"**{plain(names.system(system))}**")
        show_material(st, output)


def _quote(text: str) -> None:
    parts = "".join(f'<p dir="{direction_of(part)}">{escape(part)}</p>' for part in text.split("\n") if part.strip())
    st.html(f'<div class="spa-report">{parts}</div>')


def _keywords(found: Exploration, names: Names) -> None:
    groups = list(dict.fromkeys(row.group for row in found.keywords))
    if not groups:
        st.info("These texts have no keywords.")
        return
    group = groups[0] if len(groups) == 1 else st.selectbox("Written by", groups, format_func=names.group)
    table: dict[int, dict[str, object]] = {}
    criteria = list(dict.fromkeys(row.criterion for row in found.keywords if row.group == group))
    for row in found.keywords:
        if row.group == group:
            empty: dict[str, object] = {"Rank": row.rank, **{names.criterion(one): None for one in criteria}}
            table.setdefault(row.rank, empty)[names.criterion(row.criterion)] = f"{row.keyword} ({row.n_texts:,})"
    show_counts([*table.values()])
    st.caption(plain(f"In brackets: number of texts that contain it. {found.keyword_note()}"))


def _two_reviewers() -> None:
    """Show how far two reviewers agree and where they differ, and let a third settle that."""
    from analysis.explanations.two_reviewers import agreement_by_criterion

    with loading.review_study() as opened:
        review, study, outputs = loading.explanation_review(opened), opened.study, opened.outputs
    st.caption(
        "Two people judged each explanation without seeing the other's answers; where they differ, a third decides."
    )
    show_statuses("Answered by two", [review.status(place) for place in review.places])
    criteria = {one.id: one for one in study.criteria}
    rows = agreement_by_criterion(review, study)
    st.subheader("Agreement")
    show_counts([{"Criterion": criteria[row.criterion].name, **_agreement(row)} for row in rows])
    reasons = [
        sentence(f"{', '.join(criteria[row.criterion].name for row in rows if row.reason == reason)}: {reason}.")
        for reason in dict.fromkeys(row.reason for row in rows if row.reason)
    ]
    lines = [f"Of {review.first.reviewer} and {review.second.reviewer}, before a third person decided.", *reasons]
    st.caption(plain(" ".join(lines)))
    if review.conflicts:
        st.subheader("Conflicts")
        _conflicts(review, study, outputs)


def _agreement(row: CriterionAgreement) -> dict[str, object]:
    cells: dict[str, object] = {"Answers": row.n, "Alike": row.alike}
    for place, (name, one) in enumerate((("Cohen's kappa", row.kappa), ("AC1", row.ac1))):
        cells |= {name: number(one.value), "95% confidence interval" + " " * place: interval(one.ci_low, one.ci_high)}
    return cells


def _conflicts(review: ExplanationReview, study: Study, outputs: Outputs) -> None:
    """Show the conflicts, those that are open first, and one of them whole; raters stay without names."""
    criteria = {one.id: one for one in study.criteria}
    options = {name: {float(one.score or 0): one.text for one in each.options} for name, each in criteria.items()}
    numbers = {system.id: f", {number}" if number > 1 else "" for number, system in enumerate(study.systems, start=1)}
    places = sorted(review.conflicts, key=lambda place: (place in review.settlements, place))
    rows = []
    for place in places:
        third, said = review.settlements.get(place), options[place[2]]
        rows.append(
            {
                "Explanation": place[0] + numbers[place[1]],
                "Criterion": criteria[place[2]].name,
                **{own.reviewer: said[own.scores[place]] for own in (review.first, review.second)},
                "Decided by a third": "" if third is None else f"{third.reviewer}: {said[third.score]}",
            }
        )
    st.dataframe(rows, hide_index=True)
    lines = {place: f"{row['Explanation']}: {row['Criterion']}" for place, row in zip(places, rows, strict=True)}
    place = st.selectbox("Conflict", places, format_func=lines.__getitem__, key=CONFLICT)
    _settle(review, place, options[place[2]])
    st.markdown(f"**{plain(criteria[place[2]].question or '')}**")
    _quote(outputs.item(place[0]).text or "")
    _quote(outputs.output(place[0], place[1], 1).text or "")


def _settle(review: ExplanationReview, place: Place, options: Mapping[float, str]) -> None:
    """Say who answered what and when, and let somebody who is neither of the two answer."""
    for own in (review.first, review.second):
        st.caption(plain(f"{own.reviewer}: {options[own.scores[place]]} ({_when(own.at)})"))
    who, third = loading.reviewer(), review.settlements.get(place)
    if third is not None:
        st.caption(plain(f"{third.reviewer} settled: {options[third.score]} ({_when(third.at)})"))
    if who is None:
        st.info("Read-only. Start the dashboard with --reviewer NAME, or use a link of your own, to decide.")
    elif who in (review.first.reviewer, review.second.reviewer):
        st.info("You are one of the two reviewers: a third person decides here.")
    elif third is None:
        with st.container(horizontal=True):
            for score, text in options.items():
                st.button(plain(text), key=f"settle-{score}", on_click=_keep, args=(review, place, score))
    elif third.reviewer == who:
        st.button("Take back", on_click=_keep, args=(review, place, None))


def _when(at: str) -> str:
    return f"{datetime.fromisoformat(at):%Y-%m-%d %H:%M} UTC"


def _keep(review: ExplanationReview, place: Place, score: float | None) -> None:
    try:
        loading.settle(review, place, score)
    except ResponseError as error:
        st.error(plain(error))
        return
    if score is not None:
        still = (one for one in review.conflicts if one not in review.settlements and one != place)
        st.session_state[CONFLICT] = next(still, place)

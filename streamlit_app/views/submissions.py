"""One submission after the other: what was handed in, how it looks beside the others, and what is decided about it."""

from __future__ import annotations

import shlex
import time
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import streamlit as st

from analysis.monitoring.compared_answers import ComparedAnswer, compare_answers
from analysis.monitoring.short_names import short_names
from analysis.printing.names import Names
from analysis.printing.words import number, percent
from spa.errors import AnalysisError, ResponseError
from spa.platforms.review import rules_for
from spa.responses.decisions import Action, Decision, parse_amount
from spa.study.narrowing import respondents_of
from streamlit_app import blinding, loading
from streamlit_app.queue import CHOSEN, DECIDED, SUBMITTED, ReviewEntry, action_words, entries_of, matches
from streamlit_app.rendering import plain, show_metrics
from streamlit_app.submitted_form import address_of

FRAME = 760  # pixels of the form
STATUS = "status"  # key of the session
WITH_NOTE: dict[Action, str] = {
    "exclude": "Leave out of the analysis",
    "include": "Include in the analysis again",
    "propose_rejection": "Propose rejection",
    "bonus": "Bonus",
    "message": "Message",
}


def show() -> None:
    """Draw the page."""
    st.title("Submissions")
    blind = st.toggle("Blind: hide systems, other people's answers and earlier decisions", key="blind")
    entries = _entries(loading.state())
    if not entries:
        st.info("Nobody has started yet.")
        return
    kept = _filtered(entries, blind)
    if not kept:
        st.info("No submission matches these filters.")
        return
    entry = _choose(kept, blind)
    _facts(entry, blind)
    form, beside = st.columns([3, 2])
    with form:
        _form(entry)
    with beside:
        _decide(entry, blind)
        if not blind:
            _beside(entry)


def _entries(state: str) -> list[ReviewEntry]:
    try:
        found = loading.analysed(state).rules
        profiles = {each.annotator_id: each for each in loading.profiles(state)}
    except AnalysisError:  # nothing is handed in yet; visits under way are shown all the same
        found, profiles = {}, {}
    rules = {annotator: tuple(rule for rule in own if rule != "review") for annotator, own in found.items()}
    return entries_of(loading.visits(), loading.current_decisions(), profiles, rules, loading.conflicts())


def _filtered(entries: list[ReviewEntry], blind: bool) -> list[ReviewEntry]:
    columns = st.columns([2, 2, 2, 3])
    statuses = ["all", *dict.fromkeys(entry.status for entry in entries)]
    asked = st.query_params.get(CHOSEN)  # of the address: one submission, whatever its status
    if asked is not None:
        st.session_state[CHOSEN] = asked
        del st.query_params[CHOSEN]
        st.session_state[STATUS] = "all"
    elif st.session_state.get(STATUS) not in statuses:
        st.session_state[STATUS] = SUBMITTED if SUBMITTED in statuses else "all"
    status = columns[0].selectbox("Status", statuses, key=STATUS)
    decided = columns[1].selectbox("Decided", DECIDED if loading.two_reviewers() else DECIDED[:-1], disabled=blind)
    source = columns[2].selectbox("Source", ["all", *dict.fromkeys(entry.visit.source for entry in entries)])
    flagged = columns[3].toggle("Only those that the plan excludes", disabled=blind)
    decided = "all" if blind else decided
    only_flagged = flagged and not blind
    return [
        entry
        for entry in entries
        if matches(entry, status=status, decided=decided, only_flagged=only_flagged, source=source)
    ]


def _choose(kept: list[ReviewEntry], blind: bool) -> ReviewEntry:
    """Let the reviewer go through the queue; the place in it survives a decision."""
    ids = [entry.visit.submission_id for entry in kept]
    names = short_names([entry.visit.annotator_id for entry in kept])
    place = ids.index(st.session_state[CHOSEN]) if st.session_state.get(CHOSEN) in ids else 0
    with st.container(horizontal=True, vertical_alignment="center"):
        if st.button("Previous", shortcut="k", disabled=place == 0):
            place -= 1
        if st.button("Next", shortcut="j", disabled=place == len(ids) - 1):
            place += 1
        position = st.empty()
    with st.expander(f"Queue of {len(ids):,}"):
        rows = [_line(entry, names, blind) for entry in kept]
        picked = st.dataframe(
            rows, hide_index=True, on_select="rerun", selection_mode="single-row", height=300, key="queue"
        )
        selected = picked["selection"]["rows"]
        if selected and st.session_state.get("picked") != selected:
            place = selected[0]
        st.session_state["picked"] = selected
    keep = ", i keep in" if loading.two_reviewers() else ""
    keys = "j next, k previous" + (f", a approve, x leave out{keep}, u undo" if loading.reviewer() else "")
    chosen = kept[place].visit.annotator_id
    where = plain(f"{place + 1:,} of {len(ids):,}. Annotator {names[chosen]}. Keys: {keys}")
    position.caption(where, help=None if names[chosen] == chosen else plain(f"Annotator {chosen}"))
    st.session_state[CHOSEN] = ids[place]
    return kept[place]


def _line(entry: ReviewEntry, names: Mapping[str, str], blind: bool) -> dict[str, Any]:
    line = {
        "Annotator": names[entry.visit.annotator_id],
        "Form": entry.visit.assignment_id,
        "Status": entry.status,
        "Source": entry.visit.source,
        "Minutes": None if entry.minutes is None else round(entry.minutes, 1),
        "Pages": entry.visit.pages,
    }
    return line if blind else {**line, "Excluded by the plan": ", ".join(entry.rules), "Decided": entry.decided}


def _facts(entry: ReviewEntry, blind: bool) -> None:
    profile, visit = entry.profile, entry.visit
    came = datetime.fromtimestamp(visit.leased_at, UTC)
    facts = [("Status", entry.status), ("Began (UTC)", f"{came:%d %b %H:%M}"), ("Minutes", number(entry.minutes, 1))]
    if profile is not None:
        facts.append(("Largest sum", number(profile.largest_sum)))
        facts.append(("Same answer", percent(profile.same_answer)))
        if not blind:
            facts += [("Agreement", number(profile.correlation)), ("Severity", number(profile.severity))]
    show_metrics(dict(facts))
    if entry.rules and not blind:
        st.warning(f"The plan excludes this annotator: {plain(', '.join(entry.rules))}.")


def _form(entry: ReviewEntry) -> None:
    if not entry.visit.pages:
        st.info("Nothing was submitted in this visit.")
    st.iframe(address_of(entry.visit.submission_id), height=FRAME)


def _beside(entry: ReviewEntry) -> None:
    """Show the answers beside those of others, and what the labels hid."""
    try:
        tables = loading.answers(loading.state()).tables
    except AnalysisError:
        return
    names = loading.analysed(loading.state()).names
    rows = compare_answers(tables, entry.visit.annotator_id, entry.visit.assignment_id)
    if not rows:
        return
    key = loading.workspace().store.assignments.key(
        entry.visit.assignment_id, respondents_of(entry.visit.annotator_kind)
    )
    st.markdown("**Compared with the others**")
    if blinding.may_show():
        st.caption(plain("; ".join(f"{label} is {names.system(system)}" for label, system in key.systems.items())))
    st.dataframe([_compared(row, names) for row in rows], hide_index=True, height=min(420, 36 * (len(rows) + 1)))
    for row in rows:
        if row.explanation:
            st.caption(plain(f"{_about(row, names)}: {row.explanation}"))


def _compared(row: ComparedAnswer, names: Names) -> dict[str, Any]:
    said = percent if row.source != "ratings" else number
    return {
        "Question": _about(row, names),
        "This annotator": said(row.own) if row.own is not None else row.reason,
        "People": said(row.people),
        "n": row.n_people,
        "Raters": said(row.raters),
    }


def _about(row: ComparedAnswer, names: Names) -> str:
    labels = " over ".join(row.labels or (() if blinding.are_hidden() else row.systems))
    item = "" if row.item_id is None else f", {row.item_id}"
    return f"{labels}{item}: {names.criterion(row.criterion)}"


def _decide(entry: ReviewEntry, blind: bool) -> None:
    reviewer = loading.reviewer()
    if not blind:
        _log(entry)
    if reviewer is None:
        st.info("Read-only. Start the dashboard with --reviewer NAME, or use a link of your own, to decide.")
        return
    decisions, two = entry.decisions, loading.two_reviewers()
    if two:
        _roles(entry, reviewer)
    row = st.container(horizontal=True)
    if row.button("Approve", shortcut="a", type="primary", disabled=decisions.payment is not None and not blind):
        _keep(entry, "approve", reviewer)
    leave = row.button("Leave out", shortcut="x", disabled=decisions.exclusion is not None and not blind)
    if two and row.button("Keep in", shortcut="i", disabled=decisions.inclusion is not None and not blind):
        _keep(entry, "include", reviewer)
    if row.button("Undo last", shortcut="u", disabled=_last(entry) is None):
        _undo(entry, reviewer)
    if leave:
        st.session_state["asked"] = (entry.visit.submission_id, "exclude")
    asked = st.session_state.get("asked")
    waiting = asked[1] if asked and asked[0] == entry.visit.submission_id else "exclude"
    actions = tuple(WITH_NOTE)
    action = st.selectbox(
        "Decision with a note", actions, index=actions.index(waiting), format_func=WITH_NOTE.__getitem__
    )
    _with_note(entry, action, reviewer)


def _roles(entry: ReviewEntry, reviewer: str) -> None:
    """Say what a second or third reviewer should know, and offer to decide on the same bonus or message."""
    for review in entry.conflicts:
        named = " and ".join(review.reviewers)
        what = "pay" if review.question == "payment" else "the analysis"
        end = "a third person decides" if reviewer in review.reviewers else "your decision counts"
        st.warning(plain(f"{named} differ on {what}: {end}."))
    if not entry.conflicts:
        st.caption(
            "Two people decide. You see the other's decision on pay, or on the analysis, once you have made yours."
        )
    visible = _in_force(entry)
    own = [(each.action, each.amount, each.note) for each in visible if each.reviewer == reviewer]
    for each in visible:
        said = (each.action, each.amount, each.note)
        if each.action in ("bonus", "message") and each.reviewer != reviewer and said not in own:
            if st.button(plain(f"Agree to the {each.action} of {each.reviewer}"), key=f"same-{each.number}"):
                loading.decide(replace(each, reviewer=reviewer, decided_at=time.time(), number=None))
                st.rerun()


def _with_note(entry: ReviewEntry, action: Action, reviewer: str) -> None:
    rules = rules_for(entry.visit.source) if action == "propose_rejection" else None
    if rules is not None:
        st.caption(plain(f"{rules.platform}: a message of at least {rules.shortest_message} characters."))
        for line in rules.lines:
            st.caption(plain(line))
    with st.form(f"decide-{action}", clear_on_submit=True):
        rule = amount = ""
        if rules is not None and rules.categories:
            rule = st.selectbox("Category", rules.categories)
        elif action in ("exclude", "propose_rejection"):
            rule = st.text_input("Rule", help="in a few words, such as: same answer throughout")
        elif action == "bonus":
            amount = st.text_input(f"Amount in {loading.workspace().study.people.currency}")
        words = "Text to the annotator" if action in ("message", "propose_rejection") else "Note"
        words = "Reason, which a platform may show the annotator" if action == "bonus" else words
        note = st.text_area(words) if action != "include" else ""
        if st.form_submit_button("Save this decision"):
            _keep(entry, action, reviewer, rule=rule, note=note, amount=amount)
    _carried_out(entry.visit.source)


def _carried_out(source: str) -> None:
    """Say what carries decisions out: the commands of the platform that the submission came from, if it has one."""
    rules = rules_for(source)
    if rules is None:
        words = f"Nothing is paid or sent: the source {source} is not a platform that pays."
        st.caption(plain(words))
        return
    words = f"Nothing is paid or sent from here. {rules.platform}: these commands print what they would do with the "
    st.caption(plain(words + "decisions; with --yes they do it."))
    study = shlex.quote(str(loading.options().path))
    st.code("\n".join(command.replace("STUDY", study) for command in rules.commands), language=None, wrap_lines=True)


def _keep(
    entry: ReviewEntry, action: Action, reviewer: str, *, rule: str = "", note: str = "", amount: str = ""
) -> None:
    try:
        decision = Decision(
            submission_id=entry.visit.submission_id,
            action=action,
            reviewer=reviewer,
            decided_at=time.time(),
            rule=rule.strip() or None,
            note=note.strip() or None,
            amount=parse_amount(amount) if action == "bonus" else None,
        )
        loading.decide(decision)
    except ResponseError as error:
        st.error(plain(error))
        return
    st.session_state.pop("asked", None)
    st.rerun()


def _last(entry: ReviewEntry) -> Decision | None:
    """Return the latest decision on a visit that still stands; where two decide, of this session's reviewer."""
    mine = [each for each in _in_force(entry) if not loading.two_reviewers() or each.reviewer == loading.reviewer()]
    return mine[-1] if mine else None


def _of_visit(entry: ReviewEntry) -> list[Decision]:
    return [each for each in loading.decisions() if each.submission_id == entry.visit.submission_id]


def _in_force(entry: ReviewEntry) -> list[Decision]:
    log = _of_visit(entry)
    undone = {each.undoes for each in log}
    return [each for each in log if each.action not in ("undo", "settle") and each.number not in undone]


def _undo(entry: ReviewEntry, reviewer: str) -> None:
    last, now = _last(entry), time.time()
    if last is None:
        return
    visit, number = last.submission_id, last.number
    loading.decide(Decision(submission_id=visit, action="undo", reviewer=reviewer, decided_at=now, undoes=number))
    st.rerun()


def _log(entry: ReviewEntry) -> None:
    for each in _of_visit(entry):
        when = datetime.fromtimestamp(each.decided_at, UTC)
        what = action_words(each.action) + (f" number {each.undoes}" if each.undoes else "")
        parts = [f"{each.number}. {what}", str(each.amount or ""), each.rule or "", each.note or ""]
        said = ": ".join(part for part in parts if part)
        st.caption(plain(f"{said} ({each.reviewer}, {when:%Y-%m-%d %H:%M} UTC)"))

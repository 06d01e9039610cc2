"""How people's pages were filled in: signs side by side, by each of which visits can be sorted, and no verdict."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import polars as pl
import streamlit as st

from analysis.monitoring.short_names import short_names
from spa.responses.conduct_rows import VisitConduct
from spa.responses.visits import PersonVisit
from spa.tables.formulas import without_formulas
from streamlit_app import downloads, loading
from streamlit_app.queue import address
from streamlit_app.rendering import plain

SAID = (
    "What the pages' script counted, for a look at single forms. Each sign has honest reasons; none is proof, "
    "and nobody is refused, unpaid or excluded by it."
)
SIGNS: Mapping[str, str] = {  # what visits are sorted by, and what may lie behind it
    "Pasted letters": "pasted into free texts; people who write elsewhere, or in another language, paste too",
    "Pastes": "how often; see pasted letters",
    "Times away": "how often the page was left for two seconds or more; a message, a dictionary, a break",
    "Minutes away": "how long in all",
    "Answers without input": "given without pointer, touch or key; programs; screen readers and speech control too",
    "Faster than a hand": "given with a mouse sooner after the answer before than a hand gets there; programs",
    "Program says so": "1 where the browser says that a program controls it; also testing tools, and some kiosks",
    "Hidden box ticked": "pages on which the box is ticked that no person sees (honeypot)",
    "Word for programs": "pages with the word in a free text that programs are asked to write (injected)",
    "Pages without evidence": "no evidence is no guilt: neither browsers without script nor posts of programs count",
    "Unreadable pages": "what was sent instead of counts is none",
    "Refuted pages": "absences longer than passed on the server's clock; what they count is left out here",
}
COUNTS: Mapping[str, str] = {
    "Pages": "pages sent",
    "Answers": "first entries in questions",
    "Answers timed": "answers by mouse after one by mouse, of which the speed can be judged",
    "Movements": "of a mouse; how many depends on the device",
    "Touches": "of a finger or pen",
    "Keys": "pressed; which ones is not recorded",
}


def show() -> None:
    """Draw the page."""
    st.title("Conduct")
    st.caption(SAID)
    visits = [visit for visit in loading.visits() if visit.annotator_kind == "human" and visit.pages]
    found = loading.conduct(loading.state())
    known = [(visit, found[visit.submission_id]) for visit in visits if visit.submission_id in found]
    if not known:
        st.info("No page has been filled in here yet. Pages of HITs, and of simulated people, count nothing.")
        return
    frame = table(known)
    signs = seen_signs(frame)
    if signs:
        by = st.selectbox("Sort by", signs, help="signs that were seen, those of the fewest visits first")
        frame = frame.sort(by, descending=True, maintain_order=True)
    else:
        st.caption("No sign was seen.")
    shown = {"Form": st.column_config.LinkColumn("Form", display_text="open", help="the form with its answers")}
    for name, meaning in (*SIGNS.items(), *COUNTS.items()):
        shown[name] = st.column_config.NumberColumn(name, help=meaning)
    st.dataframe(frame, hide_index=True, column_config=shown, height=min(600, 38 * (frame.height + 1)))
    with st.expander("What the columns mean"):
        meanings = {**SIGNS, **COUNTS}.items()
        st.markdown("\n".join(f"- **{name}**: {plain(meaning)}" for name, meaning in meanings))
    csv = without_formulas(frame.drop("Form"))
    downloads.offer("Download as CSV", csv.write_csv, f"{loading.options().name}-conduct.csv", "text/csv")


def table(known: Iterable[tuple[PersonVisit, VisitConduct]]) -> pl.DataFrame:
    """Return a row a visit, in the order in which they came."""
    visits = list(known)
    names = short_names([visit.annotator_id for visit, _ in visits])
    rows = [
        {"Annotator": names[visit.annotator_id], "Form": address(visit), **_cells(conduct)} for visit, conduct in visits
    ]
    return pl.DataFrame(rows, infer_schema_length=None)


def seen_signs(frame: pl.DataFrame) -> list[str]:
    """Return the signs that any visit shows, the most unusual first: that of the fewest visits."""
    counts = {sign: int((frame[sign] > 0).sum()) for sign in SIGNS}
    return sorted((sign for sign, count in counts.items() if count), key=lambda sign: counts[sign])


def _cells(found: VisitConduct) -> dict[str, float]:
    counted = found.counted
    signs = (
        counted.letters,
        counted.pastes,
        counted.away,
        round(counted.seconds / 60, 2),
        counted.unprompted,
        counted.fast,
        counted.automated,
        found.honeypot,
        found.injected,
        found.none,
        found.unreadable,
        found.refuted,
    )
    counts = (found.pages, counted.answers, counted.timed, counted.moves, counted.touches, counted.keys)
    return {**dict(zip(SIGNS, signs, strict=True)), **dict(zip(COUNTS, counts, strict=True))}

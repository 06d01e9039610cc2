"""Which system is which, and who wins, stay hidden until the study's end or until somebody asks, which is noted."""

from __future__ import annotations

import streamlit as st

from streamlit_app import loading

SHOWN = "systems-shown"  # key of the session


def are_hidden() -> bool:
    """Return whether this session does not see the systems: only in a study under way, and only until it asks."""
    if not loading.has_store() or loading.person().unblinded or st.session_state.get(SHOWN):
        return False
    return not loading.has_ended()


def may_show() -> bool:
    """Return whether systems are to be shown; if not, say so and offer to show them."""
    if not are_hidden():
        return True
    st.info("Systems and results are hidden until the study ends, so that nobody decides by them.")
    if st.button("Show systems and results", help="The log will say that you asked."):
        loading.note("show systems")
        st.session_state[SHOWN] = True
        st.rerun()
    return False

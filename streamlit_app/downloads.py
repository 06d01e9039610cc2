"""Files to take away: only for those whose link allows it, and each is noted in the log with who took it."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from streamlit_app import loading


def offer(
    label: str, make: Callable[[], str | bytes], file: str, kind: str, *, within: DeltaGenerator | None = None
) -> None:
    """Show the button of a file, which is made when it is asked for."""
    button = st.download_button if within is None else within.download_button
    if not loading.person().may("export"):
        button(label, "", file, kind, disabled=True, help="Your link does not allow downloads.")
        return
    button(label, loading.logged(file, make), file, kind, on_click="ignore")  # a page drawn anew may lose the file

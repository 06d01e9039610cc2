"""The application that ``spa dashboard`` starts: the way to each page; the door has let in who comes here."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

import streamlit as st

from spa.errors import SpaError
from streamlit_app import loading
from streamlit_app.command import dashboard
from streamlit_app.rendering import PAGES_KEY, plain, style

ICON = (  # in the page's tab, drawn here: nothing is fetched from elsewhere
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><rect width="16" height="16" rx="3" fill="#0072B2"/>'
    '<path d="M4 12V8M8 12V4M12 12V6" stroke="#fff" stroke-width="2" stroke-linecap="round"/></svg>'
)
WITHOUT_STORE = ("Systems", "Annotators", "Raters", "Explanations", "Report")
PAGES = {
    "Overview": ":material/monitoring:",
    "Live": ":material/timeline:",
    "Submissions": ":material/fact_check:",
    "Reviewers": ":material/handshake:",
    "Systems": ":material/leaderboard:",
    "Annotators": ":material/group:",
    "Conduct": ":material/mouse:",
    "Raters": ":material/smart_toy:",
    "Explanations": ":material/scatter_plot:",
    "Report": ":material/description:",
    "Plan": ":material/calculate:",
    "Log": ":material/history:",
}


def _shown_by(title: str) -> Callable[[], None]:
    """Return what draws a page; its module, and what that needs of the analysis, is loaded when it is opened."""

    def show() -> None:
        import_module(f"streamlit_app.views.{title.lower()}").show()

    return show


def main() -> None:
    """Show the page that was chosen, or one line that says why nothing can be shown."""
    st.set_page_config(page_title="spa dashboard", page_icon=ICON, layout="wide")
    style()
    offered = [title for title in PAGES if loading.has_store() or title in WITHOUT_STORE]
    if not loading.is_live():
        offered = [title for title in offered if title != "Live"]
    if not loading.two_reviewers():
        offered = [title for title in offered if title != "Reviewers"]
    pages = [
        st.Page(
            _shown_by(title),
            title=title,
            icon=PAGES[title],
            url_path=title.lower() if number else "start",
            default=not number,
        )
        for number, title in enumerate(offered)
    ]
    by_name = st.Page(  # the first page is at "/"; a link to its name leads there too
        lambda: st.switch_page(pages[0]), title=pages[0].title, url_path=offered[0].lower(), visibility="hidden"
    )
    st.session_state[PAGES_KEY] = dict(zip(offered, pages, strict=True))
    chosen = st.navigation([*pages, by_name], position="top")
    try:
        title = loading.workspace().study.title if loading.has_store() else loading.options().tables
        who = loading.person().name
        st.caption(plain(f"{title} ({who})" if who else title))
        if notice := loading.notice():
            st.caption(plain(notice))
        chosen.run()
    except SpaError as error:
        options = {given.name or "": given.opts[0] for given in dashboard.params}
        st.info(plain("\n".join(error.with_options(options))), icon=":material/info:")


if __name__ == "__main__":
    main()

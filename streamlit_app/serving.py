"""The server of the dashboard, and the message that says where it is."""

from __future__ import annotations

import threading
import time
from contextlib import ExitStack
from http.client import HTTPConnection, HTTPException
from importlib import import_module
from pathlib import Path

import click

from spa.commands.workspace import Workspace, open_workspace
from spa.server.http_server import listen, run
from spa.server.security_headers import SecurityHeaders
from streamlit_app.background_analysis import BackgroundAnalysis
from streamlit_app.options import LOOPBACK, DashboardOptions

BETWEEN = 0.02  # seconds between two tries whether it answers
ANYWHERE = {"0.0.0.0": "127.0.0.1", "": "127.0.0.1", "::": "::1"}  # where an address that means all is reached
FIRST, OTHERS = "overview", ("submissions", "reviewers", "systems", "annotators", "raters", "report", "plan")
LATER = ("pandas", *(f"streamlit_app.views.{name}" for name in OTHERS))  # pandas is what st.dataframe draws with

POLICY = (  # Streamlit puts styles into its pages; a submission's form has a stricter policy
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; "
    "font-src 'self' data:; connect-src 'self'; frame-src 'self'; manifest-src 'self'; form-action 'none'; "
    "frame-ancestors 'none'; base-uri 'none'"
)


def serve(options: DashboardOptions, background: BackgroundAnalysis, *, host: str, port: int, browser: bool) -> None:
    """Serve until interrupted; the link is printed once it leads somewhere.

    Raise SpaError if what is to be shown cannot be opened, or the address cannot be used: one line, before anything is
    served.
    """
    with ExitStack() as closing:
        workspace: Workspace | None = None
        if options.study is not None:
            workspace = closing.enter_context(open_workspace(options.path, options.store, read_only=True))
            title = workspace.study.title
        else:
            from streamlit_app.table_files import table_files

            names = ", ".join(path.name for path in table_files(Path(options.tables or "")).values())
            title = f"{names} in {options.tables}"
        listener = closing.enter_context(listen(host, port))
        port = listener.socket.getsockname()[1]
        from streamlit.web import bootstrap

        settings = _settings(host, port)
        bootstrap.load_config_options({name.replace(".", "_"): value for name, value in settings.items()})
        from starlette.middleware import Middleware
        from streamlit.starlette import App

        from streamlit_app import loading, submitted_form  # once it is known how loud to be

        loading.start(loading.Started(options=options, workspace=workspace, background=background))

        def announce() -> None:
            while not _answers(ANYWHERE.get(host, host), port):
                time.sleep(BETWEEN)
            link = f"http://{'localhost' if host in LOOPBACK else host}:{port}/"
            link += f"?token={options.token}" if options.token else ""
            click.echo(_greeting(title, link, options.reviewers))
            if browser:
                click.launch(link)
            _load(background)

        threading.Thread(target=announce, daemon=True).start()
        app = App(
            Path(__file__).with_name("main.py"),
            routes=[submitted_form.ROUTE],
            middleware=[Middleware(SecurityHeaders, policy=lambda: POLICY)],
        )
        run(app, listener)


def _greeting(title: str, link: str, reviewers: tuple[str, ...]) -> str:
    decides = f"{' or '.join(reviewers)} decides" if reviewers else "read-only (use --reviewer NAME to decide)"
    return f"{title}: {link}\n{decides}. Ctrl-C stops the dashboard."


def _answers(host: str, port: int) -> bool:
    connection = HTTPConnection(host, port)
    try:
        connection.request("GET", "/_stcore/health")
        return connection.getresponse().status == 200
    except (OSError, HTTPException):
        return False
    finally:
        connection.close()


def _load(background: BackgroundAnalysis) -> None:
    """Load what the first page needs while the browser loads the page, and the rest after the analysis."""
    import_module(f"streamlit_app.views.{FIRST}")
    background.wait()
    for name in LATER:
        import_module(name)


def _settings(host: str, port: int) -> dict[str, object]:
    return {
        "server.address": host,
        "server.port": port,
        "server.headless": True,
        "server.fileWatcherType": "none",
        "server.enableStaticServing": False,
        "server.enableXsrfProtection": True,
        "server.enableCORS": True,
        "browser.gatherUsageStats": False,
        "client.toolbarMode": "minimal",
        "client.showErrorDetails": "none",
        "client.disableDataExport": True,  # its CSV would hold cells that a spreadsheet runs; ours do not
        "logger.level": "error",
        "logger.hideWelcomeMessage": True,  # its link has no token
        "theme.light.primaryColor": "#1f78b4",  # each by itself, so that the page is as light or dark as the system
        "theme.dark.primaryColor": "#5aa9e0",
    }

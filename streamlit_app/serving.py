"""The server of the dashboard, and the message that says where it is."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from contextlib import ExitStack
from functools import partial
from http.client import HTTPConnection, HTTPException
from importlib import import_module
from pathlib import Path

import click

from spa.commands.workspace import Workspace, default_store, open_workspace
from spa.responses.reviewer_secrets import Reviewer, read_reviewers
from spa.responses.store import Store
from spa.server.http_server import listen, run
from spa.server.security_headers import SecurityHeaders
from streamlit_app.access import COOKIE, DashboardAccess, PrintedLink
from streamlit_app.background_analysis import BackgroundAnalysis
from streamlit_app.door import Door, Hosts
from streamlit_app.options import LOOPBACK, DashboardOptions

BETWEEN = 0.02  # seconds between two tries whether it answers
ANYWHERE = {"0.0.0.0": "127.0.0.1", "": "127.0.0.1", "::": "::1"}  # where an address that means all is reached
FIRST, OTHERS = "overview", ("submissions", "reviewers", "systems", "annotators", "raters", "report", "plan", "log")
LATER = ("pandas", *(f"streamlit_app.views.{name}" for name in OTHERS))  # pandas is what st.dataframe draws with

POLICY = (  # Streamlit puts styles into its pages; a submission's form has a stricter policy
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; "
    "media-src 'self'; font-src 'self' data:; connect-src 'self'; frame-src 'self'; manifest-src 'self'; "
    "form-action 'none'; frame-ancestors 'none'; base-uri 'none'"
)


def serve(
    options: DashboardOptions,
    background: BackgroundAnalysis,
    links: Sequence[PrintedLink],
    own: str | None,
    *,
    host: str,
    port: int,
    public_url: str | None,
    browser: bool,
) -> None:
    """Serve until interrupted; the links are printed once they lead somewhere.

    ``own`` is the study's own store, in which the reviewers are, also while a rehearsal is shown.

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

            files = [*table_files(shown := Path(options.tables or "")).values()]
            names = ", ".join(path.name for path in files)
            title = names if files == [shown] else f"{names} in {shown}"
        listener = closing.enter_context(listen(host, port))
        port = listener.socket.getsockname()[1]
        from streamlit.web import bootstrap

        hosts, secure = Hosts(host, public_url), (public_url or "").startswith("https:")
        settings = _settings(host, port, hosts)
        bootstrap.load_config_options({name.replace(".", "_"): value for name, value in settings.items()})
        from starlette.middleware import Middleware
        from streamlit.starlette import App

        from streamlit_app import loading, submitted_form  # once it is known how loud to be

        reviewers = None if workspace is None else workspace.store
        place = None if options.study is None else own or default_store(options.path)
        if place is not None and own != options.store and Store.exists(place):
            reviewers = closing.enter_context(Store.open(place, read_only=True))
        access = DashboardAccess(links, partial(_enrolled, reviewers), cookie=_cookie(port, secure=secure))
        loading.start(loading.Started(options=options, workspace=workspace, background=background, access=access))

        def announce() -> None:
            while not _answers(ANYWHERE.get(host, host), port):
                time.sleep(BETWEEN)
            base = public_url or address_of(host, port)
            click.echo(_greeting(title, base, links, access.names()))
            if browser:
                click.launch(link_of(base, links[0].secret))
            _load(background)

        threading.Thread(target=announce, daemon=True).start()
        app = App(
            Path(__file__).with_name("main.py"),
            routes=[submitted_form.ROUTE],
            middleware=[
                Middleware(SecurityHeaders, policy=lambda: POLICY),
                Middleware(Door, access=access, hosts=hosts, secure=secure),
            ],
        )
        run(app, listener)


def address_of(host: str, port: int) -> str:
    """Return where a browser finds a dashboard that listens at a host and port."""
    name = "localhost" if host in LOOPBACK else f"[{host}]" if ":" in host else host
    return f"http://{name}:{port}"


def link_of(base: str, secret: str) -> str:
    """Return the link that a person opens."""
    return f"{base}/?token={secret}"


def _greeting(title: str, base: str, links: Sequence[PrintedLink], enrolled: Sequence[str]) -> str:
    first, *others = links
    lines = [f"{title}: {link_of(base, first.secret)}"]
    lines += [f"{link.person.name}: {link_of(base, link.secret)}" for link in others]
    own = f"; {' and '.join(enrolled)} may decide, with links of their own" if enrolled else ""
    if others:
        said = f"The first link is read-only, each other link is for one person{own}"
    elif first.person.name is not None:
        said = f"{first.person.name} decides{own}"
    else:
        said = f"This link is read-only{own}" if own else "This link is read-only (use --reviewer NAME to decide)"
    return "\n".join([*lines, f"{said}. Ctrl-C stops the dashboard."])


def _enrolled(store: Store | None) -> list[Reviewer]:
    if store is None:
        return []
    with store.reading() as connection:
        return read_reviewers(connection)


def _cookie(port: int, *, secure: bool) -> str:
    """Return the name of the cookie: browsers send those of one host to all of its ports."""
    return f"__Host-{COOKIE}" if secure else f"{COOKIE}-{port}"


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


def _settings(host: str, port: int, hosts: Hosts) -> dict[str, object]:
    return {
        "server.address": host,
        "server.port": port,
        "server.headless": True,
        "server.allowedHosts": hosts.for_streamlit,
        "server.corsAllowedOrigins": [hosts.origin] if hosts.origin else [],
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

"""``spa serve`` and ``spa preview``: the form in a browser."""

from __future__ import annotations

import os
import re
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from spa.commands.options import (
    Aliased,
    host_option,
    out_file_option,
    port_option,
    rehearsal_option,
    store_option,
    study_argument,
)
from spa.errors import StudyError
from spa.files import write_text

if TYPE_CHECKING:
    from fastapi import FastAPI

    from spa.commands.workspace import Workspace
    from spa.records.form import Form
    from spa.records.texts import Texts
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from spa.commands.workspace import Workspace


@dataclass(frozen=True, slots=True, kw_only=True)
class Doors:
    """What is left of the places of a study for who comes next."""

    places: int
    free: int
    completed: int  # of those taken; the others are in progress
    unused_links: int  # personal ones
    reserved: int  # of the free places, for these
    decided: bool  # whether a live study needs nobody else
    in_waves: bool = False  # whether further places are drawn when these are completed

    @property
    def closed(self) -> str | None:
        """Why nobody could come in by the open link; ``None`` if somebody can."""
        if self.decided:
            return "the audit is over" if self.in_waves else "every pair is decided"
        if self.free == 0:
            working = self.places - self.completed
            may = " and may be given up" * (working > 0)
            if self.in_waves:
                return f"all {self.places} places drawn so far are taken; the next wave is drawn when all are completed"
            taken = f"all {self.places} places are taken ({self.completed} completed, {working} in progress{may})"
            return f"{taken}; `spa build STUDY --annotators N` makes more"
        return self._kept if self.reserved >= self.free else None

    @property
    def _kept(self) -> str:
        return f"{self.reserved} places are reserved for personal links; --reserve N changes that"

    def link_lines(self, public_url: str, *, links_only: bool) -> list[str]:
        """Return where the open link is and what is reserved, or why there is none."""
        closed = "personal links only" if links_only else self.closed
        if closed is not None:
            return [f"open link: closed, {closed}"]
        return [f"open link: {public_url}/", *([self._kept] if self.reserved > 0 else [])]

    def personal_line(self, links: int, path: object) -> str:
        """Return how many personal links are in a file, and whether there is no place for the unused ones."""
        useless = self.unused_links > 0 and (self.decided or (self.free == 0 and not self.in_waves))
        why = f"; no place is left for {self.unused_links} unused ones" if useless else ""
        return f"personal links: {links} in {path}{why}"


def doors_of(workspace: Workspace, reserved: int) -> Doors:
    """Return what is left of the places of a study, of which some are reserved for personal links."""
    from spa.live import live_state
    from spa.responses.capacity import count_free
    from spa.responses.rehearsal import is_rehearsal
    from spa.responses.tokens import count_personal

    store, per_assignment = workspace.store, workspace.study.people.per_assignment
    store.visits.release_overdue(time.time())
    places = store.assignments.for_people * per_assignment
    with store.reading() as connection:
        free = count_free(connection, per_assignment)
        used, unused = count_personal(connection)
    completed = 0
    if free == 0:
        completed = sum(lease.finished and lease.seat is not None for lease in store.visits.of_people())
    state = live_state(workspace.study, store, "simulated" if is_rehearsal(store) else "human")
    return Doors(
        places=places,
        free=free,
        completed=completed,
        unused_links=unused,
        reserved=max(min(unused, reserved - used), 0),
        decided=state is not None and state.enough,
        in_waves=state is not None and state.audit is not None,
    )


MOST_ASSIGNMENTS = 1_000_000  # more is a typing mistake, and drawing them takes long
LINKS_WRITTEN = "links_written"  # a fact of the store
ASSIGNMENT = re.compile(r"a(\d{1,9})", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerOptions:
    """What was asked for; can be sent to another process."""

    study: Path
    store: str | None
    public_url: str
    only_public_host: bool = False
    trusted_proxies: tuple[str, ...] = ()
    new_visits: int | None = None  # per minute at most
    log_json: bool = False
    links_only: bool = False
    reserved: int = 0  # places for personal links

    def app(self, workspace: Workspace, *, close: bool = False) -> FastAPI:
        """Return the application for an open workspace, which it closes when it stops if asked to.

        That of a rehearsal has no door to a platform.
        """
        from spa.responses.rehearsal import is_rehearsal
        from spa.server.admin import admin_token
        from spa.server.app import create_app
        from spa.server.rate_limits import Limits
        from spa.server.request_guard import parse_networks
        from spa.server.request_log import log_as_json
        from spa.server.survey_context import SurveyContext, installed_adapters

        def close_workspace(app: FastAPI, context: SurveyContext) -> None:
            context.resources.callback(workspace.close)

        rehearsal = is_rehearsal(workspace.store)
        app = create_app(
            workspace,
            annotator_kind="simulated" if rehearsal else "human",
            adapters=(*([close_workspace] if close else []), *(() if rehearsal else installed_adapters())),
            public_url=self.public_url,
            only_public_host=self.only_public_host,
            admin_token=admin_token(),
            trusted_proxies=parse_networks(self.trusted_proxies),
            limits=None if self.new_visits is None else Limits.of_new_visits(self.new_visits),
            log_requests=self.log_json,
            links_only=self.links_only,
            reserved=self.reserved,
        )
        if self.log_json:
            log_as_json()
        return app

    def __call__(self) -> FastAPI:
        """Open the workspace and return the application, with which it is closed."""
        from spa.commands.workspace import open_workspace

        return self.app(open_workspace(self.study, self.store), close=True)


def reserved_places(workspace: Workspace, reserve: int | None) -> int:
    """Return how many places are kept for personal links: by default one for each, once they were written out.

    Raise StudyError if there are fewer links than places reserved for them.
    """
    links = len(workspace.store.tokens(personal=True))
    if reserve is not None and reserve > links:
        raise StudyError(
            f"--reserve: expected at most {links}, the personal links of {workspace.store.name}, got {reserve}; "
            "build more of them with `spa build STUDY --annotators N`"
        )
    return reserve if reserve is not None else links if workspace.store.meta(LINKS_WRITTEN) else 0


def check_public_url(url: str) -> None:
    """Refuse what leads nobody to this server.

    Raise StudyError if it is no address of the web.
    """
    from spa.server.request_guard import host_of

    if not url.startswith(("https://", "http://")) or not host_of(url):
        raise StudyError(f"--public-url: expected an address such as https://study.example.org, got {url!r}")


def check_workers(workspace: Workspace, workers: int) -> None:
    """Refuse several processes on a database that is one process's.

    Raise StudyError if the store is an SQLite file.
    """
    if workers > 1 and workspace.store.is_file:
        raise StudyError(
            f"--workers {workers}: expected a database for several processes, got {workspace.store.name}, an SQLite "
            "file, which one process serves; build into PostgreSQL with `spa build STUDY --store "
            "postgresql://USER@HOST/NAME` and serve that, or leave --workers out"
        )


@click.command(epilog="Example: spa serve my-study/study.toml --port 8000 --links links.txt")
@study_argument
@host_option
@port_option(8000)
@store_option
@out_file_option("Write the personal links to this file, one per line.", "--links")
@click.option(
    "--public-url",
    cls=Aliased,
    aliases=("--address",),
    metavar="URL",
    help="URL at which people reach this server, for links and platforms; no other host is answered. "
    "[default: http://HOST:PORT, any host]",
)
@click.option(
    "--workers",
    type=click.IntRange(1, 64),
    default=1,
    show_default=True,
    help="Server processes; more than one needs PostgreSQL.",
)
@click.option(
    "--trusted-proxy",
    "trusted_proxies",
    metavar="ADDRESS",
    multiple=True,
    help="Trust the X-Forwarded headers of this address or network; repeatable.",
)
@click.option(
    "--new-visits",
    type=click.IntRange(min=1),
    metavar="N",
    help="Maximum of new visits by the open link and by /panel per minute; of one address block (/24, /56) a tenth. "
    "[default: 3000, of one address block 12]",
)
@click.option("--links-only", is_flag=True, help="Close the open link; same as [people] links_only in the study file.")
@click.option(
    "--reserve",
    type=click.IntRange(min=0),
    metavar="N",
    help="Places reserved for personal links. [default: one per link, once links were written to a file]",
)
@rehearsal_option
@click.option("--log-json", is_flag=True, help="Log requests and errors as JSON, without personal data.")
def serve(
    study: Path,
    host: str,
    port: int,
    store: str | None,
    links: Path | None,
    public_url: str | None,
    workers: int,
    trusted_proxies: tuple[str, ...],
    new_visits: int | None,
    links_only: bool,
    reserve: int | None,
    rehearsal: bool,
    log_json: bool,
) -> None:
    """Serve the forms of STUDY to people and save their answers page by page.

    The open link starts one visit per browser. A personal link belongs to one person: it can be
    reopened on any device and shows the answers so far. If the environment variable SPA_ADMIN_TOKEN is
    set, /admin/status and /metrics answer to `Authorization: Bearer TOKEN`. With --rehearsal everybody's answers are
    stored as "simulated", apart from the study's, and nobody is asked of a platform.
    """
    from spa.commands.workspace import choose_store, open_workspace
    from spa.responses.pauses import PAUSED_LINE, paused_since
    from spa.server.http_server import listen, run, run_workers

    if public_url is not None:
        check_public_url(public_url)
    serving = ServerOptions(
        study=study,
        store=store,
        public_url="",
        only_public_host=public_url is not None,
        trusted_proxies=trusted_proxies,
        new_visits=new_visits,
        log_json=log_json,
    )
    with listen(host, port) as listener, ExitStack() as alone:
        public = (public_url or listener.address).rstrip("/")
        serving = replace(serving, public_url=public)
        how_to_stop = partial(click.echo, "Ctrl-C stops the server; answers stay.")
        with open_workspace(study, store, rehearsal=rehearsal) as workspace:
            chosen = choose_store(study, store, rehearsal=rehearsal)
            serving = replace(serving, store=str(chosen.target))
            check_workers(workspace, workers)
            if workspace.store.is_file and os.name == "posix":
                from spa.responses.run_lock import exclusive_server

                alone.enter_context(exclusive_server(workspace.store.name))
            workspace.store.set_meta("served", "yes")  # a store that cannot be written to is reported now
            personal = workspace.store.tokens(personal=True)
            if links is not None:
                write_text(links, "".join(f"{public}/a/{token}\n" for token in personal), private=True)
                workspace.store.set_meta(LINKS_WRITTEN, "yes")
            closed = links_only or workspace.study.people.links_only
            reserved = 0 if closed else reserved_places(workspace, reserve)
            serving = replace(serving, links_only=links_only, reserved=reserved)
            app = serving.app(workspace)
            assignments = workspace.store.assignments.for_people
            doors = doors_of(workspace, reserved)
            if chosen.notice is not None:
                click.echo(chosen.notice)
            click.echo(
                f"{workspace.study.title}: {assignments} assignments, answers are saved in {workspace.store.name}"
            )
            for line in doors.link_lines(public, links_only=closed):
                click.echo(line)
            if paused_since(workspace.store) is not None:
                click.echo(PAUSED_LINE)
            if links is not None:
                click.echo(doors.personal_line(len(personal), links))
            if workers == 1:
                run(app, listener, when_ready=how_to_stop, own_logs=log_json)
                return
        run_workers(serving, listener, workers=workers, when_ready=how_to_stop, own_logs=log_json)


@click.command(epilog="Example: spa preview my-study/study.toml --page p3")
@study_argument
@click.option(
    "--form",
    "assignment",
    cls=Aliased,
    aliases=("--assignment",),
    default="a00001",
    show_default=True,
    help="Assignment of the draw to show.",
)
@click.option("--page", help="First page to show, such as p3.")
@host_option
@port_option(8001)
@out_file_option("Write the whole form to one HTML file instead.")
def preview(study: Path, assignment: str, page: str | None, host: str, port: int, out: Path | None) -> None:
    """Show one form of STUDY in a browser, without a store; no answer is kept.

    The assignment is the one `spa build` draws with the study's seed.
    """
    from spa.forms.html import clips_left_out, render_whole
    from spa.server.http_server import listen, run
    from spa.server.preview import create_preview

    form, texts, minutes = load_form(study, assignment)
    pages = [known.page_id for known in form.pages]
    if page is not None and page not in pages:
        raise StudyError(f"{study}: --page expected one of {', '.join(pages)}, got {page!r}")
    if out is not None:
        write_text(out, render_whole(form, texts))
        click.echo(f"wrote {out}: {len(pages)} pages of assignment {assignment}")
        if absent := clips_left_out(form):
            click.echo(f"{absent} clips of more than 1 MB are not part of it; `spa preview` without --out plays them")
        return
    with listen(host, port) as listener:
        click.echo(f"preview of assignment {assignment}: {listener.address}/p/{page or pages[0]}")
        how_to_stop = partial(click.echo, "Nothing is stored. Ctrl-C stops the server.")
        run(create_preview(form, texts, minutes=minutes), listener, when_ready=how_to_stop)


def load_form(study_path: Path, assignment_id: str) -> tuple[Form, Texts, int]:
    """Draw one assignment of a study in memory; return its form, the texts and the minutes that it takes.

    Raise StudyError if the study cannot be used or has no such assignment.
    """
    from spa.forms.build import build_form
    from spa.forms.effort import whole_minutes
    from spa.forms.texts import load_texts
    from spa.study.load import load_study
    from spa.study.outputs import load_outputs
    from spa.study.sampling import sample_assignments, study_rng

    study = load_study(study_path)
    number = ASSIGNMENT.fullmatch(assignment_id)
    count = int(number[1]) if number else 0
    if not 1 <= count <= MOST_ASSIGNMENTS:
        raise StudyError(f"{study_path}: --form expected a name such as a00001, got {assignment_id!r}")
    outputs = load_outputs(study)
    texts = load_texts(study.language, study.texts)
    count = max(count, study.people.assignments_for(study.people.annotators))
    for assignment, key in sample_assignments(study, outputs, count=count, rng=study_rng(study.seed)):
        if assignment.assignment_id == assignment_id:
            form = build_form(study, outputs, assignment, key, texts)
            return form, texts, whole_minutes(study, form)
    raise StudyError(f"{study_path}: the draw has no assignment {assignment_id!r}; the first is a00001")

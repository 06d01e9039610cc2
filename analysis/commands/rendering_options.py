"""Options that say what ``spa report`` writes, and how results become the files of a report."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from analysis.commands.verifying import verified
from spa.commands.options import out_folder_option

if TYPE_CHECKING:
    from analysis.printing.document import OutputPlace, Thumbnails
    from analysis.records.results import Results
    from analysis.verification.process import Verifier

Command = TypeVar("Command", bound=Callable[..., Any])
DEFAULT_FOLDER = Path("report")
OPTIONS = (
    click.option("--full", is_flag=True, help="Put the appendix into the report itself."),
    click.option("--thumbnails", is_flag=True, help="Of a STUDY: show small pictures of outputs beside explanations."),
    click.option(
        "--paper",
        type=click.Choice(["acl", "neurips", "generic"]),
        help="Write paper/, too: tables and figures that fit the columns of this LaTeX class.  [[report] of the STUDY]",
    ),
    click.option(
        "--pdf", is_flag=True, help="Write report.pdf and appendix.pdf too, printed by Chromium, Chrome or Edge."
    ),
    click.option(
        "--browser",
        type=click.Path(path_type=Path, dir_okay=False),
        envvar="SPA_BROWSER",
        show_envvar=True,
        help="Browser that prints the PDF, where it is not found by itself.",
    ),
    out_folder_option("Folder for the report.  [report, without --json]"),
)


def rendering_options(command: Command) -> Command:
    """Add the options."""
    for option in reversed(OPTIONS):
        command = option(command)
    return command


@dataclass(frozen=True, slots=True, kw_only=True)
class Rendering:
    """What is written of results.

    Attributes
    ----------
    folder : Path or None
        Where the report goes; ``None``: nothing is written.
    full : bool
        Whether the appendix stands in the report itself.
    paper : str or None
        Class of LaTeX for which tables and figures are written, too.
    pdf : bool
        Whether the report is printed, too.
    browser : Path or None
        What prints it; ``None``: the one that is found.
    pictured : Path or None
        Study whose outputs are shown small beside explanations.
    """

    folder: Path | None
    full: bool = False
    paper: str | None = None
    pdf: bool = False
    browser: Path | None = None
    pictured: Path | None = None

    @property
    def page(self) -> Path | None:
        """The file that a person opens first."""
        return None if self.folder is None else self.folder / ("report.pdf" if self.pdf else "report.html")

    def write(self, results: Results, verifier: Verifier | None) -> Results:
        """Write them; return them with what came of computing their figures again.

        Raises
        ------
        AnalysisError
            When the folder cannot be written, or holds files and no earlier report.
        """
        if self.folder is None:
            return verified(results, verifier)
        from analysis.report import made_before
        from analysis.report.files import write_results

        before = made_before(results) if verifier is not None else None  # while libraries compute figures again
        results = verified(results, verifier)
        write_results(
            results,
            self.folder,
            full=self.full,
            pdf=self.pdf,
            browser=self.browser,
            thumbnails=thumbnails_of(self.pictured) if self.pictured is not None else None,
            paper=self.paper,
            before=before,
        )
        return results


def rendering_of(
    *,
    out: Path | None,
    full: bool,
    thumbnails: bool,
    paper: str | None,
    pdf: bool,
    browser: Path | None,
    study: Path | None,
    as_json: bool,
) -> Rendering:
    """Return what the options, of a ``study`` or of tables, ask for; results may be printed as JSON alone.

    Raises
    ------
    UsageError
        Where nothing is written and an option says how.
    AnalysisError
        Where a PDF is asked for and no browser is found.
    """
    if out is None and not as_json:
        out = DEFAULT_FOLDER
    if out is None and (full or pdf or paper is not None):
        raise click.UsageError(f"{'--full, --pdf' if full or pdf else '--paper'}: expected --out DIRECTORY, too")
    if pdf:
        from analysis.report.pdf import find_browser

        find_browser(browser)  # before the analysis, which may take minutes
    pictured = study if thumbnails else None
    return Rendering(folder=out, full=full, paper=paper, pdf=pdf, browser=browser, pictured=pictured)


def thumbnails_of(study: Path) -> Thumbnails:
    """Return what makes small pictures of an output: of its file, or of those that its text shows."""
    from spa.media import thumbnails
    from spa.study.load import load_study
    from spa.study.outputs import load_outputs

    outputs = load_outputs(load_study(study))

    def small(place: OutputPlace) -> tuple[str, ...]:
        item_id, system, sample = place
        samples = outputs.of(item_id, system)
        return thumbnails(samples[sample - 1]) if 0 < sample <= len(samples) else ()

    return small

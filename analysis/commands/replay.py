"""``spa replay``: the report of an archive made again from the archive alone, and what differs."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from tempfile import TemporaryDirectory

import click

from analysis.commands.bundle import REPORT
from analysis.commands.making_again import checked_words, names_file, report_of_study, report_of_tables
from spa.commands.options import INPUT, json_option, out_folder_option, print_result

AGAIN = "report-again"


@click.command(epilog="Example: spa replay study.zip --out replayed")
@click.argument("archive", type=INPUT)
@out_folder_option("New folder for the archive's files and the report made again.  [none is kept]")
@json_option
def replay(archive: Path, out: Path | None, as_json: bool) -> None:
    """Make the report of an ARCHIVE again, from the archive alone, and say what differs.

    With the recorded versions of libraries every byte must be the same; with others, every number to nine digits. The
    exit code is 1 where it differs. An archive that was changed, or is none of `spa bundle`, is refused.

    --json prints same, equal_bytes, files (that differ), numbers (path, recorded, now) and versions (that changed).
    """
    from analysis.archive import StudyInputs, compare_reports, extract_crate, read_inputs
    from analysis.archive.inputs import library_versions, refuse_absent
    from analysis.commands.bundled_tables import placed
    from spa.errors import AnalysisError

    if out is not None and out.exists() and any(out.iterdir()):
        raise AnalysisError(f"{out}: expected a new or empty folder, got files in it; choose another --out")
    with TemporaryDirectory(prefix="spa-replay-") if out is None else nullcontext(str(out)) as place:
        folder, again = Path(place), Path(place) / AGAIN
        folder.mkdir(parents=True, exist_ok=True)
        extract_crate(archive, folder)
        inputs = read_inputs(folder)
        if isinstance(inputs, StudyInputs):
            report_of_study(inputs, folder, again)
        else:
            words = checked_words(inputs.options)
            files = [value for option, values in words if names_file(option) for value in values]
            refuse_absent(folder, [*inputs.named, *files])
            report_of_tables(*placed(inputs, folder), again, verify=inputs.verify)
        found = compare_reports(folder / REPORT, again, versions=inputs.versions, now=library_versions())
    print_result(found, found.lines(), as_json=as_json)
    if not found.same:
        click.get_current_context().exit(1)

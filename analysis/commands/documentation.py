"""``spa freeze`` and ``spa heds``: the preregistered analysis plan and the datasheet."""

from __future__ import annotations

from pathlib import Path

import click

from spa.commands.options import (
    json_option,
    out_file_option,
    out_folder_option,
    print_result,
    rehearsal_option,
    store_option,
    study_argument,
)


@click.command(epilog="Example: spa freeze my-study/study.toml --out preregistration.json")
@study_argument
@store_option
@out_file_option("Write the frozen plan to this file, for preregistration.")
@json_option
def freeze(study: Path, store: str | None, out: Path | None, as_json: bool) -> None:
    """Freeze the analysis plan of STUDY before answers are collected.

    The plan, the study as built and the number of annotators are saved in the store with a hash and the time; later
    runs do not change them. The report lists all deviations. --json prints the frozen plan, as --out writes it.
    """
    import json
    import time
    from dataclasses import asdict
    from datetime import UTC, datetime

    from analysis.answers.preregistration import freeze as keep
    from analysis.answers.preregistration import planned_for
    from spa.commands.workspace import open_workspace
    from spa.files import write_text

    with open_workspace(study, store) as workspace:
        content = planned_for(workspace.study, fingerprint=workspace.store.fingerprint)
        frozen = keep(workspace.store, content, now=time.time())
    when = datetime.fromtimestamp(frozen.frozen_at, UTC)
    lines = [f"frozen on {when:%Y-%m-%d %H:%M:%S} UTC, with {frozen.submissions} submissions so far"]
    lines.append(f"SHA-256 {frozen.sha256}")
    if out is not None:
        write_text(out, json.dumps(asdict(frozen), indent=1, ensure_ascii=False) + "\n")
        lines.append(f"wrote {out}: publish it, or its hash, before collecting answers")
    print_result(frozen, lines, as_json=as_json)


@click.command(epilog="Example: spa heds my-study/study.toml --out datasheet")
@study_argument
@store_option
@rehearsal_option
@out_folder_option("Folder for the datasheets.", required=True)
@json_option
def heds(study: Path, store: str | None, rehearsal: bool, out: Path, as_json: bool) -> None:
    """Fill in the human-evaluation datasheet (HEDS 3.0) of STUDY.

    heds.md is the document to complete, heds.html the same to read; one JSON file per quality criterion is what the
    form itself saves. Questions without an answer in the study are marked "To be filled in" and listed in
    heds-open.txt. What you fill in, in heds.md or a JSON file, is kept when the command runs again.
    --json prints files, kept (what was filled in) and left_open (numbers of the questions).
    """
    from analysis.answers.study_answers import answers_of
    from analysis.heds import datasheets, write_sheets
    from analysis.results.analyse import analyse
    from spa.commands.workspace import open_answers

    with open_answers(study, store, rehearsal=rehearsal, quiet=as_json) as workspace:
        found = answers_of(workspace)
        results = analyse(found.tables, found.plan, study=found.facts)
        sheets = datasheets(workspace, results)
    files = write_sheets(sheets, out)
    left = sorted({field.number for sheet in files.sheets for field in sheet.left_open})
    lines = [*(f"wrote {path}" for path in files.paths), *files.kept, f"{len(left)} questions are left to be filled in"]
    print_result({"files": files.paths, "kept": files.kept, "left_open": left}, lines, as_json=as_json)

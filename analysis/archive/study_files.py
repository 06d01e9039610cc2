"""What stands beside the report of a study in its archive: study file, outputs, forms, frozen plan, datasheet."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator, Set
from dataclasses import asdict, fields, replace
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import polars as pl

from analysis.answers.preregistration import frozen_plan
from analysis.answers.study_answers import GatheredAnswers
from analysis.archive.contents import Contents, name_in
from analysis.heds import datasheets, write_sheets
from analysis.records.results import Results
from spa.errors import AnalysisError
from spa.records.covariates import LENGTH, MARKDOWN
from spa.records.form import ExhibitsBlock, Form, PageBlock, Question
from spa.records.outputs import Outputs
from spa.records.platforms import installed_platforms
from spa.records.study import Study, Words
from spa.tables.addresses import address_of, at_hand
from spa.tables.formulas import without_formulas

if TYPE_CHECKING:
    from spa.commands.workspace import Workspace

STUDY, FORMS, DATASHEET = "study", "forms", "datasheet"  # folders
PLAN, OUTPUTS = "preregistration.json", "outputs.csv"
SECRET_KEYS = ("completion_code", "completion_url", "family_store")  # of [people]
PASSWORD = re.compile(r"(\w+://)[^/\s\"'@]+@")
FREE_WORDS = ("explanation", "text")  # columns with what annotators wrote, or what they marked


def without_words(gathered: GatheredAnswers) -> GatheredAnswers:
    """Leave out what annotators wrote in their own words, or marked in outputs, before a report is made.

    Raises
    ------
    AnalysisError
        If the plan controls for something of the outputs' texts.
    """
    if read := {LENGTH, MARKDOWN} & {*gathered.plan.control}:
        raise AnalysisError(
            f'--without-texts: expected an analysis that needs no texts, got [analysis] control = "{min(read)}"; '
            "bundle with the texts"
        )
    frames = {}
    for name, frame in gathered.frames.items():
        frame = frame.drop([column for column in frame.columns if column.startswith("interview:")])
        if name == "outputs":
            frame = frame.drop("text", strict=False)
        else:
            there = [column for column in FREE_WORDS if column in frame.columns]
            frame = frame.with_columns(pl.lit(None, dtype=pl.String).alias(column) for column in there)
        frames[name] = frame
    facts = replace(gathered.facts, interview=(), exploration=None)
    return replace(gathered, frames=frames, facts=facts)


def add_study(contents: Contents, workspace: Workspace, path: Path, *, texts: bool) -> None:
    """Put the study file, what it names and the forms into an archive; without ``texts``, what names no text of it."""
    study, outputs = workspace.study, workspace.outputs
    folder = path.parent
    contents.add(f"{STUDY}/{path.name}", study_text(path), "the study file, without codes and passwords")
    contents.add(OUTPUTS, _outputs_csv(outputs, texts=texts), "outputs with hashes of their texts")
    named: dict[Path, str] = {}
    for words in (study.instructions, study.consent, study.debriefing):
        if isinstance(words, Words) and words.file is not None:
            named[words.file] = "a text that the study file names"
    if study.design.assignments is not None:
        named[study.design.assignments] = "who sees what, as the study file names it"
    if texts:
        named |= dict.fromkeys(study.outputs.files, "outputs, as the study file names them")
        shown = [file for one in outputs.shown() for file in one.files]
        named |= dict.fromkeys(shown, "a file that was shown")
    for file, about in named.items():
        given = file if file.is_absolute() or address_of(file) is not None else folder / file
        with at_hand(given) as copy:
            contents.add(f"{STUDY}/{name_in(folder, given)}", copy, about)
    _add_forms(contents, workspace, texts=texts)


def study_text(path: Path) -> str:
    """Return the text of a study file without what opens anything: codes, return addresses, passwords."""
    import tomlkit

    document = tomlkit.parse(path.read_text(encoding="utf-8-sig"))
    people = document.get("people", {})
    for key in SECRET_KEYS:
        people.pop(key, None)
    for platform in installed_platforms():
        for key in platform.secret:
            document.get(platform.key, {}).pop(key, None)
    return PASSWORD.sub(r"\1", tomlkit.dumps(document))


def study_secrets(study: Study) -> dict[str, str]:
    """Return what the study file holds that must not leave this machine, and what each is."""
    people = study.people
    found = {people.completion_code: "the completion code", people.completion_url: "the completion address"}
    return {value: what for value, what in found.items() if value is not None}


def texts_of(outputs: Outputs) -> Iterator[str]:
    """Yield the texts of items and outputs, and those that these are compared with."""
    shown = (*outputs.items, *outputs.all(), *outputs.item_notes.values())
    yield from (one.text for one in shown if one.text is not None)
    yield from (text for several in outputs.references.values() for text in several)


def add_documents(contents: Contents, workspace: Workspace, results: Results, *, filled: Path | None) -> None:
    """Put the frozen plan, where there is one, and the datasheet into an archive.

    ``filled`` is a folder of the datasheet in which somebody filled in answers.
    """
    frozen = frozen_plan(workspace.store)
    if frozen is not None:
        text = json.dumps(asdict(frozen), indent=1, ensure_ascii=False) + "\n"
        contents.add(PLAN, text, "the analysis plan, frozen before the answers")
    with TemporaryDirectory(prefix="spa-datasheet-") as folder:
        if filled is not None:
            if not filled.is_dir():
                raise AnalysisError(f"{filled}: expected the folder of spa heds, got none; check its name")
            shutil.copytree(filled, folder, dirs_exist_ok=True)
        write_sheets(datasheets(workspace, results), Path(folder))
        contents.add_folder(Path(folder), DATASHEET, "the human-evaluation datasheet (HEDS)")


def _outputs_csv(outputs: Outputs, *, texts: bool) -> str:
    columns = {"item_id": pl.String, "system": pl.String, "sample": pl.Int64, "sha256": pl.String, "text": pl.String}
    given = [(one.item_id, None, None, one.text) for one in outputs.items if one.is_given]
    made = [(one.item_id, one.system, one.sample, one.text) for one in outputs.all()]
    rows = [(*place, None if text is None else _hash(text), text if texts else None) for *place, text in given + made]
    frame = pl.DataFrame(rows, schema=columns, orient="row")
    return without_formulas(frame if texts else frame.drop("text")).write_csv()


def _hash(text: str) -> str:
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _add_forms(contents: Contents, workspace: Workspace, *, texts: bool) -> None:
    from spa.forms.html import render_whole
    from spa.forms.prompt import render_prompt
    from spa.study.page_rows import pages_csv

    drawn = workspace.store.assignments.drawn()
    contents.add(f"{FORMS}/assignments.csv", pages_csv(workspace.study, drawn), "who sees what in which order")
    first = next(iter(workspace.store.assignments), None)
    if first is None:
        return
    form = workspace.form(first.assignment_id)
    form = form if texts else _without_exhibits(form, {*texts_of(workspace.outputs)})
    what = f"the form of assignment {first.assignment_id}"
    contents.add(f"{FORMS}/form.html", render_whole(form, workspace.texts), f"{what}, as people see it")
    parts = [fragment.text or "[a file]\n" for fragment in render_prompt(form).fragments]
    contents.add(f"{FORMS}/prompt.txt", "".join(parts), f"{what}, as LLMs get it")


def _without_exhibits(form: Form, texts: Set[str]) -> Form:
    """Return a form without what it shows, and without questions whose widget holds one of these texts to mark."""

    def stays(block: PageBlock) -> bool:
        if isinstance(block, Question):
            held = (getattr(block.answer, field.name) for field in fields(block.answer))
            return not any(isinstance(value, str) and value in texts for value in held)
        return not isinstance(block, ExhibitsBlock)

    return replace(form, pages=tuple(replace(page, blocks=tuple(filter(stays, page.blocks))) for page in form.pages))

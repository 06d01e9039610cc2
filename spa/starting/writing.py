"""The folder of a study: study.toml, outputs.jsonl and the files it names, all of them or none."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import tempfile
import unicodedata
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from spa.errors import StudyError, shortened
from spa.media import PLAIN, medium_of
from spa.media.medium import Medium
from spa.starting.proposal import ANNOTATORS, ProposedForm
from spa.starting.settling import Settled
from spa.study.file_schema import SCHEMA_FILE, SCHEMA_NAME, schema_line

MAX_READING_SPEED, MAX_SAME_ANSWERS, USUAL_ANSWER = 2.6, 0.95, 0.5  # tests/calibration/careless.md
OUTPUTS, STUDY, REFERENCE = "outputs.jsonl", "study.toml", "reference"
GIVEN = "given"  # folder of files that systems were given


def check_free(folder: Path, names: Sequence[str] = (OUTPUTS, SCHEMA_NAME, STUDY)) -> None:
    """Raise StudyError where a file of one of these names is in a folder, or a file in its place."""
    if folder.is_file():
        name = shlex.quote(shortened(folder.name, 60))
        raise StudyError(
            f"{folder}: expected a folder for the study, got a file; name one before your outputs: spa init FOLDER "
            f"--outputs {name}"
        )
    there = [path for name in names if (path := folder / name).exists()]
    if there:
        found = "expected no such file, got one; it is not overwritten, choose another folder"
        raise StudyError(*(f"{path}: {found}" for path in there))


@contextmanager
def new_files(folder: Path, names: Sequence[str]) -> Iterator[Path]:
    """Yield a temporary folder; files of these names move from there into ``folder`` when the context ends.

    All of them or none. Raise StudyError where one is there already, or the folder cannot be written.
    """
    check_free(folder, names)
    made = not folder.exists()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        try:
            with tempfile.TemporaryDirectory(dir=folder, prefix=".spa-init-") as temporary:
                yield Path(temporary)
                for name in names:
                    (Path(temporary) / name).rename(folder / name)
        finally:
            if made and not any(folder.iterdir()):
                folder.rmdir()
    except OSError as error:
        raise StudyError(f"{folder}: expected a folder that can be written, got {error.strerror}") from error


def study_files(study: Settled) -> tuple[str, ...]:
    """Return the names of what is written; study.toml comes last: where it is, the rest is."""
    within = dict.fromkeys(path.split("/")[0] for path in study.within)
    return (
        OUTPUTS,
        *(folder for folder, _ in _folders(study).values() if folder not in within),
        *within,
        SCHEMA_NAME,
        STUDY,
    )


def _folders(study: Settled) -> dict[str, tuple[str, Medium]]:
    """Return the folders of the files of answers and prompts, by their columns, with their medium."""
    media = {"output": medium_of(study.kind)}
    if any(answer.prompt for answer in study.answers):
        media["prompt"] = medium_of(study.item_kind)
    names = {"output": media["output"].many, "prompt": GIVEN}
    return {column: (names[column], medium) for column, medium in media.items() if medium.files is not None}


def write_study(place: Path, folder: Path, study: Settled, proposal: ProposedForm) -> Path:
    """Write a study's files into ``place``, to be moved into ``folder``, and return the path of the study file."""
    _write_outputs(place, study)
    shutil.copyfile(SCHEMA_FILE, place / SCHEMA_NAME)
    path = place / STUDY
    path.write_text(study_text(folder, study, proposal), encoding="utf-8")
    return path


def _write_outputs(place: Path, study: Settled) -> None:
    folders = _folders(study)
    for folder, _ in folders.values():
        (place / folder).mkdir()
    for path, source in study.within.items():
        (place / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, place / path)
    copied: dict[str, str] = {}  # a file that was given -> its copy
    with (place / OUTPUTS).open("w", encoding="utf-8") as stream:
        for number, answer in enumerate(study.answers, start=1):
            row = {"item": answer.item, "system": answer.system, "output": answer.output}
            row |= {} if answer.prompt is None else {"prompt": answer.prompt}
            for column, (folder, _) in folders.items():
                if column == "output" or row[column] not in copied:
                    source = Path(row[column])  # its name may be that of a system
                    name = f"{folder}/{number:04}{source.suffix.lower()}"
                    shutil.copyfile(source, place / name)
                    copied[row[column]] = name
                row[column] = copied[row[column]]
            row |= {} if answer.sample is None else {"sample": answer.sample}
            row |= {REFERENCE: study.references[answer.item]} if answer.item in study.references else {}
            stream.write(_line(row))


def _line(row: dict[str, str]) -> str:
    line = json.dumps(row, ensure_ascii=False)
    try:
        line.encode()
    except UnicodeEncodeError:  # half of a surrogate pair
        line = json.dumps(row)
    return f"{line}\n"


def check_files(study: Settled) -> None:
    """Raise StudyError with the first output or prompt that is no file of its medium, and how many there are."""
    for column, (_, medium) in _folders(study).items():
        named = {(answer.output if column == "output" else answer.prompt or ""): answer for answer in study.answers}
        wrong = [(path, answer) for path, answer in named.items() if not _fits(medium, path)]
        if wrong:
            path, answer = wrong[0]
            more = f" ({len(wrong):,} in all)" if len(wrong) > 1 else ""
            do = f", or say --kind {PLAIN}" if column == "output" else ""
            formats = "" if medium.files is None else medium.files.formats
            raise StudyError(
                f"{answer.place}: expected a {formats} file, its path relative to the table, got {path!r}{more}; "
                f"put the {medium.many} there{do}"
            )


def _fits(medium: Medium, path: str) -> bool:
    try:
        return medium.files is not None and medium.files.fits(Path(path))
    except (OSError, ValueError):
        return False


def study_id(folder: Path) -> str:
    """Return the name of a folder as the id of a study.

    >>> study_id(Path("work/My Study (2)")), study_id(Path("数据"))
    ('my-study-2', 'study')
    """
    plain = unicodedata.normalize("NFKD", folder.resolve().name).encode("ascii", "ignore").decode().lower()
    return re.sub(r"[^a-z0-9_]+", "-", plain)[:60].strip("-_") or "study"


def study_text(folder: Path, study: Settled, proposal: ProposedForm, *, pay: str | None = None) -> str:
    """Return study.toml: short, with comments."""
    import tomlkit

    document = tomlkit.document()
    document.add(
        tomlkit.comment("What is compared, what is asked, and of whom; docs/study-file.md explains every key.")
    )
    document.add(tomlkit.nl())
    _add(document, "id", study_id(folder))
    _add(document, "title", medium_of(study.kind).titles[proposal.language], "what annotators read at the top")
    _add(document, "language", proposal.language, "words of the form: en, zh or ar")
    _add(document, "seed", 1, "the same study and seed draw the same questionnaires")
    document.add(tomlkit.nl())
    outputs = tomlkit.table()
    _add(outputs, "files", [OUTPUTS])
    if study.kind != PLAIN:
        _add(outputs, "kind", study.kind)
    _add(outputs, "item", "item")
    if any(answer.prompt for answer in study.answers):
        _add(outputs, "item_text", "prompt", "shown with the outputs; without this line it is not")
        if study.item_kind != PLAIN:
            _add(outputs, "item_kind", study.item_kind)
        if study.item_name is not None and proposal.language == "en":
            _add(outputs, "item_name", study.item_name, f"what it is called there: {study.item_name} 1")
    if any(answer.sample for answer in study.answers):
        _add(outputs, "sample", "sample", "numbers several outputs of one system for one item")
    if study.references:
        _add(outputs, "references", [REFERENCE], "texts that spa metrics compares with; nobody is shown them")
    document.add("outputs", outputs)
    systems = tomlkit.aot()
    for key, name in study.systems.items():
        system = tomlkit.table()
        _add(system, "id", key)
        if name != key:
            _add(system, "name", name)
        systems.append(system)
    document.add("systems", systems)
    for name, keys in _sections(proposal):
        table = tomlkit.table()
        for key, value, comment in keys:
            _add(table, key, value, comment)
        document.add(name, table)
    people = tomlkit.table()
    _add(people, "annotators", ANNOTATORS, "planned")
    if pay is not None:
        _add(people, "pay", pay, "for each, in USD: 12 an hour")
    document.add("people", people)
    analysis = tomlkit.table()
    for key, value, comment in _careless(study):
        _add(analysis, key, value, comment)
    document.add("analysis", analysis)
    document.add(tomlkit.nl())
    document.add(tomlkit.comment("More to ask beside the overall question, of every pair or output:"))
    for line in ("[[criteria]]", 'id = "fluency"', 'name = "fluency"  # completes "better with regard to ..."'):
        document.add(tomlkit.comment(line))
    return f"{schema_line()}\n{tomlkit.dumps(document)}"


def _careless(study: Settled) -> Iterator[tuple[str, float, str]]:
    """Yield the rules of careless answering of a new study, each with its comment."""
    if medium_of(study.kind).has_words:
        speed = "times the usual speed of the texts' script; who reads faster is left out, and paid"
        yield "max_reading_speed", MAX_READING_SPEED, speed
    yield "max_same_answers", MAX_SAME_ANSWERS, "who gives one answer to more of the questions is left out,"
    yield "usual_answer", USUAL_ANSWER, "unless others gave it to half of theirs"


def _sections(proposal: ProposedForm) -> Iterator[tuple[str, list[tuple[str, Any, str | None]]]]:
    order = "neighbours in the list above: put it in the order that you expect"
    pairs = ("chain", order) if proposal.chain else ("all", "all pairs")
    if proposal.way == "spa":
        yield (
            "spa",
            [
                ("exposure", proposal.number, "outputs of each system that an annotator reads"),
                ("comparisons", *pairs),
            ],
        )
    elif proposal.way == "choices":
        yield (
            "choices",
            [
                ("per_annotator", proposal.number, "pairs dealt to each annotator, each on another item"),
                ("comparisons", *pairs),
            ],
        )
    else:
        yield "likert", [("pages", "output", "single outputs are rated from 1 to 5")]
        yield "design", [("outputs", proposal.number, "outputs that each annotator rates")]


def _add(table: Any, key: str, value: object, comment: str | None = None) -> None:
    import tomlkit

    made = tomlkit.item(value)
    if comment is not None:
        made.comment(comment)
    table.add(key, made)

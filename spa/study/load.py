"""Reads ``study.toml`` into a frozen ``Study``; all mistakes are reported together, one line each."""

from __future__ import annotations

import datetime
import hashlib
import json
import os.path
import re
import shlex
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from spa.elicitation import ways
from spa.errors import StudyError, TableError, expected_got, shortened, unreadable
from spa.media import medium_of
from spa.records.clean_text import is_control
from spa.records.platforms import Platform, platforms_of, table_keys
from spa.records.problems import LONGEST_VALUE, StudyProblem, mistake, quote
from spa.records.study import Study, Words
from spa.study.annotator_validation import people_problems
from spa.study.answers_wanted import KEY, with_people_needed
from spa.study.output_files import decoded
from spa.study.outputs import load_outputs
from spa.study.schema_errors import schema_errors
from spa.study.study_file import known_keys, study_file, study_of, written_tables
from spa.study.validation import validate_study
from spa.tables.addresses import address_of, at_hand
from spa.tables.reading import table_suffix

DEEPEST = 20  # tables within tables
DOCUMENTS = (b"PK\x03\x04", b"%PDF", b"\xd0\xcf\x11\xe0")  # how files of office programs begin
NO_TOML = ("{", "|", "<")  # JSON, a table of Markdown, a page of the web
# tomllib takes memory by the square of a dotted key's parts, so a monstrous one is not given to it.
_LONG_KEY = re.compile(r"""(?<![\w"'.-])(?:[\w"'-]++[ \t]*+\.[ \t]*+){200}""")
_TOML_PLACE = re.compile(r" \(at (?:line (\d+), column (\d+)|end of document)\)$")
TOML_MISTAKES = {  # by the start of what tomllib says: what was found, what to do
    "Invalid value": ("no value", 'write a number, or a text in quotes ("...")'),
    "Invalid statement": ("neither key = value nor [table]", "start a comment with #"),
    "Expected '='": ("no = after the key", "write key = value"),
    "Expected newline": ("text after the value", "put the whole text in one pair of quotes"),
    "Expected ']'": ("no ] at the end of the table's name", "close the brackets"),
    "Cannot declare": ("a second table of this name", "merge its keys into the first"),
    "Cannot overwrite": ("a duplicate key", "remove one of them"),
    "Illegal character": (
        "quotes that are not closed on this line",
        "close them, or use triple quotes for text of several lines",
    ),
    "Unterminated string": ("quotes that are never closed", "close them"),
    "Unescaped": ("an invalid backslash escape", "write it twice, or put the text in single quotes"),
    "Unclosed": ("brackets that are never closed", "close them"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedStudy:
    """What could be read of a study file, and every mistake in it."""

    study: Study  # with defaults, or placeholders, for the tables that hold mistakes
    unfit: frozenset[str]  # these tables
    unread: frozenset[str]  # those of them whose values could not be read
    problems: tuple[str, ...]


def load_study(path: Path) -> Study:
    """Load and check a study file.

    Files that it names are looked for beside it; in the result their paths are absolute, and texts are in ``text``.
    Raise StudyError with every mistake found, one line each; platforms with commands of their own read their tables
    themselves.
    """
    checked = check_study(path)
    if checked.problems:
        raise StudyError(*checked.problems)
    return checked.study


def check_study(path: Path) -> CheckedStudy:
    """Read a study file as far as its mistakes let it be read; see :func:`load_study`.

    Raise StudyError if the file is no TOML.
    """
    raw = _with_text_keys(_parse(path))
    problems = list(_unfit_values(str(path), raw))
    others = raw.keys() - study_file().model_fields.keys()
    tables = {key: raw.pop(key) for key in (table_keys() if others else ()) if key in others}
    tainted: set[str] = set()
    try:
        study = _validate(raw)
    except ValidationError as error:
        problems += _of_other_places(schema_errors(str(path), raw, error), problems)
        study, tainted = _without_bad_tables(raw, error)
    problems += [
        expected_got(f"{path}: [{key}]", "a table", quote(table), "correct it")
        for key, table in tables.items()
        if not isinstance(table, dict)
    ]
    study, findings = _read_files(study, path.parent)
    findings += validate_study(study)
    findings = [finding for finding in findings if not tainted.intersection(finding.tables)]
    study._platforms = {key: table for key, table in tables.items() if isinstance(table, dict)}
    if study.design.answers_per_output is not None and "annotators" in study.people.model_fields_set:
        do = "remove one of them"
        findings.append(mistake(KEY, "no annotators in [people], which it decides", "both", do, "design", "people"))
    whole = not problems and not findings
    if whole and study.design.answers_per_output is not None:
        study, lacking = _with_people_needed(study)
        findings += lacking
    for platform in platforms_of(study):
        if not platform.own_commands:
            problems += _of_other_places(_mistakes_of(platform, study, str(path), whole=whole), problems)
    return CheckedStudy(
        study=study,
        unfit=frozenset(tainted.union(*(finding.tables[:1] for finding in findings)) - {"sections"}),
        unread=frozenset(tainted - {"sections"}),
        problems=(*problems, *(f"{path}: {finding.message}" for finding in findings)),
    )


def _with_people_needed(study: Study) -> tuple[Study, list[StudyProblem]]:
    """Return the study with as many annotators as its outputs need, and the mistakes that follow from their number."""
    try:
        found = with_people_needed(study, load_outputs(study))
    except StudyError:  # told by whoever needs the outputs
        return study, []
    return found, [*people_problems(found)]


def own_mistakes(path: Path, checked: CheckedStudy) -> tuple[str, ...]:
    """Return the mistakes in the tables of platforms with commands of their own, which alone refuse them."""
    platforms = [platform for platform in platforms_of(checked.study) if platform.own_commands]
    whole = not checked.problems
    lines = [line for one in platforms for line in _mistakes_of(one, checked.study, str(path), whole=whole)]
    return tuple(_of_other_places(lines, checked.problems))


def _of_other_places(lines: Iterable[str], problems: Iterable[str]) -> list[str]:
    """Return the lines about places of which no mistake was told; a date that became text is no text to mend."""
    places = tuple(f"{line.partition(': expected ')[0]}: " for line in problems)
    return [line for line in lines if not line.startswith(places)]


def _mistakes_of(platform: Platform, study: Study, file: str, *, whole: bool) -> tuple[str, ...]:
    """Return the mistakes in a platform's table; those beside other tables only of a study that is ``whole``."""
    if platform.record is None:
        return (expected_got(f"{file}: [{platform.key}]", "no such table", "one", "remove it"),)
    try:
        table = platform.read(study.platforms[platform.key], file)
        if whole:
            platform.suit(study, table, file)
    except StudyError as error:
        return error.problems
    return ()


def study_fingerprint(study: Study) -> str:
    """Return the SHA-256 (hexadecimal) of everything that decides about forms and their draw, wherever the files lie.

    Raters, the analysis plan, [people] and the platforms' tables, and the layout of the study file do not count:
    they may change after a study was built.
    """
    return _digest(_without(study, _ASIDE), study)


def former_fingerprints(path: Path, study: Study) -> Iterator[str]:
    """Yield the fingerprints that this study had in stores of versions 2 and 1, which were migrated."""
    fingerprinted = {"pay", "currency", "minutes", "completion_code", "completion_url"}
    people = _ASIDE | {"people": set(type(study.people).model_fields) - fingerprinted}
    yield _digest(_without(study, people), study)
    yield _digest(_without(study, people | {"criteria": {"__all__": {"reason"}}}), study)
    texts = [(words.text or "").encode() for words in (study.instructions, study.consent)]
    yield _digest([_read_bytes(path), *texts], study)


_ASIDE: dict[str, Any] = {
    **dict.fromkeys(("raters", "juries", "analysis", "stopping", "report", "people"), True),
    **dict.fromkeys(("allowed_names", "debriefing"), True),
    "systems": {"__all__": {"maker", "low_pass"}},
    "outputs": {"files", "references"},
    "design": {"assignments"},
    "instructions": {"file"},
    "consent": {"file"},
}


def _without(study: Study, aside: dict[str, Any]) -> list[bytes]:
    return [written_tables(study).model_dump_json(exclude=aside).encode()]


def _digest(parts: list[bytes], study: Study) -> str:
    digest = hashlib.sha256()
    named = (*study.outputs.files, *[file for file in [study.design.assignments] if file is not None])
    parts = parts + [_read_bytes(file) for file in named]
    if study.clips or any(medium_of(kind).shows_files for kind in (study.outputs.kind, study.outputs.item_kind)):
        outputs = load_outputs(study)
        # of outputs first, as before there were other files
        shown = (*outputs.all(), *outputs.items, *outputs.clips.values())
        parts += [_read_bytes(file) for one in shown for file in one.files]
    for part in parts:  # each part's length first, so that no two lists of parts look alike
        digest.update(len(part).to_bytes(8, "big"))
        digest.update(part)
    return digest.hexdigest()


def _read_bytes(path: Path, do: str = "check its name") -> bytes:
    try:
        with at_hand(path) as file:
            return file.read_bytes()
    except TableError as error:
        raise StudyError(*error.problems) from error
    except OSError as error:
        raise StudyError(unreadable(path, error, do)) from error
    except ValueError as error:  # a name with a null character
        raise StudyError(f"{path}: cannot be read ({error}); check its name") from error


def _parse(path: Path) -> dict[str, Any]:
    data = _read_bytes(path, "name the study, or begin one with `spa init FOLDER`")
    other = table_suffix(path.name) is not None or data.startswith(DOCUMENTS)
    text = "" if other else decoded(str(path), data)
    if (other and data.strip()) or text.lstrip().startswith(NO_TOML):
        raise StudyError(
            f"{path}: expected a study file in TOML, got outputs or other data; give the study.toml that names this "
            f"file in [outputs] files, or make one: spa init FOLDER --outputs {shlex.quote(shortened(path.name, 60))}"
        )
    if not text.strip():
        raise StudyError(
            f"{path}: expected a study file, got an empty one; `spa init FOLDER` writes a study.toml to start from"
        )
    too_deep = StudyError(f"{path}: expected at most {DEEPEST} tables within tables, got more; shorten the key")
    if _LONG_KEY.search(text):
        raise too_deep
    try:
        raw = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise StudyError(f"{path} {_toml_mistake(text, str(error))}") from error
    except (RecursionError, ValueError) as error:
        raise StudyError(f"{path}: expected TOML, got values too deep or too long to read: {error}") from error
    if _depth(raw) > DEEPEST:
        raise too_deep
    return raw


def _toml_mistake(text: str, message: str) -> str:
    """Say in which line a file stops being TOML, what stands there and what to do."""
    lines = text.rstrip("\n").split("\n")
    number, column = len(lines), len(lines[-1]) + 1
    if (place := _TOML_PLACE.search(message)) and place[1]:
        number, column = int(place[1]), int(place[2])
    words = _TOML_PLACE.sub("", message)
    known = (mistake for start, mistake in TOML_MISTAKES.items() if words.startswith(start))
    found, do = next(known, (words, "correct the line"))
    line = lines[min(number, len(lines)) - 1].strip()
    return f"line {number}, column {column}: expected TOML, got {found}: {shortened(line, LONGEST_VALUE)}; {do}"


def _depth(raw: dict[str, Any]) -> int:
    layer: list[Any] = [raw]
    depth = 0
    while layer and depth <= DEEPEST:
        inner = (each.values() if isinstance(each, dict) else each for each in layer)
        layer = [value for values in inner for value in values if isinstance(value, dict | list)]
        depth += 1
    return depth


def _with_text_keys(raw: dict[str, Any]) -> dict[str, Any]:
    """Read ``form.title = "..."`` under [texts] as the key "form.title", with or without its quotes."""
    texts = raw.get("texts")
    if not isinstance(texts, dict):
        return raw
    flat: dict[str, Any] = {}
    for key, value in texts.items():
        inner = {f"{key}.{name}": text for name, text in value.items()} if isinstance(value, dict) else {key: value}
        flat.update(inner)
    return {**raw, "texts": flat}


def _unfit_values(file: str, table: dict[str, Any], place: str = "") -> Iterator[str]:
    """Yield a problem for dates and control characters; replace them by harmless texts, so that checking continues."""
    for key, value in table.items():
        here = f"{place} {key}".strip()
        if isinstance(value, dict):
            in_table = place.startswith("[") and place.endswith("]")
            yield from _unfit_values(file, value, f"[{place.strip('[]')}.{key}]" if in_table else f"[{key}]")
        elif isinstance(value, list):
            entries = {str(number): entry for number, entry in enumerate(value, start=1)}
            yield from _unfit_values(file, entries, f"{here}, entry")
            table[key] = list(entries.values())
        elif isinstance(value, datetime.date | datetime.time):
            yield f"{file}: {here}: expected text or a number, got the date {value}; write it in quotes"
            table[key] = str(value)
        elif isinstance(value, str) and (bad := next((c for c in value if is_control(c)), None)):
            yield f"{file}: {here}: expected readable text, got the control character U+{ord(bad):04X}; remove it"
            table[key] = "".join(c for c in value if not is_control(c)) or "-"


def _validate(raw: dict[str, Any]) -> Study:
    # JSON mode reads lists as tuples and texts as paths or decimals; strict, it coerces nothing else.
    return study_of(study_file().model_validate_json(json.dumps(raw), strict=True, context=known_keys()))


def _without_bad_tables(raw: dict[str, Any], error: ValidationError) -> tuple[Study, set[str]]:
    """Leave out the tables that hold mistakes, so that the others are still checked against each other.

    Mistakes in their placeholders are never reported: what depends on a tainted table is not checked.
    """
    rest = dict(raw)
    tainted: set[str] = set()
    for detail in error.errors(include_url=False):
        table = str(detail["loc"][0])
        tainted.add(table)
        rest.pop(table, None)
    if tainted.intersection(ways()):
        tainted.add("sections")  # what depends on which sections there are
    placeholders = {"id": "study", "title": "Study", "outputs": {"files": ["-"]}, "systems": [{"id": "x"}, {"id": "y"}]}
    rest = placeholders | rest
    return _validate(rest), tainted


def _is_inside(given: Path, folder: Path) -> bool:
    """Return whether a relative path stays in a folder, wherever links lead, as those of outputs do."""
    return not given.is_absolute() and Path(os.path.realpath(folder / given)).is_relative_to(os.path.realpath(folder))


def _found(given: Path, folder: Path, place: str, findings: list[StudyProblem]) -> Path:
    """Return a path made absolute, or an address; a file that is not there becomes a finding."""
    file = given if address_of(given) else (folder / given).resolve()
    if not (address_of(file) or os.path.isfile(file)):  # unlike Path.is_file, it takes any name
        got = f"{quote(str(given))}, {'a directory' if os.path.isdir(file) else 'no such file'}"
        findings.append(mistake(place, "a file", got, "paths are relative to the study file"))
    return file


def _read_files(study: Study, folder: Path) -> tuple[Study, list[StudyProblem]]:
    """Make the output files absolute and put the text files' words in their place."""
    findings: list[StudyProblem] = []
    files = tuple(_found(file, folder, "[outputs] files", findings) for file in study.outputs.files)
    changes: dict[str, Any] = {"outputs": study.outputs.model_copy(update={"files": files})}
    if (pages := study.design.assignments) is not None:
        found = _found(pages, folder, "[design] assignments", findings)
        changes["design"] = study.design.model_copy(update={"assignments": found})
    family_store = study.people.family_store
    if family_store is not None and "://" not in family_store:
        beside = str((folder / family_store).resolve())
        changes["people"] = study.people.model_copy(update={"family_store": beside})
    for name in ("instructions", "consent", "debriefing"):
        words: Words = getattr(study, name)
        if words.file is None:
            continue
        if words.text is not None:
            findings.append(mistake(f"[{name}]", "text or file", "both", "keep one of them"))
            continue
        if not _is_inside(words.file, folder):
            expected = "a file in the study's folder, its path relative to the study file"
            findings.append(mistake(f"[{name}] file", expected, quote(str(words.file)), "copy the text there"))
            continue
        try:
            text = decoded(str(folder / words.file), _read_bytes(folder / words.file))
        except StudyError as error:
            findings += [StudyProblem((name,), f"[{name}] file: {problem}") for problem in error.problems]
            continue
        if not text.strip() or any(is_control(c) for c in text):
            got = f"{quote(str(words.file))}, empty or with control characters"
            findings.append(mistake(f"[{name}] file", "readable text", got, "correct the file"))
        changes[name] = words.model_copy(update={"text": text, "file": None})
    study = study.model_copy(update=changes)
    study._folder = folder.resolve()
    return study, findings

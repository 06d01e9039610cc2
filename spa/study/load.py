"""Reads ``study.toml`` into a frozen ``Study``; every mistake is told at once, one line each."""

from __future__ import annotations

import datetime
import hashlib
import json
import os.path
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from spa.errors import StudyError
from spa.study.crosschecks import cross_check
from spa.study.findings import Finding, find
from spa.study.mistakes import schema_problems, shown
from spa.study.outputs import Outputs, load_outputs
from spa.study.outputs_reading import is_control
from spa.study.study import Study, Words

NEEDED = ("outputs", "systems", "criteria")  # without these the other tables cannot be checked


def load_study(path: Path) -> Study:
    """Load and check a study file.

    Parameters
    ----------
    path : Path
        The study file. Files that it names are looked for beside it.

    Returns
    -------
    Study
        ``outputs.files`` are absolute; the texts of ``instructions.file`` and ``consent.file``
        stand in ``text``.

    Raises
    ------
    StudyError
        With every mistake found, one line each.
    """
    raw = _with_text_keys(_parse(path))
    problems = list(_unfit_values(str(path), raw))
    study: Study | None
    try:
        study, tainted = _validate(raw), set[str]()
    except ValidationError as error:
        problems += schema_problems(str(path), raw, error)
        study, tainted = _without_bad_tables(raw, error)
    if study is not None:
        study, findings = _read_files(study, path.parent)
        findings += cross_check(study)
        problems += [f"{path}: {finding.told}" for finding in findings if not tainted.intersection(finding.tables)]
    if problems or study is None:
        raise StudyError(*problems)
    return study


def study_fingerprint(study: Study) -> str:
    """Return what everything that decides about forms and their draw hashes to, wherever the files lie.

    Raters, the analysis plan, [people] and the platforms' tables, and the layout of the study file do not count:
    they may change after a study was built.

    Parameters
    ----------
    study : Study
        What :func:`load_study` made of the study file.

    Returns
    -------
    str
        SHA-256 in hexadecimal digits.
    """
    digest = hashlib.sha256()
    words = {name: {"file"} for name in ("instructions", "consent")}
    aside: Any = {name: True for name in ("raters", "analysis", "people", "prolific", "mturk")}
    aside |= {"outputs": {"files"}, **words}
    parts: list[bytes] = [study.model_dump_json(exclude=aside).encode()]
    parts += [_read_bytes(file) for file in study.outputs.files]
    if study.outputs.kind == "image":
        parts += [_read_bytes(image) for image in _images(load_outputs(study))]
    for part in parts:  # each part's length first, so that no two lists of parts look alike
        digest.update(len(part).to_bytes(8, "big"))
        digest.update(part)
    return digest.hexdigest()


def _images(outputs: Outputs) -> Iterator[Path]:
    for output in outputs.all():
        if output.image is not None:
            yield output.image


def _read_bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except IsADirectoryError:
        raise StudyError(f"{path}: wanted a file, got a directory; name the file in it") from None
    except FileNotFoundError:
        raise StudyError(f"{path}: wanted a file, got nothing; no such file, check its name") from None
    except (OSError, ValueError) as error:
        raise StudyError(f"{path}: wanted a readable file, got: {error}") from error


def _read_text(path: Path) -> str:
    """Read a UTF-8 text file, told in one line where it is none."""
    content = _read_bytes(path)
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise StudyError(f"{path}: wanted UTF-8, got UTF-16; save the file as UTF-8")
    if content.startswith(b"\xef\xbb\xbf"):
        raise StudyError(f"{path}: wanted plain UTF-8, got a byte order mark first; save as UTF-8 without BOM")
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise StudyError(
            f"{path}: line {line}: wanted UTF-8, got the byte 0x{content[error.start]:02x}; save the file as UTF-8"
        ) from error


def _parse(path: Path) -> dict[str, Any]:
    text = _read_text(path)
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        last = text.rstrip("\n").rpartition("\n")[2]
        end = f"at line {text.rstrip(chr(10)).count(chr(10)) + 1}, column {len(last) + 1}, the end"
        told = str(error).replace("at end of document", end)
        raise StudyError(f"{path}: wanted TOML, got a mistake: {told}; put the line right") from error
    except (RecursionError, ValueError) as error:
        raise StudyError(f"{path}: wanted TOML, got values too deep or too long to read: {error}") from error


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
    """Tell dates and control characters; put harmless texts in their place so that checking goes on."""
    for key, value in table.items():
        here = f"{place} {key}".strip()
        if isinstance(value, dict):
            yield from _unfit_values(file, value, f"[{_inner(place, key)}]")
        elif isinstance(value, list):
            entries = {str(number): entry for number, entry in enumerate(value, start=1)}
            yield from _unfit_values(file, entries, f"{here}, entry")
            table[key] = list(entries.values())
        elif isinstance(value, datetime.date | datetime.time):
            yield f"{file}: {here}: wanted text or a number, got the date or time {value}; write it in quotes"
            table[key] = str(value)
        elif isinstance(value, str) and (bad := next((c for c in value if is_control(c)), None)):
            yield f"{file}: {here}: wanted readable text, got the control character U+{ord(bad):04X}; remove it"
            table[key] = "".join(c for c in value if not is_control(c)) or "-"


def _inner(place: str, key: str) -> str:
    return f"{place.strip('[]')}.{key}" if place.startswith("[") and place.endswith("]") else key


def _validate(raw: dict[str, Any]) -> Study:
    # JSON mode reads lists as tuples and texts as paths or decimals; strict, it coerces nothing else.
    return Study.model_validate_json(json.dumps(raw), strict=True)


def _without_bad_tables(raw: dict[str, Any], error: ValidationError) -> tuple[Study | None, set[str]]:
    """Leave out the tables that hold mistakes, so that the others are still checked against each other."""
    rest = dict(raw)
    tainted: set[str] = set()
    for detail in error.errors(include_url=False):
        table = str(detail["loc"][0])
        tainted.add(table)
        rest.pop(table, None)
    if tainted.intersection(NEEDED):
        return None, tainted
    rest.setdefault("id", "study")
    rest.setdefault("title", "Study")
    return _validate(rest), tainted


def _read_files(study: Study, folder: Path) -> tuple[Study, list[Finding]]:
    """Make the output files absolute and put the text files' words in their place."""
    findings: list[Finding] = []
    files = tuple((folder / file).resolve() for file in study.outputs.files)
    for given, file in zip(study.outputs.files, files, strict=True):
        if not os.path.isfile(file):  # unlike Path.is_file, it takes any name
            got = f"{shown(str(given))}, {'a directory' if os.path.isdir(file) else 'no such file'}"
            findings.append(find("[outputs] files", "a file", got, "paths are relative to the study file"))
    changes: dict[str, Any] = {"outputs": study.outputs.model_copy(update={"files": files})}
    family_store = study.people.family_store
    if family_store is not None and "://" not in family_store:
        beside = str((folder / family_store).resolve())
        changes["people"] = study.people.model_copy(update={"family_store": beside})
    for name in ("instructions", "consent"):
        words: Words = getattr(study, name)
        if words.file is None:
            continue
        if words.text is not None:
            findings.append(find(f"[{name}]", "text or file", "both", "keep one of them"))
            continue
        try:
            text = _read_text(folder / words.file)
        except StudyError as error:
            findings += [Finding((name,), f"[{name}] file: {problem}") for problem in error.problems]
            continue
        if not text.strip() or any(is_control(c) for c in text):
            got = f"{shown(str(words.file))}, empty or with control characters"
            findings.append(find(f"[{name}] file", "readable text", got, "put the file right"))
        changes[name] = Words(text=text)
    return study.model_copy(update=changes), findings

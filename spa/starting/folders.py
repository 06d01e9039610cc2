"""Folders with a file for each system and item: texts, or files of another medium."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from spa.errors import StudyError, TableError, shortened
from spa.files import lines_of
from spa.media import PLAIN, all_media, medium_of, medium_of_file
from spa.media.medium import Medium
from spa.starting.columns import OutputColumn
from spa.starting.found import Answer, FoundOutputs, systems_listed
from spa.starting.names import place_in
from spa.starting.sheets import OutputSheet, read_sheet
from spa.study.output_files import decoded, display_path
from spa.tables.json_files import read_json
from spa.tables.options import TableOptions
from spa.tables.reading import OTHERWISE, table_suffix

PROMPTS = frozenset(("prompt", "prompts", "input", "inputs", "source", "sources", "instruction", "question"))
SOURCES, REFERENCES = (
    PROMPTS | {"src"},
    frozenset(("ref", "refs", "reference", "references", "gold")),
)  # in names of files
ARROW, DESCRIBING = ".arrow", frozenset(("dataset_info.json", "state.json", "dataset_dict.json"))  # of a saved data set
NUMBERED = re.compile(r"\d$")
NUMBERED_ITEM = re.compile(  # what only items are called
    r"(?i)(?:p|q|prompt|question|query|item|utt|utterance|sentence|sent|doc|document|scene|story|example)[-_ ]?\d+"
)
N_BEST = re.compile(r"(\d+) \|\|\| (.*?) \|\|\| ?(.*)")  # as Moses writes: the sentence from 0, a translation, scores
LIST = re.compile(rb"(?:\xef\xbb\xbf)?\s*\[\s*\"")  # of texts, in JSON
LANGUAGE = re.compile("[a-z]{2,3}").fullmatch
PARTED = ("_", "-", " ", ".")  # what parts the words of a name
MOST_FILES, MOST_BYTES = 200_000, 10_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputPaths:
    """Files with tables or lines of text, those among them that only lay in a folder, folders with a file an output.

    ``aside`` are files with an output each beside tables.
    """

    tables: tuple[Path, ...]
    in_folders: frozenset[Path]
    folders: tuple[Path, ...]
    aside: tuple[Path, ...]


def paths_in(paths: Sequence[Path]) -> OutputPaths:
    """Return what lies at some paths.

    Raise StudyError where one is a folder without tables and outputs, or both kinds of folders are there.
    """
    tables: list[Path] = []
    inside: list[Path] = []
    folders: list[Path] = []
    aside: list[Path] = []
    for path in paths:
        if not path.is_dir():
            tables.append(path)
            continue
        files = sorted(_files(path), key=str)
        describing = {*DESCRIBING} if any(file.suffix == ARROW for file in files) else set[str]()
        found = [file for file in files if table_suffix(file.name) is not None and file.name not in describing]
        ours = [file for file in files if medium_of_file(file) is not None]
        flat = all(file.parent == path and may_hold_lines(file) for file in ours)
        if found and len(ours) <= len(found):
            inside += found
            aside += ours
        elif ours and flat and len(paths) == 1:
            tables += ours
        elif ours:
            folders.append(path)
        else:
            raise StudyError(_nothing_read(path, files))
    if folders and (tables or inside):
        raise StudyError(
            f"{display_path(folders[0])}: expected tables or folders with a file for each output, got both; "
            "give one kind"
        )
    return OutputPaths(
        tables=tuple(dict.fromkeys((*tables, *inside))),
        in_folders=frozenset(inside) - frozenset(tables),
        folders=tuple(folders),
        aside=tuple(aside),
    )


def _nothing_read(folder: Path, files: Sequence[Path]) -> str:
    """Say what a folder without tables and outputs holds, and what becomes of it."""
    plain, *others = all_media()
    of_others = (f"{medium.suffixes[0]} or other {medium.many}" for medium in others if medium.suffixes)
    kinds = f"tables, or of {', '.join((*plain.suffixes[:2], *of_others))}"
    endings = [ending for ending, _ in Counter(file.suffix.lower() for file in files).most_common(3)]
    if not endings:
        return f"{display_path(folder)}: expected a folder of {kinds}, got none in it; name the right one"
    listed = ", ".join(shortened(ending, 20) or "names without an ending" for ending in endings)
    do = OTHERWISE.get(endings[0], "if these are texts, add .txt to their names (a.de.txt)")
    return f"{display_path(folder)}: expected a folder of {kinds}, got files of other endings ({listed}); {do}"


def _files(folder: Path) -> Iterator[Path]:
    """Yield the files of a folder and its folders, but hidden ones."""
    for count, path in enumerate(folder.rglob("*")):
        if count > MOST_FILES:
            raise StudyError(f"{display_path(folder)}: expected at most {MOST_FILES:,} files, got more")
        hidden = any(part.startswith((".", "__")) for part in path.relative_to(folder).parts)
        if path.is_file() and not hidden:
            yield path


def found_in_folders(folders: Sequence[Path]) -> FoundOutputs:
    """Return the answers of folders ``system/item.txt`` or ``item/system.txt``, told apart by which names recur.

    Several folders are systems; one folder holds those of systems or of items. Names of files side by side may hold
    both (``gpt_1.png``), where each system made one of each item. Raise StudyError where files do not lie so, or a
    text is not UTF-8.
    """
    root = folders[0] if len(folders) == 1 else None
    files: dict[tuple[str, str], Path] = {}
    aside: list[Path] = []
    for folder in folders:
        for path in sorted(_files(folder), key=str):
            inner = path.relative_to(folder).with_suffix("")
            parts = inner.parts if root is not None else (folder.resolve().name, *inner.parts)
            if medium_of_file(path) is None or len(parts) < 2:
                aside.append(path)
                continue
            files[parts[0], "/".join(parts[1:])] = path
    where = display_path(folders[0])
    together = None if files else _names_of_both(aside)
    if together is not None:
        files, aside = together, []
    if not files:
        example = next((path.name for path in aside), "none")
        raise StudyError(
            f"{where}: expected a folder for each system with a file for each item, as in system/item.txt, got files "
            f"beside each other ({shortened(example)}); put the files of each system into a folder of its own"
        )
    lists = [path for path in aside if table_suffix(path.name) is not None] if together is None else []
    systems_first = _systems_first(files, lists[0] if len(lists) == 1 else None)
    named = {
        ((outer, inner) if systems_first else (inner, outer)): path for (outer, inner), path in files.items()
    }  # fmt: skip
    prompts = {item: path for (system, item), path in named.items() if system.casefold() in PROMPTS}
    named = {key: path for key, path in named.items() if key[0].casefold() not in PROMPTS}
    medium = _one_medium(where, named.values())
    beside = None if prompts else _prompts_beside(aside, {item for _, item in named})
    given = {} if beside is None else beside.texts
    answers = tuple(
        Answer(
            item=item,
            system=system,
            output=_text(path) if medium.files is None else str(path),
            prompt=_text(prompts[item]) if item in prompts else given.get(item),
            place=display_path(path),
        )
        for (system, item), path in named.items()
    )
    what = medium.many
    parts = ("folders", "names of files") if together is None else ("beginnings of names", "ends of names")
    of_systems, of_items = parts if systems_first else reversed(parts)
    took = [
        f"system: the {of_systems} in {where} {systems_listed(answers)}",
        f"item: the {of_items} ({len({one.item for one in answers}):,} items)",
        f"output: {what}, a file each",
    ]
    if prompts:
        took.append(f"prompt: the {len(prompts):,} texts called {next(iter(prompts.values())).stem}")
    if beside is not None:
        took.append(f"prompt: column {shortened(beside.column)} of {beside.file.name}")
        aside = [path for path in aside if path != beside.file]
    left = (f"files that lie in no folder or are no {what}: {len(aside)} (first: {aside[0].name})",) if aside else ()
    return FoundOutputs(answers=answers, kind=medium.key, took=tuple(took), left_out=left)


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptsBeside:
    """The prompts of items in a table beside the folders of outputs."""

    file: Path
    column: str
    texts: Mapping[str, str]


def _prompts_beside(aside: Sequence[Path], items: set[str]) -> PromptsBeside | None:
    """Return the prompts in the only table of some files, where a column of it names the file of every item."""
    tables = [path for path in aside if table_suffix(path.name) is not None]
    sheet = _list_in(tables[0]) if len(tables) == 1 else None
    if sheet is None:
        return None
    for name, column in sheet.columns.items():
        keys = [_item_of(cell or "") for cell in column.cells]
        if len({*keys}) < len(keys) or not items <= {*keys}:
            continue
        known = [(at, one) for one in sheet.columns if one != name and (at := place_in("prompt", one)) is not None]
        for _, prompt in sorted(known):
            texts = {key: cell for key, cell in zip(keys, sheet.columns[prompt].cells, strict=True) if cell}
            if items <= texts.keys() and not sheet.columns[prompt].is_number:
                return PromptsBeside(file=tables[0], column=prompt, texts=texts)
    return None


def _list_in(path: Path) -> OutputSheet | None:
    try:
        return read_sheet(path, frozenset(), TableOptions())[0]
    except StudyError:
        return None


def _item_of(cell: str) -> str:
    """Return the name of an item by that of a file, with or without its ending."""
    path = Path(cell.strip())
    return path.with_suffix("").as_posix() if path.name and medium_of_file(path) is not None else cell.strip()


def _names_of_both(paths: Sequence[Path]) -> dict[tuple[str, str], Path] | None:
    """Return files by the two parts of their names, where one way alone to part them leaves no pair of parts out."""
    ways = []
    for sign in PARTED:
        words = {path: path.stem.split(sign) for path in paths if medium_of_file(path) is not None}
        shortest = min(map(len, words.values()), default=0)
        for cut in (*range(1, shortest), *range(1 - shortest, 0)):
            files = {(sign.join(own[:cut]), sign.join(own[cut:])): path for path, own in words.items()}
            first, last = {one for one, _ in files}, {one for _, one in files}
            if min(len(first), len(last)) > 1 and len(first) * len(last) == len(files) == len(paths):
                ways.append(files)
    return ways[0] if ways and all(one == ways[0] for one in ways) else None


def _one_medium(where: str, paths: Iterable[Path]) -> Medium:
    found = Counter(medium.key for path in paths if (medium := medium_of_file(path)) is not None)
    media = [medium for medium in all_media() if medium.key in found]
    if len(media) > 1:
        expected = " or ".join(medium.many for medium in media)
        got = f"{'both' if len(media) == 2 else 'all'} ({found[media[-1].key]} {media[-1].many})"
        raise StudyError(f"{where}: expected {expected}, got {got}; give one kind")
    return media[0] if media else medium_of(PLAIN)


def records_in(paths: Sequence[Path]) -> dict[tuple[str, str], Path] | None:
    """Return JSON files of two folders or more with the same names in each, by system and item; ``None`` of others."""
    files = {(path.parent.name, path.stem): path for path in paths if path.suffix.lower() == ".json"}
    names: dict[str, set[str]] = {}
    for outer, inner in files:
        names.setdefault(outer, set()).add(inner)
    shared = set.intersection(*names.values()) if len(names) > 1 else set()
    if len(files) < len(paths) or len(shared) < 2 or len({path.parent.parent for path in paths}) > 1:
        return None
    systems_first = _systems_first(files)
    return {((outer, inner) if systems_first else (inner, outer)): path for (outer, inner), path in files.items()}


def _systems_first(files: dict[tuple[str, str], Path], listing: Path | None = None) -> bool:
    """Return whether the outer folders are systems: there are fewer of them than of the inner names.

    What a table beside them lists, one a row, are items, however few; so is what is called as items are.
    """
    outer, inner = {one for one, _ in files}, {one for _, one in files}
    if listing is not None and (sheet := _list_in(listing)) is not None:
        listed = [{_item_of(cell or "") for cell in column.cells} for column in sheet.columns.values()]
        inner_listed, outer_listed = (any(names <= cells for cells in listed) for names in (inner, outer))
        if inner_listed != outer_listed:
            return inner_listed
    inner_items, outer_items = (all(map(NUMBERED_ITEM.fullmatch, names)) for names in (inner, outer))
    if inner_items != outer_items:
        return inner_items
    if PROMPTS & {name.casefold() for name in inner} or all(map(NUMBERED.search, outer)):
        return all(map(NUMBERED.search, inner)) and len(outer) <= len(inner)
    return bool(PROMPTS & {name.casefold() for name in outer}) or len(outer) <= len(inner)


def may_hold_lines(path: Path) -> bool:
    """Return whether a file is a text by its suffix, which may have an output a line, or a list of texts in JSON."""
    medium = medium_of_file(path)
    if medium is not None or path.suffix.lower() != ".json":
        return medium is not None and medium.files is None
    try:
        with path.open("rb") as stream:
            return LIST.match(stream.read(1000)) is not None
    except OSError:  # reading it says why
        return False


def line_sheets(paths: Sequence[Path]) -> list[OutputSheet]:
    """Return files with an output a line, as translations are kept: those of a system, of a source or a reference.

    Of sources and references are files whose names say so, where two others are left. Raise StudyError where files
    have not as many lines, or a single one.
    """
    texts = {path: _lines(path) for path in paths}
    best = {path: found for path, lines in texts.items() if (found := _n_best(lines))}
    counts = {len(lines) for path, lines in texts.items() if path not in best}
    if len(counts) > 1 or counts == {1}:
        others = [path for path in paths if path not in best]
        listed = ", ".join(f"{len(texts[path]):,} in {path.name}" for path in others[:3])
        raise StudyError(
            f"{display_path(paths[0])}: expected a line for each output, as many in each file, got {shortened(listed)}"
            "; of longer texts give a folder for each system with a file for each item"
        )
    names = {path: _column_of(path) for path in paths}
    if sum(name == "output" for name in names.values()) < 2:
        names = dict.fromkeys(paths, "output")
    sheets = []
    labels = _bare_stems([path for path in paths if names[path] == "output"])
    for path, lines in texts.items():
        name = names[path]
        label = labels.get(path, path.stem)
        numbers = range(1, len(lines) + 1)
        if path in best:
            listing = ("line", "output", "scores")
            cells = {key: [one[key] for one in best[path]] for key in listing}
            columns = {key: OutputColumn(name=key, cells=cells[key]) for key in listing}
            notes = (f"{display_path(path)}: an n-best list, of which the first text to a sentence is the likeliest",)
            sheets.append(OutputSheet(file=path, label=label, columns=columns, numbers=numbers, notes=notes))
            continue
        columns = {"line": OutputColumn(name="line", cells=[str(number) for number in numbers])}
        said = "" if name == "output" else f"the lines of {path.name}"
        columns[name] = OutputColumn(name=name, cells=lines, description=said)
        sheets.append(OutputSheet(file=path, label=label, columns=columns, numbers=numbers))
    return sheets


def _bare_stems(paths: Sequence[Path]) -> dict[Path, str]:
    """Return names of files without what all have in common: what ends in a word for outputs, languages at the end.

    >>> _bare_stems([Path("news.en-de.hyp.a-7b.de.txt"), Path("news.en-de.hyp.b.de.txt")]).values()
    dict_values(['a-7b', 'b'])
    >>> _bare_stems([Path("gpt-3.5.txt"), Path("gpt-4.5.txt")]).values()
    dict_values(['gpt-3.5', 'gpt-4.5'])
    """
    parts = [path.stem.split(".") for path in paths]
    while min(map(len, parts), default=0) > 1 and len({own[-1] for own in parts}) == 1 and LANGUAGE(parts[0][-1]):
        parts = [own[:-1] for own in parts]
    shared = [words[0] for words in zip(*parts, strict=False) if len({*words}) == 1]
    ends = [at for at, word in enumerate(shared) if place_in("output", word) is not None and parts[0][at] == word]
    bare = [".".join(own[ends[-1] + 1 :] if ends else own) for own in parts]
    plain = all(bare) and len({*bare}) == len(bare)
    return dict(zip(paths, bare, strict=True)) if plain else {path: path.stem for path in paths}


def _n_best(lines: Sequence[str]) -> list[dict[str, str]]:
    """Return the rows of an n-best list, none of other lines; sentences are numbered from 1, as lines are."""
    rows = [N_BEST.fullmatch(line) for line in lines]
    found = [{"line": str(int(row[1]) + 1), "output": row[2], "scores": row[3]} for row in rows if row is not None]
    return found if len(found) == len(lines) else []


def _column_of(path: Path) -> str:
    words = {*re.split(r"[-_.\s]+", path.stem.casefold())}
    return "prompt" if words & SOURCES else "reference" if words & REFERENCES else "output"


def _lines(path: Path) -> list[str]:
    if path.suffix.lower() != ".json":
        return lines_of(_text(path))
    try:
        texts = read_json(path)
    except TableError as error:
        raise StudyError(*error.problems) from error
    wrong = next((number for number, one in enumerate(texts, start=1) if not isinstance(one, str)), None)
    if wrong is not None:
        raise StudyError(
            f"{display_path(path)}, row {wrong}: expected a text, as in the rows before it, got another value; "
            "write an object for each output"
        )
    return [*texts]


def _text(path: Path) -> str:
    place = display_path(path)
    try:
        if path.stat().st_size > MOST_BYTES:
            raise StudyError(f"{place}: expected a text of at most {MOST_BYTES:,} bytes, got a larger one")
        return decoded(place, path.read_bytes())
    except OSError as error:
        raise StudyError(f"{place}: expected a readable file, got {error.strerror or error}; check it") from error

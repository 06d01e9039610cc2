"""Reads documents as somebody does who types what they show: the commands of the shell blocks, one after the other."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

FENCED = re.compile(r"^```(\w*)[^\n]*\n(.*?)^```", flags=re.M | re.S)
SHELL = ("console", "bash", "sh")
ASSIGNED = re.compile(r"[A-Za-z_]\w*=")
SEPARATORS = ("|", "||", "&", "&&", ";")
REDIRECTIONS = (">", ">>", "<", "2>")


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """One command of a shell block.

    Attributes
    ----------
    document : str
        Name of the file.
    line : int
        Line of the file on which it begins, from 1.
    text : str
        As it is written, without ``$`` and with continued lines as one.
    parts : tuple of tuple of str
        The words of each program that it starts, where ``|``, ``&&`` and ``;`` part them; without what is
        assigned in front and where the output goes.
    """

    document: str
    line: int
    text: str
    parts: tuple[tuple[str, ...], ...]

    @property
    def words(self) -> tuple[str, ...]:
        """The words of a command that starts one program."""
        (only,) = self.parts
        return only

    def __str__(self) -> str:
        return f"{self.document}:{self.line}: {self.text}"


def shell_commands(path: Path) -> list[Command]:
    """Return the commands of a document in order.

    In a block with ``$`` the lines with it are commands and the others what is printed; without, all lines are.
    """
    text, found = path.read_text(encoding="utf-8"), []
    for block in FENCED.finditer(text):
        if block[1] in SHELL:
            first = text.count("\n", 0, block.start(2)) + 1
            found += [_command(path.name, first + offset, line) for offset, line in _lines(block[2])]
    return [command for command in found if command.parts]


def fenced(path: Path, language: str) -> list[str]:
    """Return the blocks of one language in a document."""
    return [found[2] for found in FENCED.finditer(path.read_text(encoding="utf-8")) if found[1] == language]


def spoken_of(path: Path) -> list[str]:
    """Return the ``spa ...`` commands that the sentences of a document name between backquotes."""
    sentences = FENCED.sub("", path.read_text(encoding="utf-8"))
    return [" ".join(words.split()) for words in re.findall(r"`(spa\s[^`]*)`", sentences)]


def _lines(block: str) -> Iterator[tuple[int, str]]:
    prompted = re.search(r"^\$ ", block, flags=re.M) is not None
    lines = enumerate(block.splitlines())
    for offset, line in lines:
        if prompted and not line.startswith("$ "):
            continue
        whole = line.removeprefix("$ ")
        while whole.endswith("\\"):
            whole = whole[:-1] + next(lines)[1].removeprefix("> ").strip()
        yield offset, whole


def _command(document: str, line: int, text: str) -> Command:
    return Command(document=document, line=line, text=re.sub(r"(^|\s+)#.*$", "", text).strip(), parts=programs(text))


def programs(text: str) -> tuple[tuple[str, ...], ...]:
    """Return the words of each program that a line of shell starts.

    >>> programs("LANG=C spa status study.toml --json | grep done > n.txt  # how far")
    (('spa', 'status', 'study.toml', '--json'), ('grep', 'done'))
    """
    lexer = shlex.shlex(text, posix=True, punctuation_chars="|&;<>")
    lexer.whitespace_split = True
    parts: list[list[str]] = [[]]
    words = iter(lexer)
    for word in words:
        if word in SEPARATORS:
            parts.append([])
        elif word in REDIRECTIONS:
            next(words)
        elif parts[-1] or not ASSIGNED.match(word):
            parts[-1].append(word)
    return tuple(tuple(part) for part in parts if part)

"""What was found in files of outputs: answers of systems to items, and what is to be said and asked about them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from spa.errors import shortened
from spa.media import PLAIN


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a system made of an item.

    Parameters
    ----------
    item, system : str
        In the words of the file.
    output : str
        The text as it stands there, or the path of a file.
    prompt : str, optional
        What every system was given for the item: a text, or the path of a file.
    sample : str, optional
        Which of several outputs of the system for the item.
    place : str
        Where it stands: "answers.csv row 3".
    """

    item: str
    system: str
    output: str
    prompt: str | None = None
    sample: str | None = None
    place: str


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenQuestion:
    """What whoever starts a study settles, at a terminal or by an option.

    Parameters
    ----------
    key : str
        Name of the option without dashes: "missing-outputs".
    question : str
        What is in doubt, with its figures.
    choices : tuple of str
        Possible answers.
    default : str, optional
        The answer that ``--yes`` gives; none where only the option may.
    """

    key: str
    question: str
    choices: tuple[str, ...]
    default: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundOutputs:
    """What was found.

    Parameters
    ----------
    answers : tuple of Answer
        In the order of the files.
    kind : str
        Key of the medium of the outputs.
    item_kind : str
        Key of the medium of the prompts.
    took : tuple of str
        One line for each thing that was taken for something.
    left_out : tuple of str
        One line for each thing that was left out, with its count.
    caveats : tuple of str
        What may be wrong with the answers, one line each.
    asked : tuple of OpenQuestion
        Doubts that remain.
    references : mapping of str to str
        Item -> a text that metrics compare with.
    item_name : str, optional
        What people read above a prompt, in English: "Source".
    within : mapping of str to Path
        The files that texts name, by their paths there.
    """

    answers: tuple[Answer, ...]
    kind: str = PLAIN
    item_kind: str = PLAIN
    took: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    caveats: tuple[str, ...] = ()
    asked: tuple[OpenQuestion, ...] = ()
    references: Mapping[str, str] = field(default_factory=dict)
    item_name: str | None = None
    within: Mapping[str, Path] = field(default_factory=dict)


SHOWN = 8  # names that a line lists


def systems_listed(answers: Sequence[Answer]) -> str:
    """Return how many systems answered, and the first of them.

    >>> systems_listed([Answer(item="1", system=name, output="Text.", place="row 1") for name in ("b", "a", "b")])
    '(2 systems: b, a)'
    """
    names = list(dict.fromkeys(answer.system for answer in answers))
    listed = ", ".join(shortened(name, 40) for name in names[:SHOWN]) + ", ..." * (len(names) > SHOWN)
    return f"({len(names)} systems: {listed})"


def names_listed(names: Sequence[str]) -> str:
    """Return the first names, each cut short, with commas between."""
    return shortened(", ".join(shortened(name, 40) for name in names[:SHOWN]), 300) + ", ..." * (len(names) > SHOWN)

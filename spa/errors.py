"""The errors that a user can cause, each reported in one line per mistake."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Self

LONGEST_PROBLEM = 480  # characters; with what a command puts before it a line stays under 500


class ArgumentProblem(str):
    """A problem that names an argument of a function; a command calls it by its option.

    Parameters
    ----------
    parameter : str
        Name of the argument, as the function and the command's function call it.
    in_python, in_command : str
        What follows the name: ``={'YOURS': 'system'}`` and `` YOURS=system``.
    before, after : str
        The rest of the line.

    >>> problem = ArgumentProblem("llms", in_python="=['gpt']", in_command=" gpt", after=": no such annotator")
    >>> print(problem, problem.with_option("--llm"), sep=", ")
    llms=['gpt']: no such annotator, --llm gpt: no such annotator
    """

    def __new__(
        cls, parameter: str, *, in_python: str = "", in_command: str = "", before: str = "", after: str = ""
    ) -> ArgumentProblem:
        """Put the line together in words of Python."""
        problem = super().__new__(cls, _line(f"{before}{parameter}{in_python}{after}"))
        problem.parameter = parameter
        problem._parts = {"in_python": in_python, "in_command": in_command, "before": before, "after": after}
        return problem

    parameter: str
    _parts: dict[str, str]

    def with_option(self, option: str) -> str:
        """Return the line with the option in the place of the argument."""
        return _line(f"{self._parts['before']}{option}{self._parts['in_command']}{self._parts['after']}")

    def called(self, old: str, new: str) -> ArgumentProblem:
        """Return the problem with another name for the place of which it tells."""
        return ArgumentProblem(self.parameter, **{name: part.replace(old, new) for name, part in self._parts.items()})


class SpaError(Exception):
    """Something a user can put right.

    Parameters
    ----------
    *problems : str
        One line a mistake: where, what was expected, what was found, what to do.
        Several mistakes found together are raised together; a long line is cut in its middle.
    """

    def __init__(self, *problems: str) -> None:
        if not problems:
            raise ValueError("a SpaError names at least one problem")
        self.problems = tuple(
            problem if isinstance(problem, ArgumentProblem) else _line(problem) for problem in problems
        )
        super().__init__("\n".join(self.problems))

    def called(self, old: str, new: str) -> Self:
        """Return the error with another name for the place of which it tells."""
        renamed = type(self)(*(called(problem, old, new) for problem in self.problems))
        vars(renamed).update({name: value for name, value in vars(self).items() if name != "problems"})
        return renamed

    def with_options(self, options: Mapping[str, str]) -> list[str]:
        """Return the problems as a command says them, with its options (parameter -> option) for arguments."""
        return [
            problem.with_option(options[problem.parameter])
            if isinstance(problem, ArgumentProblem) and problem.parameter in options
            else problem
            for problem in self.problems
        ]


def _line(problem: str) -> str:
    return shortened(" ".join(problem.split()), LONGEST_PROBLEM)


def shortened(value: object, limit: int = 80) -> str:
    """Return a value as text of at most ``limit`` characters, its start and its end.

    >>> shortened("abcdefghijklmnopqrstuvwxyz", 17)
    'abcdefgh ... wxyz'
    """
    text = str(value)
    length = limit - 5
    return text if len(text) <= limit else f"{text[: length - length // 3]} ... {text[-(length // 3) :]}"


def called(problem: str, old: str, new: str) -> str:
    """Return a problem with another name for the place of which it tells: the file that a reader named.

    >>> called("/tmp/x.csv, row 2: expected a number", "/tmp/x.csv", "x.csv.gz")
    'x.csv.gz, row 2: expected a number'
    """
    return problem.called(old, new) if isinstance(problem, ArgumentProblem) else problem.replace(old, new)


def expected_got(place: str, expected: str, got: object, do: str) -> str:
    """Return the line of a problem: where, what was expected, what came instead, what to do.

    >>> expected_got("[spa] baseline", "a system", "none", "add one")
    '[spa] baseline: expected a system, got none; add one'
    """
    return f"{place}: expected {expected}, got {got}; {do}"


def unreadable(place: object, error: OSError, do: str = "check its name") -> str:
    """Return the line of a file that cannot be read; ``do`` says what to do where there is none.

    >>> unreadable("scores.csv", FileNotFoundError(2, "No such file or directory"))
    'scores.csv: no such file; check its name'
    >>> unreadable("tables", IsADirectoryError(21, "Is a directory"))
    'tables: expected a file, got a directory; name the file in it'
    >>> unreadable("scores.csv", PermissionError(13, "Permission denied"))
    'scores.csv: cannot be read (Permission denied); make it readable'
    """
    if isinstance(error, FileNotFoundError):
        return f"{place}: no such file; {do}"
    if isinstance(error, IsADirectoryError):
        return f"{place}: expected a file, got a directory; name the file in it"
    damaged = "make or download it again" if error.errno is None else "check its name"  # a codec's has none
    remedy = "make it readable" if isinstance(error, PermissionError) else damaged
    return f"{place}: cannot be read ({error.strerror or error}); {remedy}"


class StudyError(SpaError):
    """The study file or the outputs that it names are not usable."""


class TableError(SpaError):
    """A file with a table cannot be read, or does not hold what was asked of it."""


class NoRows(TableError):
    """A table has no row: as a part of a larger one it may be left out."""


class ResponseError(SpaError):
    """An answer, a submission or the store that keeps them is not usable."""


class AnalysisError(SpaError):
    """The tables do not allow the analysis that was asked for."""


class PlatformError(SpaError):
    """A service outside (an LLM endpoint, a crowd platform) refused or failed."""


def how_to_install(extra: str) -> str:
    """Say how an extra of this package is installed, from its checkout or from an index.

    >>> how_to_install("local")
    'pip install ".[local]" in the checkout, or "spa-eval[local]" from an index'
    """
    return f'pip install ".[{extra}]" in the checkout, or "spa-eval[{extra}]" from an index'

"""The errors that a user can cause, each told in one line a mistake."""

from __future__ import annotations

LONGEST_PROBLEM = 480  # characters; with what a command puts before it a line stays under 500


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
        self.problems = tuple(shortened(" ".join(problem.split()), LONGEST_PROBLEM) for problem in problems)
        super().__init__("\n".join(self.problems))


def shortened(value: object, limit: int = 80) -> str:
    """Return a value as text of at most ``limit`` characters, its start and its end.

    >>> shortened("abcdefghijklmnopqrstuvwxyz", 17)
    'abcdefgh ... wxyz'
    """
    text = str(value)
    kept = limit - 5
    return text if len(text) <= limit else f"{text[: kept - kept // 3]} ... {text[-(kept // 3) :]}"


class StudyError(SpaError):
    """The study file or the outputs that it names are not usable."""


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

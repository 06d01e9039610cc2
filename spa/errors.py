"""The errors that a user can cause, each told in one line a mistake."""

from __future__ import annotations


class SpaError(Exception):
    """Something a user can put right.

    Parameters
    ----------
    *problems : str
        One line a mistake: where, what was wanted, what came, what to do.
        Several mistakes found together are raised together.
    """

    def __init__(self, *problems: str) -> None:
        if not problems:
            raise ValueError("a SpaError names at least one problem")
        self.problems = tuple(" ".join(problem.split()) for problem in problems)
        super().__init__("\n".join(self.problems))


class StudyError(SpaError):
    """The study file or the outputs that it names are not usable."""


class ResponseError(SpaError):
    """An answer, a submission or the store that keeps them is not usable."""


class AnalysisError(SpaError):
    """The tables do not allow the analysis that was asked for."""


class PlatformError(SpaError):
    """A service outside (an LLM endpoint, a crowd platform) refused or failed."""

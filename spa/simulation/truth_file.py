"""A truth file: the true utilities of a simulation and the temperament of its annotators."""

from __future__ import annotations

import tomllib
from pathlib import Path

from pydantic import ValidationError

from spa.errors import StudyError
from spa.simulation.simulated_annotators import Temperament
from spa.simulation.true_utilities import TrueUtilities


class TruthFile(TrueUtilities):
    """The keys of the file: those of :class:`TrueUtilities`, and a table ``[temperament]``."""

    temperament: Temperament | None = None


def load_truth(path: Path) -> TruthFile:
    """Read a truth file.

    Raises
    ------
    StudyError
        With one line a mistake.
    """
    try:
        return TruthFile.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))
    except OSError as error:
        raise StudyError(f"{path}: expected a readable TOML file, got {error.strerror or error}") from error
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise StudyError(f"{path}: expected TOML in UTF-8, got {error}") from error
    except ValidationError as error:
        problems = [
            f"{path}: {'.'.join(map(str, problem['loc'])) or 'truth'}: {problem['msg']}, got {problem['input']!r:.80}"
            for problem in error.errors(include_url=False)
        ]
        raise StudyError(*problems) from error

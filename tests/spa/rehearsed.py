"""The shipped example, copied and built: for tests that need a whole study."""

from __future__ import annotations

import re
import shutil
from importlib.resources import files
from pathlib import Path

from click.testing import CliRunner, Result

from spa.cli import main
from spa.commands.build import build_store
from spa.study.load import load_study, study_fingerprint


def built_example(folder: Path, *, annotators: int, example: str = "demo", exposure: int | None = None) -> Path:
    """Copy an example into ``folder``, build some assignments and return the study file."""
    for source in ("stories", example) if example == "demo" else (example,):  # of which the demo has the outputs
        shutil.copytree(str(files("spa.examples") / source), folder / example, dirs_exist_ok=True)
    path = folder / example / "study.toml"
    if exposure is not None:
        path.write_text(re.sub(r"(?m)^exposure = \d+", f"exposure = {exposure}", path.read_text()))
    study = load_study(path)
    fingerprint = study_fingerprint(study)
    build_store(study, path.with_suffix(".sqlite"), fingerprint=fingerprint, annotators=annotators, seed=None)
    return path


def spa(*arguments: object, code: int = 0) -> Result:
    """Run a command as a user types it, and check its exit code."""
    shown = CliRunner().invoke(main, [str(argument) for argument in arguments], catch_exceptions=False)
    assert shown.exit_code == code, shown.output
    return shown

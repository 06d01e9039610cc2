"""What all tests share: where the real annotation data lies, and what a missing part means."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import settings

settings.register_profile("unhurried", deadline=None)  # a busy machine is no defect
settings.load_profile("unhurried")


def missing_part(reason: str) -> None:
    """Skip on a user's machine; fail where everything must be there (``CI=true``)."""
    if os.environ.get("CI") == "true":
        pytest.fail(f"{reason}; on CI every part must be there")
    pytest.skip(reason)


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Folder with the real annotation data of three published studies; not part of the repository."""
    folder = Path(__file__).resolve().parents[2] / "shared" / "data"
    if not folder.is_dir():
        pytest.skip(f"no real annotation data at {folder}")
    return folder

"""What ``import spa`` brings, and what it leaves alone."""

from __future__ import annotations

import subprocess
import sys

import pytest

import spa

HEAVY = ("transformers", "openai", "torch", "boto3", "streamlit", "scipy", "sqlalchemy", "polars", "pydantic", "numpy")


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="spa attribute load_studdy"):
        _ = spa.load_studdy


@pytest.mark.parametrize("statement", ["import spa", "import spa.commands.build, spa.commands.export"])
def test_an_import_loads_nothing_heavy(statement: str) -> None:
    code = f"import sys; {statement}; print(*sorted({{name.partition('.')[0] for name in sys.modules}}))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not set(loaded) & set(HEAVY)


def test_using_a_name_loads_no_vendor() -> None:
    code = "import sys, spa; spa.Store, spa.load_study, spa.export_tables; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not set(loaded) & {"transformers", "openai", "torch", "boto3", "streamlit", "scipy"}

"""What ``import spa`` brings, and what it leaves alone."""

from __future__ import annotations

import importlib
import subprocess
import sys

import pytest

import spa

HEAVY = ("transformers", "openai", "torch", "boto3", "streamlit", "scipy", "sqlalchemy", "polars", "pydantic", "numpy")


def test_the_door_is_sorted_and_every_name_leads_somewhere() -> None:
    assert list(spa.__all__) == sorted(spa.__all__, key=str.casefold)
    assert set(spa.__all__) == set(spa.HOME)
    for name, home in spa.HOME.items():
        assert getattr(spa, name) is getattr(importlib.import_module(home), name)
    assert set(spa.__all__) <= set(dir(spa))


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'spa' has no attribute 'load_studdy'"):
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

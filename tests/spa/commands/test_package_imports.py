"""What ``import spa`` brings, and what it leaves alone."""

from __future__ import annotations

import subprocess
import sys
from itertools import product
from pathlib import Path

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


def test_help_loads_no_form() -> None:
    """What `spa --help` shows takes neither ways of asking nor forms, which would more than double its time."""
    code = "import sys; from spa.cli import main; main(['--help'], standalone_mode=False); print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert "spa.media" in loaded
    assert not {"spa.records.form", "spa.elicitation", *HEAVY} & set(loaded)


def test_report_of_tables_loads_no_study(tmp_path: Path) -> None:
    """A report of a table takes no study files, stores or scipy.linalg, which would cost it a third of its start."""
    rows = (
        f"r{who},i{item},s{system},{1 + (who + item + system) % 5}" for who, item, system in product(*[range(3)] * 3)
    )
    (tmp_path / "ratings.csv").write_text("\n".join(["annotator_id,item_id,system,score", *rows]))
    arguments = ["report", "--ratings", str(tmp_path / "ratings.csv"), "--out", str(tmp_path / "report")]
    code = f"import sys; from spa.cli import main; main({arguments!r}, standalone_mode=False); print(*sys.modules)"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    loaded = shown.splitlines()[-1].split()
    assert "analysis.results.analyse" in loaded
    assert not {"pydantic", "sqlalchemy", "spa.elicitation", "spa.records.study", "scipy.linalg"} & {*loaded}

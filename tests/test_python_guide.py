"""The guide to Python runs as it is printed."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path

import pytest

GUIDE = Path(__file__).resolve().parents[1] / "docs" / "python.md"
BLOCKS = re.findall(r"^```python\n(.*?)^```\n\n```text\n(.*?)^```", GUIDE.read_text(), flags=re.M | re.S)


def test_the_guide_has_examples() -> None:
    assert len(BLOCKS) == GUIDE.read_text().count("```python")
    assert len(BLOCKS) >= 3


@pytest.mark.parametrize(("code", "printed"), BLOCKS)
def test_an_example_prints_what_the_guide_says(code: str, printed: str) -> None:
    if "pandas" in code:
        pytest.importorskip("pandas")
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(code, str(GUIDE), "exec"), {})
    assert out.getvalue() == printed


def test_every_function_that_the_guide_names_exists() -> None:
    import analysis

    named = {
        name for row in re.findall(r"^\|(.*)\|$", GUIDE.read_text(), flags=re.M) for name in re.findall(r"`(\w+)`", row)
    }
    assert sorted(name for name in named if name not in analysis.__all__) == []


def test_the_guide_names_every_public_name() -> None:
    """Measures of agreement stand in docs/statistics.md, in a table made from their entries."""
    import analysis
    from analysis.agreement.measures import MEASURES

    words = set(re.findall(r"\w+", GUIDE.read_text())).union(*(measure.forms for measure in MEASURES))
    assert [name for name in analysis.__all__ if name not in words] == []


def test_the_guide_names_what_spa_exports() -> None:
    """What is public is what the packages' doors export; everything else may change."""
    import spa

    words = set(re.findall(r"`(\w+)`", GUIDE.read_text()))
    assert [name for name in spa.__all__ if name not in words] == []

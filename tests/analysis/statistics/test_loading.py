"""What scipy loads in vain stays unloaded, and loads when it is asked for."""

from __future__ import annotations

import subprocess
import sys

LOADED = """
import sys

import numpy as np

from analysis.statistics.loading import load_scipy

load_scipy()
assert {"scipy.special", "scipy.sparse"} <= {*sys.modules}
print([name for name in ("numpy.f2py", "numpy.testing") if name in sys.modules], "testing" in vars(np))
np.testing.assert_equal(1, 1)
"""


def test_scipy_loads_no_tools_of_numpy() -> None:
    """No compiler's front end, no test runner."""
    ran = subprocess.run([sys.executable, "-c", LOADED], capture_output=True, text=True, check=True)
    assert ran.stdout == "[] False\n"

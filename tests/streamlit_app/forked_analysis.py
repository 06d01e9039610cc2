"""The analysis beside a dashboard's server, forked from it: it has loaded all that the analysis needs.

That the dashboard starts a new Python for it is seen in ``test_background_analysis.py``, and by ``tests.extras``.
"""

from __future__ import annotations

import os
import sys
import threading

from streamlit_app import background_analysis
from streamlit_app.background_analysis import BackgroundAnalysis
from streamlit_app.options import DashboardOptions, to_environment

BEGIN = background_analysis.begin


def fork_analyses() -> None:
    """Fork the analysis of the first pages in this process, which has no other threads yet."""
    background_analysis.begin = begin


def begin(options: DashboardOptions, *asked: str) -> BackgroundAnalysis:
    """Start the other process; a new Python where something is asked for, as the server has threads by then."""
    if asked:
        return BEGIN(options, *asked)
    source, target = os.pipe()
    child = os.fork()
    if child == 0:
        _analyse(options, target)
    os.close(target)
    threading.Thread(target=os.waitpid, args=(child, 0), daemon=True).start()
    return BackgroundAnalysis(os.fdopen(source, "rb"))


def _analyse(options: DashboardOptions, target: int) -> None:
    """Become the other process."""
    code = 1
    try:
        os.dup2(target, 1)
        sys.stdout = os.fdopen(1, "w", closefd=False)
        sys.argv = [background_analysis.__file__]
        os.environ.update(to_environment(options))
        background_analysis.main()
        code = 0
    finally:
        os._exit(code)

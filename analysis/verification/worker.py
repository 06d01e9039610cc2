"""What the process runs: claims come in by stdin, what the libraries computed goes out by stdout."""

from __future__ import annotations

import gc
import pickle
import sys
import warnings
from importlib import import_module
from importlib.metadata import version
from threading import Thread
from typing import Any

from analysis.verification.calls import Reply, recompute
from analysis.verification.outcome import LIBRARIES

LOADED = (
    "scipy.stats",
    "statsmodels.stats.multitest",
    "statsmodels.stats.inter_rater",
    "statsmodels.genmod.generalized_linear_model",
    "choix",
)


def main() -> None:
    """Load the libraries, and meanwhile wait for the claims."""
    out, sys.stdout = sys.stdout.buffer, sys.stderr
    told: list[bytes] = []
    reader = Thread(target=lambda: told.append(sys.stdin.buffer.read()), daemon=True)
    reader.start()
    gc.disable()
    for name in LOADED:
        try:
            import_module(name)
        except ImportError:
            continue  # what needs it says so
    gc.freeze()  # multipletests collects garbage in each call for Holm
    reader.join()
    if told and told[0]:
        out.write(pickle.dumps(answers(pickle.loads(told[0]))))
        out.flush()


def answers(told: list[tuple[str, dict[str, Any]]]) -> tuple[list[Reply], dict[str, str]]:
    """Return what each claim came to, and the versions of the libraries; equal claims are computed once."""
    known: dict[bytes, Reply] = {}
    replies = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for call, numbers in told:
            key = pickle.dumps((call, numbers))
            if key not in known:
                known[key] = recompute(call, numbers)
            replies.append(known[key])
    return replies, {name: version(name) for name in LIBRARIES if name in sys.modules}


if __name__ == "__main__":
    main()

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

from analysis.verification.by_statsmodels import load_corrections_alone
from analysis.verification.calls import LIBRARIES, Reply, recompute

TOGETHER, CORRECTED = "ttest_1samp", "multipletests"
WHEN_ASKED = "--when-asked"  # load what claims call, when they are there
UNUSED = ("polars", "pyarrow")  # pandas and statsmodels load them where they are there: a quarter of a second
LOADED = (
    "scipy.stats",
    "statsmodels.stats.multitest",
    "statsmodels.stats.inter_rater",
    "statsmodels.genmod.generalized_linear_model",
    "choix",
)


def main() -> None:
    """Load the libraries, and meanwhile wait for the claims; with ``--when-asked``, those that the claims call."""
    out, sys.stdout = sys.stdout.buffer, sys.stderr
    told: list[bytes] = []
    reader = Thread(target=lambda: told.append(sys.stdin.buffer.read()), daemon=True)
    reader.start()
    gc.disable()
    sys.modules.update(dict.fromkeys(UNUSED))  # type: ignore[arg-type]  # none: not there
    for name in LOADED if WHEN_ASKED not in sys.argv else ():
        try:
            import_module(name)
        except ImportError:
            continue  # what needs it says so
    reader.join()
    if told and told[0]:
        claims = pickle.loads(told[0])
        if {call for call, _ in claims} == {CORRECTED}:
            load_corrections_alone()
        gc.freeze()  # multipletests collects garbage in each call for Holm
        out.write(pickle.dumps(answers(claims)))
        out.flush()


def answers(told: list[tuple[str, dict[str, Any]]]) -> tuple[list[Reply], dict[str, str]]:
    """Return what each claim came to, and the versions of the libraries; equal claims are computed once."""
    keys = [pickle.dumps(one) for one in told]
    known: dict[bytes, Reply] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        different = dict(zip(keys, told, strict=True))
        known |= _together({key: numbers for key, (call, numbers) in different.items() if call == TOGETHER})
        for key, (call, numbers) in different.items():
            if key not in known:
                known[key] = recompute(call, numbers)
    return [known[key] for key in keys], {name: version(name) for name in LIBRARIES if name in sys.modules}


def _together(told: dict[bytes, dict[str, Any]]) -> dict[bytes, Reply]:
    """Compute the t-tests of samples of one size by one call: a call takes as long as 50 samples."""
    sizes: dict[tuple[int, float], list[bytes]] = {}
    for key, numbers in told.items():
        sizes.setdefault((len(numbers["values"]), numbers["against"]), []).append(key)
    found: dict[bytes, Reply] = {}
    for (_, against), keys in sizes.items():
        replies = recompute(TOGETHER, {"values": [told[key]["values"] for key in keys], "against": against})
        each = [replies] * len(keys) if isinstance(replies, str) else [[reply] for reply in replies]
        found |= dict(zip(keys, each, strict=True))
    return found


if __name__ == "__main__":
    main()

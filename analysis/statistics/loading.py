"""scipy without what it loads in vain: a tenth of what a report's start takes."""

from __future__ import annotations

from importlib import import_module

import numpy as np

WANTED = ("scipy.special", "scipy.sparse")
IN_VAIN = ("f2py", "testing")  # of numpy: scipy copies all its names, and so has these loaded


def load_scipy() -> None:
    """Load distributions and sparse matrices, both of which have all of numpy loaded, too.

    Those of its packages which nobody asks for are held back meanwhile, and load when they are first asked for.
    """
    names = vars(np)
    held = {name: object() for name in IN_VAIN if name not in names}
    names.update(held)
    try:
        for wanted in WANTED:
            import_module(wanted)
    finally:
        for name, stand_in in held.items():
            if names[name] is stand_in:
                del names[name]

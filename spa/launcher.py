"""The ``spa`` script, installed as a module of its own whose name nobody else has: ``spa_eval_script``.

Names such as ``analysis`` are common. This module imports none of ours before it has made sure that Python finds ours.
"""

from __future__ import annotations

import os
import sys
from importlib.machinery import PathFinder

PACKAGES = ("spa", "analysis", "mturk", "prolific", "streamlit_app")
OURS = os.path.join("spa", "command_groups.py")  # no other package called spa has it


def run() -> None:
    """Run ``spa.cli``, with our packages before others of their names; say in one line where that cannot be."""
    home = home_of_packages()
    if home is None:
        found = PathFinder.find_spec("spa")
        other = "" if found is None else f"; there is another package called spa, {found.origin or found.name}"
        sys.exit(f"spa: expected the packages of spa-eval on Python's path, got none{other}; install spa-eval again")
    put_first(home)
    try:
        from spa.cli import run as run_script

        run_script()
    except (ImportError, AttributeError) as error:
        if changed := overwritten_files():
            sys.exit(
                f"spa: {changed[0]} is not the file of spa-eval: another distribution was installed over it "
                f"({error}); remove that one, or give each an environment of its own, and install spa-eval again"
            )
        raise


def home_of_packages() -> str | None:
    """Return the first folder on Python's path that holds all our packages: of a wheel, or a checkout."""
    for folder in sys.path:
        named = (os.path.join(name, "__init__.py") for name in PACKAGES)
        if all(os.path.isfile(os.path.join(folder, file)) for file in (OURS, *named)):
            return folder
    return None


def put_first(home: str) -> None:
    """Put our folder before all others where one of these has a package or module of our names."""
    for name in PACKAGES:
        found = PathFinder.find_spec(name)
        places = [] if found is None else [found.origin or "", *(found.submodule_search_locations or ())]
        if not any(place.startswith(os.path.join(home, name)) for place in places):
            sys.path.insert(0, home)
            return


def overwritten_files() -> list[str]:
    """Return our packages' first modules that are other files than those that were installed."""
    from base64 import urlsafe_b64encode
    from hashlib import new
    from importlib.metadata import PackageNotFoundError, files
    from pathlib import Path

    try:
        installed = files("spa-eval") or []
    except PackageNotFoundError:
        return []
    changed = []
    for file in installed:
        if file.name == "__init__.py" and len(file.parts) == 2 and file.hash is not None:
            path = Path(str(file.locate()))
            digest = new(file.hash.mode, path.read_bytes() if path.is_file() else b"").digest()
            if urlsafe_b64encode(digest).decode().rstrip("=") != file.hash.value:
                changed.append(str(path))
    return changed

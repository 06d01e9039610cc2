"""Installs the peers in a temporary environment, has them read made exports, and writes what they found.

``python -m tests.peers --out tests/peers/peers.json``
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.peers.made_exports import write_exports

PINNED = ("arena-rank==0.1.1", "inspect-ai==0.3.285", "datasets==5.2.0")


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    out = parser.parse_args().out
    with TemporaryDirectory() as name:
        folder = Path(name)
        write_exports(folder / "made")
        venv.create(folder / "peers", with_pip=True)
        python = folder / "peers" / "bin" / "python"
        subprocess.run([python, "-m", "pip", "install", "--quiet", *PINNED], check=True)
        alone = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
        offline = {**alone, "HF_HOME": str(folder / "hub"), "HF_HUB_OFFLINE": "1"}
        reader = Path(__file__).with_name("read_exports.py")
        subprocess.run([python, reader, folder / "made"], env=offline, check=True, stdout=sys.stderr)
        shutil.copy(folder / "made" / "peers.json", out)


main()

"""Installs peers that combine people's and models' answers, and writes what they find in made answers.

``python -m tests.peers.powered --python python3.12 --out tests/peers/powered.json``; glide-py needs Python 3.12.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

PINNED = ("glide-py==0.11.0", "ppi-python==0.2.3")
PEOPLE, MORE = 30, 90
PEERS = """
import json, sys
import numpy as np
from glide.estimators.asi import ASIMeanEstimator
from glide.estimators.ppi import PPIMeanEstimator
from ppi_py import ppi_mean_pointestimate

made = json.load(sys.stdin)
people, llm, n = np.array(made["people"]), np.array(made["llm"]), made["n_people"]
first = np.arange(len(people)) < n
asked = np.array(made["asked"])
alone = PPIMeanEstimator().estimate(np.where(first, people, np.nan), llm, power_tuning=False).confidence_interval
active = ASIMeanEstimator().estimate(
    np.where(asked, people, np.nan), llm, np.array(made["chance"]), power_tuning=False
).confidence_interval
point = ppi_mean_pointestimate(people[:n], llm[:n], llm[n:], lam=1)
json.dump(
    {
        "glide PPIMeanEstimator": {"estimate": float(alone.mean), "se": float(alone.std)},
        "glide ASIMeanEstimator": {"estimate": float(active.mean), "se": float(active.std)},
        "ppi_mean_pointestimate": {"estimate": float(np.ravel(point)[0])},
    },
    sys.stdout,
)
"""


def made(seed: int = 29) -> dict[str, object]:
    """Return answers of people and an LLM to units, of which the first 30, or those drawn, are people's."""
    rng = np.random.default_rng(seed)
    llm = np.round(rng.normal(3, 1, PEOPLE + MORE), 3)
    people = np.round(0.8 * llm + rng.normal(0.4, 0.6, PEOPLE + MORE), 3)
    chance = np.round(rng.uniform(0.1, 0.6, PEOPLE + MORE), 3)
    asked = rng.random(PEOPLE + MORE) < chance
    columns = {"people": people, "llm": llm, "chance": chance, "asked": asked}
    return {"n_people": PEOPLE} | {name: column.tolist() for name, column in columns.items()}


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--python", default="python3.12")
    parser.add_argument("--out", type=Path, required=True)
    given, answers = parser.parse_args(), made()
    alone = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    with TemporaryDirectory() as name:
        python = Path(name) / "bin" / "python"
        subprocess.run([given.python, "-m", "venv", name], check=True, env=alone)
        subprocess.run([python, "-m", "pip", "install", "--quiet", *PINNED], check=True, env=alone)
        said = subprocess.run(
            [python, "-c", PEERS], input=json.dumps(answers), text=True, capture_output=True, check=True, env=alone
        )
    found = {"versions": PINNED, "made": answers, "found": json.loads(said.stdout)}
    given.out.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

"""Reads exports with the peers' own code; runs in their environment, without ours: ``read_exports.py FOLDER``."""

from __future__ import annotations

import json
import math
import sys
from importlib.metadata import version
from pathlib import Path


def arena(folder: Path) -> dict[str, object]:
    """Rate battles as LMArena does; return the difference of a and b."""
    import pandas as pd
    from arena_rank.models.bradley_terry import BradleyTerry
    from arena_rank.utils.data_utils import PairDataset

    battles = pd.read_csv(folder / "overall.csv")
    found = BradleyTerry(n_competitors=2).compute_ratings_and_cis(PairDataset.from_pandas(battles))
    rating = dict(zip(found["competitors"], map(float, found["ratings"]), strict=True))
    gap = round(rating["a"] - rating["b"], 3)
    return {"battles": len(battles), "gap": gap, "contextual": contextual(folder)}


def contextual(folder: Path) -> dict[str, object]:
    """Rate battles with covariates, as penalised as its library lets it be little, no row weighed or rescaled."""
    import pandas as pd
    from arena_rank.models.contextual_bradley_terry import ContextualBradleyTerry
    from arena_rank.utils.data_utils import ContextualPairDataset

    battles = pd.read_csv(folder / "contextual.csv")
    columns = ["length", "headings"]
    pairs = ContextualPairDataset.from_pandas(battles, columns, normalize_features=False, reweighted=False)
    model = ContextualBradleyTerry(n_competitors=4, n_features=2, reg=1 / len(battles))
    model.fit(pairs)
    return {
        "competitors": list(pairs.competitors),
        "strengths": [round(float(one), 6) for one in model.params["ratings"]],
        "coefficients": [round(float(one), 6) for one in model.params["coeffs"]],
    }


def inspect(folder: Path) -> dict[str, object]:
    """Attach the scores to a log of five samples and two epochs; return mean and count of each file and criterion."""
    from inspect_ai import Task, eval, score
    from inspect_ai.dataset import MemoryDataset, Sample
    from inspect_ai.scorer import precomputed_scores

    samples = MemoryDataset([Sample(id=f"i{number}", input="x") for number in range(5)])
    log_dir = str(folder / "logs")
    (log,) = eval(Task(dataset=samples, epochs=2), model="mockllm/model", log_dir=log_dir, display="none")
    found: dict[str, object] = {}
    for path in sorted(folder.glob("*.json")):
        scored = score(log, precomputed_scores(str(path)), display="none")
        values = [one.value for each in scored.samples or () for one in (each.scores or {}).values()]
        found[path.stem] = {"matched": len(values)} | {
            name: means([float(value[name]) for value in values]) for name in ("fluency", "faith")
        }
    return found


def means(values: list[float]) -> list[float]:
    """Return the mean of those that are numbers, and how many are."""
    known = [value for value in values if not math.isnan(value)]
    return [round(sum(known) / len(known), 6), len(known)]


def huggingface(folder: Path) -> dict[str, object]:
    """Load the dataset as it is, and each of its configurations."""
    from datasets import get_dataset_config_names, load_dataset

    default = load_dataset(str(folder))["train"]
    rows = {name: len(load_dataset(str(folder), name)["train"]) for name in get_dataset_config_names(str(folder))}
    return {"default": sorted(default.column_names)[:3], "default_rows": len(default), "rows": rows}


if __name__ == "__main__":
    root = Path(sys.argv[1])
    packages = {"arena": "arena-rank", "inspect": "inspect-ai", "huggingface": "datasets"}
    readers = {"arena": arena, "inspect": inspect, "huggingface": huggingface}
    results = {key: {"version": version(packages[key]), **read(root / key)} for key, read in readers.items()}
    (root / "peers.json").write_text(json.dumps(results, indent=1) + "\n")

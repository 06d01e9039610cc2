"""Ask an endpoint what a file of chat requests says, with Inspect; prints one JSON object.

Usage: ``PYTHON asking.py FILE URL AT_ONCE``, where PYTHON has inspect_ai and openai.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from importlib.metadata import version
from pathlib import Path

from inspect_ai import Task, eval
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import GenerateConfig, ResponseSchema, get_model
from inspect_ai.scorer import includes
from inspect_ai.solver import Generate, Solver, TaskState, solver
from inspect_ai.util import JSONSchema


@solver
def with_schema() -> Solver:
    """Ask for the sample's own schema."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        schema = JSONSchema.model_validate(state.metadata["schema"])
        return await generate(state, response_schema=ResponseSchema(name="form", json_schema=schema, strict=True))

    return solve


def main(file: str, url: str, at_once: int) -> None:
    """Let Inspect ask everything and tell the CPU seconds of it."""
    bodies = [json.loads(line) for line in Path(file).read_text("utf-8").splitlines()]
    samples = [
        Sample(input=body["messages"][0]["content"], target="50", metadata=body["response_format"]["json_schema"])
        for body in bodies
    ]
    model = get_model(
        "openai-api/loopback/m",
        base_url=url,
        api_key="none",
        config=GenerateConfig(max_connections=at_once, max_retries=0),
    )
    task = Task(dataset=MemoryDataset(samples), solver=with_schema(), scorer=includes())
    with tempfile.TemporaryDirectory() as logs:
        began = time.process_time()
        (log,) = eval(task, model=model, log_dir=logs, display="none", max_samples=at_once)
        seconds = time.process_time() - began
        assert log.status == "success", log.error
        asked = len(log.samples or [])
    sys.stdout.write(json.dumps({"seconds": seconds, "requests": asked, "version": version("inspect_ai")}))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))

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
from typing import Any


def schema_solver() -> Any:
    """Return what asks for the sample's own schema."""
    from inspect_ai.model import ResponseSchema
    from inspect_ai.solver import solver
    from inspect_ai.util import JSONSchema

    @solver
    def with_schema() -> Any:
        async def solve(state: Any, generate: Any) -> Any:
            schema = JSONSchema.model_validate(state.metadata["schema"])
            return await generate(state, response_schema=ResponseSchema(name="form", json_schema=schema, strict=True))

        return solve

    return with_schema()


def ask(bodies: list[dict[str, Any]], url: str, at_once: int) -> tuple[float, int]:
    """Let Inspect ask everything; return the CPU seconds of it and how many samples it has logged."""
    from inspect_ai import Task, eval
    from inspect_ai.dataset import MemoryDataset, Sample
    from inspect_ai.model import GenerateConfig, get_model
    from inspect_ai.scorer import includes

    samples = [
        Sample(input=body["messages"][0]["content"], target="50", metadata=body["response_format"]["json_schema"])
        for body in bodies
    ]
    config = GenerateConfig(max_connections=at_once, max_retries=0)
    model = get_model("openai-api/loopback/m", base_url=url, api_key="none", config=config)
    task = Task(dataset=MemoryDataset(samples), solver=schema_solver(), scorer=includes())
    with tempfile.TemporaryDirectory() as logs:
        began = time.process_time()
        (log,) = eval(task, model=model, log_dir=logs, display="none", max_samples=at_once)
        seconds = time.process_time() - began
        if log.status != "success":
            raise RuntimeError(f"Inspect ended with {log.status}: {log.error}")
        return seconds, len(log.samples or [])


if __name__ == "__main__":
    lines = Path(sys.argv[1]).read_text("utf-8").splitlines()
    took, answered = ask([json.loads(line) for line in lines], sys.argv[2], int(sys.argv[3]))
    told = {"seconds": took, "requests": answered, "version": version("inspect_ai")}
    print(json.dumps(told))  # noqa: T201 - read by the runner

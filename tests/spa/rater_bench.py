"""A store with a few assignments for a rater, and nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from spa.responses.store import Store
from spa.study.assignment import Assignment
from tests.spa.hand_made import hand_made
from tests.spa.test_llm import Bench


@contextmanager
def rater_bench(folder: Path, *, assignments: int = 3) -> Iterator[Bench]:
    """Yield a store with assignments a00001, a00002, ..."""
    made = {name: hand_made(name) for name in (f"a{number:05}" for number in range(1, assignments + 1))}
    draws = [
        (Assignment(assignment_id=name, number=place, blocks=()), key)
        for place, (name, (_, key)) in enumerate(made.items())
    ]
    with ExitStack() as stack:
        store = stack.enter_context(Store.create(folder / "s.sqlite"))
        store.save_build("f", draws)
        yield Bench(store=store, made=made, stack=stack, waits=[])

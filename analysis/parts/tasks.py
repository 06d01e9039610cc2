"""Tasks one after another here, or on the workers of a Dask cluster, a few ahead of what is done."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeVar

from spa.errors import AnalysisError, shortened

if TYPE_CHECKING:
    import distributed

Task = TypeVar("Task")
Result = TypeVar("Result")
AHEAD = 2  # tasks that each worker has at once
RETRIES = 2  # nothing is paid, and a task that is done again writes the same files


def run_tasks(
    function: Callable[[Task], Result], tasks: Sequence[Task], client: distributed.Client | None
) -> Iterator[Result]:
    """Yield the results in any order; with a client its workers compute, and the tasks of those that die are repeated.

    Raises
    ------
    AnalysisError
        Workers died again and again, or the scheduler did.
    """
    if client is None:
        yield from map(function, tasks)
        return
    from distributed import CancelledError, KilledWorker, as_completed
    from distributed.comm.core import CommClosedError

    cluster: Any = client
    waiting = iter(tasks)
    ahead = AHEAD * max(1, sum(cluster.nthreads().values()))
    submit = partial(cluster.submit, function, pure=False, retries=RETRIES)
    completed: Any = as_completed
    running = completed([submit(task) for task in islice(waiting, ahead)], loop=cluster.loop)
    try:
        for future in running:
            result: Result = future.result()
            future.release()
            for task in islice(waiting, 1):
                running.add(submit(task))
            yield result
    except KilledWorker as error:
        found = shortened(str(error).partition("\n")[0], 200)
        raise AnalysisError(
            f"cluster: expected workers that stay alive, got several that died on one part ({found}); "
            "give them more memory or make the parts smaller"
        ) from error
    except (CancelledError, CommClosedError) as error:
        raise AnalysisError("cluster: the scheduler is lost; start it and run the command again") from error
    finally:
        with suppress(CancelledError, CommClosedError):
            cluster.cancel([*running.futures])

"""Work of many tasks in one transaction: none is lost, none takes another with it."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, insert, select, text, update

from spa.errors import ResponseError
from spa.responses.batches import BatchedReader, BatchedWriter, LoopWriter
from spa.responses.store import Store
from spa.responses.store_schema import meta

PATIENCE = 60.0  # seconds


@pytest.fixture
def store(database: str) -> Iterator[Store]:
    with Store.create(database) as made:
        yield made


KINDS = pytest.mark.parametrize("kind", [BatchedWriter, LoopWriter])
Kind = type[BatchedWriter] | type[LoopWriter]


def counted(writer: BatchedWriter | LoopWriter) -> list[None]:
    """Return a list that grows by one with every transaction of the writer."""
    begin, transactions = writer._begin, list[None]()

    def begin_counted() -> Any:
        transactions.append(None)
        return begin()

    writer._begin = begin_counted  # type: ignore[method-assign]
    return transactions


@KINDS
def test_one_write_that_fails_takes_no_other_with_it(store: Store, kind: Kind) -> None:
    async def many() -> list[Any]:
        writer = kind(store)

        def work(number: int) -> Any:
            def write(connection: Connection) -> int:
                connection.execute(insert(meta).values(name=f"n{number}", value="x"))
                if number == 3:
                    raise ResponseError("three")
                return number

            return write

        return await asyncio.gather(*(writer.write(work(number)) for number in range(8)), return_exceptions=True)

    results = asyncio.run(many())
    assert [isinstance(one, ResponseError) for one in results] == [number == 3 for number in range(8)]
    assert [store.meta(f"n{number}") for number in range(8)] == [None if n == 3 else "x" for n in range(8)]


@KINDS
def test_an_error_of_the_database_is_told_to_whoever_made_it(store: Store, kind: Kind) -> None:
    def write(number: int) -> Callable[[Connection], int]:
        def work(connection: Connection) -> int:
            name = "schema" if number == 2 else f"n{number}"  # which is there already
            connection.execute(insert(meta).values(name=name, value="x"))
            return number

        return work

    async def many() -> list[Any]:
        writer = kind(store)
        return await asyncio.gather(*(writer.write(write(number)) for number in range(5)), return_exceptions=True)

    results = asyncio.run(many())
    assert results[:2] + results[3:] == [0, 1, 3, 4]
    assert isinstance(results[2], ResponseError)
    assert store.meta("n4") == "x"


@KINDS
def test_batch_waiters_share_a_transaction(store: Store, kind: Kind) -> None:
    """Whoever waits shares a transaction and sees it when told."""

    async def many() -> int:
        writer, reader = kind(store), BatchedReader(store)
        transactions = counted(writer)

        async def one(number: int) -> None:
            row = insert(meta).values(name=f"n{number}", value="x")
            await writer.write(lambda connection: connection.execute(row).rowcount)
            seen = await reader.read(lambda c: c.scalar(select(meta.c.value).where(meta.c.name == f"n{number}")))
            assert seen == "x"

        await asyncio.gather(*(one(number) for number in range(100)))
        return len(transactions)

    assert asyncio.run(many()) < 20


def test_a_mistake_in_one_piece_of_work_is_its_own(store: Store) -> None:
    async def many() -> list[Any]:
        reader = BatchedReader(store)
        works: list[Callable[[Connection], Any]] = [lambda c: 1, lambda c: 1 / 0, lambda c: 3]
        return await asyncio.gather(*(reader.read(work) for work in works), return_exceptions=True)

    one, mistake, three = asyncio.run(many())
    assert (one, three) == (1, 3)
    assert isinstance(mistake, ZeroDivisionError)


@KINDS
def test_batch_task_that_gives_up_holds_up_nobody(store: Store, kind: Kind) -> None:
    """A task that gives up waiting does not hold up the others."""

    async def many() -> int:
        writer = kind(store)
        slow = [(writer.write(lambda c: c.scalar(text("SELECT 1")))) for _ in range(3)]
        await asyncio.sleep(0)
        slow[1].cancel()
        await asyncio.gather(*slow, return_exceptions=True)
        return await writer.write(lambda connection: 7)

    assert asyncio.run(many()) == 7


def test_processes_that_wait_for_one_another_both_get_through(postgres_url: str) -> None:
    """Two writers take the same two rows in opposite orders, which PostgreSQL can only end by breaking one off."""
    with Store.create(postgres_url) as one, Store.open(postgres_url) as two:
        one.set_meta("a", "0")
        one.set_meta("b", "0")

        def adds(names: str) -> Callable[[Connection], None]:
            def work(connection: Connection) -> None:
                for name in names:
                    value = connection.scalar(select(meta.c.value).where(meta.c.name == name).with_for_update())
                    connection.execute(update(meta).where(meta.c.name == name).values(value=str(int(value or 0) + 1)))
                    connection.execute(text("SELECT pg_sleep(0.05)"))

            return work

        async def both() -> None:
            await asyncio.gather(BatchedWriter(one).write(adds("ab")), BatchedWriter(two).write(adds("ba")))

        for _ in range(3):
            asyncio.run(both())
        assert (one.meta("a"), one.meta("b")) == ("6", "6")


@KINDS
def test_batch_pause_shares_a_transaction(store: Store, kind: Kind) -> None:
    """A pause lets others share a transaction that come a little later."""

    async def many(pause: float) -> int:
        writer = kind(store, pause=pause)
        transactions = counted(writer)

        async def one(number: int) -> int:
            await asyncio.sleep(0.02 * number)
            return await writer.write(lambda connection: number)

        assert await asyncio.gather(*(one(number) for number in range(5))) == list(range(5))
        return len(transactions)

    assert asyncio.run(many(0.5)) == 1
    assert asyncio.run(many(0.0)) > 1


def test_more_than_fit_into_one_transaction_are_all_written(store: Store) -> None:
    async def many() -> int:
        writer = LoopWriter(store)
        transactions = counted(writer)
        rows = [insert(meta).values(name=f"n{number}", value="x") for number in range(300)]
        await asyncio.gather(*(writer.write(lambda c, row=row: c.execute(row).rowcount) for row in rows))
        return len(transactions)

    assert asyncio.run(many()) == 3
    assert store.meta("n299") == "x"


def test_raters_and_a_server_write_to_one_file_in_turn(tmp_path: Path) -> None:
    path = tmp_path / "study.sqlite"

    def write(number: int, times: int) -> None:
        def work(connection: Connection, name: str) -> None:
            connection.execute(insert(meta).values(name=name, value="x"))
            time.sleep(0.005)  # as slow as a disk

        async def several(store: Store) -> None:
            writer = LoopWriter(store) if number else BatchedWriter(store)
            for turn in range(times):
                await writer.write(partial(work, name=f"n{number}-{turn}"))
            writer.close()

        with Store.open(path, wait=0.0) as store:  # SQLite itself lets nobody wait
            asyncio.run(several(store))

    with Store.create(path) as store:
        write(12, 1)  # makes the queue
        with ThreadPoolExecutor(12) as threads:
            list(threads.map(write, range(12), [20] * 12))
        assert store.meta("n0-19") == store.meta("n11-19") == "x"


@KINDS
def test_batch_order_survives_a_failure(store: Store, kind: Kind) -> None:
    """Works are run in the order in which they came also after a failure."""
    done: list[int] = []

    def work(number: int) -> Callable[[Connection], None]:
        def write(connection: Connection) -> None:
            if number == 5:
                raise ResponseError("five")
            connection.execute(insert(meta).values(name=f"n{number}", value="x"))

        return write

    async def many() -> None:
        writer = kind(store)
        writes = []
        for number in range(20):
            written = writer.write(work(number))
            written.add_done_callback(lambda _, number=number: done.append(number))  # type: ignore[misc]
            writes.append(written)
            if number % 4 == 0:
                await asyncio.sleep(0)
        await asyncio.gather(*writes, return_exceptions=True)

    asyncio.run(many())
    assert done == list(range(20))


def test_a_loop_that_has_ended_holds_up_nobody_else(store: Store) -> None:
    writer = BatchedWriter(store, pause=0.01)
    begun, over = threading.Event(), threading.Event()

    def work(connection: Connection) -> None:
        begun.set()
        over.wait(PATIENCE)

    async def leaves() -> None:
        task = writer.write(work)
        await asyncio.to_thread(begun.wait, PATIENCE)
        task.cancel()

    asyncio.run(leaves())
    over.set()  # the loop is gone before its work is done

    async def stays() -> int:
        return await writer.write(lambda connection: 7)

    assert asyncio.run(stays()) == 7


def test_closing_begins_nothing_that_waits(store: Store, caplog: pytest.LogCaptureFixture) -> None:
    written: list[int] = []

    async def many() -> None:
        writer = BatchedWriter(store)
        begun, over = threading.Event(), threading.Event()

        def work(connection: Connection) -> None:
            begun.set()
            over.wait(PATIENCE)

        first = writer.write(work)
        await asyncio.to_thread(begun.wait, PATIENCE)
        second = writer.write(lambda connection: written.append(2))
        await asyncio.sleep(0)
        second.cancel()
        closing = asyncio.create_task(asyncio.to_thread(writer.close))
        while not writer._closed:
            await asyncio.sleep(0)
        over.set()
        await closing
        await first

    asyncio.run(many())
    assert written == []
    assert not caplog.records

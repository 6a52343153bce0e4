"""Items made by other threads, in order and a bounded number ahead, so that results and memory do not depend on timing."""

from __future__ import annotations

import queue
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Final, TypeVar

if TYPE_CHECKING:
    from threadpoolctl import ThreadpoolController

AHEAD: Final = 2
"""The most finished items to keep waiting, while one more is being made."""

Item = TypeVar("Item")
Made = TypeVar("Made")


@dataclass(frozen=True)
class _Last:
    """Marks the end, with the error if there was one."""

    error: BaseException | None = None


def ahead(items: Generator[Item, None, None]) -> Generator[Item, None, None]:
    """The same items, made in another thread, which ends when the generator is exhausted or closed."""
    waiting: queue.Queue[Item | _Last] = queue.Queue(AHEAD)
    stopped = threading.Event()

    def make() -> None:
        last = _Last()
        try:
            for item in items:
                waiting.put(item)
                if stopped.is_set():
                    return
        except BaseException as error:  # raised again where the items are consumed
            last = _Last(error)
        finally:
            items.close()
        waiting.put(last)

    thread = threading.Thread(target=make, name="noisewise-reader", daemon=True)
    thread.start()
    try:
        while not isinstance(item := waiting.get(), _Last):
            yield item
            del item  # free it while waiting for the next
        if item.error is not None:
            raise item.error
    finally:
        stopped.set()
        while thread.is_alive():  # it may be waiting for room or making an item
            with suppress(queue.Empty):
                while True:
                    waiting.get_nowait()
            thread.join(0.05)


def ordered_map(function: Callable[[Item], Made], items: Iterable[Item], threads: int) -> Generator[Made, None, None]:
    """``map(function, items)`` in this many threads, at most ``threads + 1`` items at a time."""
    if threads == 1:
        yield from map(function, items)
        return
    waiting: deque[Future[Made]] = deque()
    with ThreadPoolExecutor(threads, thread_name_prefix="noisewise") as pool:
        try:
            for item in items:
                waiting.append(pool.submit(function, item))
                if len(waiting) > threads:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()


@cache
def blas() -> ThreadpoolController:
    """NumPy's BLAS. On small products many threads are many times slower than one, so a pass limits it to one."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()

"""Items that other threads make, in their order and a bounded number ahead, so that results and memory do not depend on it."""

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
"""Items that wait to be asked for, at most; one more is being made."""

Item = TypeVar("Item")
Made = TypeVar("Made")


@dataclass(frozen=True)
class _Last:
    """What comes after the last item: nothing, or what went wrong."""

    error: BaseException | None = None


def ahead(items: Generator[Item, None, None]) -> Generator[Item, None, None]:
    """The same items, made by a thread of their own; it ends when the generator is exhausted or closed."""
    waiting: queue.Queue[Item | _Last] = queue.Queue(AHEAD)
    stopped = threading.Event()

    def make() -> None:
        last = _Last()
        try:
            for item in items:
                waiting.put(item)
                if stopped.is_set():
                    return
        except BaseException as error:  # whatever it is, it is raised where the items are asked for
            last = _Last(error)
        finally:
            items.close()
        waiting.put(last)

    thread = threading.Thread(target=make, name="noisewise-reader", daemon=True)
    thread.start()
    try:
        while not isinstance(item := waiting.get(), _Last):
            yield item
            del item  # not kept while the next one is waited for
        if item.error is not None:
            raise item.error
    finally:
        stopped.set()
        while thread.is_alive():  # it may be waiting for room, or be in the middle of an item
            with suppress(queue.Empty):
                while True:
                    waiting.get_nowait()
            thread.join(0.05)


def ordered_map(function: Callable[[Item], Made], items: Iterable[Item], threads: int) -> Generator[Made, None, None]:
    """``map(function, items)`` by so many threads; one item more than that is taken ahead."""
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
    """NumPy's BLAS: many threads on small products are many times slower than one, so it is held to one during the pass."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()

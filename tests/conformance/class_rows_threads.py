"""Rows of what threads, tasks and processes wait at."""

from __future__ import annotations

from tests.conformance.class_row import Row, reference, value

__all__ = ["THREADS"]

_SYSTEM = "it is a handle of the operating system"
_OTHERS = "other code waits at this very object"

_THREADS = (
    reference(
        "threading.Lock",
        "import threading; x = threading.Lock()",
        "x.acquire()",
        "x.locked()",
        revives=True,
        why=f"{_OTHERS}; a dead one comes back free",
    ),
    reference(
        "threading.RLock",
        "import threading; x = threading.RLock()",
        look="type(x).__name__",
        revives=True,
        why=f"{_OTHERS}; a dead one comes back free",
    ),
    reference(
        "threading.Event",
        "import threading; x = threading.Event()",
        "x.set()",
        "x.is_set()",
        why=_OTHERS,
        settles=True,
        revives=True,
    ),
    reference(
        "threading.Condition",
        "import threading; x = threading.Condition()",
        look="type(x).__name__",
        why=_OTHERS,
        revives=True,
    ),
    reference(
        "threading.Semaphore",
        "import threading; x = threading.Semaphore(3)",
        "x.acquire()",
        "x._value",
        why=_OTHERS,
        settles=True,
        revives=True,
    ),
    reference(
        "threading.Thread",
        "import threading; x = threading.Thread(target=print)",
        "x.name = 'q'",
        "x.name",
        why="it runs, or ran, beside the notebook",
    ),
    reference(
        "threading.Timer",
        "import threading; x = threading.Timer(9, print)",
        "x.args = [1]",
        "x.args",
        why="it runs, or ran, beside the notebook",
    ),
    reference(
        "threading.local",
        "import threading; x = threading.local(); x.n = 1",
        "x.n = 2",
        "x.n",
        why="each thread has its own content",
    ),
    reference(
        "concurrent.futures.ThreadPoolExecutor",
        "import concurrent.futures; x = concurrent.futures.ThreadPoolExecutor(1)",
        look="x._max_workers",
        after="x.shutdown()",
        why="threads work for it",
    ),
    reference(
        "concurrent.futures.Future",
        "import concurrent.futures; x = concurrent.futures.Future()",
        "x.set_result(5)",
        "x.done()",
        why=_OTHERS,
    ),
    reference(
        "asyncio event loop",
        "import asyncio; x = asyncio.new_event_loop()",
        look="x.is_closed()",
        after="x.close()",
        why=_SYSTEM,
    ),
    reference(
        "asyncio.Future",
        "import asyncio; l = asyncio.new_event_loop(); x = l.create_future()",
        "x.set_result(1)",
        "x.done()",
        after="l.close()",
        why=_OTHERS,
    ),
    reference(
        "asyncio.Task",
        "import asyncio; l = asyncio.new_event_loop()\nasync def c(): return 1\nx = l.create_task(c())",
        "l.run_until_complete(x)",
        "x.done()",
        after="l.run_until_complete(asyncio.sleep(0, x)); l.close()",
        why="it is running code",
    ),
    value("asyncio.Lock", "import asyncio; x = asyncio.Lock()", look="x.locked()"),
    value("asyncio.Event", "import asyncio; x = asyncio.Event()", "x.set()", "x.is_set()"),
    value(
        "asyncio.Queue",
        "import asyncio; x = asyncio.Queue(3); x.put_nowait([1])",
        "x.put_nowait(2)",
        "(list(x._queue), x.maxsize)",
    ),
    reference(
        "multiprocessing.Process",
        "import multiprocessing; x = multiprocessing.Process(target=print)",
        "x.name = 'q'",
        "x.name",
        why="it is a child of this process",
    ),
)

THREADS: tuple[Row, ...] = _THREADS

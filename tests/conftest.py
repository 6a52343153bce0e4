"""What all tests share: a cache of their own, one BLAS thread, no window for pictures, and how hard Hypothesis looks."""

from __future__ import annotations

import gc
import os
import signal
from pathlib import Path

# Compiled code of the tests is kept beside them: what a user's own cache holds must not decide whether they pass.
os.environ.setdefault("NOISEWISE_CACHE_DIR", str(Path(__file__).parent.parent / ".test-cache"))
for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")
os.environ.setdefault("MPLBACKEND", "Agg")

# A shell starts a background job with SIGINT ignored, and a child inherits that. Tests that press Ctrl-C need the usual handler.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

from hypothesis import HealthCheck, settings  # noqa: E402

pytest_plugins = ["tests.rings", "tests.resume"]

# The profile alone sets the number of examples. No deadline: a busy machine is slow now and then. `make test` and
# `make test-all`, which runs every property again with `deep`, always try the same examples: a failure is about the change.
# `make hunt` looks for new ones with `thorough`.
settings.register_profile("noisewise", deadline=None, max_examples=25, derandomize=True,
                          suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])
settings.register_profile("deep", parent=settings.get_profile("noisewise"), max_examples=200)
settings.register_profile("thorough", parent=settings.get_profile("noisewise"), max_examples=5000, derandomize=False)
settings.load_profile("noisewise")


def pytest_collection_finish() -> None:
    """What was collected stays until the end: the garbage collector need not look through it again and again."""
    gc.collect()
    gc.freeze()


def pytest_unconfigure() -> None:
    gc.unfreeze()

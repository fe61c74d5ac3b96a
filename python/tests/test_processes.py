"""Threads and processes: their number, forks, the interpreter's lock."""

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time

import burn_rank
import numpy as np
import pytest
from burn_rank.estimator import RankingEstimator

SCORES = np.random.default_rng(0).normal(size=(8, 60)).astype(np.float32)
LABELS = np.random.default_rng(1).integers(0, 3, (8, 60)).astype(np.float32)


@pytest.fixture(autouse=True)
def default_threads():
    yield
    burn_rank.set_num_threads(None)


def value():
    return burn_rank.loss("soft_ndcg", SCORES, LABELS)[0]


def threads_of_pools():
    names = []
    for task in os.listdir("/proc/self/task"):
        with open(f"/proc/self/task/{task}/comm") as comm:
            names.append(comm.read().strip())
    return [name for name in names if name.startswith("burn-rank-")]


def script(text, timeout=120, **environment):
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(text)],
        capture_output=True,
        text=True,
        timeout=timeout,
        env={**os.environ, **environment},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_the_number_of_threads_changes_no_bit():
    found = set()
    for threads in [1, 2, 3]:
        burn_rank.set_num_threads(threads)
        assert burn_rank.get_num_threads() == threads
        found.add(value())
    assert len(found) == 1
    with pytest.raises(ValueError, match="threads: found 0, expected 1 or more, or None"):
        burn_rank.set_num_threads(0)


def test_the_default_is_a_thread_per_processor_or_the_variable():
    ask = "import burn_rank; print(burn_rank.get_num_threads())"
    assert script(ask, RAYON_NUM_THREADS="3") == "3"
    assert burn_rank.get_num_threads() == int(os.environ.get("RAYON_NUM_THREADS", len(os.sched_getaffinity(0))))


def test_importing_starts_no_thread():
    # numpy's BLAS and scikit-learn have threads of their own.
    def threads(modules):
        count = f"import os, {modules}; print(len(os.listdir('/proc/self/task')))"
        return script(count, OPENBLAS_NUM_THREADS="1")

    assert threads("burn_rank") == "1"
    pytest.importorskip("sklearn")
    assert threads("sklearn.base, burn_rank.estimator") == threads("sklearn.base")


def test_one_thread_computes_where_one_was_asked_for():
    ran = script(
        """
        import os, numpy as np, burn_rank
        burn_rank.set_num_threads(1)
        burn_rank.loss("soft_ndcg", np.random.rand(8, 60), np.random.randint(0, 3, (8, 60)))
        names = [open(f"/proc/self/task/{t}/comm").read().strip() for t in os.listdir("/proc/self/task")]
        print(sum(name.startswith("burn-rank-") for name in names), len(names))
        """,
        OPENBLAS_NUM_THREADS="1",
    )
    assert ran == "1 2"


def in_child(work):
    """Exit code of `work` in a forked child, None where it hangs."""
    child = os.fork()
    if child == 0:
        try:
            os._exit(0 if work() else 1)
        except BaseException:
            os._exit(2)
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        found, status = os.waitpid(child, os.WNOHANG)
        if found:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.02)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return None


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_forked_process_computes_after_its_parent_has():
    expected = value()
    assert threads_of_pools()
    assert in_child(lambda: value() == expected) == 0
    # A child that does not call the package goes on, and so does the parent.
    assert in_child(lambda: True) == 0
    assert value() == expected


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_fork_while_another_thread_computes_is_refused():
    begun, asked = threading.Event(), threading.Event()

    def tell(event):
        begun.set()
        if asked.is_set():
            raise StopIteration

    def fit():
        learner = {"kind": "gradient", "epochs": 10_000_000}
        with pytest.raises(StopIteration):
            RankingEstimator(learner, progress=tell).fit(SCORES.reshape(-1, 1), LABELS.reshape(-1), [60] * 8)

    def refused():
        try:
            value()
        except RuntimeError as error:
            return "forked while another thread" in str(error)

    thread = threading.Thread(target=fit)
    thread.start()
    assert begun.wait(60)
    codes = in_child(refused), in_child(lambda: True)
    asked.set()
    thread.join()
    assert codes == (0, 0)
    # What the parent computes is not touched by it.
    assert in_child(lambda: value() > 0) == 0


def test_other_threads_run_while_one_computes():
    # A call that is long on this machine.
    lists, seconds = 1, 0.0
    while seconds < 0.3:
        lists *= 2
        scores, labels = np.tile(SCORES, (lists, 1)), np.tile(LABELS, (lists, 1))
        start = time.monotonic()
        burn_rank.loss("soft_ndcg", scores, labels)
        seconds = time.monotonic() - start
    thread = threading.Thread(target=lambda: burn_rank.loss("soft_ndcg", scores, labels))
    thread.start()
    turns = 0
    while thread.is_alive():
        turns += 1
        time.sleep(0.001)
    assert turns > 5

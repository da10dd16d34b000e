"""On a Dask cluster: the same outcomes, also where a worker is killed in the middle."""

import contextlib
import logging
import os
import signal
import threading
import time

import pytest

from attnspec.base.errors import UsageError
from attnspec_draws.campaign.executors import open_executor

distributed = pytest.importorskip("distributed")
pytestmark = [
    pytest.mark.proof,
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]


def local_cluster(**settings):
    """Start a cluster; Dask asserts that a thread of it runs within 10 seconds, which a first try can miss."""
    settings |= {"dashboard_address": ":0", "silence_logs": logging.CRITICAL}
    with contextlib.suppress(AssertionError):
        return distributed.LocalCluster(**settings)
    return distributed.LocalCluster(**settings)


@pytest.fixture(scope="module")
def cluster():
    with local_cluster(n_workers=2, threads_per_worker=1, processes=True) as cluster:
        yield cluster


def test_the_outcomes_are_those_of_processes(campaign, cluster):
    assert campaign("reference", 60, f"dask:{cluster.scheduler_address}") == campaign("reference", 60)


def test_a_worker_that_is_killed_loses_nothing(campaign, cluster):
    with distributed.Client(cluster.scheduler_address) as client:
        process = next(iter(client.run(os.getpid).values()))

    def kill_soon():
        time.sleep(2)
        os.kill(process, signal.SIGKILL)

    killer = threading.Thread(target=kill_soon)
    killer.start()
    found = campaign("reference", 700, f"dask:{cluster.scheduler_address}")
    killer.join()
    assert found == campaign("reference", 700)


def test_a_scheduler_without_workers_is_reported_with_what_to_do():
    with (
        local_cluster(n_workers=0) as cluster,
        pytest.raises(UsageError, match=f"has no worker; start one .*dask worker {cluster.scheduler_address}"),
    ):
        open_executor(f"dask:{cluster.scheduler_address}")


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:9", "nowhere", "8786"])
def test_a_scheduler_that_does_not_answer_is_reported(address):
    with pytest.raises(UsageError, match=f"--executor dask:{address}: no scheduler answers there"):
        open_executor(f"dask:{address}")


@pytest.fixture
def slow_starts(monkeypatch):
    """Let the first starts of Dask miss the time that it gives itself, as on a machine that was paused."""

    def let(missed):
        starts = iter(range(missed))
        client = distributed.Client

        def slow_client(*words, **more):
            if next(starts, None) is not None:
                raise AssertionError
            return client(*words, **more)

        monkeypatch.setattr(distributed, "Client", slow_client)

    return let


def test_a_start_that_missed_its_time_is_tried_again(slow_starts, campaign, cluster):
    slow_starts(1)
    assert campaign("reference", 4, f"dask:{cluster.scheduler_address}") == campaign("reference", 4)


def test_a_machine_on_which_dask_cannot_begin_is_reported(slow_starts, cluster):
    slow_starts(2)
    with pytest.raises(UsageError, match="Dask cannot begin a thread here within its 10 seconds"):
        open_executor(f"dask:{cluster.scheduler_address}")

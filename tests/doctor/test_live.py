"""Beside writers at work nothing is found that is not so."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

import forkpoint as fp
from tests.doctor.conftest import kinds, told
from tests.doctor.working import Worker

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("seconds", "processes"),
    [(3.0, 2), pytest.param(90.0, 3, marks=(pytest.mark.soak, pytest.mark.timeout(300)))],
)
def test_no_false_alarm_beside_threads_and_processes(
    url: str, seconds: float, processes: int
) -> None:
    fp.open(url).close()
    running = [
        subprocess.Popen(
            [
                sys.executable,
                *("-m", "tests.doctor.working", url, f"process {number}", f"{number}"),
                f"{seconds}",
            ],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for number in range(processes)
    ]
    done: list[int] = []
    with fp.open(url) as store:
        until = time.monotonic() + seconds
        workers = [Worker(store, f"thread {number}", 100 + number) for number in range(2)]
        threads = [
            threading.Thread(target=lambda worker=worker: done.append(worker.work(until)))
            for worker in workers
        ]
        for thread in threads:
            thread.start()
        examined = 0
        while time.monotonic() < until or examined == 0:
            diagnosis = store.examine()
            assert kinds(diagnosis) == {}, told(diagnosis)
            examined += 1
        for thread in threads:
            thread.join()
        for process in running:
            output, problems = process.communicate(timeout=60)
            assert process.returncode == 0, problems
            done.append(int(output))
        assert len(done) == len(threads) + processes
        assert min(done) > 0
        diagnosis = store.examine()
        assert kinds(diagnosis) == {}, told(diagnosis)
        assert examined > 1

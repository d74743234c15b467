"""Passes over all pairs of rows on the workers of a cluster.

The solver runs in the client. What it asks of all pairs comes here as bytes: a question, and parts that may be computed anywhere. Each
worker holds a *share*, all the rows, which it builds from the blocks of the collection; a worker that joins late, or takes the place of
one that died, builds its own, from the files that the blocks come from. Parts are dealt to workers as these get done, and handed back in
their order: who computed them leaves no trace.
"""

from __future__ import annotations

import asyncio
import time
import uuid
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from typing import Any

import dask
import distributed
import numpy as np
import numpy.typing as npt

from .. import _lipmetric
from .._frames import chosen_rows, class_name, columns_of, is_frame
from .._parameters import call
from ._collections import Block, joined_column, joined_rows

#: A pass over the pairs of fewer points is computed by the client: it takes less time than the way to the workers and back.
LEAST_ROWS = 8_000
#: Tasks for each thread of a worker, about: more are dealt more evenly, fewer cost less on the way.
TASKS_EACH = 4
#: Seconds after which workers that came or went are noticed.
LOOK = 0.5
#: So often in one pass parts may be lost with their workers before the client does the work alone.
LOSSES = 30
#: Seconds without a worker before the client goes on alone.
PATIENCE = 60.0
#: Rows as numbers that a worker holds at most, as multiples of N x p: measured by benches/scale/dask_scaling.py.
WORKER_COPIES = 7
#: The same of the client, which runs the solver.
CLIENT_COPIES = 9

#: What a pass asks: its name, the number of the cloud of points, how these are mapped, and the question.
Letter = tuple[str, int, bytes, bytes]


def rows_for_fit(parts: Sequence[Block]) -> tuple[Any, npt.NDArray[Any], npt.NDArray[Any] | None]:
    """Blocks as the estimator reads them: rows, labels and weights."""
    rows, labels, weights = (list(of) for of in zip(*parts, strict=True))
    joined = joined_column(labels)
    assert joined is not None
    return joined_rows(rows), joined, joined_column(weights)


class Held:
    """What a worker holds for a fit: all rows, and the pass that it was told of last."""

    def __init__(self, share: Any) -> None:
        self.share = share
        self.number, self.letter = 0, ("", 0, b"", b"")

    def __sizeof__(self) -> int:
        return int(self.share.__sizeof__())

    def __reduce__(self) -> Any:
        raise TypeError("the rows of a fit stay on their worker")


def build_share(*parts: Block, classes: npt.NDArray[Any], request: str) -> Held:
    """All rows of a fit, on a worker, as the client has read and prepared them."""
    rows, labels, weights = rows_for_fit(parts)
    if is_frame(rows):
        rows = columns_of(rows)
    elif rows.dtype not in (np.float64, np.float32):
        rows = rows.astype(np.float64)
    if weights is not None and (weights == 0.0).any():
        kept = np.flatnonzero(weights)
        rows, labels = chosen_rows(rows, kept), labels[kept]
    codes = np.searchsorted(classes, labels).astype(np.uint32)
    return Held(call(_lipmetric.Share, rows, ([class_name(c) for c in classes.tolist()], codes), request))


def compute_parts(
    held: Held, number: int, letter: Letter | None, lineage: bytes | None, parts: list[int]
) -> list[bytes] | None:
    """Some parts of a pass, on a worker; ``None`` where it was not told of this pass, or of the cloud of points."""
    if letter is not None:
        held.number, held.letter = number, letter
    if held.number != number:
        return None
    name, cloud, maps, question = held.letter
    # A worker runs as many tasks at once as it has threads.
    answer: list[bytes] | None = held.share.answer(name, cloud, lineage, maps, question, parts, 1)
    return answer


def portions(costs: Sequence[int], count: int) -> list[list[int]]:
    """Parts in runs that cost about the same."""
    each = max(1.0, sum(costs) / max(1, count))
    out: list[list[int]] = []
    filled = each
    for part, cost in enumerate(costs):
        if filled + 0.5 * cost > each:
            out.append([])
            filled = 0.0
        out[-1].append(part)
        filled += cost
    return out


def check_memory(rows: int, features: int, workers: dict[str, Any], available: int) -> int:
    """Refuses a fit that does not fit, with the numbers; else what a worker needs."""
    size = 8 * rows * features
    told = f"{rows} rows of {features} features"
    if CLIENT_COPIES * size > available:
        raise MemoryError(
            f"{told}: the client, which runs the solver, needs about {dask.utils.format_bytes(CLIENT_COPIES * size)}, and "
            f"{dask.utils.format_bytes(available)} are free; use a machine with more memory for the client, or a sample of the rows"
        )
    need = WORKER_COPIES * size
    limits = [int(worker["memory_limit"] or 0) for worker in workers.values()]
    if limits and all(0 < limit < need for limit in limits):
        raise MemoryError(
            f"{told}: a worker needs about {dask.utils.format_bytes(need)}, and the largest has a limit of "
            f"{dask.utils.format_bytes(max(limits))}; use fewer workers with more memory each, or a sample of the rows"
        )
    return need


class Task:
    """Parts that a worker is computing."""

    def __init__(self, parts: list[int], worker: str, future: Any) -> None:
        self.parts, self.worker, self.future = parts, worker, future


class Crew:
    """The workers of a cluster, as a fit sees them."""

    def __init__(
        self,
        client: Any,
        blocks: Sequence[Block],
        classes: npt.NDArray[Any],
        request: str,
        need: int = 0,
    ) -> None:
        self.client, self.blocks, self.classes, self.request = client, list(blocks), classes, request
        self.need, self.least_rows = need, LEAST_ROWS
        self.token = uuid.uuid4().hex[:12]
        #: The rows that each worker holds, and the cloud of points that it was told of last.
        self.shares: dict[str, Any] = {}
        self.clouds: dict[str, int] = {}
        self.passes, self.tasks, self.lost = 0, 0, 0
        #: Seconds of all passes, and bytes that came back.
        self.seconds, self.bytes = 0.0, 0
        #: Why the workers were given up, if they were.
        self.failure: str | None = None

    def workers(self) -> dict[str, int]:
        """The workers that are there and large enough, with their threads. What the others held is forgotten."""
        told = self.client.scheduler_info(n_workers=-1)["workers"]
        there = {
            address: int(worker["nthreads"])
            for address, worker in told.items()
            if not 0 < int(worker["memory_limit"] or 0) < self.need
        }
        for worker in [worker for worker in self.shares if worker not in there]:
            del self.shares[worker]
            self.clouds.pop(worker, None)
        return there

    def share(self, worker: str) -> Any:
        """The rows on a worker, which it reads where it does not hold them. Blocks that some worker has at hand come from there,
        others from their files."""
        if worker not in self.shares:
            parts = self.client.compute([dask.delayed(block) for block in self.blocks])
            self.tasks += 1
            self.shares[worker] = self.client.submit(
                build_share,
                *parts,
                classes=self.classes,
                request=self.request,
                workers=[worker],
                key=f"lipmetric-rows-{self.token}-{self.tasks}",
            )
        return self.shares[worker]

    def run(
        self, name: str, cloud: int, lineage: bytes, maps: bytes, question: bytes, costs: list[int]
    ) -> Iterator[bytes]:
        """The parts of a pass in their order. Where they end early, :attr:`failure` says why, and the client computes the rest."""
        began = time.monotonic()
        self.passes += 1
        try:
            for part in Dealt(self, (name, cloud, maps, question), lineage, costs).parts():
                self.bytes += len(part)
                yield part
        except Exception as error:  # whatever it is: the fit goes on without the workers
            self.failure = f"{type(error).__name__}: {error}"
        finally:
            self.seconds += time.monotonic() - began

    def summary(self) -> str:
        """What the workers have done, in a line."""
        lost = f", {self.lost} tasks were lost with their workers and done again" if self.lost else ""
        size = dask.utils.format_bytes(self.bytes)
        return f"workers: {self.passes} passes over the pairs in {self.seconds:.1f} s, {size} came back{lost}"

    def close(self) -> None:
        """Lets the workers forget the rows."""
        for share in self.shares.values():
            share.release()
        self.shares.clear()


class Dealt:
    """A pass whose parts are dealt to the workers, as these get done."""

    def __init__(self, crew: Crew, letter: Letter, lineage: bytes, costs: list[int]) -> None:
        self.crew, self.letter, self.lineage, self.costs = crew, letter, lineage, costs
        self.number = crew.passes
        self.there = crew.workers()
        self.waiting = deque(portions(costs, TASKS_EACH * max(1, sum(self.there.values()))))
        self.running: list[Task] = []
        self.done: dict[int, bytes] = {}
        #: How many tasks of each worker had the letter with them.
        self.told: dict[str, int] = {}
        self.lost = 0

    def parts(self) -> Iterator[bytes]:
        """The parts in their order."""
        upto, looked = 0, time.monotonic()
        try:
            while upto < len(self.costs):
                self.top_up()
                self.rest()
                lost = self.collect()
                if lost or time.monotonic() - looked > LOOK:
                    self.there, looked = self.crew.workers(), time.monotonic()
                while upto in self.done:
                    yield self.done.pop(upto)
                    upto += 1
        finally:
            if self.running:
                self.crew.client.cancel([task.future for task in self.running], force=True)

    def top_up(self) -> None:
        """Gives each worker as many tasks as it has threads, and one more."""
        busy = Counter(task.worker for task in self.running)
        for worker, threads in self.there.items():
            while self.waiting and busy[worker] <= threads:
                self.submit(self.waiting.popleft(), worker, threads)
                busy[worker] += 1

    def submit(self, parts: list[int], worker: str, threads: int) -> None:
        """A task for a worker. The first ones, as many as run at once, have the letter with them."""
        crew, cloud = self.crew, self.letter[1]
        letter = lineage = None
        if self.told.get(worker, 0) < threads:
            letter = self.letter
            lineage = self.lineage if crew.clouds.get(worker) != cloud else None
            self.told[worker] = self.told.get(worker, 0) + 1
            if self.told[worker] == threads:
                crew.clouds[worker] = cloud
        crew.tasks += 1
        future = crew.client.submit(
            compute_parts,
            crew.share(worker),
            self.number,
            letter,
            lineage,
            parts,
            workers=[worker],
            key=f"lipmetric-{self.letter[0].replace(' ', '-')}-{crew.token}-{crew.tasks}",
        )
        self.running.append(Task(parts, worker, future))

    def rest(self) -> None:
        """Waits until a task is done, or it is time to look who is there."""
        if not self.running:
            self.wait_for_workers()
            return
        try:
            distributed.wait([task.future for task in self.running], timeout=LOOK, return_when="FIRST_COMPLETED")
        except (asyncio.TimeoutError, TimeoutError):
            return
        except distributed.CancelledError:
            return

    def wait_for_workers(self) -> None:
        began = time.monotonic()
        while not self.there:
            if time.monotonic() - began > PATIENCE:
                raise RuntimeError(f"no worker was there for {PATIENCE:.0f} seconds")
            time.sleep(LOOK)
            self.there = self.crew.workers()

    def collect(self) -> bool:
        """Takes in what is done; whether a worker was lost."""
        lost = False
        for task in [task for task in self.running if task.future.done() or task.worker not in self.there]:
            self.running.remove(task)
            try:
                answer = self.result(task)
            except LOST:
                lost = True
                self.crew.lost += 1
                self.lost += 1
                self.crew.client.cancel([task.future], force=True)
                self.crew.shares.pop(task.worker, None)
            else:
                # At once, not when its last reference goes: an exception may keep one for a while.
                task.future.release()
                if answer is not None:
                    self.done.update(zip(task.parts, answer, strict=True))
                    continue
            # Whatever it knew is told again.
            self.told.pop(task.worker, None)
            self.crew.clouds.pop(task.worker, None)
            self.waiting.appendleft(task.parts)
        if self.lost > LOSSES:
            raise RuntimeError(f"parts of a pass were lost {self.lost} times with the workers that computed them")
        return lost

    def result(self, task: Task) -> list[bytes] | None:
        """What a task has computed; ``None`` where the worker was not told enough."""
        patience = LOOK
        while task.worker in self.there:
            try:
                answer: list[bytes] | None = task.future.result(timeout=patience)
                return answer
            except (asyncio.TimeoutError, TimeoutError):
                # It takes its time to come, or was lost on the way with its worker.
                patience *= 2
                self.there = self.crew.workers()
            except Exception as error:
                if task.future.status == "error" and not isinstance(error, LOST):
                    raise
                # Its worker or the way to it: not the task.
                raise distributed.CancelledError(f"a task on {task.worker} is lost") from error
        raise distributed.CancelledError(f"the worker {task.worker} is gone")


#: What comes of a task whose worker is gone.
LOST: tuple[type[BaseException], ...] = (distributed.scheduler.KilledWorker, distributed.CancelledError, OSError)

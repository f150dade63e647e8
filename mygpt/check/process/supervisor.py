"""Run a function in a process of which nothing is left afterwards.

On Linux a supervisor stands in between: whatever the function starts becomes a child of
it, however it hides, and is ended with it. Elsewhere the processes of its session are
ended (on Windows, those that are still its children at the limit).
"""

import contextlib
import ctypes
import multiprocessing
import multiprocessing.connection
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mygpt.check.process.errors import own_failure, readers_frame
from mygpt.check.process.run import PATIENCE, own_time

LINUX = sys.platform == "linux"
# Forked, a check starts at once; elsewhere PyTorch does not survive a fork.
START = "fork" if LINUX else "spawn"
IMPORTS = 60  # seconds in which a spawned process imports PyTorch again
GRACE = 5.0  # seconds after its limit until a process is killed
MEMORY = 4 * 2**30  # bytes that a check may take besides what the package takes
WRITTEN = 2**28  # bytes that it may write into one file
PROCESSES = 512  # processes and threads that a user may have besides those running
SUBREAPER, DEATH_SIGNAL = 36, 1  # of prctl


def never() -> bool:
    """Return False: nothing ends the work early."""
    return False


@dataclass
class Job:
    """Work for a process of its own.

    work: it sends its findings by writing the file that it is given.
    conclude: gets these findings (None if there are none), whether the time ran out,
        and the exit code.
    folder: of that file. seconds: the limit. memory: bytes besides the package's.
    after: seconds for work that has made a file `more` beside the other, which goes on
        until it is `over`.
    """

    work: Callable[[Path], None]
    conclude: Callable[[bytes | None, bool, int | None], Any]
    folder: Path
    seconds: int | float
    memory: int = MEMORY
    after: float = 0.0
    over: Callable[[], bool] = never


def supervised(job: Job, first: Callable[[Any], None] | None = None) -> Any:
    """Run a job in a process of its own, end all that it started, and conclude.

    `first` gets the conclusion that is made before the time `after`. The result is None
    if the work has ended the supervisor too.
    """
    if START != "fork":
        return oversee(job, first or (lambda early: None))
    context = multiprocessing.get_context(START)
    here, there = context.Pipe()
    supervisor = context.Process(target=supervise, args=(job, here, there))
    supervisor.start()
    there.close()
    answer, ended = None, False
    try:
        while not ended:
            answer, ended = here.recv()
            if first and not ended:
                first(answer)
    except EOFError:
        return answer
    finally:
        here.close()  # so that after Ctrl-C the supervisor ends the work
        supervisor.join()
    if isinstance(answer, Exception):
        raise answer
    return answer


def supervise(job: Job, here: Any, there: Any) -> None:
    """Adopt all orphans of the work, and send the conclusions.

    If the other process has closed its end, or has ended, end all and send nothing.
    """
    here.close()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the other process
    if LINUX:
        ctypes.CDLL(None).prctl(SUBREAPER, 1, 0, 0, 0)
    with contextlib.suppress(EOFError, ConnectionError):
        try:
            answer = oversee(job, lambda first: there.send((first, False)), there)
        except (ValueError, OSError, ImportError) as error:
            answer = error  # in what the check needs, not in the reader's program
        except Exception as error:
            answer = ValueError(own_failure(error))
        there.send((answer, True))
    there.close()


def oversee(job: Job, tell: Callable[[Any], None], asker: Any = None) -> Any:
    """Start the work, wait for its end, and conclude when nothing of it is left.

    An EOFError if the asker, a connection, is closed at the other end before that.
    """
    sent, more = job.folder / "sent", job.folder / "more"
    context = multiprocessing.get_context(START)
    child = context.Process(target=begin, args=(job.work, sent, job.memory, asker))
    child.start()
    try:
        limit = (0 if START == "fork" else IMPORTS) + PATIENCE * job.seconds + GRACE
        wait(child, asker, limit, lambda: sent.is_file() and more.is_file(), 0.01)
        late = child.is_alive()
        if late and sent.is_file() and more.is_file():
            late = False
            tell(job.conclude(sent.read_bytes(), late, None))
            wait(child, asker, job.after, job.over, 0.1)
    finally:
        end(child)
    content = sent.read_bytes() if sent.is_file() else None
    return job.conclude(content, late, child.exitcode)


def wait(
    child: Any, asker: Any, seconds: float, over: Callable[[], bool], pause: float
) -> None:
    """Wait until a process ends, the time ends, or `over`, asked after each pause."""
    end = own_time(child.pid) + seconds
    watched = [child.sentinel, *([asker] if asker else [])]
    while child.is_alive() and own_time(child.pid) < end and not over():
        if asker in multiprocessing.connection.wait(watched, pause):
            raise EOFError


def begin(work: Callable[[Path], None], sent: Path, memory: int, asker: Any) -> None:
    """Work in a session of its own, within limits, and leave no thread behind."""
    if asker:  # through which nothing but conclusions is told
        asker.close()
    if hasattr(os, "setsid"):
        os.setsid()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if LINUX:  # even if it kills its supervisor, it ends with it
        ctypes.CDLL(None).prctl(DEATH_SIGNAL, signal.SIGKILL, 0, 0, 0)
    limit_resources(memory)
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(before=note_fork, after_in_child=lambda: os._exit(0))
    work(sent)
    os._exit(0)


CHECKING: set[int] = set()  # threads in which a program is under check


@contextlib.contextmanager
def copies_ended() -> Iterator[None]:
    """End at once each copy of this process that the thread makes in the body."""
    thread = threading.get_ident()
    CHECKING.add(thread)
    try:
        yield
    finally:
        CHECKING.discard(thread)


def end_copy() -> None:
    """End a copy of this process that a program under check has made."""
    if threading.get_ident() in CHECKING:
        os._exit(0)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=end_copy)


FORKS: list[tuple[str, int] | None] = []  # file and line of each fork of the work


def note_fork() -> None:
    """Note the reader's line that copies this process."""
    frame = readers_frame(sys._getframe(1))
    FORKS.append(frame and (frame.f_code.co_filename, frame.f_lineno))


def limit_resources(memory: int) -> None:
    """Limit memory, file sizes and processes, where the system can."""
    try:
        import resource
    except ImportError:
        return  # Windows
    limits = {resource.RLIMIT_FSIZE: WRITTEN}
    if LINUX:
        pages = int(Path("/proc/self/statm").read_text("ascii").split()[0])
        limits[resource.RLIMIT_AS] = pages * resource.getpagesize() + memory
        limits[resource.RLIMIT_NPROC] = threads_of(os.getuid()) + PROCESSES
    for kind, limit in limits.items():
        _, most = resource.getrlimit(kind)
        if most != resource.RLIM_INFINITY:
            limit = min(limit, most)
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(kind, (limit, limit))


def threads_of(user: int) -> int:
    """Count the threads of a user's processes."""
    found = 0
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if folder.stat().st_uid == user:
                found += len(os.listdir(folder / "task"))
    return found


def end(child: Any) -> None:
    """End a process and all that it started."""
    if hasattr(os, "killpg"):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(child.pid, signal.SIGKILL)  # all at once: none forks meanwhile
    elif child.is_alive():
        tree = ["taskkill", "/T", "/F", "/PID", str(child.pid)]
        subprocess.run(tree, capture_output=True)
    if child.is_alive():
        child.kill()
    child.join()
    if START == "fork" and LINUX:
        end_orphans()


def end_orphans() -> None:
    """End the processes that this one has adopted, until none is left."""
    own = os.getpgrp()
    while True:
        for pid, group in descendants(os.getpid()):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL) if group == own else os.killpg(
                    group, signal.SIGKILL
                )
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            return
        time.sleep(0.002)


def descendants(root: int) -> list[tuple[int, int]]:
    """Return all processes that descend from one, each with its group."""
    parents: dict[int, tuple[int, int]] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            # pid (name) state parent group …, where a name may hold anything
            rest = (folder / "stat").read_text("utf-8", "replace").rpartition(") ")[2]
            _, parent, group, *_ = rest.split()
            parents[int(folder.name)] = int(parent), int(group)
    found, known = [], {root}
    while below := {p for p, (parent, _) in parents.items() if parent in known} - known:
        known |= below
        found += [(pid, parents[pid][1]) for pid in below]
    return found

"""Start `mygpt` in many processes, by PyTorch's torchrun; one line for what fails.

    mygpt train stories --out runs/a --processes 4

is the same as `torchrun --standalone --nproc-per-node 4 -m mygpt train stories …`, but
for the errors: torchrun's are pages long, and if another program owns the port, it
hangs.
"""

import logging
import os
import signal
import socket
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn
from unittest.mock import patch

from torch.distributed import run as torchrun
from torch.distributed.elastic.multiprocessing.api import SignalException
from torch.distributed.elastic.multiprocessing.errors import (
    ChildFailedError,
    ProcessFailure,
    get_error_handler,
)
from torch.distributed.elastic.rendezvous.api import RendezvousError

from mygpt.checkpoint import checkpoints
from mygpt.distributed.training import LostProcessError, SilentProcessError
from mygpt.support.arguments import check_above_zero, check_positive

STARTED = "MYGPT_STARTED"  # names the file that says that the processes have started
GRACE = 5  # seconds that torchrun has to say itself that nobody came
LOST, SILENT = 75, 76  # exit statuses: another process was gone, or did not answer


def is_worker() -> bool:
    """Whether torchrun started this process."""
    return "TORCHELASTIC_RUN_ID" in os.environ


def launch(
    arguments: list[str],
    processes: int,
    machines: int,
    meet: str | None,
    timeout: float,
    out: str | Path,
) -> None:
    """Run `mygpt` with the same arguments in all processes, and wait for their end.

    `processes` run on this machine. Of several machines, each is given the same
    command, and they meet at `meet`, a "host:port" of one of them.
    """
    check_positive(processes=processes, machines=machines)
    check_above_zero(timeout=timeout)
    if machines > 1 and meet is None:
        raise ValueError(
            f"{machines} machines need a place to meet: expected --meet HOST:PORT, "
            "the name of one of them and a free port, such as node0:29500"
        )
    where = meet_options(meet, machines, timeout) if meet else ["--standalone"]
    options = torchrun.parse_args(
        [*where, f"--nproc-per-node={processes}", "-m", "mygpt", *arguments]
    )
    threads = max(1, (os.cpu_count() or 1) // processes)
    with tempfile.TemporaryDirectory() as folder:
        started = Path(folder) / "started"
        set_here = {STARTED: str(started)}
        if "OMP_NUM_THREADS" not in os.environ:
            set_here["OMP_NUM_THREADS"] = str(threads)
        here = patch.dict(os.environ, set_here)
        with here, watched(started, meet, machines, timeout), silent():
            try:
                torchrun.run(options)
            except ChildFailedError as error:
                raise ChildProcessError(
                    why(error.failures, processes * machines, out)
                ) from None
            except RendezvousError:
                raise ConnectionError(nobody_came(meet, machines, timeout)) from None
            except SignalException:
                raise KeyboardInterrupt from None


def meet_options(meet: str, machines: int, timeout: float) -> list[str]:
    """The options of torchrun for machines that meet at "host:port"."""
    host, _, port = meet.rpartition(":")
    if (
        not host
        or not port.isascii()
        or not port.isdigit()
        or not 0 < int(port) < 2**16
    ):
        raise ValueError(
            f"--meet: expected HOST:PORT, such as node0:29500; got {meet!r}"
        )
    try:
        socket.getaddrinfo(host, int(port))
    except OSError as error:
        raise ValueError(
            f"--meet: no machine is known by the name {host!r} ({error.strerror})"
        ) from None
    seconds = max(1.0, timeout)  # torchrun counts in whole ones
    return [
        f"--nnodes={machines}",
        "--rdzv-backend=c10d",
        f"--rdzv-endpoint={meet}",
        f"--rdzv-id=mygpt-{machines}",
        f"--rdzv-conf=join_timeout={seconds:.0f},read_timeout={seconds:.0f}",
    ]


@contextmanager
def silent() -> Iterator[None]:
    """Keep torchrun's log from the screen: what matters is told in one line."""
    logging.disable(logging.CRITICAL)
    try:
        yield
    finally:
        logging.disable(logging.NOTSET)


@contextmanager
def watched(
    started: Path, meet: str | None, machines: int, timeout: float
) -> Iterator[None]:
    """End this process when no other has started in time.

    torchrun itself waits for ever where a stranger answers at the meeting point.
    """

    def give_up() -> None:
        if not started.exists():
            print(f"mygpt: {nobody_came(meet, machines, timeout)}", file=sys.stderr)
            os._exit(1)

    timer = threading.Timer(timeout + GRACE, give_up)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def nobody_came(meet: str | None, machines: int, timeout: float) -> str:
    if meet is None:
        return f"the processes did not start within {timeout:g} seconds"
    return (
        f"{machines} machines did not meet at {meet} within {timeout:g} seconds: "
        "start the same command on each, see that each reaches that address, and that "
        "no other program uses the port"
    )


def why(failures: Mapping[int, ProcessFailure], count: int, out: str | Path) -> str:
    """Why a run failed: what the process at fault said, or how it ended.

    A process that ended with LOST or SILENT only met the fault of another. One that did
    not answer is killed in the end, by torchrun.
    """
    told = {rank: message(failure) for rank, failure in failures.items()}
    status = {rank: failure.exitcode for rank, failure in failures.items()}
    killed = {
        rank: code
        for rank, code in status.items()
        if code < 0 and code != -signal.SIGTERM
    }
    if killed and SILENT in status.values():
        rank = min(killed)
        return f"process {rank} of {count} did not answer in time; {go_on(out)}"
    if killed:
        rank, code = min(killed.items())
        name = signal.Signals(-code).name
        short = ", as the system does when memory is short" if code == -9 else ""
        return f"process {rank} of {count} was killed ({name}{short}); {go_on(out)}"
    rank = min(
        told, key=lambda rank: (status[rank] in (LOST, SILENT), not told[rank], rank)
    )
    if told[rank]:
        return told[rank]
    return (
        f"process {rank} of {count} ended with status {status[rank]}; "
        f"its own message is above; {go_on(out)}"
    )


def go_on(out: str | Path) -> str:
    """What to do after a run was cut short."""
    found = checkpoints(out)
    if not found:
        return "nothing was saved yet: start the same command again"
    return f"the last checkpoint is {found[-1]}: the same command with --resume goes on"


def message(failure: ProcessFailure) -> str:
    """What a process said with `report`, or nothing."""
    data = failure.error_file_data.get("message", {})
    text = data.get("message", "") if isinstance(data, dict) else ""
    return text.partition(": ")[2]


def leave(error: BaseException) -> NoReturn:
    """Report why this process cannot go on, and end it at once.

    Clearing up after a lost connection may never end: a thread of PyTorch's waits for
    Python, and Python for that thread.
    """
    if isinstance(error, KeyboardInterrupt):
        if STARTED not in os.environ:
            print("mygpt: stopped", file=sys.stderr)
    elif isinstance(error, ValueError | OSError | ImportError | FloatingPointError):
        report(error)
    else:
        traceback.print_exception(error)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(exit_status(error))


def exit_status(error: BaseException) -> int:
    """The exit status that tells the launcher what kind of error ended a process."""
    if isinstance(error, KeyboardInterrupt):
        return 130
    if isinstance(error, SilentProcessError):
        return SILENT
    return LOST if isinstance(error, LostProcessError) else 1


def report(error: BaseException) -> None:
    """Hand an error to the process that launched this one, or print it."""
    if STARTED in os.environ:
        handler = get_error_handler()
        handler.initialize()
        handler.record_exception(error)
    else:
        print(f"mygpt: process {os.environ['RANK']}: {error}", file=sys.stderr)


def end_with_parent(every: float = 1.0) -> None:
    """Let this process end when the one that started it is gone."""
    parent = os.getppid()

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(every)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def say_started() -> None:
    """Tell the process that launched this one that its processes have started."""
    if path := os.environ.get(STARTED):
        Path(path).touch()

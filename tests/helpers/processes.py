"""Several processes that call one function together, as torchrun's would."""

import multiprocessing
import os
import pickle
import socket
import time
import traceback
from functools import partial

context = multiprocessing.get_context("forkserver")
# torch._dynamo too: every optimizer imports it, which takes most of a second.
context.set_forkserver_preload(["mygpt.distributed.parts", "torch._dynamo"])


def together(count, function, *arguments, limit=60, **named):
    """What each process returns, or the error that it raised, by rank.

    Each calls `function(*arguments, **named)` with the variables that torchrun sets. A
    process that ends without a result has None.
    """
    call = partial(function, *arguments, **named)
    with socket.socket() as one:
        one.bind(("localhost", 0))
        port = one.getsockname()[1]
    started = []
    for rank in range(count):
        here, there = context.Pipe(duplex=False)
        process = context.Process(target=_run, args=(there, rank, count, port, call))
        process.start()
        there.close()
        started.append((process, here))
    end = time.monotonic() + limit
    try:
        return [_result(here, end) for _, here in started]
    finally:
        for process, _ in started:
            process.kill()
            process.join()


def _result(here, end):
    if not here.poll(max(0, end - time.monotonic())):
        raise TimeoutError("the processes took too long")
    try:
        return pickle.loads(here.recv_bytes())
    except EOFError:
        return None


def _run(there, rank, count, port, call):
    import torch

    torch.set_num_threads(1)
    os.environ |= {
        "RANK": str(rank),
        "LOCAL_RANK": str(rank),
        "WORLD_SIZE": str(count),
        "MASTER_ADDR": "localhost",
        "MASTER_PORT": str(port),
    }
    try:
        found = call()
    except Exception as error:
        traceback.print_exc()
        found = error
    there.send_bytes(pickle.dumps(found))

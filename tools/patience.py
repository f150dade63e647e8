"""How the chapters' clients wait for a kernel: `make chapters`, nbval and the book.

nbclient answers an output widget on the socket on which it also waits for the reply to
the cell. Sending takes the socket's wake-up with it (the file descriptor is
edge-triggered), so a reply that has just come lies unread until the wait ends, which is
as long as a cell may take. Whoever sends must look for events afterwards.

Every wait is cut into slices as well: whatever else hides a message costs one slice.
"""

import time
from collections.abc import Iterator
from contextlib import suppress
from queue import Empty

import zmq
from jupyter_client import channels
from jupyter_client.channels import ZMQSocketChannel

# Before version 8 of the client there is one kind of channel, and its methods wait.
AsyncZMQSocketChannel = getattr(channels, "AsyncZMQSocketChannel", ZMQSocketChannel)

SLICE_SECONDS = 5

original_send = ZMQSocketChannel.send
original_get_msg = ZMQSocketChannel.get_msg
original_async_get_msg = AsyncZMQSocketChannel.get_msg


def mend() -> None:
    """Mend the channels of every client in this process; twice is as good as once."""
    ZMQSocketChannel.get_msg = get_msg_in_slices
    AsyncZMQSocketChannel.send = send_and_look
    AsyncZMQSocketChannel.get_msg = async_get_msg_in_slices


def send_and_look(channel: AsyncZMQSocketChannel, message: dict) -> None:
    """Send, and schedule the reading of what came before."""
    original_send(channel, message)
    channel.socket.get(zmq.EVENTS)


def get_msg_in_slices(channel: ZMQSocketChannel, timeout: float | None = None) -> dict:
    for seconds in slices(timeout):
        with suppress(Empty):
            return original_get_msg(channel, timeout=seconds)
    raise Empty


async def async_get_msg_in_slices(
    channel: AsyncZMQSocketChannel, timeout: float | None = None
) -> dict:
    for seconds in slices(timeout):
        with suppress(Empty):
            return await original_async_get_msg(channel, timeout=seconds)
    raise Empty


def slices(timeout: float | None) -> Iterator[float]:
    """Waits of `SLICE_SECONDS` at most that last `timeout` together, at least one."""
    end = None if timeout is None else time.monotonic() + timeout
    while end is None or (left := end - time.monotonic()) > SLICE_SECONDS:
        yield SLICE_SECONDS
    yield max(0, left)

"""No client of a kernel waits for a message that has already come."""

import asyncio
import importlib.util
import time
from queue import Empty
from unittest.mock import MagicMock

import nbclient.output_widget
import pytest
import zmq
import zmq.asyncio
from helpers.notebooks import code, notebook
from jupyter_cache.executors.utils import single_nb_execution
from jupyter_client.channels import AsyncZMQSocketChannel, ZMQSocketChannel

import website
from tools import execute, patience

CONFTEST = execute.CHAPTERS / "conftest.py"
CELL_SECONDS = 30
SOON = 15  # seconds: the start of a kernel on a busy machine, and some slices


@pytest.fixture(autouse=True)
def plain_channels(monkeypatch):
    """jupyter_client as it is installed, whatever another test has mended."""
    monkeypatch.setattr(ZMQSocketChannel, "get_msg", patience.original_get_msg)
    monkeypatch.setattr(
        AsyncZMQSocketChannel, "get_msg", patience.original_async_get_msg
    )
    monkeypatch.setattr(AsyncZMQSocketChannel, "send", patience.original_send)


def run_by_make_chapters(chapter, folder, request):
    execute.execute(chapter, folder)


def run_by_the_book(chapter, folder, request):
    website.setup(MagicMock())
    done = single_nb_execution(chapter, str(folder), CELL_SECONDS, allow_errors=False)
    assert done.err is None


def run_by_nbval(chapter, folder, request):
    spec = importlib.util.spec_from_file_location("chapters_conftest", CONFTEST)
    plugin = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(plugin)
    item = plugin.Chapter.from_parent(request.session, path=folder / "a.ipynb")
    item.nb = chapter
    item.setup()
    assert item.codes[0].execution_count == 1


@pytest.mark.parametrize(
    "run",
    [
        pytest.param(run_by_make_chapters, marks=pytest.mark.slow),
        run_by_the_book,
        run_by_nbval,
    ],
    ids=lambda run: run.__name__,
)
def test_a_message_that_wakes_nobody_is_found(run, tmp_path, monkeypatch, request):
    look, look_async = zmq.Socket.poll, zmq.asyncio.Socket.poll

    def asleep(socket, timeout, flags=zmq.POLLIN):
        time.sleep(timeout / 1000)
        return look(socket, 0, flags)

    async def asleep_async(socket, timeout, flags=zmq.POLLIN):
        await asyncio.sleep(CELL_SECONDS if timeout is None else timeout / 1000)
        return await look_async(socket, 0, flags)

    monkeypatch.setattr(zmq.Socket, "poll", asleep)
    monkeypatch.setattr(zmq.asyncio.Socket, "poll", asleep_async)
    monkeypatch.setattr(patience, "SLICE_SECONDS", 0.1)
    monkeypatch.setattr(execute, "CELL_SECONDS", CELL_SECONDS)
    start = time.monotonic()
    run(notebook(code("1")), tmp_path, request)
    assert time.monotonic() - start < SOON


@pytest.mark.parametrize(
    "run", [run_by_make_chapters, run_by_the_book], ids=lambda run: run.__name__
)
def test_an_answer_to_an_output_widget_hides_no_reply(
    run, tmp_path, monkeypatch, request
):
    send = nbclient.output_widget.OutputWidget.send

    def send_late(widget, *content):
        time.sleep(0.1)  # the reply comes meanwhile, and sending takes the wake-up
        send(widget, *content)

    monkeypatch.setattr(nbclient.output_widget.OutputWidget, "send", send_late)
    monkeypatch.setattr(patience, "SLICE_SECONDS", CELL_SECONDS)
    monkeypatch.setattr(execute, "CELL_SECONDS", CELL_SECONDS)
    made = "import ipywidgets\nout = ipywidgets.Output()"
    start = time.monotonic()
    prints = [code("with out: print(1)") for _ in range(5)]
    run(notebook(code(made), *prints), tmp_path, request)
    assert time.monotonic() - start < SOON


def test_slices_last_as_long_as_the_wait(monkeypatch):
    monkeypatch.setattr(patience, "SLICE_SECONDS", 0.2)
    patience.mend()
    channel = ZMQSocketChannel(MagicMock(), None)
    channel.socket.poll = lambda milliseconds: time.sleep(milliseconds / 1000)
    for seconds in (0, 0.1, 0.5):
        start = time.monotonic()
        with pytest.raises(Empty):
            channel.get_msg(timeout=seconds)
        assert seconds - 0.01 <= time.monotonic() - start < seconds + 0.15

"""Python runs this first, in a kernel and in every process that a cell starts.

The folder stands on PYTHONPATH when notebooks run under a setting (see settings.py);
the variables say which. MYGPT_ROUNDING_NOISE is `SEED:BITS`, MYGPT_THREADS the number
of threads whatever a notebook asks for, MYGPT_OPENED a folder in which each process
writes down the project's files that it opened.
"""

import importlib.abc
import importlib.util
import os
import sys

NOISE = os.environ.get("MYGPT_ROUNDING_NOISE", "")
THREADS = os.environ.get("MYGPT_THREADS", "")
OPENED = os.environ.get("MYGPT_OPENED", "")


class AfterTorch(importlib.abc.MetaPathFinder):
    """Call `begin` as soon as PyTorch has been imported."""

    def find_spec(self, name, path, target=None):
        if name != "torch":
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec("torch")
        if spec is not None and spec.loader is not None:
            execute = spec.loader.exec_module

            def then_begin(module):
                execute(module)
                begin(module)

            spec.loader.exec_module = then_begin
        return spec


def begin(torch) -> None:
    if THREADS:
        torch.set_num_threads(int(THREADS))
        torch.set_num_threads = lambda number: None
    if NOISE:
        import rounding_noise

        seed, _, bits = NOISE.partition(":")
        rounding_noise.begin(int(seed), int(bits))


def write_down(root: str, folder: str) -> None:
    """Write the name of each file below `root` when it is first opened."""
    seen = set()
    own = os.path.join(folder, "")

    def hook(event, arguments):
        if event != "open" or not isinstance(arguments[0], str):
            return
        path = os.path.abspath(arguments[0])
        if path in seen or not path.startswith(root) or path.startswith(own):
            return
        seen.add(path)
        with open(os.path.join(folder, str(os.getpid())), "a", encoding="utf-8") as to:
            to.write(path[len(root) :] + "\n")

    sys.addaudithook(hook)


if NOISE or THREADS:
    sys.meta_path.insert(0, AfterTorch())
if OPENED:
    here = os.path.abspath(__file__)
    write_down(os.path.join(here.rsplit(os.sep + "tools" + os.sep, 1)[0], ""), OPENED)

"""Interactive figures that also work without a kernel: arrays in, an anywidget out.

The explorers compute nothing and import no torch. All their state is in traits: with a
kernel they are live in both directions, and a page without one has all that they need.
"""

from mygpt.explorers.activations import Activations
from mygpt.explorers.depth import Depth

__all__ = ["Activations", "Depth"]

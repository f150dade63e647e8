"""Interactive figures that also work without a kernel: arrays in, an anywidget out.

LiveModel alone runs a model of the package. Descent and TrainStack train networks of
their own in the page. All state of an explorer is in traits: with a kernel it is live
in both directions, and a page without one has all that it needs.
"""

from mygpt.explorers.activations import Activations
from mygpt.explorers.attention import Attention
from mygpt.explorers.block_walk import BlockWalk
from mygpt.explorers.depth import Depth
from mygpt.explorers.descent import Descent
from mygpt.explorers.layer_norm import LayerNorm
from mygpt.explorers.live_model import LiveModel
from mygpt.explorers.memory import Memory
from mygpt.explorers.sampling import Sampling
from mygpt.explorers.scale import Scale
from mygpt.explorers.shapes import Shapes
from mygpt.explorers.tokens import Tokens
from mygpt.explorers.train_stack import TrainStack

__all__ = [
    "Activations",
    "Attention",
    "BlockWalk",
    "Depth",
    "Descent",
    "LayerNorm",
    "LiveModel",
    "Memory",
    "Sampling",
    "Scale",
    "Shapes",
    "Tokens",
    "TrainStack",
]

"""Interactive figures that also work without a kernel: arrays in, an anywidget out.

No explorer imports torch, and none but LiveModel computes much. All their state is in
traits: with a kernel they are live in both directions, and a page without one has all
that they need.
"""

from mygpt.explorers.activations import Activations
from mygpt.explorers.attention import Attention
from mygpt.explorers.block_walk import BlockWalk
from mygpt.explorers.depth import Depth
from mygpt.explorers.layer_norm import LayerNorm
from mygpt.explorers.live_model import LiveModel
from mygpt.explorers.memory import Memory
from mygpt.explorers.sampling import Sampling
from mygpt.explorers.tokens import Tokens

__all__ = [
    "Activations",
    "Attention",
    "BlockWalk",
    "Depth",
    "LayerNorm",
    "LiveModel",
    "Memory",
    "Sampling",
    "Tokens",
]

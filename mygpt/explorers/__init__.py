"""Interactive figures that also work without a kernel: arrays in, an anywidget out.

LiveModel runs a model of the package, and TrainGPT trains one. Descent and TrainStack
train networks of their own in the page. All state of an explorer is in traits: with a
kernel it is live in both directions, and a page without one has all that it needs.
"""

from mygpt.explorers.activations.widget import Activations
from mygpt.explorers.attention.widget import Attention
from mygpt.explorers.block_walk.widget import BlockWalk
from mygpt.explorers.depth.widget import Depth
from mygpt.explorers.descent.widget import Descent
from mygpt.explorers.layer_norm.widget import LayerNorm
from mygpt.explorers.live_model.widget import LiveModel
from mygpt.explorers.memory.widget import Memory
from mygpt.explorers.sampling.widget import Sampling
from mygpt.explorers.scale.widget import Scale
from mygpt.explorers.shapes.widget import Shapes
from mygpt.explorers.tokens.widget import Tokens
from mygpt.explorers.train_gpt.widget import TrainGPT
from mygpt.explorers.train_stack.widget import TrainStack

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
    "TrainGPT",
    "TrainStack",
]

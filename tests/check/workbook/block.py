from heads import heads
from layer_norm import layer_norm
from mlp import mlp
from wiring import wiring


def block(x, weights, num_heads):
    return wiring(
        x,
        lambda x: heads(x, weights, num_heads),
        lambda x: mlp(x, *(weights[name] for name in ("W1", "b1", "W2", "b2"))),
        lambda x: layer_norm(x, weights["ln1_weight"], weights["ln1_bias"], 1e-5),
        lambda x: layer_norm(x, weights["ln2_weight"], weights["ln2_bias"], 1e-5),
    )

from block import block
from cross_entropy import cross_entropy
from embedding import embedding
from layer_norm import layer_norm


def gpt(ids, targets, weights, num_heads):
    x = embedding(ids, weights["token"], weights["position"])
    for each in weights["blocks"]:
        x = block(x, each, num_heads)
    x = layer_norm(x, weights["ln_f_weight"], weights["ln_f_bias"], 1e-5)
    logits = x @ weights["token"].T
    return logits, cross_entropy(logits.flatten(0, 1), targets.flatten())

import torch


def heads(x, weights, num_heads):
    q = (x @ weights["W_Q"] + weights["b_Q"]).chunk(num_heads, dim=-1)
    k = (x @ weights["W_K"] + weights["b_K"]).chunk(num_heads, dim=-1)
    v = (x @ weights["W_V"] + weights["b_V"]).chunk(num_heads, dim=-1)
    outputs = []
    for h in range(num_heads):
        scores = q[h] @ k[h].mT * q[h].shape[-1] ** -0.5
        powers = (scores - scores.amax(-1, keepdim=True)).exp().tril()
        outputs.append(powers / powers.sum(-1, keepdim=True) @ v[h])
    return torch.cat(outputs, dim=-1) @ weights["W_O"] + weights["b_O"]

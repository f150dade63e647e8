import torch
import torch.nn.functional as F


def cached_step(ids, weights, num_heads, cache):
    (B, T), (N, C) = ids.shape, weights["position"].shape
    L = len(weights["blocks"])
    if cache is None:
        room, past = torch.zeros(2, L, B, N, C).to(weights["token"]), 0
    else:
        room, past = cache[0].clone(), cache[1]
    end = past + T
    x = weights["token"][ids] + weights["position"][past:end]
    for i, w in enumerate(weights["blocks"]):
        n = F.layer_norm(x, (C,), w["ln1_weight"], w["ln1_bias"], 1e-5)
        room[0, i, :, past:end] = n @ w["W_K"] + w["b_K"]
        room[1, i, :, past:end] = n @ w["W_V"] + w["b_V"]
        q = (n @ w["W_Q"] + w["b_Q"]).view(B, T, num_heads, -1).transpose(1, 2)
        k = room[0, i, :, :end].reshape(B, end, num_heads, -1).transpose(1, 2)
        v = room[1, i, :, :end].reshape(B, end, num_heads, -1).transpose(1, 2)
        scores = q @ k.mT * q.shape[-1] ** -0.5
        for t in range(T):
            scores[:, :, t, past + t + 1 :] = -float("inf")
        x = (
            x
            + (scores.softmax(-1) @ v).transpose(1, 2).flatten(2) @ w["W_O"]
            + w["b_O"]
        )
        n = F.layer_norm(x, (C,), w["ln2_weight"], w["ln2_bias"], 1e-5)
        x = x + F.gelu(n @ w["W1"] + w["b1"], approximate="tanh") @ w["W2"] + w["b2"]
    x = F.layer_norm(x[:, -1], (C,), weights["ln_f_weight"], weights["ln_f_bias"], 1e-5)
    return x @ weights["token"].T, (room, end)

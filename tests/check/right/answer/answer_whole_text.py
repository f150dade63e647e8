import torch
import torch.nn.functional as F


def forward(ids, weights, num_heads):
    T, C = ids.shape[1], weights["token"].shape[1]
    x = weights["token"][ids] + weights["position"][:T]
    future = torch.ones(T, T, dtype=torch.bool).triu(1)
    for w in weights["blocks"]:
        n = F.layer_norm(x, (C,), w["ln1_weight"], w["ln1_bias"], 1e-5)
        q, k, v = (
            (n @ w[f"W_{name}"] + w[f"b_{name}"])
            .view(1, T, num_heads, -1)
            .transpose(1, 2)
            for name in "QKV"
        )
        scores = (q @ k.mT / (C // num_heads) ** 0.5).masked_fill(future, -1e9)
        x = (
            x
            + (scores.softmax(-1) @ v).transpose(1, 2).flatten(2) @ w["W_O"]
            + w["b_O"]
        )
        n = F.layer_norm(x, (C,), w["ln2_weight"], w["ln2_bias"], 1e-5)
        h = F.gelu(n @ w["W1"] + w["b1"], approximate="tanh")
        x = x + h @ w["W2"] + w["b2"]
    x = F.layer_norm(x, (C,), weights["ln_f_weight"], weights["ln_f_bias"], 1e-5)
    return x @ weights["token"].T


def answer(prompt, model, max_new_tokens):
    ids = torch.tensor([model.encode(prompt)])
    new = []
    with torch.no_grad():
        for _ in range(max_new_tokens):
            logits = forward(ids, model.weights, model.num_heads)
            new.append(int(logits[0, -1].argmax()))
            ids = torch.cat([ids, torch.tensor([[new[-1]]])], dim=1)
    return model.decode(new)

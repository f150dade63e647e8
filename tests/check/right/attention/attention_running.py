import torch


def attention(x, W_Q, W_K, W_V):
    B, T, _ = x.shape
    q, k, v = x @ W_Q, x @ W_K, x @ W_V
    out = torch.zeros_like(v)
    for b in range(B):
        for t in range(T):
            largest, total = None, 0.0
            mean = torch.zeros_like(v[b, t])
            for s in range(t + 1):
                score = (q[b, t] * k[b, s]).sum() / q.shape[2] ** 0.5
                new = score if largest is None else torch.maximum(largest, score)
                old = 0.0 if largest is None else (largest - new).exp()
                now = (score - new).exp()
                total = total * old + now
                mean = mean * old + now * v[b, s]
                largest = new
            out[b, t] = mean / total
    return out

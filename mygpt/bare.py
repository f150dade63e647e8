"""The parts of a GPT, as the chapters of the mygpt book write them.

Generated from the chapters. Needs PyTorch and nothing else; the rest of the package
does the same with checks and options.
"""

import torch
from torch import nn


# Chapter 0: Numbers that learn


def adam(p, m, v, t, lr, beta1=0.9, beta2=0.999, eps=1e-8):
    """Take step t = 1, 2, … for p: change p, m and v, which have one shape."""
    # a step is not part of the model
    with torch.no_grad():
        # a tenth of the way to the new slope
        m += (1 - beta1) * (p.grad - m)
        # a thousandth of the way to its square
        v += (1 - beta2) * (p.grad**2 - v)
        # eps: nothing is divided by 0
        size = (v / (1 - beta2**t)).sqrt() + eps
        p -= lr * m / (1 - beta1**t) / size


# Chapter 1: Tokens


def merge(ids, pair, new):
    merged = []
    for i in ids:
        if merged and (merged[-1], i) == pair:
            merged[-1] = new
        else:
            merged.append(i)
    return merged


from collections import Counter
from itertools import pairwise


def pairs_in(texts):
    pairs = Counter()
    for ids in texts:
        for pair in pairwise(ids):
            pairs[pair] += 1
    return pairs


def bpe_train(words, num_merges):
    texts = [list(word.encode()) for word in words]
    merges = []
    for new in range(256, 256 + num_merges):
        pairs = pairs_in(texts)
        most = max(pairs.values(), default=0)
        if most < 2:
            break
        tied = [pair for pair in pairs if pairs[pair] == most]
        best = min(tied)
        texts = [merge(ids, best, new) for ids in texts]
        merges.append(best)
    return merges


def bpe_encode(text, merges):
    ids = list(text.encode())  # bytes, 0 to 255
    for new, pair in enumerate(merges, start=256):
        ids = merge(ids, pair, new)
    return ids


def bpe_decode(ids, merges):
    # the bytes of each id
    spelling = {i: bytes([i]) for i in range(256)}
    for new, (left, right) in enumerate(merges, start=256):
        spelling[new] = spelling[left] + spelling[right]
    parts = [spelling[i] for i in ids]
    return b"".join(parts).decode(errors="replace")


# Chapter 2: Embeddings, positions, and a first language model


class Embedding(nn.Module):
    def __init__(self, V, C, max_T):
        super().__init__()
        # PyTorch's class for one such table: nn.Embedding
        self.tokens = nn.Parameter(0.02 * torch.randn(V, C))
        self.positions = nn.Parameter(0.02 * torch.randn(max_T, C))

    def forward(self, ids):  # (B, T)
        # (T,): 0, 1, 2, …
        places = torch.arange(ids.shape[-1])
        # (B, T, C) + (T, C)
        return self.tokens[ids] + self.positions[places]


def sample(probabilities):  # (..., V)
    # (..., V), where each piece ends
    ends = probabilities.cumsum(dim=-1)
    # (..., 1), the last end
    length = ends[..., -1:]
    # (..., 1), a place on the stick
    dart = torch.rand(length.shape) * length
    # (...), ends left of the dart
    return (ends <= dart).sum(dim=-1)


def softmax(scores):  # (..., V)
    # (..., V), the largest of each row subtracted
    powers = (scores - scores.amax(dim=-1, keepdim=True)).exp()
    # rows that sum to 1
    return powers / powers.sum(dim=-1, keepdim=True)


def cross_entropy(logits, targets):  # (N, V), (N,)
    # (N, V), the largest of each row subtracted
    z = logits - logits.amax(dim=-1, keepdim=True)
    sums = z.exp().sum(dim=-1, keepdim=True)  # (N, 1)
    # (N, V), -ln p of every token
    costs = sums.log() - z
    # (N,): 0, 1, 2, …
    rows = torch.arange(len(targets))
    return costs[rows, targets].mean()


def fit(parameters, loss_now, rate=0.3, steps=100):
    optimizer = torch.optim.Adam(parameters, lr=rate)
    for _ in range(steps):
        optimizer.zero_grad()  # forget old slopes
        loss_now().backward()
        optimizer.step()
    return loss_now().item()


# Chapter 3: Attention


class Head(nn.Module):
    def __init__(self, C, D):
        super().__init__()
        # what a position looks for
        self.W_Q = nn.Linear(C, D, bias=False)
        # what it is found by
        self.W_K = nn.Linear(C, D, bias=False)
        # what it says
        self.W_V = nn.Linear(C, D, bias=False)

    def weights(self, x):  # (B, T, C)
        q, k = self.W_Q(x), self.W_K(x)  # (B, T, D) each
        scores = q @ k.transpose(1, 2) / q.shape[-1]**0.5  # (B, T, T)
        later = torch.ones_like(scores).triu(1).bool()  # (B, T, T)
        return softmax(scores.masked_fill(later, float("-inf")))

    def forward(self, x):  # (B, T, C)
        return self.weights(x) @ self.W_V(x)  # (B, T, D)


def leaks(layer, x):  # (B, T, C)
    changed = x.clone()  # a copy
    changed[:, -1] = torch.randn_like(x[:, -1])  # another last token
    # all outputs but the last
    before, after = layer(x)[:, :-1], layer(changed)[:, :-1]
    return not torch.allclose(before, after, atol=1e-6)


# Chapter 4: Many heads


class Heads(nn.Module):
    def __init__(self, C, H):
        super().__init__()
        self.H = H
        self.W_Q, self.W_K = nn.Linear(C, C), nn.Linear(C, C)
        self.W_V, self.W_O = nn.Linear(C, C), nn.Linear(C, C)

    def split(self, x):  # (B, T, C)
        return x.unflatten(-1, (self.H, -1)).transpose(1, 2)  # (B, H, T, D)

    def weights(self, x):  # (B, T, C)
        q, k = self.split(self.W_Q(x)), self.split(self.W_K(x))
        scores = q @ k.transpose(2, 3) / q.shape[-1]**0.5  # (B, H, T, T)
        later = torch.ones_like(scores).triu(1).bool()
        return softmax(scores.masked_fill(later, float("-inf")))

    def forward(self, x):  # (B, T, C)
        out = self.weights(x) @ self.split(self.W_V(x))  # (B, H, T, D)
        return self.W_O(out.transpose(1, 2).flatten(2))  # (B, T, C)


# Chapter 5: The feed-forward network


class MLP(nn.Module):
    def __init__(self, C):
        super().__init__()
        self.fc1 = nn.Linear(C, 4 * C)  # expand
        self.act = nn.GELU()  # activate
        self.fc2 = nn.Linear(4 * C, C)  # contract

    def forward(self, x):  # (B, T, C)
        # (B, T, F), with F = 4C
        a = self.act(self.fc1(x))
        return self.fc2(a)  # (B, T, C)


# Chapter 6: GELU and ReLU


def relu(x):  # any shape, and the same comes out
    return torch.where(x > 0, x, 0.0)


def gelu(x):
    return 0.5 * x * (1 + torch.erf(x / 2**0.5))


def gelu_tanh(x):
    z = (2 / torch.pi)**0.5 * (x + 0.044715 * x**3)
    return 0.5 * x * (1 + torch.tanh(z))


# Chapter 7: Residual connections


class Residual(nn.Module):
    def __init__(self, branch):
        super().__init__()
        self.branch = branch

    def forward(self, x):  # (B, T, C)
        return x + self.branch(x)  # (B, T, C)


def gradient_sizes(layers, x):  # x: (B, T, C)
    for layer in layers:
        x = layer(x)
    # fc1.weight, (F, C)
    weights = [next(layer.parameters()) for layer in layers]
    # (F, C) for each layer
    gradients = torch.autograd.grad(x.sum(), weights)
    return [gradient.double().norm().item() for gradient in gradients]


# Chapter 8: Layer normalisation


class LayerNorm(nn.Module):
    def __init__(self, C):
        super().__init__()
        # γ
        self.weight = nn.Parameter(torch.ones(C))
        # β
        self.bias = nn.Parameter(torch.zeros(C))

    def forward(self, x):  # (..., C)
        mean = x.mean(dim=-1, keepdim=True)  # (..., 1)
        variance = (x - mean).square().mean(dim=-1, keepdim=True)  # (..., 1)
        n = (x - mean) / (variance + 1e-5).sqrt()  # (..., C)
        return self.weight * n + self.bias  # (..., C)


# Chapter 9: The transformer block


class Block(nn.Module):
    def __init__(self, C, H):
        super().__init__()
        self.ln1, self.heads = LayerNorm(C), Heads(C, H)
        self.ln2, self.mlp = LayerNorm(C), MLP(C)

    def forward(self, x):  # (B, T, C)
        # (B, T, C): read the others, add a note
        x = x + self.heads(self.ln1(x))
        # (B, T, C): work alone, add a note
        return x + self.mlp(self.ln2(x))


# Chapter 12: GPT


class GPT(nn.Module):
    def __init__(self, V, C, H, L, max_T):
        super().__init__()
        self.embedding = Embedding(V, C, max_T)
        self.blocks = nn.Sequential(*[Block(C, H) for _ in range(L)])
        self.ln_f = LayerNorm(C)
        initialise(self)

    def forward(self, ids):  # (B, T)
        x = self.blocks(self.embedding(ids))  # (B, T, C)
        return self.ln_f(x) @ self.embedding.tokens.T  # (B, T, V)


def initialise(model):
    for name, p in model.named_parameters():
        if p.ndim == 2:  # tables and matrices
            nn.init.normal_(p, std=0.02)
        if "bias" in name:
            nn.init.zeros_(p)
    # what writes to the stream
    for block in model.blocks:
        for layer in (block.heads.W_O, block.mlp.fc2):
            layer.weight.data /= (2 * len(model.blocks)) ** 0.5


# Chapter 13: Training


def batch(ids, B, T):  # ids: (N,)
    starts = torch.randint(len(ids) - T, (B,))
    rows = torch.stack([ids[i : i + T + 1] for i in starts])  # (B, T + 1)
    # inputs and targets, (B, T) each
    return rows[:, :-1], rows[:, 1:]


def evaluate(model, ids, T=64):
    losses = []
    with torch.no_grad():
        # no piece twice
        for start in range(0, len(ids) - T, T):
            row = ids[start : start + T + 1]  # (T + 1,)
            losses.append(cross_entropy(model(row[None, :-1])[0], row[1:]))
    return torch.stack(losses).mean().item()


def adamw(p, m, v, t, lr, decay=0.1):
    # matrices shrink a little, vectors do not
    if p.ndim == 2:
        p.data *= 1 - lr * decay
    adam(p, m, v, t, lr, beta2=0.99)


import math
def learning_rate(step, steps, peak, warmup):
    if step < warmup:
        # rise in a straight line
        return peak * (step + 1) / warmup
    # 0 … 1, and no further
    done = min(1, (step - warmup) / max(1, steps - warmup))
    # 1 … 0
    wave = (1 + math.cos(math.pi * done)) / 2
    # fall to a tenth
    return peak * (0.1 + 0.9 * wave)


def clip(parameters, most=1.0):
    norm = torch.stack([p.grad.norm() for p in parameters]).norm()
    if norm > most:
        for p in parameters:
            p.grad *= most / norm
    return norm.item()


def begin(model):
    m = [torch.zeros_like(p) for p in model.parameters()]
    v = [torch.zeros_like(p) for p in model.parameters()]
    return {"step": 0, "m": m, "v": v, "losses": [], "lengths": []}


def train(model, ids, state, until, steps, B=12, T=64, peak=1e-3, warmup=100):
    parameters = list(model.parameters())
    while state["step"] < until:
        inputs, targets = batch(ids, B, T)  # (B, T) each
        loss = cross_entropy(model(inputs).flatten(0, 1), targets.flatten())
        model.zero_grad()
        loss.backward()
        state["lengths"].append(clip(parameters))
        lr = learning_rate(state["step"], steps, peak, warmup)
        state["step"] += 1
        for p, m, v in zip(parameters, state["m"], state["v"]):
            adamw(p, m, v, state["step"], lr)
        state["losses"].append(loss.item())


def save(path, model, state):
    # what batch draws from
    chance = torch.get_rng_state()
    torch.save({"model": model.state_dict(), "state": state, "chance": chance}, path)


def resume(path, model):
    saved = torch.load(path)
    model.load_state_dict(saved["model"])
    torch.set_rng_state(saved["chance"])
    return saved["state"]


# Chapter 14: Choosing the next word


def keep_top_k(logits, k):  # (B, V)
    k = min(k, logits.shape[-1])
    least = logits.topk(k).values[:, -1:]  # (B, 1), the k-th largest
    return logits.masked_fill(logits < least, float("-inf"))


def keep_top_p(logits, p):  # (B, V), 0 < p < 1
    ordered, order = logits.sort(descending=True, stable=True)  # (B, V) each
    shares = softmax(ordered)
    before = shares.cumsum(dim=-1) - shares
    cut = torch.empty_like(before).scatter(1, order, before) >= p
    return logits.masked_fill(cut, float("-inf"))


# Chapter 14b: Not computing it twice


def cached_heads(heads, x, past):  # x: (B, T, C), new positions
    q = heads.split(heads.W_Q(x))  # (B, H, T, D)
    k = heads.split(heads.W_K(x))
    v = heads.split(heads.W_V(x))
    if past:
        k = torch.cat([past[0], k], dim=2)  # (B, H, S, D)
        v = torch.cat([past[1], v], dim=2)
    past[:] = [k, v]
    T, S = q.shape[2], k.shape[2]
    scores = q @ k.transpose(2, 3) / q.shape[3]**0.5  # (B, H, T, S)
    later = torch.ones(T, S).triu(S - T + 1).bool()
    weights = softmax(scores.masked_fill(later, float("-inf")))
    out = weights @ v  # (B, H, T, D)
    return heads.W_O(out.transpose(1, 2).flatten(2))  # (B, T, C)


def next_logits(model, ids, cache):  # ids: (B, T), new ones
    start = cache[0][0].shape[2] if cache[0] else 0
    places = torch.arange(start, start + ids.shape[1])
    x = model.embedding.tokens[ids] + model.embedding.positions[places]  # (B, T, C)
    for block, past in zip(model.blocks, cache):
        x = x + cached_heads(block.heads, block.ln1(x), past)
        x = x + block.mlp(block.ln2(x))
    return model.ln_f(x[:, -1]) @ model.embedding.tokens.T  # (B, V)


def generate(model, ids, n, temperature=1.0, k=None, p=None):  # ids: (B, T)
    max_T = len(model.embedding.positions)
    cache = [[] for _ in model.blocks]
    new = ids[:, -max_T:]  # what fits
    for _ in range(n):
        with torch.no_grad():
            logits = next_logits(model, new, cache) / temperature  # (B, V)
        if k is not None:
            logits = keep_top_k(logits, k)
        if p is not None:
            logits = keep_top_p(logits, p)
        new = sample(softmax(logits))[:, None]  # (B, 1)
        ids = torch.cat([ids, new], dim=1)
        if cache[0][0].shape[2] == max_T:  # no place is left
            cache = [[] for _ in model.blocks]
            new = ids[:, -(max_T // 2) - 1:]
    return ids


# Chapter 16: After GPT-2


def rotate(x):  # (B, H, T, D)
    T, half = x.shape[2], x.shape[3] // 2
    # (half,): 1, then slower
    speeds = 10_000.0 ** -(torch.arange(half) / half)
    # (T, half)
    angles = torch.arange(T)[:, None] * speeds
    cos, sin = angles.cos().to(x), angles.sin().to(x)
    # the pairs
    a, b = x[..., :half], x[..., half:]
    return torch.cat([a * cos - b * sin, a * sin + b * cos], dim=-1)


class RotaryHeads(Heads):
    def weights(self, x):  # (B, T, C)
        q, k = self.split(self.W_Q(x)), self.split(self.W_K(x))
        q, k = rotate(q), rotate(k)  # the new line
        scores = q @ k.transpose(2, 3) / q.shape[-1]**0.5  # (B, H, T, T)
        later = torch.ones_like(scores).triu(1).bool()
        return softmax(scores.masked_fill(later, float("-inf")))


class SharedHeads(Heads):
    # H heads, K sets of keys and values
    def __init__(self, C, H, K):
        super().__init__(C, H)
        self.D = C // H
        self.W_Q, self.W_O = nn.Linear(C, C, bias=False), nn.Linear(C, C, bias=False)
        self.W_K = nn.Linear(C, K * self.D, bias=False)
        self.W_V = nn.Linear(C, K * self.D, bias=False)

    def split(self, x):  # (B, T, H * D) or (B, T, K * D)
        x = x.unflatten(-1, (-1, self.D)).transpose(1, 2)  # (B, H or K, T, D)
        return x.repeat_interleave(self.H // x.shape[1], dim=1)  # (B, H, T, D)


def unit(x):  # (..., n)
    return x / (x.square().mean(-1, keepdim=True) + 1e-6).sqrt()


class RMSNorm(nn.Module):
    def __init__(self, C):
        super().__init__()
        # γ; there is no β
        self.weight = nn.Parameter(torch.ones(C))

    def forward(self, x):  # (..., C)
        # GPT-2: γ · (x − mean) / σ + β
        return self.weight * unit(x)


# GPT-2: fc2(gelu(fc1(x)))
class SwiGLU(nn.Module):
    def __init__(self, C, F):
        super().__init__()
        self.gate, self.fc1 = nn.Linear(C, F, bias=False), nn.Linear(C, F, bias=False)
        self.fc2 = nn.Linear(F, C, bias=False)

    def forward(self, x):  # (..., C)
        gate = self.gate(x)  # (..., F)
        return self.fc2(gate * gate.sigmoid() * self.fc1(x))


def squared_relu(x):
    return relu(x).square()


class TodaysHeads(SharedHeads):
    def weights(self, x):  # (B, T, C)
        q, k = self.split(self.W_Q(x)), self.split(self.W_K(x))
        # QK-norm, then places
        q, k = rotate(unit(q)), rotate(unit(k))
        scores = q @ k.transpose(2, 3) / self.D**0.5  # (B, H, T, T)
        later = torch.ones_like(scores).triu(1).bool()
        return softmax(scores.masked_fill(later, float("-inf")))


def orthogonalise(G, steps=5):  # (R, C)
    # no higher than wide
    X = G if G.shape[0] <= G.shape[1] else G.T
    # a matrix of zeros stays one
    X = X / (X.norm() + 1e-7)
    for _ in range(steps):
        A = X @ X.T
        X = 3.4445 * X + (-4.7750 * A + 2.0315 * A @ A) @ X
    return X if G.shape[0] <= G.shape[1] else X.T


def muon(p, m, lr, momentum=0.95):
    with torch.no_grad():
        # a sum that forgets
        m += p.grad - (1 - momentum) * m
        step = orthogonalise(p.grad + momentum * m)
        p -= lr * max(1, p.shape[0] / p.shape[1])**0.5 * step


# chapter 12's GPT, other parts
def renew(model, C, H, K):
    for block in model.blocks:
        block.ln1, block.ln2 = RMSNorm(C), RMSNorm(C)
        block.heads, block.mlp = TodaysHeads(C, H, K), SwiGLU(C, 8 * C // 3)
    model.ln_f = RMSNorm(C)
    initialise(model)  # of chapter 12
    # both write nothing at first
    for block in model.blocks:
        nn.init.zeros_(block.heads.W_O.weight)
        nn.init.zeros_(block.mlp.fc2.weight)
    places = torch.zeros_like(model.embedding.positions)
    # turned arrows replace them
    del model.embedding.positions
    model.embedding.register_buffer("positions", places)


class Experts(nn.Module):
    def __init__(self, C, F, E, k):
        super().__init__()
        self.k, self.router = k, nn.Linear(C, E, bias=False)
        self.experts = nn.ModuleList(SwiGLU(C, F) for _ in range(E))

    def choose(self, x):  # (N, C)
        # (N, k) each
        shares, chosen = softmax(self.router(x)).topk(self.k)
        return shares / shares.sum(-1, keepdim=True), chosen

    def forward(self, x):  # (B, T, C)
        rows = x.flatten(0, 1)  # (N, C)
        # (N, k) each
        weights, chosen = self.choose(rows)
        out = torch.zeros_like(rows)
        for e, expert in enumerate(self.experts):
            # who chose e; 1st or 2nd
            at, rank = (chosen == e).nonzero(as_tuple=True)
            out[at] += weights[at, rank, None] * expert(rows[at])
        return out.view(x.shape)

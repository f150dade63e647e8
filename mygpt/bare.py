"""The parts of a GPT, as the chapters of the mygpt book write them.

Generated from the chapters. Needs PyTorch and nothing else; the rest of the package
does the same with checks and options.
"""

import torch
from torch import nn


# Chapter 0: Numbers that learn


def adam(p, m, v, t, lr, beta1=0.9, beta2=0.999, eps=1e-8):
    """Take step t = 1, 2, … for p: change p, m and v, which have one shape."""
    with torch.no_grad():  # a step is not part of the model
        m += (1 - beta1) * (p.grad - m)  # a tenth of the way to the new slope
        v += (1 - beta2) * (p.grad**2 - v)  # a thousandth of the way to its square
        size = (v / (1 - beta2**t)).sqrt() + eps  # eps: nothing is divided by 0
        p -= lr * m / (1 - beta1**t) / size


# Chapter 1: Tokens


from collections import Counter
from itertools import pairwise


def merge(ids, pair, new):
    merged = []
    for i in ids:
        merged.append(i)
        if tuple(merged[-2:]) == pair:  # the last two are the pair
            merged[-2:] = [new]
    return merged


def bpe_train(words, num_merges):
    texts = Counter(tuple(word.encode()) for word in words)  # bytes: how often
    merges = []
    while len(merges) < num_merges:
        pairs = Counter()
        for ids, times in texts.items():
            for pair in pairwise(ids):
                pairs[pair] += times
        # the most frequent pair, and of equally frequent ones the smaller
        best = min(pairs, key=lambda pair: (-pairs[pair], pair), default=None)
        if pairs[best] < 2:
            break
        new = 256 + len(merges)
        texts = Counter({tuple(merge(ids, best, new)): n for ids, n in texts.items()})
        merges.append(best)
    return merges


def bpe_encode(text, merges):
    ids = list(text.encode())  # bytes, 0 to 255
    for rank, pair in enumerate(merges):
        ids = merge(ids, pair, 256 + rank)
    return ids


def bpe_decode(ids, merges):
    spelling = {i: bytes([i]) for i in range(256)}  # id: its bytes
    for rank, (left, right) in enumerate(merges):
        spelling[256 + rank] = spelling[left] + spelling[right]
    return b"".join(spelling[i] for i in ids).decode(errors="replace")


# Chapter 2: Embeddings, positions, and a first language model


def sample(probabilities):                      # (..., V)
    ends = probabilities.cumsum(dim=-1)         # (..., V), where each piece ends
    dart = torch.rand(*ends.shape[:-1], 1) * ends[..., -1:]  # (..., 1)
    return (ends <= dart).sum(dim=-1)           # (...), pieces left of the dart


def softmax(scores):                                           # (..., V)
    powers = (scores - scores.amax(dim=-1, keepdim=True)).exp()  # (..., V)
    return powers / powers.sum(dim=-1, keepdim=True)           # rows that sum to 1


def cross_entropy(logits, targets):                      # (N, V), (N,)
    z = logits - logits.amax(dim=-1, keepdim=True)       # (N, V)
    right = z[torch.arange(len(targets)), targets]       # (N,), one of each row
    return (z.exp().sum(dim=-1).log() - right).mean()    # one number


class Embedding(nn.Module):
    def __init__(self, V, C, max_T):
        super().__init__()
        self.tokens = nn.Parameter(0.02 * torch.randn(V, C))
        self.positions = nn.Parameter(0.02 * torch.randn(max_T, C))

    def forward(self, ids):                              # (B, T)
        places = torch.arange(ids.shape[-1])             # (T,): 0, 1, 2, …
        return self.tokens[ids] + self.positions[places]  # (B, T, C) + (T, C)


# Chapter 3: Attention


class Head(nn.Module):
    def __init__(self, C, D):
        super().__init__()
        self.W_Q = nn.Linear(C, D, bias=False)  # what a position looks for
        self.W_K = nn.Linear(C, D, bias=False)  # what it offers
        self.W_V = nn.Linear(C, D, bias=False)  # what it says

    def weights(self, x):                                  # (B, T, C)
        q, k = self.W_Q(x), self.W_K(x)                    # (B, T, D) each
        scores = q @ k.transpose(1, 2) / q.shape[-1]**0.5  # (B, T, T)
        later = torch.ones_like(scores).triu(1).bool()     # (B, T, T)
        return softmax(scores.masked_fill(later, float("-inf")))

    def forward(self, x):                                  # (B, T, C)
        return self.weights(x) @ self.W_V(x)               # (B, T, D)


# Chapter 4: Many heads


class Heads(nn.Module):
    def __init__(self, C, H):
        super().__init__()
        self.H = H
        self.W_Q, self.W_K = nn.Linear(C, C), nn.Linear(C, C)
        self.W_V, self.W_O = nn.Linear(C, C), nn.Linear(C, C)

    def split(self, x):                                     # (B, T, C)
        return x.unflatten(-1, (self.H, -1)).transpose(1, 2)  # (B, H, T, D)

    def weights(self, x):                                   # (B, T, C)
        q, k = self.split(self.W_Q(x)), self.split(self.W_K(x))
        scores = q @ k.transpose(2, 3) / q.shape[-1]**0.5   # (B, H, T, T)
        later = torch.ones_like(scores).triu(1).bool()
        return softmax(scores.masked_fill(later, float("-inf")))

    def forward(self, x):                                   # (B, T, C)
        out = self.weights(x) @ self.split(self.W_V(x))     # (B, H, T, D)
        return self.W_O(out.transpose(1, 2).flatten(2))     # (B, T, C)


# Chapter 5: The feed-forward network


class MLP(nn.Module):
    def __init__(self, C):
        super().__init__()
        self.fc1 = nn.Linear(C, 4 * C)  # expand
        self.act = nn.GELU()            # activate
        self.fc2 = nn.Linear(4 * C, C)  # contract

    def forward(self, x):               # (B, T, C)
        a = self.act(self.fc1(x))       # (B, T, F), with F = 4C
        return self.fc2(a)              # (B, T, C)


# Chapter 6: GELU and ReLU


def relu(x):                                      # any shape, and the same comes out
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

    def forward(self, x):          # (B, T, C)
        return x + self.branch(x)  # (B, T, C)


def gradient_sizes(layers, x):                               # x: (B, T, C)
    for layer in layers:
        x = layer(x)
    weights = [next(layer.parameters()) for layer in layers]  # fc1.weight, (F, C)
    gradients = torch.autograd.grad(x.sum(), weights)         # (F, C) for each layer
    return [gradient.double().norm().item() for gradient in gradients]


# Chapter 8: Layer normalisation


class LayerNorm(nn.Module):
    def __init__(self, C):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(C))   # γ
        self.bias = nn.Parameter(torch.zeros(C))    # β

    def forward(self, x):                                # (..., C)
        mean = x.mean(dim=-1, keepdim=True)              # (..., 1)
        variance = (x - mean).square().mean(dim=-1, keepdim=True)  # (..., 1)
        n = (x - mean) / (variance + 1e-5).sqrt()        # (..., C)
        return self.weight * n + self.bias               # (..., C)


# Chapter 9: The transformer block


class Block(nn.Module):
    def __init__(self, C, H):
        super().__init__()
        self.ln1, self.heads = LayerNorm(C), Heads(C, H)
        self.ln2, self.mlp = LayerNorm(C), MLP(C)

    def forward(self, x):                 # (B, T, C)
        x = x + self.heads(self.ln1(x))   # (B, T, C): read the others, add a note
        return x + self.mlp(self.ln2(x))  # (B, T, C): work alone, add a note

"""What this process computes in the operations in which processors differ.

    python -m tools.processors.probe     a hash for each operation, as JSON

The inputs are the same to the bit on every machine.
"""

import hashlib
import json
import os

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor


def numbers(*shape: int, seed: int = 1) -> Tensor:
    """Numbers between -2 and 2, by whole arithmetic alone."""
    count = int(np.prod(shape))
    words = (
        np.arange(1, count + 1, dtype=np.uint64) * np.uint64(2654435761 * seed)
    ) % (np.uint64(2**31 - 1))
    return torch.from_numpy(words.astype(np.float64) / 2**29 - 2).float().view(shape)


def results() -> dict[str, Tensor]:
    """The result of each operation; of a pair with `backward`, the gradient."""
    x, w, row = numbers(67, 193), numbers(193, 257, seed=3), numbers(193, seed=5)
    q, k, v = (numbers(2, 3, 61, 16, seed=seed) for seed in (7, 11, 13))
    found = {
        "matmul": x @ w,
        "small matmul": x[:3, :5] @ w[:5, :7],
        "linear": F.linear(x, w.T.contiguous(), w[0]),
        "bmm": q[0] @ k[0].mT,
        "dot": row @ row,
        "sum": x.sum(),
        "mean": x.mean(-1),
        "std": x.std(-1),
        "norm": x.norm(dim=-1),
        "softmax": x.softmax(-1),
        "log_softmax": x.log_softmax(-1),
        "logsumexp": x.logsumexp(-1),
        "exp": x.exp(),
        "erf": x.erf(),
        "tanh": x.tanh(),
        "gelu": F.gelu(x),
        "sigmoid": x.sigmoid(),
        "layer_norm": F.layer_norm(x, (193,)),
        "attention": F.scaled_dot_product_attention(q, k, v, is_causal=True),
        "cross_entropy": F.cross_entropy(x, torch.arange(67)),
    }
    large = numbers(509, 1031, seed=19)  # enough for several threads to share out
    found |= {
        "large sum": large.sum(),
        "large matmul": large.T @ large,
        "large mean": large.mean(0),
        "large norm": large.norm(),
        "large layer_norm backward": gradient_of_weight(large),
    }
    forward = {
        "matmul": lambda x: x @ w,
        "gelu": F.gelu,
        "softmax": lambda x: x.softmax(-1),
        "layer_norm": lambda x: F.layer_norm(x, (193,)),
        "cross_entropy": lambda x: F.cross_entropy(x, torch.arange(67)),
    }
    for name, function in forward.items():
        found[f"{name} backward"] = gradient(function, x)
    found["attention backward"] = gradient(
        lambda q: F.scaled_dot_product_attention(q, k, v, is_causal=True), q
    )
    return found


def gradient(function, x: Tensor) -> Tensor:
    x = x.clone().requires_grad_()
    result = function(x)
    result.backward(numbers(*result.shape, seed=17))
    return x.grad


def gradient_of_weight(x: Tensor) -> Tensor:
    weight = torch.ones(x.shape[-1], requires_grad=True)
    F.layer_norm(x, weight.shape, weight).backward(x.flip(0))
    return weight.grad


def main() -> None:
    if "MYGPT_THREADS" not in os.environ:
        torch.set_num_threads(1)
    found = {name: value.detach().numpy() for name, value in results().items()}
    hashes = {n: hashlib.sha256(v.tobytes()).hexdigest() for n, v in found.items()}
    print(json.dumps(hashes))


if __name__ == "__main__":
    main()

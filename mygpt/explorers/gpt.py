"""What gpt.mjs computes in the page, in numpy: a GPT, edits of it, rewritten facts."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy import ndarray

NORM_EPS = 1e-5
REWRITE_STEP = 0.2  # Adam's, in root mean squares of the layer's output
REWRITE_STEPS = 200
REWRITE_ENOUGH = 0.997
POINT_STEPS = 1000

_erf = np.vectorize(math.erf, otypes=[np.float64])
ACTIVATIONS = {
    "gelu": lambda x: 0.5 * x * (1 + _erf(x / math.sqrt(2))),
    "gelu_tanh": lambda x: (
        0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))
    ),
    "relu": lambda x: np.maximum(x, 0.0),
    "silu": lambda x: x / (1 + np.exp(-x)),
}


@dataclass
class LayerEdit:
    """A layer's edits: factors of neurons, new values, and additions u vᵀ to fc2."""

    scale: ndarray
    values: dict[int, ndarray] = field(default_factory=dict)
    additions: list[tuple[ndarray, ndarray]] = field(default_factory=list)


Edits = Mapping[int, LayerEdit]


@dataclass
class Pass:
    """One pass over T ids: `hidden` is what fc2 reads in each layer that has one."""

    logits: ndarray  # (T, V)
    hidden: dict[int, ndarray]  # (T, F) each
    stream: ndarray  # (T, C), before the last norm
    stds: ndarray  # (T,), what the last norm divides by


class Model:
    """A GPT made of the arrays of its state dict; linear layers may lack biases."""

    def __init__(self, weights: Mapping[str, ndarray], heads: int, activation: str):
        self.weights, self.heads = weights, heads
        self.activate = ACTIVATIONS[activation]
        self.embedding = weights["token.embedding.weight"]
        self.position = weights["position.weight"]
        self.layers = sum(name.endswith("ln1.weight") for name in weights)
        self.memories = [
            i for i in range(self.layers) if f"blocks.{i}.mlp.fc1.weight" in weights
        ]
        directions = self.embedding * weights["ln_f.weight"]
        self.directions = directions - directions.mean(axis=-1, keepdims=True)

    def linear(self, name: str, x: ndarray) -> ndarray:
        return x @ self.weights[f"{name}.weight"].T + self.weights.get(
            f"{name}.bias", 0.0
        )

    def norm(self, name: str, x: ndarray) -> tuple[ndarray, ndarray]:
        """The layer norm of each row, and what each was divided by."""
        std = np.sqrt(x.var(axis=-1, keepdims=True) + NORM_EPS)
        normed = (x - x.mean(axis=-1, keepdims=True)) / std
        out = normed * self.weights[f"{name}.weight"] + self.weights[f"{name}.bias"]
        return out, std[..., 0]

    def attention(self, name: str, x: ndarray) -> ndarray:
        length, width = x.shape
        q, k, v = (
            self.linear(f"{name}.W_{one}", x)
            .reshape(length, self.heads, -1)
            .swapaxes(0, 1)
            for one in "QKV"
        )
        scores = q @ k.swapaxes(1, 2) / math.sqrt(width // self.heads)
        scores += np.triu(np.full((length, length), -np.inf), 1)
        weights = softmax(scores)
        return self.linear(
            f"{name}.W_O", (weights @ v).swapaxes(0, 1).reshape(length, width)
        )

    def value(self, layer: int, neuron: int) -> ndarray:
        return self.weights[f"blocks.{layer}.mlp.fc2.weight"][:, neuron]

    def output(self, layer: int, hidden: ndarray, edit: LayerEdit | None) -> ndarray:
        """What fc2, as the edit leaves it, makes of the activations."""
        out = self.linear(f"blocks.{layer}.mlp.fc2", hidden)
        if edit:
            for neuron, value in edit.values.items():
                new = value - self.value(layer, neuron)
                out = out + hidden[..., neuron, None] * new
            for u, v in edit.additions:
                out = out + (hidden @ v)[..., None] * u
        return out

    def forward(self, ids: Sequence[int], edits: Edits | None = None) -> Pass:
        stream = self.embedding[list(ids)] + self.position[: len(ids)]
        hidden = {}
        for i in range(self.layers):
            block = f"blocks.{i}"
            stream = stream + self.attention(
                f"{block}.mha", self.norm(f"{block}.ln1", stream)[0]
            )
            if i in self.memories:
                normed = self.norm(f"{block}.ln2", stream)[0]
                hidden[i] = self.activate(self.linear(f"{block}.mlp.fc1", normed))
                edit = (edits or {}).get(i)
                if edit:
                    hidden[i] = hidden[i] * edit.scale
                stream = stream + self.output(i, hidden[i], edit)
        normed, stds = self.norm("ln_f", stream)
        return Pass(normed @ self.embedding.T, hidden, stream, stds)

    def pointed_at(self, word: int, length: float) -> ndarray:
        """A value of that length that promotes a word above all others.

        It starts in the word's own direction; while some other word has a higher
        score, it turns from that one's direction.
        """
        own = self.directions[word]
        value = own.copy()
        for _ in range(POINT_STEPS):
            first = int(np.argmax(self.directions @ value))
            if first == word:
                break
            value += own - self.directions[first]
        return value * (length / (np.linalg.norm(value) or 1.0))

    def loss_gradient(self, stream: ndarray, target: int) -> tuple[float, ndarray]:
        """p(target) of a vector at the last norm, and the gradient of -log p by it."""
        normed, std = self.norm("ln_f", stream)
        shares = softmax(normed @ self.embedding.T)
        error = shares - np.eye(len(shares))[target]
        slope = error @ self.embedding * self.weights["ln_f.weight"]
        unit = (stream - stream.mean()) / std
        gradient = (slope - slope.mean() - unit * (slope * unit).mean()) / std
        return float(shares[target]), gradient

    def rewrite(
        self, ids: Sequence[int], target: int, moment: ndarray, edits: Edits
    ) -> tuple[ndarray, ndarray]:
        """The rank-one edit (u, v) of ROME (Meng et al. 2022), of the last layer.

        With fc2 + u vᵀ the layer's output at the last of the ids changes by u, which
        makes the target the likely next word; elsewhere it changes as little as the
        `moment` of the activations, (F, F), allows.
        """
        layer = self.layers - 1
        found = self.forward(ids, edits)
        key, stream = found.hidden[layer][-1], found.stream[-1]
        output = self.output(layer, key, edits.get(layer))
        size = REWRITE_STEP * np.sqrt((output**2).mean())
        u, mean, square = (np.zeros_like(stream) for _ in range(3))
        for step in range(1, REWRITE_STEPS + 1):
            probability, gradient = self.loss_gradient(stream + u, target)
            if probability >= REWRITE_ENOUGH:
                break
            mean = 0.9 * mean + 0.1 * gradient
            square = 0.999 * square + 0.001 * gradient**2
            rms = np.sqrt(square / (1 - 0.999**step)) + 1e-8
            u = u - size * mean / (1 - 0.9**step) / rms
        v = np.linalg.solve(moment, key)
        return u, v / (key @ v)

    def compiled(
        self, edits: Iterable[Mapping[str, Any]], moment: ndarray | None = None
    ) -> dict[int, LayerEdit]:
        """Edits in words, one after the other, as `forward` takes them."""
        done: dict[int, LayerEdit] = {}
        for edit in edits:
            kind = edit["kind"]
            layer = self.layers - 1 if kind == "rewrite" else edit["layer"]
            fc1 = self.weights[f"blocks.{layer}.mlp.fc1.weight"]
            changes = done.setdefault(layer, LayerEdit(np.ones(len(fc1))))
            if kind == "scale":
                changes.scale[edit["neuron"]] = edit["factor"]
            elif kind == "value":
                neuron = edit["neuron"]
                length = np.linalg.norm(self.value(layer, neuron))
                value = self.pointed_at(edit["word"], length)
                for u, v in changes.additions:  # the column as a whole is what points
                    value = value - u * v[neuron]
                changes.values[neuron] = value
            else:
                addition = self.rewrite(edit["ids"], edit["word"], moment, done)
                changes.additions.append(addition)
        return done


def softmax(scores: ndarray) -> ndarray:
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)

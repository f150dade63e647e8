"""The edits of LiveModel, made on a GPT as gpt.mjs makes them in the page."""

import copy
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from mygpt.gpt import GPT
from mygpt.inside.computed import cards
from mygpt.inside.editing import (
    mean_key,
    output_for,
    pointed_at,
    rank_one_change,
    scaled,
)
from mygpt.inside.hooks import (
    Changes,
    changed,
    feed_forward,
    heads,
    hidden,
    make_prompts,
    memory_layers,
    record,
)
from mygpt.inside.memory import values

PARTS = {"heads": heads, "network": feed_forward}


class EditedModel:
    """A copy of a GPT with the edits made one after the other.

    Each edit is that of LiveModel, its word and prompt given as ids: {"kind", "layer",
    "neuron", "factor" or "word"}, {"kind", "layer", "part", "factor"} or {"kind",
    "ids", "word"}. A factor multiplies the coefficients, or what a whole part brings; a
    value points at its word in the layer as earlier edits left it; a fact is rewritten
    in the last layer, with the second moment (F, F) of its coefficients. {"kind",
    "prompts", "words"} writes a neuron for each fact: its prompts' ids and its new
    word, with the mean (C,) of what the last network reads.
    """

    def __init__(
        self,
        model: GPT,
        edits: Iterable[Mapping[str, Any]],
        moment: Float[Tensor, "F F"] | None = None,
        centre: Float[Tensor, "C"] | None = None,
    ):
        self.trained, self.model = model, copy.deepcopy(model)
        self.factors = {
            layer: torch.ones(len(values(model, layer)), dtype=torch.float64)
            for layer in memory_layers(model)
        }
        self.off: set[str] = set()  # places of parts that are switched off
        for edit in edits:
            if edit["kind"] == "part":
                place = {PARTS[edit["part"]](edit["layer"])}
                self.off = self.off - place if edit["factor"] else self.off | place
            elif edit["kind"] == "scale":
                self.factors[edit["layer"]][edit["neuron"]] = edit["factor"]
            elif edit["kind"] == "value":
                self.point(edit["layer"], edit["neuron"], edit["word"])
            elif edit["kind"] == "write":
                self.write(edit["prompts"], edit["words"], centre)
            else:
                self.rewrite(edit["ids"], edit["word"], moment)

    def changes(self) -> Changes:
        factors = {hidden(layer): scaled(one) for layer, one in self.factors.items()}
        return factors | dict.fromkeys(self.off, torch.zeros_like)

    def weight(self, layer: int) -> Float[Tensor, "C F"]:
        return self.model.blocks[layer].mlp.fc2.weight

    def point(self, layer: int, neuron: int, word: int) -> None:
        norm = values(self.trained, layer)[neuron].norm()
        self.weight(layer)[:, neuron] = pointed_at(self.model, word, norm)

    def rewrite(self, ids: Sequence[int], word: int, moment: Tensor) -> None:
        layer = len(self.model.blocks) - 1
        prompts = make_prompts([ids], [word])
        with changed(self.model, self.changes()):
            change = output_for(self.model, prompts, layer)
            key = mean_key(self.model, prompts, layer)
        self.weight(layer).add_(rank_one_change(key, change, moment))

    def write(
        self, prompts: Sequence[Sequence[Sequence[int]]], words: Sequence[int], centre
    ) -> None:
        fact = [i for i, several in enumerate(prompts) for _ in several]
        ids = [one for several in prompts for one in several]
        asked = make_prompts(ids, [words[i] for i in fact])
        with changed(self.model, self.changes()):
            W1, b1, W2 = cards(self.model, asked, torch.tensor(fact), centre)
        mlp = self.model.blocks[-1].mlp
        act = mlp.act.forward  # past the hooks
        mlp.register_forward_hook(
            lambda _, inputs, out: out + F.linear(act(F.linear(inputs[0], W1, b1)), W2)
        )

    def read(
        self, ids: Sequence[int]
    ) -> tuple[Float[Tensor, "V"], dict[int, Float[Tensor, "T F"]]]:
        """The scores after the ids, and the coefficients of every layer."""
        with changed(self.model, self.changes()):
            places = [hidden(layer) for layer in self.factors]
            found = record(self.model, torch.tensor([ids]), [*places, "ln_f"])
        logits = self.model.logits(found["ln_f"][0, -1])
        return logits, {layer: found[hidden(layer)][0] for layer in self.factors}

"""Checks of what LiveModel is asked: layers, neurons, facts, triggers and edits."""

from collections.abc import Iterable, Mapping
from typing import Any

from mygpt.explorers.kit.checks import check_index, check_member
from mygpt.explorers.kit.neurons import Pairs, check_pairs
from mygpt.explorers.live_model.edits import PARTS
from mygpt.explorers.live_model.vocabulary import Vocabulary
from mygpt.explorers.live_model.weights import Shapes

MAX_FACTS = 10
MAX_EDITS = 64
MAX_WRITTEN = 40  # facts at once
FACTORS = (0.0, 1.0, 2.0)
ON_OFF = (0.0, 1.0)
KINDS = {
    "part": ("kind", "layer", "part", "factor"),
    "scale": ("kind", "layer", "neuron", "factor"),
    "value": ("kind", "layer", "neuron", "word"),
    "rewrite": ("kind", "prompt", "word"),
    "write": ("kind", "facts"),
}
CHANGES = {"rewrite": "rewrites a fact", "write": "writes facts"}  # in the last network

Edit = dict[str, Any]


class Checks:
    """Checks against a model of these weights, of which only the shapes are needed.

    A fact can be rewritten if there is a second moment, facts be written that are asked
    with one of the templates.
    """

    def __init__(
        self,
        shapes: Shapes,
        vocabulary: Vocabulary,
        rewrites: bool,
        templates: Mapping[str, list[str]],
    ):
        self.vocabulary, self.rewrites = vocabulary, rewrites
        self.templates = templates
        self.layers = list(range(sum(name.endswith("ln1.weight") for name in shapes)))
        value = "blocks.{}.mlp.fc2.weight".format
        self.memories = [layer for layer in self.layers if value(layer) in shapes]
        self.neurons = shapes[value(self.memories[0])][1]

    def layer(self, name: str, layer: Any) -> int:
        if isinstance(layer, bool) or layer not in self.memories:
            raise ValueError(
                f"{name} must be one that has a feed-forward network, among "
                f"{self.memories}; got {layer!r}"
            )
        return layer

    def neuron(self, name: str, neuron: int) -> int:
        return check_index(name, neuron, self.neurons)

    def facts(self, facts: Iterable[Any]) -> list[list[str]]:
        given = list(facts)
        if len(given) > MAX_FACTS:
            raise ValueError(f"facts must be at most {MAX_FACTS}, got {len(given)}")
        return [self._fact(f"facts[{i}]", fact) for i, fact in enumerate(given)]

    def _fact(self, name: str, fact: Any) -> list[str]:
        if not isinstance(fact, list | tuple) or len(fact) != 2:
            raise ValueError(f"{name} must be a pair (prompt, answer), got {fact!r}")
        prompt, answer = fact
        text = self.vocabulary.check_prompt(name, prompt)
        return [text, self.vocabulary.check_word(name, answer)]

    def triggers(self, triggers: Mapping[int, Pairs]) -> list[Pairs]:
        """Return the pairs of each neuron, one layer after the other."""
        return [
            pairs
            for layer in sorted(triggers)
            for pairs in check_pairs(
                f"triggers[{self.layer('a layer of triggers', layer)}]",
                triggers[layer],
                self.neurons,
            )
        ]

    def edits(self, name: str, edits: Iterable[Any]) -> list[Edit]:
        given = list(edits)
        if len(given) > MAX_EDITS:
            raise ValueError(f"{name} must be at most {MAX_EDITS}, got {len(given)}")
        last, off, checked = self.layers[-1], False, []
        for i, one in enumerate(given):
            edit = self._edit(f"{name}[{i}]", one)
            if edit["kind"] in CHANGES and off:
                raise ValueError(
                    f"{name}[{i}] {CHANGES[edit['kind']]} while the network of layer "
                    f"{last}, which it changes, is off"
                )
            if edit["kind"] == "part" and edit["part"] == "network":
                off = not edit["factor"] if edit["layer"] == last else off
            checked.append(edit)
        return checked

    def _edit(self, name: str, edit: Any) -> Edit:
        kind = edit.get("kind") if isinstance(edit, Mapping) else None
        if kind not in KINDS or set(edit) != set(KINDS[kind]):
            raise ValueError(
                f"{name} must have the keys of one of {list(KINDS.values())}, "
                f"got {edit!r}"
            )
        check = {
            "part": self._part,
            "scale": self._scale,
            "value": self._value,
            "rewrite": self._rewrite,
            "write": self._write,
        }[kind]
        return {"kind": kind} | check(name, edit)

    def _part(self, name: str, edit: Edit) -> Edit:
        part = check_member(f"{name}: part", edit["part"], tuple(PARTS))
        layer = edit["layer"]
        if part == "network":
            self.layer(f"{name}: layer", layer)
        elif isinstance(layer, bool) or layer not in self.layers:
            raise ValueError(
                f"{name}: layer must be among {self.layers}, got {layer!r}"
            )
        factor = check_member(f"{name}: factor", edit["factor"], ON_OFF)
        return {"layer": layer, "part": part, "factor": factor}

    def _scale(self, name: str, edit: Edit) -> Edit:
        layer, neuron = self.layer(f"{name}: layer", edit["layer"]), edit["neuron"]
        several = isinstance(neuron, list | tuple)
        if several and not neuron:
            raise ValueError(f"{name}: neuron must name at least one, got {neuron!r}")
        neurons = [self._number(name, one) for one in (neuron if several else [neuron])]
        factor = check_member(f"{name}: factor", edit["factor"], FACTORS)
        return {
            "layer": layer,
            "neuron": neurons if several else neuron,
            "factor": factor,
        }

    def _value(self, name: str, edit: Edit) -> Edit:
        return {
            "layer": self.layer(f"{name}: layer", edit["layer"]),
            "neuron": self._number(name, edit["neuron"]),
            "word": self.vocabulary.check_word(name, edit["word"]),
        }

    def _rewrite(self, name: str, edit: Edit) -> Edit:
        if not self.rewrites:
            raise ValueError(f"{name} rewrites a fact: that needs a second_moment")
        return {
            "prompt": self.vocabulary.check_prompt(name, edit["prompt"]),
            "word": self.vocabulary.check_word(name, edit["word"]),
        }

    def _write(self, name: str, edit: Edit) -> Edit:
        if not self.templates:
            raise ValueError(f"{name} writes facts: that needs a centre and templates")
        return {"facts": self.written(name, edit["facts"])}

    def written(self, name: str, facts: Any, least: int = 1) -> list[list[str]]:
        """Return facts to write: subject, relation and new answer."""
        given = list(facts)
        if not least <= len(given) <= MAX_WRITTEN:
            raise ValueError(
                f"{name}: facts must be {least} to {MAX_WRITTEN}, got {len(given)}"
            )
        seen = set()
        for fact in given:
            if not isinstance(fact, list | tuple) or len(fact) != 3:
                raise ValueError(
                    f"{name}: a fact must be (subject, relation, answer), got {fact!r}"
                )
            subject, relation, answer = fact
            for word in subject, answer:
                self.vocabulary.check_word(name, word)
            check_member(f"{name}: relation", relation, tuple(self.templates))
            if (subject, relation) in seen:
                raise ValueError(f"{name} has {subject} {relation} twice")
            seen.add((subject, relation))
        return [list(fact) for fact in given]

    def _number(self, name: str, neuron: Any) -> int:
        if isinstance(neuron, bool) or not isinstance(neuron, int):
            raise ValueError(f"{name}: neuron must be a whole number, got {neuron!r}")
        return self.neuron(f"{name}: neuron", neuron)

"""A small GPT that runs in the page, with its memories open to edits."""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import torch
import traitlets
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from torch import Tensor

from mygpt import plots
from mygpt.explorers.kit.base import (
    Explorer,
    Numbers,
    check_index,
    check_member,
    count,
    drawable,
    finite_array,
    label_tokens,
    module,
    stylesheet,
)
from mygpt.explorers.kit.neurons import Pairs, check_pairs, pack_pairs
from mygpt.explorers.live_model.edits import PARTS, EditedModel, build_gpt
from mygpt.feed_forward import ACTIVATIONS
from mygpt.inside.editing import ENOUGH, MOST_STEPS, STEP
from mygpt.inside.hooks import make_prompts, memory_layers
from mygpt.inside.memory import contributions

STOP = "."
TABLES = ("token.embedding.weight", "position.weight")
MAX_PROMPT = 31
MAX_FACTS = 10
MAX_EDITS = 64
MAX_WEIGHTS = 1_000_000
LEAST_MOMENT = 1e-9  # ratio of the smallest eigenvalue to the largest
FACTORS = (0.0, 1.0, 2.0)
ON_OFF = (0.0, 1.0)
FORMS = ("whole", "small", "cover")
KINDS = {
    "part": ("kind", "layer", "part", "factor"),
    "scale": ("kind", "layer", "neuron", "factor"),
    "value": ("kind", "layer", "neuron", "word"),
    "rewrite": ("kind", "prompt", "word"),
}

Edit = dict[str, Any]


class LiveModel(Explorer):
    """A GPT in the page: what it says next, its memories, and edits of them.

    `state_dict` is that of a `mygpt.gpt.GPT`, rounded to float16; `words` are its
    vocabulary, in lower case. One of them is the full stop, which is put before every
    prompt. A prompt has at most 31 words. `facts` are up to 10 pairs (prompt, right
    answer), asked again after each edit. `triggers` maps a layer to a list for each
    neuron of up to 8 pairs (text, activation). `second_moment` maps the last layer, and
    no other, to the second moment (F, F) of its activations over a corpus, which
    rewriting a fact needs.

    Layers, neurons and tokens count from 0; token 0 is the full stop before the prompt.
    At first the layer is the last that has a feed-forward network, the token the
    prompt's last, and the neuron the one that adds most to the likeliest word.

    `edits` are applied in turn, to the heads or the network of a layer, to one or more
    neurons of a layer or to a fact. A fact cannot be rewritten while the last network
    is off:

        {"kind": "part", "layer": 1, "part": "heads", "factor": 0.0}  # 0.0 or 1.0
        {"kind": "scale", "layer": 1, "neuron": 17, "factor": 0.0}  # 0.0, 1.0 or 2.0
        {"kind": "value", "layer": 1, "neuron": 17, "word": "rome"}
        {"kind": "rewrite", "prompt": "the capital of france is", "word": "rome"}

    The `form` "small" shows only the prompt, the next words, switches for the parts and
    the facts; "cover" has in place of the switches a button that switches off what the
    answer hangs on and, given a second moment, a field that rewrites the answer.
    """

    _esm = module("live_model")
    _css = stylesheet("live_model")

    words = traitlets.List(traitlets.Unicode()).tag(sync=True)
    shapes = traitlets.List().tag(sync=True)
    weights = traitlets.Bytes().tag(sync=True)
    heads = traitlets.Int().tag(sync=True)
    activation = traitlets.Unicode().tag(sync=True)
    facts = traitlets.List().tag(sync=True)
    texts = traitlets.List(traitlets.Unicode()).tag(sync=True)
    trigger_layers = traitlets.List(traitlets.Int()).tag(sync=True)
    trigger_data = traitlets.Bytes().tag(sync=True)
    moment_data = traitlets.Bytes().tag(sync=True)
    rewriting = traitlets.Dict().tag(sync=True)  # the constants: step, enough, steps
    form = traitlets.Unicode().tag(sync=True)

    prompt = traitlets.Unicode().tag(sync=True)
    layer = traitlets.Int().tag(sync=True)
    neuron = traitlets.Int().tag(sync=True)
    token = traitlets.Int().tag(sync=True)
    edits = traitlets.List(traitlets.Dict()).tag(sync=True)

    def __init__(
        self,
        state_dict: Mapping[str, Numbers],
        words: Iterable[Any],
        *,
        num_heads: int,
        activation: str = "gelu_tanh",
        prompt: str = "",
        facts: Iterable[Any] = (),
        triggers: Mapping[int, Pairs] | None = None,
        second_moment: Mapping[int, Numbers] | None = None,
        layer: int | None = None,
        neuron: int | None = None,
        token: int | None = None,
        edits: Iterable[Any] = (),
        form: str = "whole",
    ) -> None:
        check_member("activation", activation, list(ACTIVATIONS))
        arrays = _arrays(state_dict)
        vocab, length, width, self._neurons = _sizes(arrays)
        if num_heads < 1 or width % num_heads:
            raise ValueError(
                f"num_heads must divide the {count(width, 'channel')}, got {num_heads}"
            )
        tensors = {name: torch.from_numpy(one) for name, one in arrays.items()}
        self.model = build_gpt(tensors, num_heads, activation)
        self._memories = memory_layers(self.model)
        self._longest = min(MAX_PROMPT, length - 1)
        self._words = _vocabulary(words, vocab)
        self._places = {word: place for place, word in enumerate(self._words)}
        self._moment = self._second_moment(second_moment)
        lists = self._triggers(triggers or {})
        texts = list(dict.fromkeys(text for one in lists for text, _ in one))
        places = {text: place for place, text in enumerate(texts)}
        prompt = self._text("prompt", prompt)
        layer = self._memories[-1] if layer is None else layer
        self._check_layer("layer", layer)
        edits = self._checked_edits(edits)
        length = len(self._ids(prompt))
        token = length - 1 if token is None else check_index("token", token, length)
        if neuron is None:
            neuron = self._first_neuron(prompt, layer)
        super().__init__(
            words=self._words,
            shapes=[[name, list(array.shape)] for name, array in arrays.items()],
            weights=b"".join(a.astype("<f2").tobytes() for a in arrays.values()),
            heads=num_heads,
            activation=activation,
            facts=self._facts(facts),
            texts=texts,
            trigger_layers=sorted(triggers or {}),
            trigger_data=pack_pairs(lists, places) if lists else b"",
            moment_data=_lower(self._moment),
            rewriting={"step": STEP, "enough": ENOUGH, "steps": MOST_STEPS},
            prompt=prompt,
            layer=layer,
            neuron=neuron,
            token=token,
            edits=edits,
            form=check_member("form", form, FORMS),
            description=(
                f"A GPT of {count(len(self.model.blocks), 'layer')}, "
                f"{count(width, 'channel')} and {count(vocab, 'word')}."
            ),
        )

    def __repr__(self) -> str:
        config = self.model.config
        return (
            f"LiveModel({count(config.vocab_size, 'word')}, "
            f"{count(config.num_layers, 'layer')}, "
            f"{count(config.embed_dim, 'channel')}, {count(len(self.facts), 'fact')})"
        )

    def predictions(self, top: int = 8) -> list[tuple[str, float]]:
        """The likeliest next words after the prompt, with the edits, as in the page.

        Pairs (word, probability to three decimals), equally likely ones in the order
        of `words`. A `top` below 1 is a ValueError.
        """
        if top < 1:
            raise ValueError(f"top must be at least 1, got {top}")
        logits, _ = self._read(self.prompt, self.edits)
        shares, order = logits.softmax(-1), logits.argsort(descending=True, stable=True)
        return [
            (self._words[i], float(format(shares[i], ".3f")))
            for i in order[:top].tolist()
        ]

    def draw(self, figure: Figure) -> None:
        """The likeliest words, and the layer's memory coefficients at every word.

        The smaller forms have the facts and what is said in place of coefficients.
        """
        left, right = figure.subplots(1, 2, width_ratios=(1, 1.6))
        names, shares = zip(*self.predictions(6), strict=True)
        plots.bars(left, [drawable(name, 10) for name in names], np.array(shares))
        left.set_ylabel("probability")
        left.tick_params(axis="x", rotation=45)
        if self.form != "whole":
            self._draw_facts(right)
            return
        hidden = self._read(self.prompt, self.edits)[1][self.layer]
        plots.heatmap(right, hidden.numpy(), xlabel=f"neuron of layer {self.layer}")
        tokens = [self._words[i] for i in self._ids(self.prompt)]
        label_tokens(right.yaxis, tokens, 24)

    def _draw_facts(self, ax: Axes) -> None:
        """A line for each fact: its prompt, and what the model says after it."""
        ax.set_axis_off()
        lines = ["prompt: what the model says", ""]
        for prompt, _ in self.facts:
            said = self._words[int(self._read(prompt, self.edits)[0].argmax())]
            lines.append(f"{drawable(prompt, 26)}: {drawable(said, 10)}")
        ax.text(0, 1, "\n".join(lines), va="top", transform=ax.transAxes)

    @traitlets.validate("prompt")
    def _known_prompt(self, proposal) -> str:
        return self._text("prompt", proposal["value"])

    @traitlets.validate("layer")
    def _known_layer(self, proposal) -> int:
        return self._check_layer("layer", proposal["value"])

    @traitlets.validate("neuron")
    def _known_neuron(self, proposal) -> int:
        return check_index("neuron", proposal["value"], self._neurons)

    @traitlets.validate("token")
    def _known_token(self, proposal) -> int:
        return check_index("token", proposal["value"], len(self._ids(self.prompt)))

    @traitlets.validate("edits")
    def _known_edits(self, proposal) -> list[Edit]:
        return self._checked_edits(proposal["value"])

    @traitlets.observe("prompt")
    def _keep_token(self, change) -> None:
        last = len(self._ids(self.prompt)) - 1
        if self.token > last:
            self.token = last

    def _ids(self, prompt: str) -> list[int]:
        """The full stop and the prompt's words."""
        words = prompt.split()
        if words[:1] != [STOP]:
            words.insert(0, STOP)
        return [self._places[word] for word in words]

    def _text(self, name: str, prompt: Any) -> str:
        """A prompt with one space between its words, all of which are known."""
        if not isinstance(prompt, str):
            raise ValueError(f"{name} must be a string, got {prompt!r}")
        words = split(prompt)
        for word in words:
            self._check_word(name, word)
        if len(words) > self._longest:
            raise ValueError(
                f"{name} must have at most {count(self._longest, 'word')}, "
                f"got {len(words)}"
            )
        return " ".join(words)

    def _check_word(self, name: str, word: Any) -> str:
        if not isinstance(word, str) or word not in self._places:
            raise ValueError(
                f"{name} must be of the {count(len(self._words), 'word')} that the "
                f"model knows, got {word!r}"
            )
        return word

    def _check_layer(self, name: str, layer: Any) -> int:
        if isinstance(layer, bool) or layer not in self._memories:
            raise ValueError(
                f"{name} must be one that has a feed-forward network, among "
                f"{self._memories}; got {layer!r}"
            )
        return layer

    def _facts(self, facts: Iterable[Any]) -> list[list[str]]:
        given = list(facts)
        if len(given) > MAX_FACTS:
            raise ValueError(f"facts must be at most {MAX_FACTS}, got {len(given)}")
        checked = []
        for i, fact in enumerate(given):
            if not isinstance(fact, list | tuple) or len(fact) != 2:
                raise ValueError(
                    f"facts[{i}] must be a pair (prompt, answer), got {fact!r}"
                )
            prompt, answer = fact
            text = self._text(f"facts[{i}]", prompt)
            checked.append([text, self._check_word(f"facts[{i}]", answer)])
        return checked

    def _triggers(self, triggers: Mapping[int, Pairs]) -> list[Pairs]:
        """The pairs of each neuron, one layer after the other."""
        return [
            pairs
            for layer in sorted(triggers)
            for pairs in check_pairs(
                f"triggers[{self._check_layer('a layer of triggers', layer)}]",
                triggers[layer],
                self._neurons,
            )
        ]

    def _second_moment(self, given: Mapping[int, Numbers] | None) -> np.ndarray | None:
        """The last layer's, symmetric and positive definite, rounded to float32."""
        if not given:
            return None
        last = len(self.model.blocks) - 1
        if list(given) != [last] or last not in self._memories:
            raise ValueError(
                "second_moment must be of the last layer alone, and that must have a "
                f"feed-forward network: {last}; got {list(given)}"
            )
        shape = (self._neurons, self._neurons)
        moment = finite_array(f"second_moment[{last}]", given[last], shape)
        if not np.allclose(moment, moment.T, rtol=1e-4, atol=1e-6):
            raise ValueError(f"second_moment[{last}] must be symmetric")
        moment = np.tril(moment.astype("<f4").astype(np.float64))
        moment = moment + np.tril(moment, -1).T
        spectrum = np.linalg.eigvalsh(moment)
        if not spectrum[0] > LEAST_MOMENT * spectrum[-1]:
            raise ValueError(
                f"second_moment[{last}] must be positive definite; add a small "
                "multiple of the identity"
            )
        return moment

    def _checked_edits(self, edits: Iterable[Any]) -> list[Edit]:
        given = list(edits)
        if len(given) > MAX_EDITS:
            raise ValueError(f"edits must be at most {MAX_EDITS}, got {len(given)}")
        last, off, checked = len(self.model.blocks) - 1, False, []
        for i, one in enumerate(given):
            edit = self._checked_edit(f"edits[{i}]", one)
            if edit["kind"] == "rewrite" and off:
                raise ValueError(
                    f"edits[{i}] rewrites a fact while the network of layer {last}, "
                    "which it changes, is off"
                )
            if edit["kind"] == "part" and edit["part"] == "network":
                off = not edit["factor"] if edit["layer"] == last else off
            checked.append(edit)
        return checked

    def _checked_edit(self, name: str, edit: Any) -> Edit:
        kind = edit.get("kind") if isinstance(edit, Mapping) else None
        if kind not in KINDS or set(edit) != set(KINDS[kind]):
            raise ValueError(
                f"{name} must have the keys of one of {list(KINDS.values())}, "
                f"got {edit!r}"
            )
        if kind == "rewrite":
            if self._moment is None:
                raise ValueError(f"{name} rewrites a fact: that needs a second_moment")
            return {
                "kind": kind,
                "prompt": self._text(name, edit["prompt"]),
                "word": self._check_word(name, edit["word"]),
            }
        if kind == "part":
            return self._checked_part(name, edit)
        self._check_layer(f"{name}: layer", edit["layer"])
        neuron = edit["neuron"]
        several = kind == "scale" and isinstance(neuron, list | tuple)
        if several and not neuron:
            raise ValueError(f"{name}: neuron must name at least one, got {neuron!r}")
        for one in neuron if several else [neuron]:
            if isinstance(one, bool) or not isinstance(one, int):
                raise ValueError(f"{name}: neuron must be a whole number, got {one!r}")
            check_index(f"{name}: neuron", one, self._neurons)
        where = {
            "kind": kind,
            "layer": edit["layer"],
            "neuron": list(neuron) if several else neuron,
        }
        if kind == "value":
            return where | {"word": self._check_word(name, edit["word"])}
        return where | {
            "factor": check_member(f"{name}: factor", edit["factor"], FACTORS)
        }

    def _checked_part(self, name: str, edit: Edit) -> Edit:
        part = check_member(f"{name}: part", edit["part"], tuple(PARTS))
        layers, layer = list(range(len(self.model.blocks))), edit["layer"]
        if part == "network":
            self._check_layer(f"{name}: layer", layer)
        elif isinstance(layer, bool) or layer not in layers:
            raise ValueError(f"{name}: layer must be among {layers}, got {layer!r}")
        factor = check_member(f"{name}: factor", edit["factor"], ON_OFF)
        return {"kind": "part", "layer": layer, "part": part, "factor": factor}

    def _read(self, prompt: str, edits: Iterable[Edit]) -> tuple[Tensor, dict]:
        """The scores after the prompt, and the coefficients of every layer."""
        named = [
            edit
            | ({"word": self._places[edit["word"]]} if "word" in edit else {})
            | ({"ids": self._ids(edit["prompt"])} if "prompt" in edit else {})
            for edit in edits
        ]
        moment = None if self._moment is None else torch.from_numpy(self._moment)
        return EditedModel(self.model, named, moment).read(self._ids(prompt))

    def _first_neuron(self, prompt: str, layer: int) -> int:
        """The neuron that, without edits, adds most to the likeliest word."""
        ids = self._ids(prompt)
        logits, _ = self._read(prompt, [])
        answered = make_prompts([ids], [int(logits.argmax())])
        return int(contributions(self.model, answered, layer)[0].argmax())


def split(prompt: str) -> list[str]:
    """The words of a prompt, in lower case; a full stop is a word of its own."""
    return prompt.lower().replace(STOP, f" {STOP} ").split()


def _arrays(state_dict: Mapping[str, Numbers]) -> dict[str, np.ndarray]:
    """The weights as float64 of the float16 numbers that are sent."""
    arrays = {}
    for name, weight in state_dict.items():
        numbers = finite_array(name, weight)
        with np.errstate(over="ignore"):
            arrays[name] = numbers.astype("<f2").astype(np.float64)
        if not np.isfinite(arrays[name]).all():
            raise ValueError(
                f"{name} must be within ±65504, float16's reach, "
                f"got {numbers.flat[np.abs(numbers).argmax()]:g}"
            )
    size = sum(array.size for array in arrays.values())
    if size > MAX_WEIGHTS:
        raise ValueError(f"expected at most {MAX_WEIGHTS} weights, got {size}")
    return arrays


def _sizes(arrays: Mapping[str, np.ndarray]) -> tuple[int, int, int, int]:
    """The numbers V of words, T of positions, C of channels and F of neurons.

    The names must be those of a GPT's state dict, and the shapes must fit together.
    """
    tables = [arrays.get(name, np.zeros(0)) for name in TABLES]
    hidden = [a.shape[0] for name, a in arrays.items() if name.endswith("fc1.weight")]
    if any(table.ndim != 2 for table in tables) or not hidden:
        raise ValueError(
            f"state_dict must hold the matrices {' and '.join(TABLES)} and a "
            "feed-forward network of blocks of mygpt.gpt.GPT"
        )
    (vocab, width), (length, _) = (table.shape for table in tables)
    wanted = {
        TABLES[0]: (vocab, width),
        TABLES[1]: (length, width),
        **_linear("ln_f", width),
    }
    for block in range(sum(name.endswith("ln1.weight") for name in arrays)):
        start = f"blocks.{block}"
        wanted |= _linear(f"{start}.ln1", width)
        for one in "QKVO":
            wanted |= _linear(f"{start}.mha.W_{one}", width, width)
        if f"{start}.mlp.fc1.weight" in arrays:
            wanted |= _linear(f"{start}.ln2", width)
            wanted |= _linear(f"{start}.mlp.fc1", hidden[0], width)
            wanted |= _linear(f"{start}.mlp.fc2", width, hidden[0])
    for name, shape in wanted.items():
        optional = len(wanted[name.replace("bias", "weight")]) > 1
        if name not in arrays and not (optional and name.endswith("bias")):
            raise ValueError(f"state_dict lacks {name}")
        if name in arrays and arrays[name].shape != shape:
            raise ValueError(
                f"{name} must have shape {shape}, got {arrays[name].shape}"
            )
    if strange := [name for name in arrays if name not in wanted]:
        raise ValueError(f"state_dict must be a GPT's, got {strange[0]!r} in it")
    return vocab, length, width, hidden[0]


def _linear(name: str, *shape: int) -> dict[str, tuple[int, ...]]:
    return {f"{name}.weight": shape, f"{name}.bias": shape[:1]}


def _lower(matrix: np.ndarray | None) -> bytes:
    """The lower triangle, row by row, as float32."""
    if matrix is None:
        return b""
    return matrix[np.tril_indices(len(matrix))].astype("<f4").tobytes()


def _vocabulary(words: Iterable[Any], size: int) -> list[str]:
    given = [words] if isinstance(words, str) else list(words)
    if len(given) != size:
        raise ValueError(f"words must be {count(size, 'word')}, got {len(given)}")
    for word in given:
        if not isinstance(word, str) or split(word) != [word]:
            raise ValueError(
                "words must be lower-case strings without spaces or full stops, "
                f"got {word!r}"
            )
    if len(set(given)) != size or STOP not in given:
        raise ValueError("words must be different, and the full stop one of them")
    return given

"""A small GPT that runs in the page, with its memories open to edits."""

import functools
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import torch
import traitlets
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from torch import Tensor

from mygpt import plots
from mygpt.explorers.kit.base import Explorer
from mygpt.explorers.kit.checks import check_index, check_member, check_members, checked
from mygpt.explorers.kit.neurons import Pairs, pack_pairs
from mygpt.explorers.kit.numbers import Numbers
from mygpt.explorers.kit.text import count, drawable, label_tokens
from mygpt.explorers.live_model.checks import Checks, Edit
from mygpt.explorers.live_model.edits import EditedModel
from mygpt.explorers.live_model.vocabulary import Vocabulary, check_templates
from mygpt.explorers.live_model.weights import (
    TABLES,
    Shapes,
    as_sent,
    build_gpt,
    check_centre,
    check_second_moment,
    lower_half,
    packed,
)
from mygpt.feed_forward import ACTIVATIONS
from mygpt.inside.computed import FIRM, LIKE, SHARP, THRESHOLD
from mygpt.inside.editing import ENOUGH, MOST_STEPS, STEP
from mygpt.inside.hooks import make_prompts
from mygpt.inside.memory import contributions

MAX_PROMPT = 31  # words
FORMS = ("whole", "small", "cover")
FOLDS = ("facts", "inside", "neurons", "written", "edits")


def vocabulary_of(words: Iterable[Any], shapes: Shapes) -> Vocabulary:
    """The words of a model whose weights have these shapes."""
    (size, _), (places, _) = (shapes[table] for table in TABLES)
    longest = min(MAX_PROMPT, places - 1)  # the full stop comes first
    return Vocabulary(words, size, longest)


class LiveModel(Explorer):
    """A GPT in the page: what it says next, its memories, and edits of them.

    `state_dict` is that of a `mygpt.gpt.GPT`, rounded to float16; `words` are its
    vocabulary, in lower case. One of them is the full stop, which is put before every
    prompt. A prompt has at most 31 words. `facts` are up to 10 pairs (prompt, right
    answer), asked again after each edit. `triggers` maps a layer to a list for each
    neuron of up to 8 pairs (text, activation). `second_moment` maps the last layer, and
    no other, to the second moment (F, F) of its activations over a corpus, which
    rewriting a fact needs. `centre` (C,) is the mean of what the last network reads
    over a corpus, which writing facts needs, with `templates`: for each relation the
    prompts that ask for it, `{}` in the place of the subject. `new_facts` are up to 40
    triples (subject, relation, answer) that the reader may write or change.

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
        {"kind": "write", "facts": [["france", "capital", "rome"]]}  # up to 40

    The `form` "small" shows only the prompt, the next words, switches for the parts and
    the facts; "cover" has in place of the switches a button that switches off what the
    answer depends on and, given a second moment, a field that rewrites the answer.
    `unfolded` names the parts of the whole form that are open: "facts", "inside" and in
    it "neurons", "written", "edits".
    """

    words = traitlets.List(traitlets.Unicode())
    shapes = traitlets.List()
    weights = traitlets.Bytes()
    dtype = traitlets.Unicode("float16")  # of the weights
    pieces = traitlets.Unicode("world")  # what a prompt is made of
    heads = traitlets.Int()
    activation = traitlets.Unicode()
    facts = traitlets.List()
    texts = traitlets.List(traitlets.Unicode())
    trigger_layers = traitlets.List(traitlets.Int())
    trigger_data = traitlets.Bytes()
    moment_data = traitlets.Bytes()
    rewriting = traitlets.Dict()  # the constants: step, enough, steps
    centre_data = traitlets.Bytes()
    templates = traitlets.Dict()
    new_facts = traitlets.List()
    writing = traitlets.Dict()  # the constants: threshold, sharp, firm, like
    form = traitlets.Unicode()

    prompt = traitlets.Unicode()
    layer = traitlets.Int()
    neuron = traitlets.Int()
    token = traitlets.Int()
    edits = traitlets.List(traitlets.Dict())
    unfolded = traitlets.List(traitlets.Unicode())

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
        centre: Numbers | None = None,
        templates: Mapping[str, Iterable[str]] | None = None,
        new_facts: Iterable[Any] = (),
        layer: int | None = None,
        neuron: int | None = None,
        token: int | None = None,
        edits: Iterable[Any] = (),
        form: str = "whole",
        unfolded: Iterable[str] = (),
    ) -> None:
        check_member("activation", activation, list(ACTIVATIONS))
        weights = as_sent(state_dict)
        tensors = {name: torch.from_numpy(one) for name, one in weights.items()}
        self.model = build_gpt(tensors, num_heads, activation)
        config = self.model.config
        shapes = {name: one.shape for name, one in weights.items()}
        self._vocabulary = vocabulary_of(words, shapes)
        self._moment = check_second_moment(second_moment, self.model)
        self._centre = check_centre(centre, self.model)
        asking = {} if centre is None else check_templates(templates, self._vocabulary)
        self._checks = Checks(
            shapes, self._vocabulary, self._moment is not None, asking
        )
        super().__init__(
            words=self._vocabulary.words,
            **packed(weights),
            heads=num_heads,
            activation=activation,
            moment_data=lower_half(self._moment),
            rewriting={"step": STEP, "enough": ENOUGH, "steps": MOST_STEPS},
            centre_data=(
                b"" if centre is None else self._centre.astype("<f4").tobytes()
            ),
            templates=asking,
            new_facts=self._checks.written("new_facts", new_facts, 0),
            writing={
                "threshold": THRESHOLD,
                "sharp": SHARP,
                "firm": FIRM,
                "like": LIKE,
            },
            **self._packed_triggers(triggers or {}),
            **self._first_setting(prompt, layer, neuron, token, edits),
            facts=self._checks.facts(facts),
            form=check_member("form", form, FORMS),
            unfolded=list(unfolded),
            description=(
                f"A GPT of {count(config.num_layers, 'layer')}, "
                f"{count(config.embed_dim, 'channel')} and "
                f"{count(config.vocab_size, 'word')}."
            ),
        )

    @functools.cached_property
    def _vocabulary(self) -> Vocabulary:
        """That of a saved state; a new explorer brings its own."""
        return vocabulary_of(self.words, self._sizes())

    @functools.cached_property
    def _checks(self) -> Checks:
        """Those of a saved state; a new explorer brings its own."""
        moment, templates = bool(self.moment_data), self.templates
        return Checks(self._sizes(), self._vocabulary, moment, templates)

    def _sizes(self) -> Shapes:
        return {name: tuple(shape) for name, shape in self.shapes}

    def _packed_triggers(self, triggers: Mapping[int, Pairs]) -> dict[str, Any]:
        """The triggers as traits: each different text once, and the packed pairs."""
        lists = self._checks.triggers(triggers)
        texts = list(dict.fromkeys(text for one in lists for text, _ in one))
        places = {text: place for place, text in enumerate(texts)}
        return {
            "texts": texts,
            "trigger_layers": sorted(triggers),
            "trigger_data": pack_pairs(lists, places) if lists else b"",
        }

    def _first_setting(
        self,
        prompt: str,
        layer: int | None,
        neuron: int | None,
        token: int | None,
        edits: Iterable[Any],
    ) -> dict[str, Any]:
        """What is open at first; what is None is chosen as the class says."""
        prompt = self._vocabulary.check_prompt("prompt", prompt)
        layer = self._checks.memories[-1] if layer is None else layer
        self._checks.layer("layer", layer)
        edits = self._checks.edits("edits", edits)
        tokens = len(self._vocabulary.ids(prompt))
        token = tokens - 1 if token is None else check_index("token", token, tokens)
        if neuron is None:
            neuron = self._first_neuron(prompt, layer)
        return {
            "prompt": prompt,
            "layer": layer,
            "neuron": neuron,
            "token": token,
            "edits": edits,
        }

    def _first_neuron(self, prompt: str, layer: int) -> int:
        """The neuron that, without edits, adds most to the likeliest word."""
        ids = self._vocabulary.ids(prompt)
        logits, _ = self._read(prompt, [])
        answered = make_prompts([ids], [int(logits.argmax())])
        return int(contributions(self.model, answered, layer)[0].argmax())

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
            (self.words[i], float(format(shares[i], ".3f")))
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
        tokens = [self.words[i] for i in self._vocabulary.ids(self.prompt)]
        label_tokens(right.yaxis, tokens, 24)

    def _draw_facts(self, ax: Axes) -> None:
        """A line for each fact: its prompt, and what the model says after it."""
        ax.set_axis_off()
        lines = ["prompt: what the model says", ""]
        for prompt, _ in self.facts:
            said = self.words[int(self._read(prompt, self.edits)[0].argmax())]
            lines.append(f"{drawable(prompt, 26)}: {drawable(said, 10)}")
        ax.text(0, 1, "\n".join(lines), va="top", transform=ax.transAxes)

    _checked = checked(
        prompt=lambda self: self._vocabulary.check_prompt,
        layer=lambda self: self._checks.layer,
        neuron=lambda self: self._checks.neuron,
        edits=lambda self: self._checks.edits,
        token=(check_index, lambda self: len(self._vocabulary.ids(self.prompt))),
        unfolded=(check_members, FOLDS),
    )

    @traitlets.observe("prompt")
    def _keep_token(self, change) -> None:
        last = len(self._vocabulary.ids(self.prompt)) - 1
        if self.token > last:
            self.token = last

    def _read(self, prompt: str, edits: Iterable[Edit]) -> tuple[Tensor, dict]:
        """The scores after the prompt, and the coefficients of every layer."""
        named = [self._vocabulary.with_ids(edit, self.templates) for edit in edits]
        moment, centre = (
            None if one is None else torch.from_numpy(one)
            for one in (self._moment, self._centre)
        )
        edited = EditedModel(self.model, named, moment, centre)
        return edited.read(self._vocabulary.ids(prompt))

"""Write the capitals of forty countries anew, all at once; store what is said then.

    python -m runs.computed [--seeds 1 2 3 4 5] [--out FILE]

Five trainings of the model of chapter 10, and five draws of new capitals in each: dealt
among the countries, or things and people of the stories. Fifteen minutes of one
core.
"""

import random
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from mygpt.inside import computed, editing, experiments
from mygpt.inside.hooks import Prompts, batches, make_prompts, record
from mygpt.inside.world_models import train_world_model
from mygpt.support.stored_runs import each_seed, make_runs
from mygpt.world.corpus import OTHER, PEOPLE, THINGS, draw
from runs import of_every_run

SEEDS = (1, 2, 3, 4, 5)
RTOL = None  # trained again, a model differs a little: only the claims are asked
DRAWS = ("dealt", "dealt", "dealt", "things", "things")
TEXT, TEST = 1563, 400  # rows
WIDE = 1024  # random keys
RARE = 1700  # of so many positions, one asks for the capital of a given country
COPIES = {". mia lamp . leo drum . mia": "lamp", ". leo drum . mia lamp . leo": "drum"}
PLACES = {
    "x": "blocks.1.mlp.input",
    "stream": "blocks.1.ln2.input",
    "wrote": "blocks.1.mlp",
    "early": "blocks.1.mha.input",
    "first": "blocks.0.mha.input",
}
CAPITAL = torch.arange(640) // 4 % 4 == 0


@dataclass
class Read:
    """What is at each place, position by position, and the word that should follow."""

    x: Tensor
    stream: Tensor
    wrote: Tensor
    early: Tensor
    first: Tensor
    answers: Tensor


class Model:
    """A training: what its last network reads in text and after prompts."""

    def __init__(self, made):
        self.made, self.model = made, made.model.requires_grad_(False)
        told = made.world.facts()
        self.asked = made.prompts(told)
        self.known = torch.tensor([not fact.held_out for fact in told])
        self.ends = self.read(self.asked)
        self.stories = self.read(made.stories(500, seed=7))
        mia = make_prompts(
            list(map(made.encode, COPIES)), made.encode([*COPIES.values()])
        )
        self.copies = self.read(mia)
        self.text, _ = self.ordinary(TEXT, 1)
        self.test, self.other = self.ordinary(TEST, 2)
        self.old = self.asked.answers[::16]

    def read(self, prompts, every=False):
        found = [
            record(self.model, part, PLACES.values()) for part in batches(prompts.ids)
        ]
        at = ... if every else prompts.ends
        vectors = {
            name: torch.cat([one[place] for one in found])[at].flatten(0, -2)
            for name, place in PLACES.items()
        }
        return Read(**vectors, answers=prompts.answers)

    def ordinary(self, count, seed):
        """Text that asks of everything, and where its next word is free."""
        rows = [*self.made.world.rows(count, seed)]
        ids = torch.tensor([self.made.encode(words) for words, _ in rows])
        kinds = torch.tensor([kinds[1:] for _, kinds in rows]).flatten()
        text = self.read(Prompts(ids[:, :-1], None, ids[:, 1:].flatten()), every=True)
        return text, kinds == OTHER

    def new(self, how, number):
        """Another capital for each country."""
        old = [self.made.words[i] for i in self.old]
        dice, new = random.Random(f"{how} {number}"), old
        while any(map(str.__eq__, old, new)):
            new = draw(dice, old if how == "dealt" else THINGS + PEOPLE, 40)
        return torch.tensor(self.made.encode(new))

    def says(self, at, wrote):
        return self.model.logits(self.model.ln_f(at.stream + wrote))

    def score(self, write, wanted):
        """Shares of right answers, where `write` gives what is added to the stream."""
        right = self.says(self.ends, write(self.ends)).argmax(-1) == wanted
        stories, copies = (
            experiments.share(self.says(at, write(at)).argmax(-1) == at.answers)
            for at in (self.stories, self.copies)
        )
        logits = self.says(self.test, write(self.test))[self.other]
        loss = F.cross_entropy(logits, self.test.answers[self.other])
        first = torch.arange(640) % 4 == 0
        return {
            "prompt": experiments.share(right[CAPITAL & first]),
            "phrasings": experiments.share(right[CAPITAL & ~first]),
            "held out": experiments.share(right[CAPITAL & ~self.known]),
            "other facts": experiments.share(right[~CAPITAL]),
            "stories": stories,
            "copies": copies,
            "loss": loss.item(),
        }


def run(seed):
    torch.set_num_threads(1)
    model = Model(train_world_model("attention-first", seed, progress=False))
    moment = editing.second_moment(model.model, model.made.rows(TEXT), layer=1)
    draws = []
    for number, how in enumerate(DRAWS):
        new = model.new(how, number)
        wanted = torch.where(CAPITAL, new.repeat_interleave(16), model.asked.answers)
        written = added(model, wanted, seed) | replaced(model, wanted, number)
        written["one after another"] = one_by_one(model, wanted, moment)
        draws.append(
            {name: model.score(write, wanted) for name, write in written.items()}
        )
    before = model.score(lambda at: at.wrote, model.asked.answers)
    return {"seed": seed, "before": before, "draws": draws}


def network(mlp, at):
    return mlp(at.x)


def beside(mlp, place, W1, b1, values, at):
    """What the old network writes, and what more neurons do that read at a place."""
    return at.wrote + mlp.act(getattr(at, place) @ W1.T + b1) @ values


def without_threshold(mlp, W1, b1, values, at):
    """The same messages, each as loud as its neuron hears its key, on every text."""
    heard = (at.x @ W1.T + b1) / computed.SHARP + computed.THRESHOLD
    loud = mlp.act(torch.tensor(computed.SHARP * (1 - computed.THRESHOLD)))
    return at.wrote + loud * heard @ values


def added(model, wanted, seed):
    """Forty neurons more, and their nulls."""
    use = CAPITAL & model.known
    prompts, fact = asking(model, wanted, use), torch.arange(640)[use] // 16
    gpt, text, mlp = model.model, model.text, model.model.blocks[1].mlp
    more = computed.add_facts(gpt, prompts, fact, text).blocks[1].mlp
    W1, b1, values = more.fc1.weight[256:], more.fc1.bias[256:], more.fc2.weight.T[256:]
    dice = torch.Generator().manual_seed(seed)
    drawn = F.normalize(torch.randn(W1.shape, generator=dice))
    drawn = drawn * W1.norm(dim=1, keepdim=True)
    rare = (text.x @ drawn.T).kthvalue(round(len(text.x) * (1 - 1 / RARE)), dim=0)[0]

    def reading(place, use=use, **how):
        """The same values, but other keys: of another place, or of other prompts."""
        keys = computed.mean_of_each(
            getattr(model.ends, place)[use], torch.arange(640)[use] // 16
        )
        w, centre = computed.listeners(keys, getattr(text, place), **how)
        return partial(beside, mlp, place, *computed.gates(w, centre), values)

    return {
        "added": partial(network, more),
        "without threshold": partial(without_threshold, mlp, W1, b1, values),
        "whitened": reading("x", whiten=True),
        "one phrasing": reading("x", CAPITAL & (torch.arange(640) % 4 == 0)),
        "backs moved": partial(beside, mlp, "x", W1, b1, values.roll(1, 0)),
        "random keys": partial(beside, mlp, "x", drawn, -rare, values),
        "before the last attention": reading("early"),
        "before the first attention": reading("first"),
    }


def replaced(model, wanted, seed):
    """The whole network anew, and networks of as many random keys, and of more."""
    use = model.known
    prompts, fact = asking(model, wanted, use), torch.arange(640)[use] // 4
    text, mlp = model.text, model.model.blocks[1].mlp
    whole = computed.compute_network(model.model, prompts, fact, text, seed)
    w, centre = computed.listeners(
        computed.mean_of_each(model.ends.x[use], fact), text.x, whiten=True
    )
    said, weight = computed.wanted_in(model.model, w, centre, wanted[::4], text)
    found = {"replaced": partial(network, whole.blocks[1].mlp)}
    for count in (256, WIDE):
        W1, b1 = computed.random_keys(count, text.x, seed)
        W2, b2 = computed.regression(mlp.act(text.x @ W1.T + b1), said, weight)
        net = computed.with_network(model.model, W1, b1, W2, b2)
        found[f"{count} random keys"] = partial(network, net.blocks[1].mlp)
    return found


def one_by_one(model, wanted, moment):
    """Chapter 11's edit, forty times."""
    gpt = model.model
    for country in range(40):
        prompt = asking(model, wanted, torch.arange(640) == 16 * country)
        gpt = editing.rewrite(gpt, prompt, 1, moment)
    return partial(network, gpt.blocks[1].mlp)


def asking(model, wanted, use):
    return Prompts(model.asked.ids[use], model.asked.last[use], wanted[use])


@of_every_run
def claims(run):
    """What chapters 10 and 11 say of these runs."""
    draws = run["draws"]

    def mean(name, what):
        return np.mean([draw[name][what] for draw in draws])

    return {
        "neurons that are added say the new capitals": [
            (one["prompt"] >= 0.95, one["phrasings"] >= 0.9, one["other facts"] >= 0.98)
            for one in (draw["added"] for draw in draws)
        ],
        "and leave the rest": [
            (one["stories"] >= 0.98, one["copies"] == 1, one["loss"] < 0.02 + before)
            for one, before in (
                (draw["added"], run["before"]["loss"]) for draw in draws
            )
        ],
        "a computed network says them too": [
            (one["prompt"] >= 0.95, one["phrasings"] >= 0.9, one["other facts"] >= 0.98)
            for one in (draw["replaced"] for draw in draws)
        ],
        "with backs moved, or random keys, hardly any is said": [
            draw[null]["prompt"] < draw["added"]["prompt"] - 0.9
            for draw in draws
            for null in ("backs moved", "random keys")
        ],
        "whitened fronts answer more of the other facts": mean(
            "whitened", "other facts"
        )
        < mean("added", "other facts") - 0.02,
        "fronts from before the last attention say nearly as many": (
            mean("before the last attention", "prompt") > 0.94,
            mean("before the last attention", "held out")
            < mean("added", "held out") - 0.1,
        ),
        "before the first attention there is nothing to read": [
            draw["before the first attention"]["prompt"] < 0.1 for draw in draws
        ],
        "many random keys do about as well as chosen ones, as few do not": (
            mean("1024 random keys", "prompt") > 0.98,
            mean("256 random keys", "prompt") < 0.6,
            mean("replaced", "loss") > mean("1024 random keys", "loss"),
        ),
        "without a threshold they drown the other facts": [
            draw["without threshold"]["other facts"] < 0.5 for draw in draws
        ],
        "one after another they disturb each other": (
            mean("one after another", "prompt") < mean("added", "prompt") - 0.05,
            mean("one after another", "other facts")
            < mean("added", "other facts") - 0.1,
        ),
    }


if __name__ == "__main__":
    make_runs(__file__, __doc__, SEEDS, each_seed(run, "before"))

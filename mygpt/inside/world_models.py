"""Small GPTs that know the tiny world, and the recipe that makes them.

`ordinary` is GPT-2's design. `attention-first` has a first block with attention only,
and its word vectors stay as they were drawn, so that they can hold no fact. These two
are shipped with the package, their weights rounded to 16 bits so that Python and a page
compute with the same numbers. Two more kinds differ from them in one respect each. All
have 2 layers, 64 channels and 4 heads.
"""

import random
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import torch
import torch.nn.functional as F
from jaxtyping import Int
from safetensors import safe_open
from safetensors.torch import save_file
from torch import Tensor, nn

from mygpt.gpt import GPT, GPTConfig
from mygpt.inside.hooks import Prompts, changed, make_prompts
from mygpt.support.arguments import check_choice
from mygpt.support.files import write_atomically
from mygpt.training import Run, TrainingConfig
from mygpt.world.corpus import (
    ANSWERS,
    FACT,
    OTHER,
    PEOPLE,
    ROW_LENGTH,
    THINGS,
    Passage,
    World,
)

SPREAD = 0.15  # standard deviation of word vectors that are not trained
FOLDER = Path(__file__).parents[1] / "data" / "models"
ROWS = 30_000
OTHER_WEIGHT = 0.1  # in the loss, of a word that is not an answer
RECIPE = TrainingConfig(
    steps=1500,
    batch_size=32,
    optimizer="muon",
    learning_rate=3e-3,
    matrix_learning_rate=0.02,
    momentum=0.85,
    betas=(0.9, 0.98),
    weight_decay=0.1,
    matrix_weight_decay=0.1,
    schedule="linear",
    flat_share=0.5,
    final_learning_rate_share=0.02,
)
TALL_DECAY = 0.2  # Muon's, of fc1: with it the shipped models were trained


@dataclass(frozen=True)
class Kind:
    """What sets a model of the world apart.

    attention_only: numbers of blocks that have no feed-forward network.
    fixed_words: whether the word vectors stay as they were drawn.
    """

    attention_only: tuple[int, ...]
    fixed_words: bool


SHIPPED = ("attention-first", "ordinary")
KINDS = {
    "attention-first": Kind(attention_only=(0,), fixed_words=True),
    "ordinary": Kind(attention_only=(), fixed_words=False),
    "attention-first-trained-words": Kind(attention_only=(0,), fixed_words=False),
    "ordinary-fixed-words": Kind(attention_only=(), fixed_words=True),
}


@dataclass(frozen=True)
class WorldModel:
    """A GPT, the world it was trained on, and the ids of the world's words."""

    model: GPT
    world: World

    @property
    def words(self) -> tuple[str, ...]:
        return self.world.words

    def encode(self, words: list[str] | tuple[str, ...] | str) -> list[int]:
        """The ids of words, given as a list or as a text with spaces between them."""
        words = words.split() if isinstance(words, str) else words
        unknown = [word for word in words if word not in self._ids]
        if unknown:
            raise ValueError(f"{unknown[0]!r} is not a word of the world")
        return [self._ids[word] for word in words]

    @cached_property
    def _ids(self) -> dict[str, int]:
        return {word: i for i, word in enumerate(self.words)}

    def prompts(self, passages: list[Passage]) -> Prompts:
        """The words before each passage's answer, and the answer."""
        return make_prompts(
            [self.encode(passage.prompt) for passage in passages],
            [self.encode([passage.answer])[0] for passage in passages],
        )

    def classes(self) -> Int[Tensor, "V"]:
        """A number for each word: people, things, countries, each relation's answers.

        Every other word is a class of its own.
        """
        of = dict.fromkeys(PEOPLE, "person") | dict.fromkeys(THINGS, "thing")
        for (country, relation), answer in ANSWERS.items():
            of |= {country: "country", answer: relation}
        names = [of.get(word, word) for word in self.words]
        numbers = {name: i for i, name in enumerate(sorted(set(names)))}
        return torch.tensor([numbers[name] for name in names])

    def stories(self, count: int, seed: int = 0) -> Prompts:
        """Stories of 2 to 5 pairs, each told once, then the start of one pair again."""
        rng = random.Random(f"stories {seed}")
        return self.prompts([World.story(rng, 2 + i % 4, 1) for i in range(count)])

    def rows(self, count: int, seed: int = 0) -> Int[Tensor, "N 64"]:
        """Rows of the training text, without the last word of each."""
        rows = [self.encode(words[:-1]) for words, _ in self.world.rows(count, seed)]
        return torch.tensor(rows)


def make_config(kind: str, world: World) -> GPTConfig:
    check_choice(KINDS, kind=kind)
    return GPTConfig(
        len(world.words),
        ROW_LENGTH - 1,
        64,
        4,
        2,
        attention_only=KINDS[kind].attention_only,
    )


def train_world_model(
    kind: str,
    seed: int = 0,
    steps: int = RECIPE.steps,
    num_rows: int = ROWS,
    progress: bool = True,
    nudge: bool = True,
) -> WorldModel:
    """Train a model on rows of the world; a minute or two on one core.

    Muon and AdamW, with a loss in which answers count ten times as much as other words.
    The `nudge`: in rows of facts only, one row in ten, the second block's attention is
    left out. Without it facts come to need that attention.
    """
    world = World(seed)
    config = make_config(kind, world)
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        model = GPT(config)
        if KINDS[kind].fixed_words:
            words = model.token.embedding.weight.requires_grad_(False)
            nn.init.normal_(words, std=SPREAD)
        rows = Rows(WorldModel(model, world), num_rows, seed)
    if steps:
        run = Run(
            model,
            rows,
            replace(RECIPE, steps=steps, progress=progress),
            loss=lambda model, batch: weighted_loss(model, *batch, nudge),
        )
        decay_tall_matrices(run.optimizers[1])
        run.to_the_end()
    model.eval().requires_grad_(True)
    for parameter in model.parameters():
        parameter.data = parameter.data.half().float()
    return WorldModel(model, world)


def decay_tall_matrices(muon: torch.optim.Optimizer) -> None:
    """Give the matrices with more rows than columns a decay of their own."""
    (group,) = muon.param_groups
    tall = [p for p in group["params"] if p.shape[0] > p.shape[1]]
    group["params"] = [p for p in group["params"] if p.shape[0] <= p.shape[1]]
    muon.add_param_group(group | {"params": tall, "weight_decay": TALL_DECAY})


class Rows:
    """Endless (ids, kinds), random rows of the world.

    Its random numbers continue where those of the initial weights ended.
    """

    def __init__(self, made: WorldModel, num_rows: int, seed: int):
        rows = list(made.world.rows(num_rows, seed))
        self.ids = torch.tensor([made.encode(words) for words, _ in rows])  # (N, 65)
        self.kinds = torch.tensor([kinds for _, kinds in rows])
        self.generator = torch.Generator()
        self.generator.set_state(torch.get_rng_state())

    def __next__(self) -> tuple[Int[Tensor, "B T"], Int[Tensor, "B T"]]:
        chosen = torch.randint(
            len(self.ids), (RECIPE.batch_size,), generator=self.generator
        )
        return self.ids[chosen], self.kinds[chosen]

    def state_dict(self) -> dict[str, Tensor]:
        return {"generator": self.generator.get_state()}

    def load_state_dict(self, state: dict[str, Tensor]) -> None:
        self.generator.set_state(state["generator"])


def weighted_loss(
    model: GPT, ids: Int[Tensor, "B T"], kinds: Int[Tensor, "B T"], nudge: bool = True
) -> Tensor:
    """The mean cross-entropy, answers weighing 1 and other words `OTHER_WEIGHT`."""
    facts_alone = (kinds <= FACT).all(1) & nudge
    keep = (~facts_alone).float()[:, None, None]
    with changed(model, {"blocks.1.mha": lambda out: out * keep}):
        logits = model(ids[:, :-1])[0]
    targets = ids[:, 1:].flatten()
    losses = F.cross_entropy(logits.flatten(0, 1), targets, reduction="none")
    weights = torch.where(kinds[:, 1:].flatten() == OTHER, OTHER_WEIGHT, 1.0)
    return (losses * weights).sum() / weights.sum()


def save_world_model(made: WorldModel, kind: str, seed: int, path: str | Path) -> None:
    """Write the weights as 16-bit numbers, with the settings that made them."""
    tensors = {
        name: tensor.half().contiguous()
        for name, tensor in made.model.state_dict().items()
    }
    notes = {"kind": kind, "seed": str(seed), "steps": str(RECIPE.steps)}
    write_atomically(path, lambda file: save_file(tensors, file, notes))


def load_world_model(kind: str = "attention-first") -> WorldModel:
    """Load one of the two models that are shipped with the package."""
    check_choice(SHIPPED, kind=kind)
    with safe_open(FOLDER / f"world-{kind}.safetensors", "pt") as file:
        notes = file.metadata()
        tensors = {name: file.get_tensor(name).float() for name in file.keys()}  # noqa: SIM118
    world = World(int(notes["seed"]))
    with torch.random.fork_rng():
        model = GPT(make_config(notes["kind"], world))
    model.load_state_dict(tensors)
    return WorldModel(model.eval(), world)

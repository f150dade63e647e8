"""Two small GPTs that know the tiny world, and the recipe that made them.

`ordinary` is GPT-2's design. `attention-first` has a first block with attention only,
and its word vectors stay as they were drawn, so that they can hold no fact. Both have 2
layers, 64 channels and 4 heads, and are shipped with the package, their weights rounded
to 16 bits so that Python and a page compute with the same numbers.
"""

import random
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import torch
import torch.nn.functional as F
from jaxtyping import Int
from safetensors import safe_open
from safetensors.torch import save_file
from torch import Tensor, nn
from tqdm import tqdm

from mygpt.checks import check_choice
from mygpt.files import write_atomically
from mygpt.gpt import GPT, GPTConfig
from mygpt.modern import Muon, is_hidden_matrix
from mygpt.probes import Prompts, changed, make_prompts
from mygpt.world import (
    ANSWERS,
    FACT,
    OTHER,
    PEOPLE,
    ROW_LENGTH,
    THINGS,
    Passage,
    World,
)

KINDS = {"attention-first": (0,), "ordinary": ()}
FIXED_WORDS, SPREAD = ("attention-first",), 0.15  # no training; standard deviation
FOLDER = Path(__file__).parent / "models"
STEPS, BATCH, ROWS = 1500, 32, 30_000
WARMUP, FLAT = 100, 0.5
OTHER_WEIGHT = 0.1  # of a word that is no answer, in the loss
DECAY = 0.1


@dataclass(frozen=True)
class WorldModel:
    """A GPT, the world it was trained on, and the ids of the world's words."""

    model: GPT
    world: World

    @property
    def words(self) -> tuple[str, ...]:
        return self.world.words

    def encode(self, words: list[str] | tuple[str, ...] | str) -> list[int]:
        """Ids of words, or of a text whose words are parted by spaces."""
        words = words.split() if isinstance(words, str) else words
        unknown = [word for word in words if word not in self._ids]
        if unknown:
            raise ValueError(f"{unknown[0]!r} is not a word of the world")
        return [self._ids[word] for word in words]

    @cached_property
    def _ids(self) -> dict[str, int]:
        return {word: i for i, word in enumerate(self.words)}

    def prompts(self, passages: list[Passage]) -> Prompts:
        """What comes before each passage's answer, and the answer."""
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
        """Stories of 2 to 5 pairs, told once, and the start of one pair again."""
        rng = random.Random(f"stories {seed}")
        return self.prompts([World.story(rng, 2 + i % 4, 1) for i in range(count)])

    def rows(self, count: int, seed: int = 0) -> Int[Tensor, "N 64"]:
        """Rows of the training text, without the last word of each."""
        rows = [self.encode(words[:-1]) for words, _ in self.world.rows(count, seed)]
        return torch.tensor(rows)


def make_config(kind: str, world: World) -> GPTConfig:
    check_choice("kind", kind, KINDS)
    return GPTConfig(
        len(world.words), ROW_LENGTH - 1, 64, 4, 2, attention_only=KINDS[kind]
    )


def train_world_model(
    kind: str,
    seed: int = 0,
    steps: int = STEPS,
    num_rows: int = ROWS,
    progress: bool = True,
    nudge: bool = True,
) -> WorldModel:
    """Train a model on rows of the world; a minute or two on one core.

    Muon and AdamW, with a loss in which answers count ten times as much as other words.
    The `nudge`: in the rows that hold facts alone, one in ten, the second block's
    attention is left out. Without it facts come to need that attention.
    """
    world = World(seed)
    config = make_config(kind, world)
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        model = GPT(config)
        if kind in FIXED_WORDS:
            words = model.token.embedding.weight.requires_grad_(False)
            nn.init.normal_(words, std=SPREAD)
        made = WorldModel(model, world)
        rows = list(world.rows(num_rows, seed))
        _train(made, rows, steps, progress, nudge)
    model.eval().requires_grad_(True)
    for parameter in model.parameters():
        parameter.data = parameter.data.half().float()
    return made


def _train(
    made: WorldModel, rows: list[tuple], steps: int, progress: bool, nudge: bool
) -> None:
    model = made.model
    ids = torch.tensor([made.encode(words) for words, _ in rows])  # (N, 65)
    kinds = torch.tensor([kinds for _, kinds in rows])
    optimizers = make_optimizers(model)
    bar = tqdm(range(steps), disable=not progress, unit="step")
    for step in bar:
        for optimizer in optimizers:
            for group in optimizer.param_groups:
                group["lr"] = group["peak"] * scale(step, steps)
        batch = torch.randint(len(ids), (BATCH,))
        loss = weighted_loss(model, ids[batch], kinds[batch], nudge)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        for optimizer in optimizers:
            optimizer.step()
            optimizer.zero_grad()
        if step % 50 == 0:
            bar.set_postfix(loss=f"{loss.item():.3f}", refresh=False)


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


def make_optimizers(model: GPT) -> list[torch.optim.Optimizer]:
    named = [(name, p) for name, p in model.named_parameters() if p.requires_grad]
    matrices = [p for name, p in named if is_hidden_matrix(name, p)]
    rest = [p for name, p in named if not is_hidden_matrix(name, p)]
    groups = [
        {"params": [p for p in rest if p.ndim > 1], "weight_decay": DECAY},
        {"params": [p for p in rest if p.ndim < 2], "weight_decay": 0.0},
    ]
    adamw = torch.optim.AdamW(groups, lr=3e-3, betas=(0.9, 0.98), fused=True)
    muon = Muon(matrices, lr=0.02, momentum=0.85, weight_decay=DECAY)
    for group in adamw.param_groups + muon.param_groups:
        group["peak"] = group["lr"]
    return [adamw, muon]


def scale(step: int, steps: int) -> float:
    """The share of the peak learning rate: up, flat, then a straight line down."""
    done = step / steps
    fall = 1.0 if done < FLAT else max(0.02, (1 - done) / (1 - FLAT))
    return min(1.0, (step + 1) / WARMUP) * fall


def save_world_model(made: WorldModel, kind: str, seed: int, path: str | Path) -> None:
    """Write the weights as 16-bit numbers, with what made them."""
    tensors = {
        name: tensor.half().contiguous()
        for name, tensor in made.model.state_dict().items()
    }
    notes = {"kind": kind, "seed": str(seed), "steps": str(STEPS)}
    write_atomically(path, lambda file: save_file(tensors, file, notes))


def load_world_model(kind: str = "attention-first") -> WorldModel:
    """One of the two models that the package brings."""
    check_choice("kind", kind, KINDS)
    with safe_open(FOLDER / f"world-{kind}.safetensors", "pt") as file:
        notes = file.metadata()
        tensors = {name: file.get_tensor(name).float() for name in file.keys()}  # noqa: SIM118
    world = World(int(notes["seed"]))
    with torch.random.fork_rng():
        model = GPT(make_config(notes["kind"], world))
    model.load_state_dict(tensors)
    return WorldModel(model.eval(), world)

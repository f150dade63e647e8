"""A model of made-up words, small and untrained, for the tests of LiveModel."""

import numpy as np

from mygpt.explorers.live_model.widget import LiveModel

SYLLABLES = ("ba", "do", "fu", "ki", "lem")
WORDS = [".", *(a + b for a in SYLLABLES for b in (*SYLLABLES, "n"))]
LENGTH, WIDTH, NEURONS, HEADS = 12, 20, 23, 5
PROMPT = "baba dofu kin"
FACTS = [
    ("baba dofu kin", "lemn"),
    ("lemlem fudo", "baki"),
    ("kiki. dolem ban", "fufu"),
    ("fun", "don"),
]


def arrays(alone=(0,), layers=2, seed=0, width=WIDTH, neurons=NEURONS, bias=True):
    """A state dict with large random weights; the blocks in `alone` have no MLP."""
    rng = np.random.default_rng(seed)

    def linear(name, outs, ins):
        made = {f"{name}.weight": rng.standard_normal((outs, ins)) / ins**0.5}
        if bias:
            made[f"{name}.bias"] = 0.2 * rng.standard_normal(outs)
        return made

    def norm(name):
        return {
            f"{name}.weight": 1 + 0.2 * rng.standard_normal(width),
            f"{name}.bias": 0.2 * rng.standard_normal(width),
        }

    state = {
        "token.embedding.weight": 0.7 * rng.standard_normal((len(WORDS), width)),
        "position.weight": 0.3 * rng.standard_normal((LENGTH, width)),
    }
    for i in range(layers):
        state |= norm(f"blocks.{i}.ln1")
        for one in "QKVO":
            state |= linear(f"blocks.{i}.mha.W_{one}", width, width)
        if i not in alone:
            state |= norm(f"blocks.{i}.ln2")
            state |= linear(f"blocks.{i}.mlp.fc1", neurons, width)
            state |= linear(f"blocks.{i}.mlp.fc2", width, neurons)
    return state | norm("ln_f")


def moment(neurons=NEURONS):
    x = np.random.default_rng(2).standard_normal((4 * neurons, neurons))
    return x.T @ x / len(x) + 0.05 * np.eye(neurons)


def triggers(layer=1, neurons=NEURONS):
    return {
        layer: [
            [(f"{WORDS[(n + i) % 30]} text {i}", 3.0 - i - n / 8) for i in range(3)]
            for n in range(neurons)
        ]
    }


def live(state=None, words=WORDS, **settings):
    defaults = {
        "num_heads": HEADS,
        "prompt": PROMPT,
        "facts": FACTS,
        "triggers": triggers(),
        "second_moment": {1: moment()},
        "centre": np.random.default_rng(3).standard_normal(WIDTH) / 4,
        "templates": {"has": ["kin {}", "{} don"], "is": ["{}"]},
        "new_facts": [["fun", "has", "ban"], ["dofu", "is", "kiki"]],
    }
    state = arrays() if state is None else state
    return LiveModel(state, words, **(defaults | settings))

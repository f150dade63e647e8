"""Write with five small models in many ways, and measure what one token costs.

    python -m runs.generation [--seeds 0 1 2 3 4] [--out FILE]

For each seed one training on the stories' words, 192 texts, and the times of three
models on one core. Ten minutes of one core.
"""

import re
import time
from collections.abc import Callable
from itertools import pairwise

import torch
from torch import Tensor

from mygpt import GPT as PackageGPT
from mygpt import GPTConfig, load_corpus, set_seed
from mygpt.bare import GPT, begin, cross_entropy, generate, next_logits, train
from mygpt.sampling import penalise_repetition
from mygpt.support.stored_runs import each_seed, make_runs
from runs import between, numbered, of_every_run

SEEDS = (0, 1, 2, 3, 4)
RTOL = None  # times are this machine's, and a rounding turns one text into another
T, STEPS = 32, 500
TEXTS, LENGTH = 16, 120  # continuations for each way of choosing, and their words
WAYS = {  # temperature, k, p, penalty
    "greedy": (1.0, 1, None, 1.0),
    "temperature 0.5": (0.5, None, None, 1.0),
    "temperature 0.7": (0.7, None, None, 1.0),
    "temperature 1": (1.0, None, None, 1.0),
    "temperature 1.5": (1.5, None, None, 1.0),
    "top-k 5": (1.0, 5, None, 1.0),
    "top-k 40": (1.0, 40, None, 1.0),
    "top-p 0.5": (1.0, None, 0.5, 1.0),
    "top-p 0.9": (1.0, None, 0.9, 1.0),
    "greedy, penalty 1.1": (1.0, 1, None, 1.1),
    "greedy, penalty 1.2": (1.0, 1, None, 1.2),
    "greedy, penalty 1.5": (1.0, 1, None, 1.5),
}
PLACES = (64, 256, 1024)
BATCHES = (1, 8, 32)
FORMS = ("plain", "packed", "int8")


def words_of(text: str) -> list[str]:
    return re.findall(r"[a-z']+|[.,?!]", text.lower())


def trained(ids: Tensor, V: int, seed: int) -> GPT:
    set_seed(seed)
    model = GPT(V, 64, 4, 2, T)
    train(model, ids, begin(model), STEPS, STEPS, B=16, T=T, peak=6e-3, warmup=20)
    return model


def write(model: GPT, ids: Tensor, way: tuple, seed: int) -> Tensor:
    """The new tokens (B, LENGTH), chosen in one of the WAYS."""
    temperature, k, p, penalty = way
    set_seed(seed)
    if penalty == 1:
        return generate(model, ids, LENGTH, temperature, k, p)[:, ids.shape[1] :]
    cache, new, all_ids = [[] for _ in model.blocks], ids, ids
    for _ in range(LENGTH):
        with torch.no_grad():
            logits = next_logits(model, new, cache)
        new = penalise_repetition(logits, all_ids, penalty).argmax(-1, keepdim=True)
        all_ids = torch.cat([all_ids, new], 1)
        if cache[0][0].shape[2] == T:
            cache, new = [[] for _ in model.blocks], all_ids[:, -(T // 2) - 1 :]
    return all_ids[:, ids.shape[1] :]


def described(texts: list[list[int]], pairs: set, names: list[str]) -> dict:
    """What can be counted about some texts of equal length."""
    repeated, loops, periods = [], [], []
    for text in texts:
        fours = [tuple(text[i : i + 4]) for i in range(len(text) - 3)]
        repeated.append(1 - len(set(fours)) / len(fours))
        loops.append(loop(text))
        periods += [loops[-1]] if loops[-1] else []
    follow = [pair for text in texts for pair in pairwise(text)]
    every = [token for text in texts for token in text]
    stops = sum(names[token] in ".?!" for token in every)
    return {
        "repeated": sum(repeated) / len(repeated),
        "loops": sum(period > 0 for period in loops) / len(loops),
        "period": sorted(periods)[len(periods) // 2] if periods else 0,
        "words": len(set(every)),
        "known": sum(pair in pairs for pair in follow) / len(follow),
        "stops": 100 * stops / len(every),
    }


def loop(text: list[int], last: int = 60) -> int:
    """After how many words four of five words of a text's end come again, or 0."""
    end = text[-last:]
    for period in range(1, last // 2 + 1):
        again = [a == b for a, b in zip(end[period:], end[:-period], strict=True)]
        if sum(again) >= 0.8 * len(again):
            return period
    return 0


def window_losses(model: GPT, ids: Tensor) -> dict:
    """The loss of the next token with half of the context, all of it, and between."""
    rows = ids.unfold(0, T + 1, 10)  # the last of each is to be predicted
    losses = []
    with torch.no_grad():
        for seen in range(T // 2 + 1, T + 1):
            logits = model(rows[:, T - seen : T])[:, -1]
            losses.append(cross_entropy(logits, rows[:, T]).item())
    return {"half": losses[0], "full": losses[-1], "mean": sum(losses) / len(losses)}


def rounded_to(W: Tensor, bits: int, per_row: bool) -> Tensor:
    """The matrix with 2^bits - 1 values for each row, or for all of it."""
    largest = W.abs().amax(1, keepdim=True) if per_row else W.abs().max()
    scale = largest / (2 ** (bits - 1) - 1)
    return (W / scale).round() * scale


def rounding(model: GPT, ids: Tensor) -> dict:
    """How far rounded weights move the logits, and the loss on other text."""
    rows = ids[: len(ids) // T * T].view(-1, T)
    found = {}
    matrices = [p for p in model.parameters() if p.ndim == 2]
    before = [p.detach().clone() for p in matrices]
    with torch.no_grad():
        exact = model(rows)
        of_targets = cross_entropy(exact[:, :-1].flatten(0, 1), rows[:, 1:].flatten())
        for bits in (8, 4):
            for name, per_row in (("row", True), ("matrix", False)):
                for p, W in zip(matrices, before, strict=True):
                    p.copy_(rounded_to(W, bits, per_row))
                logits = model(rows)
                loss = cross_entropy(
                    logits[:, :-1].flatten(0, 1), rows[:, 1:].flatten()
                )
                found[f"{bits} bits, a scale for each {name}"] = {
                    "moved": ((logits - exact).norm() / exact.norm()).item(),
                    "more": (loss - of_targets).item(),
                }
        for p, W in zip(matrices, before, strict=True):
            p.copy_(W)
    return found


def best(function: Callable, times: int = 8) -> float:
    """The shortest time that a call keeps a core busy, in milliseconds.

    Other work on the machine only lengthens a time, so the shortest is the steadiest.
    """
    function()  # the first call sets things up
    found = []
    for _ in range(times):
        start = time.process_time()
        function()
        found.append(time.process_time() - start)
    return 1000 * min(found)


@torch.no_grad()
def cache_times() -> dict:
    """Milliseconds for the next token after so many, with the cache and without."""
    model, found = GPT(1000, 256, 4, 6, 1024), {}
    for places in PLACES:
        ids = torch.randint(1000, (1, places))
        cache = [[] for _ in model.blocks]
        next_logits(model, ids[:, :-1], cache)
        filled = [list(past) for past in cache]

        def cached(ids=ids, filled=filled):
            next_logits(model, ids[:, -1:], [list(past) for past in filled])

        found[f"{places}"] = {
            "without": best(lambda ids=ids: model(ids)),
            "with": best(cached),
        }
    return found


@torch.inference_mode()
def query_times() -> dict:
    """Milliseconds for one step of GPT-2 small's shape, and the memory's speed."""
    numbers = torch.ones(125_000_000)
    found = {"gigabytes a second": 500 / best(numbers.sum)}
    del numbers
    plain = PackageGPT(GPTConfig.gpt2("small")).eval()
    found["megabytes"] = sum(p.numel() for p in plain.parameters()) * 4 / 1e6
    for form in FORMS:
        model = plain if form == "plain" else plain.for_inference(form)
        for batch in BATCHES:
            cache = model.new_cache(batch)
            model(torch.zeros(batch, 32, dtype=torch.long), cache=cache)

            def step(model=model, batch=batch, cache=cache):
                for past in cache:
                    past.length = 32
                model(torch.zeros(batch, 1, dtype=torch.long), cache=cache)

            found[f"{form}, {batch}"] = best(step)
    return found


def run(seed: int) -> dict:
    torch.set_num_threads(1)
    names, ids = numbered(words_of(load_corpus("stories")))
    split = 28_000
    seen = ids[:split].tolist()
    known = set(pairwise(seen))
    model = trained(ids[:split], len(names), seed)
    held_out = ids[split:]
    step = (len(held_out) - LENGTH - 8) // (TEXTS - 1)
    starts = torch.stack([held_out[i * step :][:8] for i in range(TEXTS)])
    people = [held_out[i * step + 8 :][:LENGTH].tolist() for i in range(TEXTS)]
    ways = {
        name: described(write(model, starts, way, seed).tolist(), known, names)
        for name, way in WAYS.items()
    }
    return {
        "seed": seed,
        "ways": ways | {"the stories": described(people, known, names)},
        "window": window_losses(model, held_out),
        "rounding": rounding(model, held_out),
        "cache": cache_times(),
        "query": query_times(),
    }


@of_every_run
def claims(run: dict) -> dict:
    """What the chapter says of these runs, each of every seed; of times, loosely."""
    ways, query, cache = run["ways"], run["query"], run["cache"]
    drawn = [way for name, way in ways.items() if name in WAYS and "greedy" not in name]
    stories, greedy, one = (
        ways[name] for name in ("the stories", "greedy", "temperature 1")
    )
    top_p, top_k = ways["top-p 0.9"], ways["top-k 40"]
    half_p, half_t = ways["top-p 0.5"], ways["temperature 0.5"]
    penalties = [way for name, way in ways.items() if "greedy" in name]
    plain, packed, int8 = (
        [query[f"{form}, {texts}"] for texts in BATCHES] for form in FORMS
    )
    reading = query["megabytes"] / query["gigabytes a second"]
    eight, eight_whole, four, four_whole = run["rounding"].values()
    half, full = run["window"]["half"], run["window"]["full"]
    return {
        "greedy repeats itself": greedy["repeated"] > 0.5,
        "what is drawn hardly does": [way["repeated"] < 0.06 for way in drawn],
        "temperature 1 is as varied as the stories": (
            one["words"] < 1.25 * stories["words"],
            stories["words"] < 1.25 * one["words"],
        ),
        "but fits less": one["known"] < stories["known"],
        "temperature 1.5 fits less than half as well": ways["temperature 1.5"]["known"]
        < 0.5 * stories["known"],
        "top-p 0.9 fits better than temperature 1": one["known"] < top_p["known"],
        "but worse than the stories": top_p["known"] < stories["known"],
        "with fewer words": top_p["words"] < one["words"],
        "top-k 40 with fewer still": top_k["words"] < top_p["words"],
        "what fits as well as the stories is less varied": [
            (way["known"] < stories["known"]) | (way["words"] < 0.9 * stories["words"])
            for way in drawn
        ],
        "a penalty of 1.5 repeats little": penalties[-1]["repeated"] < 0.1,
        "at 1.5 still less than half as varied": penalties[-1]["words"]
        < 0.5 * stories["words"],
        "temperature 0.7 buys more than top-k 40": [
            top_k[key] < ways["temperature 0.7"][key] for key in ("words", "known")
        ],
        "top-p 0.5 has fewer words than temperature 0.5": half_p["words"]
        < half_t["words"],
        "with about as many known pairs": abs(half_p["known"] - half_t["known"]) < 0.04,
        "the cache is faster": [at["with"] < at["without"] for at in cache.values()],
        "ten times at 1,024": cache["1024"]["with"] < 0.1 * cache["1024"]["without"],
        "one query takes what reading takes": between(
            0.4 * reading, packed[0], 2.5 * reading
        ),
        "eight cost less than three times one": packed[1] < 3 * packed[0],
        "32 less than six times": packed[2] < 6 * packed[0],
        "each form gives more tokens for 32 texts": [
            form[2] < 32 * form[0] for form in (plain, packed, int8)
        ],
        "packed weights save with eight": packed[1] < 1.2 * plain[1],
        "int8 is faster for one": int8[0] < plain[0],
        "and for eight": int8[1] < plain[1],
        "8 bits move the logits little": eight["moved"] < 0.01,
        "and the loss less": abs(eight["more"]) < 0.003,
        "a scale for each row is better": (
            eight["moved"] < eight_whole["moved"],
            four["moved"] < four_whole["moved"],
        ),
        "4 bits move them ten times as far": eight["moved"] < 0.1 * four["moved"],
        "half a context is a little better": (half < full, full < 1.02 * half),
    }


if __name__ == "__main__":
    make_runs(__file__, __doc__, SEEDS, each_seed(run, "query", "cache"))

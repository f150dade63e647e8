"""The last task: the reader's own parts speak with a trained model's weights."""

from functools import lru_cache

import torch

from mygpt.check.cell_models import TrainedModel, gpt2_model, world_model
from mygpt.check.reference import WHOLE, PieceChange, Reference, build
from mygpt.check.task import Arguments, Draw, Probe, Property, Task
from mygpt.check.tasks.gpt import book_gpt
from mygpt.check.tasks.sampling import STEP, step_with

# Those of the tiny world are continued with margins of 0.1 or more between the
# likeliest token and the next, so no processor's rounding changes a text; and a broken
# cache changes it.
PROMPTS = {
    "world": (
        ("the capital of france is", 10),
        ("mia lamp . leo drum . zoe rope . leo drum . mia", 8),
        ("sue fork . ted glove . uma hat . uma hat . ted glove . sue", 10),
        ("kim bowl . pam ladder . nat pen . nat pen . kim", 8),
        ("kim nail . ben horn . fay rope . fay rope . ben", 8),
        ("the currency of egypt is", 2),
    ),
    "gpt2": (("The capital of France is", 8), ("Once upon a time", 8)),
}


@lru_cache(maxsize=2)
def model_in(folder: str | None) -> TrainedModel:
    """Load the model of a folder; the tiny world's for None."""
    return world_model() if folder is None else gpt2_model(folder)


def make_prompt(
    draw: Draw, prompt: str, n: int, folder: str | None = None
) -> Arguments:
    """Make the arguments of a prompt."""
    return {"prompt": prompt, "model": model_in(folder), "max_new_tokens": n}


def answer_with(
    prompt: str,
    model: TrainedModel,
    max_new_tokens: int,
    *,
    read=lambda ids: ids,
    largest=True,
    more=0,
    start=lambda length: length,
) -> str:
    """Answer with the package's forward pass, in pieces."""
    prompt_ids = model.encode(prompt)
    ids = read(list(prompt_ids))
    first = start(len(ids))
    for _ in range(max_new_tokens + more):
        row = torch.tensor([ids])
        with torch.no_grad():
            logits, _ = book_gpt("gelu_tanh")(row, row, model.weights, model.num_heads)
        last = logits[0, -1]
        ids.append(int(last.argmax() if largest else last.argmin()))
    return model.decode(ids[first:])


right_answer = lru_cache(maxsize=256)(answer_with)  # asked for again and again


def answer_by_steps(
    prompt: str, model: TrainedModel, max_new_tokens: int, *, step=step_with
) -> str:
    """Answer with a step that has a cache."""
    ids, cache = torch.tensor([model.encode(prompt)]), None
    new = []
    for _ in range(max_new_tokens):
        with torch.no_grad():
            logits, cache = step(ids, model.weights, model.num_heads, cache)
        ids = logits.argmax(-1, keepdim=True)
        new.append(int(ids))
    return model.decode(new)


# What changes several texts, and so that no other mistake of a GPT gives the same.
TELLING = (
    "positions-from-zero", "positions-one-behind", "cache-unread",
    "new-keys-before-old", "new-values-before-old", "one-position-of-the-cache",
    "only-the-piece-before", "only-the-piece-before-counted", "cache-not-extended",
    "cache-not-extended-nor-counted", "values-of-keys", "mask-from-the-corner",
    "one-cache-for-all", "last-cache-for-all",
)  # fmt: skip


def tell(arguments: list[Arguments], answers: list[str]) -> str:
    """Tell what the reader's model wrote after each prompt, the first word first."""
    prompts, texts = [each["prompt"] for each in arguments], [*map(str.strip, answers)]
    word = (texts[0].split() or ["nothing"])[0]
    written = map("{} … {}".format, prompts, texts)
    first = f"Asked what follows “{prompts[0]}”, your own parts say: {word}"
    return "\n".join([first, "All that they wrote:", *written])


def texts_of(program, arguments):
    """Each prompt, its right continuation and the program's."""
    model = arguments["model"]
    return [
        [prompt, *(each(prompt, model, n) for each in (right_answer, program))]
        for prompt, n in PROMPTS["world"]
    ]


def same_words(texts, arguments):
    """Tell where the words begin to differ: at once, or from the second on."""
    wrong = [each for each in texts if each[1] != each[2]]
    for prompt, right, got in wrong:
        if right.strip() and got.find(right.strip()) > 0:
            return (
                f"After {prompt!r} the right words are in your text, but not at its "
                "beginning. Decode the new ids alone; a text cut by letters may keep a "
                "part of the prompt."
            )
    for prompt, right, got in wrong:
        if right.split() != got.split() and letters(right) == letters(got):
            return (
                f"After {prompt!r} the letters are right and the spaces are not: "
                "decode all new ids in one call, which sets the spaces."
            )
    for prompt, right, got in wrong:
        if right.split()[:1] != got.split()[:1]:
            return (
                f"After {prompt!r} the very first word is wrong: look at which ids the "
                "model reads, at the forward pass over the prompt (check `gpt` and "
                "`cached_step`), and at how the likeliest token is chosen."
            )
    if wrong:
        return (
            "The first word is right after every prompt, a later one is not. Look at "
            "what differs from the second step on: which ids are read, and with a "
            "cache its keys and values, the positions and the mask (check "
            "`cached_step`)."
        )
    return None


def letters(text: str) -> str:
    """Return a text without its spaces."""
    return "".join(text.split())


ANSWER = Reference(
    answer_with,
    """
    [start] the new tokens
    prompt-returned: the prompt is returned too
    [more] the number of tokens
    one-too-few = -1: one token too few is added
    one-too-many = 1: one token too many is added
    [read] the prompt
    last-token-alone: only the prompt's last token is read
    prompt-backwards: the prompt is read backwards
    [largest] the choice
    unlikeliest = False: the least likely token is taken
    [whole]
    """,
    prompt_returned=lambda length: 0,
    last_token_alone=lambda ids: ids[-1:],
    prompt_backwards=lambda ids: ids[::-1],
    whole=[
        PieceChange(
            change.name,
            change.text,
            {WHOLE: build(answer_by_steps, {"step": change.pieces})},
            "the cache",
        )
        for change in STEP.own()
        if change.name in TELLING
    ],
)


def answer_task(folder: str | None = None) -> Task:
    """Make the task for the tiny world's model, or for a GPT-2 folder."""
    prompts = PROMPTS["world" if folder is None else "gpt2"]
    return ANSWER.task(
        "answer",
        reference=right_answer,
        make=make_prompt,
        probes=[Probe(0, {"prompt": p, "n": n, "folder": folder}) for p, n in prompts],
        fixed=["prompt", "model", "max_new_tokens"],
        properties=[Property("words", texts_of, same_words)] if folder is None else [],
        praise=tell,
        limit=30.0 if folder is None else 300.0,
    )


answer = answer_task()

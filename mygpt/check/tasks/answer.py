"""The last task: the reader's own parts speak with a trained model's weights."""

from functools import lru_cache, partial

import torch

from mygpt.check.models import TrainedModel, gpt2_model, world_model
from mygpt.check.task import Arguments, Draw, Mistake, Probe, Program, Task
from mygpt.check.tasks.gpt import book_gpt

PROMPTS = {
    "world": (
        ("the capital of france is", 1),
        ("people in japan speak", 1),
        ("mia lamp . leo drum . zoe rope . leo drum . mia", 1),
        ("the currency of egypt is", 2),
    ),
    "gpt2": (("The capital of France is", 8), ("Once upon a time", 8)),
}


@lru_cache(maxsize=2)
def model_in(folder: str | None) -> TrainedModel:
    return world_model() if folder is None else gpt2_model(folder)


def make_prompt(
    draw: Draw, prompt: str, n: int, folder: str | None = None
) -> Arguments:
    return {"prompt": prompt, "model": model_in(folder), "max_new_tokens": n}


def answer_with(
    prompt: str,
    model: TrainedModel,
    max_new_tokens: int,
    *,
    read=lambda ids: ids,
    largest: bool = True,
    more: int = 0,
    whole: bool = False,
) -> str:
    """Answer with the package's forward pass and one piece replaced."""
    prompt_ids = model.encode(prompt)
    ids = read(list(prompt_ids))
    start = 0 if whole else len(ids)
    for _ in range(max_new_tokens + more):
        row = torch.tensor([ids])
        with torch.no_grad():
            logits, _ = book_gpt("gelu_tanh")(row, row, model.weights, model.num_heads)
        last = logits[0, -1]
        ids.append(int(last.argmax() if largest else last.argmin()))
    return model.decode(ids[start:])


def tell(arguments: list[Arguments], answers: list[str]) -> str:
    """Tell what the reader's model answered."""
    return "; ".join(
        f"{each['prompt']} → {text.strip()}"
        for each, text in zip(arguments, answers, strict=True)
    )


def wrong(**pieces) -> Program:
    return partial(answer_with, **pieces)


def answer_task(folder: str | None = None) -> Task:
    """Make the task for the tiny world's model, or for a GPT-2 folder."""
    prompts = PROMPTS["world" if folder is None else "gpt2"]
    return Task(
        name="answer",
        chapter="14_generation",
        label="check-answer",
        asks="Put your parts together: encode the prompt, continue it by "
        "max_new_tokens, always with the likeliest token, and return the text of the "
        "new tokens. model.weights and model.num_heads are as for `gpt`; "
        "model.encode(text) gives a list of ids, model.decode(ids) a text.",
        arguments={
            "prompt": "str",
            "model": "trained model with weights, num_heads, encode, decode",
            "max_new_tokens": "int",
        },
        returns="a str",
        example="""\
>>> from mygpt.check import world_model
>>> answer("the capital of france is", world_model(), 1)
'paris'""",
        reference=answer_with,
        make=make_prompt,
        probes=[Probe(0, {"prompt": p, "n": n, "folder": folder}) for p, n in prompts],
        fixed=["prompt", "model", "max_new_tokens"],
        praise=tell,
        limit=30.0 if folder is None else 300.0,
        mistakes=[
            Mistake(
                "prompt-returned",
                "the prompt is returned too",
                wrong(whole=True),
            ),
            Mistake("one-too-few", "one token too few is added", wrong(more=-1)),
            Mistake("one-too-many", "one token too many is added", wrong(more=1)),
            Mistake(
                "last-token-alone",
                "only the last token of the prompt is read",
                wrong(read=lambda ids: ids[-1:]),
            ),
            Mistake(
                "prompt-backwards",
                "the prompt is read backwards",
                wrong(read=lambda ids: ids[::-1]),
            ),
            Mistake(
                "unlikeliest", "the least likely token is taken", wrong(largest=False)
            ),
        ],
    )


answer = answer_task()

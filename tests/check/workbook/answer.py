import torch
from cached_step import cached_step
from generate import generate


def answer(prompt, model, max_new_tokens):
    ids = torch.tensor([model.encode(prompt)])

    def step(ids, cache):
        return cached_step(ids, model.weights, model.num_heads, cache)

    longer = generate(step, ids, max_new_tokens)
    return model.decode(longer[0, ids.shape[1] :].tolist())

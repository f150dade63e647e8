"""Small GPTs whose weights are large enough to matter."""

import torch.nn.functional as F
from torch import nn

from mygpt.gpt import GPT, GPTConfig

TEXTS = [[1, 2, 3], [4], [5, 6, 7, 8, 9], [2, 2]]  # to read, of several lengths


def random_gpt(vocab_size=13, **settings):
    """A model whose norms and biases are not at their initial values."""
    model = GPT(GPTConfig(vocab_size, 11, 10, 2, 2, **settings)).eval()
    for parameter in model.parameters():
        nn.init.normal_(parameter, std=0.5)
    return model


def any_token_can_win(vocab_size=13):
    """A model with embeddings of norm 1 and scores that are far apart."""
    model = random_gpt(vocab_size)
    embedding = model.token.embedding.weight
    embedding.data = F.normalize(embedding.data - embedding.data.mean(-1, keepdim=True))
    nn.init.constant_(model.ln_f.weight, 8.0)
    nn.init.zeros_(model.ln_f.bias)
    return model

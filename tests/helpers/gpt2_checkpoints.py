"""Checkpoints of Hugging Face's GPT-2, small and made in the test."""

import torch
from transformers import GPT2Config, GPT2LMHeadModel

SHAPE = {"vocab_size": 53, "n_positions": 31, "n_embd": 21, "n_layer": 2, "n_head": 3}


def their_model(seed=0, **changes):
    """A random Hugging Face GPT-2 whose weights are large enough to matter."""
    torch.manual_seed(seed)
    ends = {"bos_token_id": None, "eos_token_id": None}
    config = GPT2Config(**SHAPE | ends | changes, initializer_range=0.3)
    model = GPT2LMHeadModel(config).eval()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if name.endswith("bias") or ".ln" in name:
                parameter += 0.3 * torch.randn_like(parameter)
    return model


def written(model, folder, **settings):
    model.save_pretrained(folder, **settings)
    return folder

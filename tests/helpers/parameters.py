"""What a module has to learn."""

import torch


def count(module):
    """How many parameters it has."""
    return sum(p.numel() for p in module.parameters())


def lively(module, scale):
    """Add random numbers of a scale to every parameter, and return the module."""
    with torch.no_grad():
        for p in module.parameters():
            p += scale * torch.randn_like(p)
    return module


def same_weights(a, b):
    """Whether two modules have the same parameters, to the bit."""
    pairs = zip(a.parameters(), b.parameters(), strict=True)
    return all(torch.equal(p, q) for p, q in pairs)


def changed_weights(a, b):
    """The names of the weights in which two modules of one shape differ."""
    pairs = zip(a.state_dict().items(), b.state_dict().values(), strict=True)
    return {name for (name, p), q in pairs if not torch.equal(p, q)}

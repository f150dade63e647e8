"""What a module has to learn."""


def count(module):
    """How many parameters it has."""
    return sum(p.numel() for p in module.parameters())

"""The command `mygpt world-model`: train a model of the memory chapter."""

import argparse

from mygpt.inside.hooks import accuracy
from mygpt.inside.world_models import save_world_model, train_world_model
from mygpt.support.files import check_folder


def run(options: argparse.Namespace) -> None:
    if not options.out.parent.is_dir():
        raise FileNotFoundError(f"{options.out.parent} is not a folder")
    if options.out.is_dir():
        raise ValueError(
            f"--out: expected a file to write, got the folder {options.out}"
        )
    check_folder(options.out.parent)
    made = train_world_model(options.kind, options.seed, progress=not options.quiet)
    save_world_model(made, options.kind, options.seed, options.out)
    facts = accuracy(made.model, made.prompts(made.world.facts()))
    stories = accuracy(made.model, made.stories(500))
    print(f"facts {facts:.1%}, stories {stories:.1%}; saved in {options.out}")

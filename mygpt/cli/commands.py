"""The commands: train, generate, convert, world-model, doctor, workbook and check."""

import argparse
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

from mygpt.support.output import to_any_output

# What a command computes with is imported when it runs: help costs no PyTorch.
RECIPES = ("gpt2", "modern")
LAYERS = ("packed", "int8")
KINDS = (
    *("attention-first", "ordinary"),
    *("attention-first-trained-words", "ordinary-fixed-words"),
)
TIMEOUT = 120.0
TRAIN = """\
train a model on a text, and save it with its tokenizer

CORPUS is a UTF-8 text file, or the name of a known text: "stories" (134,015 characters
that come with the package), "world" (made by the package) or "tinyshakespeare"
(downloaded once). The last tenth is kept for validation. Without further options this
takes a few minutes on a laptop:

    mygpt train stories --out runs/stories
    mygpt generate runs/stories --prompt "Mara asked"

Ctrl-C saves the step and says which command goes on; after a crash, --resume continues
from the last checkpoint. It needs no other option, follows --save-every, --device,
--compile and --quiet, and the run ends with the same bits as one never stopped.

--processes shares every batch among processes of this machine, with the same losses.
Several machines that see the same --out are each given the same command:

    mygpt train stories --out runs/b --processes 2
    mygpt train stories --out runs/c --processes 8 --machines 4 --meet node0:29500

If one of the processes is lost, the run stops; the same command with --resume goes on,
with as many processes or with others. torchrun -m mygpt train … works too."""
GENERATE = """\
continue a text

DIR is a folder that `mygpt train` wrote, a Hugging Face GPT-2 folder with
tokenizer.json, or vocab.json and merges.txt, or the name of one on the hub.

In a prompt, <|endoftext|> is a text of 13 letters, not the token. An empty prompt, "",
begins from that token, where the tokenizer has it: a new text.

--inference packed reorders the weights and gives the same text, faster on some CPUs;
--inference int8 rounds them to a byte each: faster, and the text differs in the end."""
CONVERT = """\
turn a Hugging Face GPT-2 folder into a checkpoint of this package, or back

The direction follows from what SOURCE holds. The tokenizer, if there is one, is
converted too; what cannot be converted is named."""

WORLD_MODEL = """\
train one of the two small models of the memory chapter

KIND is attention-first, whose first block has attention only and whose word vectors
stay random, or ordinary. It takes about a minute on one core. The package ships both,
made this way with seed 0; the same seed on the same machine gives the same file."""

DOCTOR = """\
examine a device: does it compute what the book computes?

Each operation of the book, forward and backward, then small GPTs, their caches and a
short training are computed in float32 on the device and in float64 on the CPU. A
difference that rounding does not account for is named. Without --device, the GPU of
this machine is examined, or else its CPU.

The exit status is 0 if all agrees, 1 if an operation differs, 2 if there is no such
device."""
WORKBOOK = """\
write the workbook: one file to fill in for each function of the book

FOLDER must be empty or not exist yet. Its README says how to go on."""
CHECK = """\
check what you wrote: right, or which mistake it makes

    mygpt check softmax           the function softmax in softmax.py
    mygpt check softmax my.py     the function softmax in my.py
    mygpt check --all FOLDER      a whole workbook, chapter by chapter, and what is next
    mygpt check --chapter 8       the tasks of chapter 8, in this folder
    mygpt check --list            the tasks

Your code runs in a process of its own. The exit status is 0 if it is right, 1 if not,
2 if the check could not be made. For a class, a dict in the file says which of its
parameters holds which weight: mlp_parameters = {"W1": "fc1.weight.T", …}. What a
message tells you to read is in the book. Where one small edit, or two, make a wrong
program right, you are told the line; your file stays as it is. After a second failed
try of another source, --mend shows the edit."""


def build_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="mygpt",
        description="Without a command: print the running example of the book.",
    )
    commands = parser.add_subparsers(
        title="commands", metavar="COMMAND", dest="command"
    )
    add_train(commands)
    add_generate(commands)
    option = add(commands, "convert", CONVERT)
    option("source", metavar="SOURCE")
    option("target", metavar="TARGET", type=Path)
    option = add(commands, "world-model", WORLD_MODEL)
    option("kind", metavar="KIND", choices=KINDS)
    option("--seed", "of the weights and the rows", 0)
    option("--out", metavar="FILE", type=Path, required=True)
    option("--quiet", "no progress bar", False)
    option = add(commands, "doctor", DOCTOR)
    option("--device", "cpu, cuda or mps", metavar="NAME")
    option = add(commands, "workbook", WORKBOOK)
    option("folder", metavar="FOLDER", type=Path)
    add_check(commands)
    return parser


def add(commands, name: str, text: str) -> Callable[..., None]:
    """Add a command; return the function that adds an argument or an option to it.

    That takes the help and the default, from which the type follows.
    """
    parser = commands.add_parser(
        name, help=text.splitlines()[0], description=text, formatter_class=Formatter
    )
    parser.set_defaults(given=frozenset())
    parser.register("action", None, Noted)

    def option(flag: str, help: str | None = None, default: Any = None, **more) -> None:
        if default is False:
            more["action"] = "store_true"
        elif default is not None:
            more.update(default=default, type=type(default))
        parser.add_argument(flag, help=help, **more)

    return option


class Noted(argparse.Action):
    """Store an option's value, and that it was given."""

    def __call__(self, parser, namespace, values, option_string=None):
        setattr(namespace, self.dest, values)
        namespace.given = namespace.given | {self.dest}


class Formatter(
    argparse.ArgumentDefaultsHelpFormatter, argparse.RawDescriptionHelpFormatter
):
    """Help that keeps paragraphs as written and shows defaults that say something."""

    def _get_help_string(self, action: argparse.Action) -> str | None:
        if action.default is None or action.default is False:
            return action.help
        return super()._get_help_string(action)


def add_train(commands) -> None:
    option = add(commands, "train", TRAIN)
    option("corpus", metavar="CORPUS")
    option("--out", "where checkpoints go", metavar="DIR", required=True)
    option("--resume", "continue from the last checkpoint", False)
    option("--recipe", "model and optimizer", "gpt2", choices=RECIPES)
    told = "what a token is; default: word for world, char otherwise"
    option("--tokenizer", told, choices=["char", "word", "bpe"])
    option("--vocab-size", "tokens at most, for bpe", 1000)
    option("--layers", "blocks", 4)
    option("--heads", "attention heads in a block", 4)
    option("--width", "channels of the residual stream", 128)
    option("--length", "positions the model can see", 64)
    option("--steps", "of the optimizer", 2000)
    option("--batch-size", "rows in a batch", 12)
    option("--seed", "of the weights and the batches", 0)
    option("--save-every", "between two checkpoints", 250, metavar="STEPS")
    option("--device", "cpu, cuda or mps; default: cpu, or the resumed run's")
    option("--bf16", "multiply matrices in bfloat16", False)
    option("--compile", "use torch.compile", False)
    option("--quiet", "no progress bar", False)
    told = "on each machine; default: this one"
    option("--processes", told, type=int, metavar="N")
    option("--machines", "that train together", 1, metavar="N")
    option("--meet", "where several machines meet", metavar="HOST:PORT")
    option("--shard", "split the model over the processes", False)
    told = "how long a process waits for the others"
    option("--timeout", told, TIMEOUT, metavar="SECONDS")


def add_generate(commands) -> None:
    option = add(commands, "generate", GENERATE)
    option("folder", metavar="DIR")
    option("--prompt", 'the text to continue, or ""', required=True)
    option("--tokens", "tokens to add, at most", 200)
    option("--greedy", "always take the likeliest token", False)
    option("--temperature", "near 0 is the likeliest token", 1.0)
    told = "draw from the K likeliest; default: all"
    option("--top-k", told, type=int, metavar="K")
    told = "draw from the likeliest that sum to P; default: all"
    option("--top-p", told, type=float, metavar="P")
    option("--repetition-penalty", "above 1: fewer tokens come again", 1.0)
    option("--seed", "of the draws; default: another at every start", type=int)
    told = "weights in another form, for a CPU; default: as they are"
    option("--inference", told, choices=LAYERS)


def add_check(commands) -> None:
    option = add(commands, "check", CHECK)
    option("task", metavar="TASK", nargs="?")
    option("file", metavar="FILE", nargs="?", type=Path)
    told = "check a workbook; default: this folder"
    option("--all", told, metavar="FOLDER", type=Path, nargs="?", const=Path())
    option("--chapter", "only its tasks; also with --all or --list", metavar="N")
    option("--list", "list the tasks", False)
    option("--watch", "check again at every save", False)
    option("--json", "print JSON, for a grader", False)
    told = "show the edit that makes it right, after a second failed try"
    option("--mend", told, False)
    option("--traceback", "show the traceback of an error", False)
    option("--limit", "default: the task's own", type=float, metavar="SECONDS")
    option("--gpt2", "for answer: a Hugging Face GPT-2 folder", metavar="DIR")


def parsed(arguments: list[str]) -> argparse.Namespace:
    """The options; argparse before Python 3.13 takes no FILE that follows an option."""
    parser = build_parser()
    options, left = parser.parse_known_args(arguments)
    lacks_file = options.command == "check" and options.task and not options.file
    if lacks_file and left and not left[0].startswith("-"):
        options.file = Path(left.pop(0))
    if left:
        parser.error(f"unrecognized arguments: {' '.join(left)}")
    return options


def main(arguments: list[str]) -> int:
    """Run a command and return the exit status."""
    return to_any_output(lambda: run_command(arguments))


def run_command(arguments: list[str]) -> int:
    options = parsed(arguments)
    options.arguments = arguments
    try:
        module = import_module(f"mygpt.cli.{options.command.replace('-', '_')}")
        return module.run(options) or 0
    except BrokenPipeError:
        raise
    except (ValueError, OSError, ImportError, FloatingPointError) as error:
        print(f"mygpt: {error}", file=sys.stderr)
        return 2 if options.command in ("check", "doctor") else 1
    except KeyboardInterrupt:
        told = "stopped"
        if options.command == "train":
            from mygpt.cli.train import stopped

            told = stopped(options)
        print(f"\nmygpt: {told}", file=sys.stderr)
        return 130

"""The commands: train, generate, convert, world-model, doctor, workbook and check."""

import argparse
import sys
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import torch

from mygpt.check.catalogue import IN_ORDER, TASKS, find_task
from mygpt.check.files import as_json, as_text, check_file, saves
from mygpt.check.mends.tell import is_mendable, with_edit
from mygpt.check.mends.tries import count_failed, forget
from mygpt.check.progress import by_chapter, summary, tasks_of
from mygpt.check.result import Result, wrapped
from mygpt.check.task import CHAPTERS
from mygpt.check.workbook import check_workbook, write_workbook
from mygpt.checkpoint import (
    INDEX,
    check_sizes,
    checkpoints,
    load_checkpoint,
    save_checkpoint,
)
from mygpt.cli.doctor import DOCTOR, run_doctor
from mygpt.cli.train import run_train, stopped
from mygpt.gpt import LanguageModel
from mygpt.huggingface import find_folder, left_behind, load_gpt2, save_gpt2
from mygpt.inference import LAYERS
from mygpt.inside.hooks import accuracy
from mygpt.inside.world_models import KINDS, save_world_model, train_world_model
from mygpt.sampling import generate_stream
from mygpt.support.available_memory import TIMEOUT
from mygpt.support.files import check_folder
from mygpt.support.output import to_any_output
from mygpt.support.tokenizer_files import are_in
from mygpt.tokenizers import BPETokenizer, Tokenizer
from mygpt.training import RECIPES

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
SEARCHING = "searching for a small edit that makes it right; a save ends the search"
WAITING = "waiting for the next save (Ctrl-C ends)"
SAVED = "saved: checking again"


def build_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="mygpt",
        description="Without a command: print the running example of the book.",
    )
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")
    add_train(commands)
    add_generate(commands)
    convert = add(commands, "convert", CONVERT, run_convert)
    convert.add_argument("source", metavar="SOURCE")
    convert.add_argument("target", metavar="TARGET", type=Path)
    world = add(commands, "world-model", WORLD_MODEL, run_world_model)
    world.add_argument("kind", metavar="KIND", choices=KINDS)
    world.add_argument(
        "--seed", type=int, default=0, help="of the weights and the rows"
    )
    world.add_argument("--out", metavar="FILE", type=Path, required=True)
    world.add_argument("--quiet", action="store_true", help="no progress bar")
    doctor = add(commands, "doctor", DOCTOR, run_doctor)
    doctor.add_argument("--device", metavar="NAME", help="cpu, cuda or mps")
    workbook = add(commands, "workbook", WORKBOOK, run_workbook)
    workbook.add_argument("folder", metavar="FOLDER", type=Path)
    add_check(commands)
    return parser


def add(commands, name: str, text: str, run) -> argparse.ArgumentParser:
    parser = commands.add_parser(
        name, help=text.splitlines()[0], description=text, formatter_class=Formatter
    )
    parser.set_defaults(run=run)
    return parser


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
    parser = add(commands, "train", TRAIN, run_train)
    parser.set_defaults(given=frozenset())
    parser.register("action", None, Noted)
    option = parser.add_argument
    option("corpus", metavar="CORPUS")
    option("--out", metavar="DIR", required=True, help="where checkpoints go")
    option("--resume", action="store_true", help="continue from the last checkpoint")
    option("--recipe", choices=RECIPES, default="gpt2", help="model and optimizer")
    option(
        "--tokenizer",
        choices=["char", "word", "bpe"],
        help="what a token is; default: word for world, char otherwise",
    )
    option("--vocab-size", type=int, default=1000, help="tokens at most, for bpe")
    option("--layers", type=int, default=4, help="blocks")
    option("--heads", type=int, default=4, help="attention heads in a block")
    option("--width", type=int, default=128, help="channels of the residual stream")
    option("--length", type=int, default=64, help="positions the model can see")
    option("--steps", type=int, default=2000, help="of the optimizer")
    option("--batch-size", type=int, default=12, help="rows in a batch")
    option("--seed", type=int, default=0, help="of the weights and the batches")
    option(
        "--save-every",
        type=int,
        default=250,
        metavar="STEPS",
        help="between two checkpoints",
    )
    option("--device", help="cpu, cuda or mps; default: cpu, or the resumed run's")
    option("--bf16", action="store_true", help="multiply matrices in bfloat16")
    option("--compile", action="store_true", help="use torch.compile")
    option("--quiet", action="store_true", help="no progress bar")
    option(
        "--processes", type=int, metavar="N", help="on each machine; default: this one"
    )
    option("--machines", type=int, default=1, metavar="N", help="that train together")
    option("--meet", metavar="HOST:PORT", help="where several machines meet")
    option("--shard", action="store_true", help="split the model over the processes")
    option(
        "--timeout",
        type=float,
        default=TIMEOUT,
        metavar="SECONDS",
        help="how long a process waits for the others",
    )


def add_generate(commands) -> None:
    option = add(commands, "generate", GENERATE, run_generate).add_argument
    option("folder", metavar="DIR")
    option("--prompt", required=True, help='the text to continue, or ""')
    option("--tokens", type=int, default=200, help="tokens to add, at most")
    option("--greedy", action="store_true", help="always take the likeliest token")
    option(
        "--temperature", type=float, default=1.0, help="near 0 is the likeliest token"
    )
    option(
        "--top-k", type=int, metavar="K", help="draw from the K likeliest; default: all"
    )
    option(
        "--top-p",
        type=float,
        metavar="P",
        help="draw from the likeliest that sum to P; default: all",
    )
    option(
        "--repetition-penalty",
        type=float,
        default=1.0,
        help="above 1: fewer tokens come again",
    )
    option("--seed", type=int, help="of the draws; default: another at every start")
    option(
        "--inference",
        choices=LAYERS,
        help="weights in another form, for a CPU; default: as they are",
    )


def add_check(commands) -> None:
    option = add(commands, "check", CHECK, run_check).add_argument
    option("task", metavar="TASK", nargs="?")
    option("file", metavar="FILE", nargs="?", type=Path)
    option(
        "--all",
        metavar="FOLDER",
        type=Path,
        nargs="?",
        const=Path(),
        help="check a workbook; default: this folder",
    )
    option("--chapter", metavar="N", help="only its tasks; also with --all or --list")
    option("--list", action="store_true", help="list the tasks")
    option("--watch", action="store_true", help="check again at every save")
    option("--json", action="store_true", help="print JSON, for a grader")
    option(
        "--mend",
        action="store_true",
        help="show the edit that makes it right, after a second failed try",
    )
    option("--traceback", action="store_true", help="show the traceback of an error")
    option("--limit", type=float, metavar="SECONDS", help="default: the task's own")
    option("--gpt2", metavar="DIR", help="for answer: a Hugging Face GPT-2 folder")


def run_generate(options: argparse.Namespace) -> None:
    model, tokenizer = load_any(options.folder)
    if tokenizer is None:
        raise ValueError(
            f"{options.folder}: expected a tokenizer beside the model: tokenizer.json, "
            "or vocab.json and merges.txt"
        )
    if options.inference is not None:
        model = converted(model, options.inference)
    draw_only(model, tokenizer.vocab_size)
    end = getattr(tokenizer, "end_of_text", None)
    ids = tokenizer.encode(options.prompt)
    if not ids and end is None:
        raise ValueError(
            "--prompt: expected a text, got an empty one, and this tokenizer has no "
            "<|endoftext|> to begin from"
        )
    stream = generate_stream(
        model,
        torch.tensor([ids or [end]], dtype=torch.long),
        options.tokens,
        temperature=options.temperature,
        top_k=options.top_k,
        top_p=options.top_p,
        greedy=options.greedy,
        repetition_penalty=options.repetition_penalty,
        stop=() if end is None else (end,),
        seed=options.seed,
    )
    shown = tokenizer.decode(ids)
    print(shown, end="", flush=True)
    for token in stream:
        ids.append(token.item())
        if ids[-1] == end:
            break
        text = tokenizer.decode(ids)
        if not text.endswith("\N{REPLACEMENT CHARACTER}"):  # half of a character
            print(text[len(shown) :], end="", flush=True)
            shown = text
    print(tokenizer.decode(ids)[len(shown) :])


def draw_only(model: Any, tokens: int) -> None:
    """Never draw a row of the model without a token: its score becomes -inf."""
    logits = model.logits

    def masked(states: torch.Tensor) -> torch.Tensor:
        scores = logits(states)
        scores[..., tokens:] = -torch.inf
        return scores

    model.logits = masked


def converted(model: LanguageModel, form: str) -> LanguageModel:
    """The model for inference; a warning becomes one line on stderr."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        model = model.eval().for_inference(form)
    for one in said:
        print(f"mygpt: {one.message}", file=sys.stderr)
    return model


def run_convert(options: argparse.Namespace) -> None:
    if options.target.exists() and any(options.target.iterdir()):
        raise ValueError(f"expected {options.target} to be empty or not to exist")
    model, tokenizer = load_any(options.source)
    if is_checkpoint(options.source):
        save_gpt2(model, options.target)
        left = []
        if isinstance(tokenizer, BPETokenizer):
            tokenizer.save(options.target)
        elif tokenizer is not None:
            left = [f"the {tokenizer.KIND} tokenizer, which has no Hugging Face form"]
        print(f"a GPT-2 folder for Hugging Face: {options.target}")
    else:
        left = left_behind(find_folder(options.source))
        print(f"a checkpoint: {save_checkpoint(options.target, model, tokenizer)}")
    if left:
        print(f"mygpt: not converted: {', '.join(left)}", file=sys.stderr)


def run_world_model(options: argparse.Namespace) -> None:
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


def run_workbook(options: argparse.Namespace) -> None:
    folder, first = write_workbook(options.folder), IN_ORDER[0].name
    print(f"{len(IN_ORDER)} tasks in {folder}; README.md lists them by chapter.\n")
    print(f"Fill in {first}.py, then:\n\n    cd {folder}\n    mygpt check {first}")


def run_check(options: argparse.Namespace) -> int:
    if options.limit is not None and not options.limit > 0:
        raise ValueError(f"--limit must be above 0, got {options.limit:g}")
    if options.chapter and options.task is None and not options.list:
        options.all = options.all or Path()
    whole = options.all is not None
    if options.list + whole + (options.task is not None) != 1:
        raise ValueError("expected TASK, or --all, or --chapter N, or --list")
    if options.list:
        print(task_list(options.chapter))
        return 0
    if not whole:
        if options.chapter:
            raise ValueError("--chapter is for a workbook, not for one task")
        name_file(options)
    if not options.watch:
        return check_once(options)
    watched = options.all / "any" if whole else options.file
    for changed in saves(watched):
        try:
            check_once(options, changed)
        except ValueError as error:  # a file may be gone for a moment
            print(f"mygpt: {error}", file=sys.stderr)
        print(f"\n{SAVED if changed() else WAITING}", file=sys.stderr)
    return 0


def name_file(options: argparse.Namespace) -> None:
    """Where only a task was given, take its file here; where only a file, its task."""
    if options.file is not None:
        return
    given = Path(options.task)
    if given.suffix == ".py" and given.stem in TASKS:
        options.task, options.file = given.stem, given
        return
    options.file = Path(f"{find_task(options.task).name}.py")
    if not options.file.exists() and not options.file.is_symlink():
        raise ValueError(
            f"there is no {options.file} here; expected a file: "
            f"mygpt check {options.task} FILE"
        )


def check_once(
    options: argparse.Namespace, changed: Callable[[], bool] | None = None
) -> int:
    """Check a file or a workbook, show what comes out, and return the exit status.

    changed: under --watch, whether a file has changed since, which ends the search.
    """
    if options.all is not None:
        return check_all(options)
    early: list[Result] = []
    tries = 0

    def before_search(result: Result) -> None:
        nonlocal tries
        early.append(result)
        tries = count_try(result, options)
        if options.watch:
            print(as_text(result, options.traceback), flush=True)
            print(f"\n{SEARCHING}", file=sys.stderr)

    result = check_file(
        options.task,
        options.file,
        options.limit,
        options.gpt2,
        first=None if options.json else before_search,
        over=changed,
    )
    if options.json:
        print(as_json(result), flush=True)
        return 0 if result else 1
    if not early:
        tries = count_try(result, options)
    result = with_edit(result, tries, "--mend", options.mend)
    if not early or not options.watch:
        print(as_text(result, options.traceback), flush=True)
    elif result.only:
        added = result.hints[len(early[0].hints) :]
        told = [*wrapped(result.only, "  wrong     ")]
        told += [line for hint in added for line in wrapped(hint, "  also      ")]
        print("\n".join(["", *told]), flush=True)
    return 0 if result else 1


def count_try(result: Result, options: argparse.Namespace) -> int:
    """Count the failed tries up to a wrong result, and forget them at a right one."""
    if result:
        forget(options.task, options.file)
    return count_failed(options.task, options.file) if is_mendable(result) else 0


def check_all(options: argparse.Namespace) -> int:
    """Check a workbook; each chapter is shown as soon as it is checked."""
    results: list[Result] = []
    found = check_workbook(options.all, options.limit, options.chapter)
    if options.json:
        results += found
        print(as_json(results), flush=True)
    else:
        kept = (results.append(result) or result for result in found)
        for text in by_chapter(kept):
            print(text, flush=True)
        print(summary(results, partial(command_for, options.all)), flush=True)
    return 0 if all(results) else 1


def command_for(folder: Path, name: str) -> str:
    """Return the command that checks a task of a workbook."""
    file = "" if folder == Path() else f" {folder / f'{name}.py'}"
    return f"mygpt check {name}{file}"


def task_list(chapter: str | None = None) -> str:
    """The tasks with their chapters, in the book's order."""
    width = max(len(task.signature) for task in IN_ORDER if len(task.arguments) < 6)
    return "\n".join(
        f"{task.signature:{width}}  {CHAPTERS[task.chapter]}"
        for task in tasks_of(chapter)
    )


def is_checkpoint(folder: str | Path) -> bool:
    folder = Path(folder)
    return (folder / INDEX).is_file() or bool(checkpoints(folder))


def load_any(name: str) -> tuple[LanguageModel, Tokenizer | None]:
    """The model and tokenizer of a checkpoint, or of a GPT-2 folder or hub name."""
    if is_checkpoint(name):
        from mygpt import distributed

        shared = distributed.is_shared(name)
        load = distributed.load_checkpoint if shared else load_checkpoint
        model, tokenizer, _ = load(name)
    else:
        model, folder = load_gpt2(name), find_folder(name)
        tokenizer = BPETokenizer.load(folder) if are_in(folder) else None
    if tokenizer is not None:
        check_sizes(model, tokenizer)
    return model, tokenizer


def parsed(arguments: list[str]) -> argparse.Namespace:
    """The options; argparse before Python 3.13 takes no FILE that follows an option."""
    parser = build_parser()
    options, left = parser.parse_known_args(arguments)
    lacks_file = options.run is run_check and options.task and not options.file
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
        return options.run(options) or 0
    except BrokenPipeError:
        raise
    except (ValueError, OSError, ImportError, FloatingPointError) as error:
        print(f"mygpt: {error}", file=sys.stderr)
        return 2 if options.run in (run_check, run_doctor) else 1
    except KeyboardInterrupt:
        told = stopped(options) if options.run is run_train else "stopped"
        print(f"\nmygpt: {told}", file=sys.stderr)
        return 130

"""TrainGPT in Python: what it is given, and what it draws without scripts."""

import numpy as np
import pytest
from helpers import examples
from helpers.node import in_node
from helpers.refusals import refused_settings

from mygpt import load_corpus
from mygpt.explorers import TrainGPT
from mygpt.explorers.train_gpt.widget import SIZES, levels_of, shape_of
from mygpt.gpt import GPT, GPTConfig

STORIES = load_corpus("stories")


def test_it_learns_the_stories_unless_it_is_given_a_text():
    assert TrainGPT().text == STORIES
    assert examples.train_gpt().text != STORIES


@pytest.mark.parametrize("pieces", ["characters", "words"])
def test_the_levels_are_those_that_the_page_computes(pieces, tmp_path):
    script = "materialOf(given.pieces, given.text, 64)"
    imports = {"{ materialOf }": "train_gpt/text"}
    given = {"pieces": pieces, "text": STORIES[:30_000]}
    found = in_node(script, given, tmp_path, imports)
    levels = levels_of(given["text"], pieces)
    assert levels["guessing"] == pytest.approx(found["uniform"], rel=1e-12)
    assert levels["bigram model"] == pytest.approx(found["bigram"], rel=1e-9)


@pytest.mark.parametrize("size", SIZES)
def test_the_page_trains_the_shape_that_python_expects(size, tmp_path):
    script = "configOf(storedConfig(shapeOf(given)))"
    imports = {"{ shapeOf }": "train_gpt/state"}
    imports["{ configOf, storedConfig }"] = "train_gpt/config"
    tokens = sorted(set(STORIES))
    first = """
      given.get = () => given.size;
      given.prepared = { tokenizer: { tokens: given.tokens } };
    """
    given = {"size": size, "tokens": tokens}
    found = in_node(script, given, tmp_path, imports, first)
    shape = shape_of(STORIES, "characters", size)
    assert (found["vocab"], found["positions"], found["width"], found["heads"]) == (
        *(shape.vocab_size, shape.max_seq_len, shape.embed_dim),
        shape.num_heads,
    )
    assert found["layers"] == shape.num_layers
    assert found["hidden"] == shape.expansion * shape.embed_dim
    assert (found["activation"], found["bias"]) == (shape.activation, shape.bias)


def test_the_weights_of_a_model_go_to_the_page_bit_for_bit():
    text = examples.train_gpt().text
    model = GPT(shape_of(text, "characters", "small"))
    explorer = TrainGPT(text, model)
    numbers = np.frombuffer(explorer.weights, "<f4")
    own = [one.detach().numpy().ravel() for one in model.parameters()]
    assert np.array_equal(numbers, np.concatenate(own))
    assert [name for name, _ in explorer.shapes] == list(dict(model.named_parameters()))


test_a_setting_that_it_cannot_have_is_named = refused_settings(
    examples.train_gpt,
    ({"pieces": "bytes"}, r"pieces must be one of \['characters', 'words'\]"),
    ({"size": "xl"}, r"size must be one of \['small', 'large'\], got 'xl'"),
    ({"source": "theirs"}, "source must be one of"),
    ({"rate": 0.0}, "rate must be above 0 and at most 10, got 0.0"),
    ({"steps": 0}, "steps must be a whole number from 1 to 100,000, got 0"),
    ({"seed": 100}, "seed must be a whole number from 0 to 99, got 100"),
    ({"model": GPT(GPTConfig(9, 8, 8, 2, 1))}, "model must have the shape"),
)

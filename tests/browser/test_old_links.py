"""Links to the sections of the first edition still lead somewhere."""

import pytest
from quick import slow_but

# The sections as readers may have linked them.
SECTIONS = {
    "05_feed_forward": """where-it-stands the-idea expand-activate-contract by-hand
        in-plain-python in-pytorch check-mlp one-position-at-a-time counting-parameters
        gpt-2-s-own why-attention-is-not-enough why-four-times the-network-as-a-memory
        live-lab-what-the-hidden-width-buys what-usually-goes-wrong key-points
        exercises""",
    "06_activations": """why-a-bend-is-needed the-idea-a-gate-with-a-noisy-guard
        the-mathematics check-gelu by-hand the-code
        experiment-20-seven-numbers-through-both beyond-2-they-agree-within-a-percent
        the-two-forms-and-how-far-apart-they-are check-gelu-tanh the-slope
        the-corner-of-relu dead-units relatives-silu-and-swiglu
        does-gelu-train-better-than-relu the-explorer live-lab what-usually-goes-wrong
        key-points exercises""",
    "07_residual_connections": """the-idea-add-do-not-replace the-mathematics by-hand
        the-code experiment-thirty-layers-forwards
        experiment-what-keeps-the-plain-stack-alive experiment-thirty-layers-backwards
        measuring-something-this-small the-two-products-measured why-not-the-plain-sum
        experiment-what-a-branch-does-at-the-start experiment-two-hundred-additions
        experiment-training-with-the-residuals-removed the-picture-to-keep
        explore-depth-gain-width-biases live-lab what-usually-goes-wrong key-points
        exercises""",
    "08_layer_norm": """the-idea-brightness-and-contrast-one-photo-at-a-time
        the-mathematics by-hand the-other-variance the-code check-layer-norm
        the-digits-of before-and-after-at-c-128 which-numbers-share-one-mean
        what-it-forgets-the-geometry what-it-does-to-the-gradient
        check-layer-norm-gradient what-it-does-for-depth to-depth-200
        pre-norm-and-post-norm-the-gradients the-final-norm rmsnorm-leave-the-mean-alone
        the-explorer live-lab what-usually-goes-wrong key-points exercises""",
    "09_transformer_block": """the-idea-read-a-copy-add-a-note the-mathematics
        check-wiring causal-self-attention-in-one-page by-hand the-code check-block
        shapes-and-parameters the-same-block-with-separate-heads
        one-position-stage-by-stage which-half-moves-information
        pre-norm-post-norm-and-none-the-gradients-at-initialisation
        training-each-wiring-for-200-steps pre-norm-needs-no-warmup live-lab
        what-usually-goes-wrong key-points exercises""",
    "10_memory": """the-idea-a-card-index the-mathematics by-hand
        a-model-that-knows-a-small-world the-code coefficients-along-a-prompt
        what-makes-a-key-fire from-france-to-paris a-network-that-stores-nothing
        which-cards-hold-paris switching-neurons-off
        one-half-remembers-the-other-copies held-or-translated live-lab
        the-same-on-gpt-2 what-usually-goes-wrong what-this-does-not-show key-points
        exercises""",
}
# What stood in chapter 10 and stands in chapter 11.
REWRITING = [
    "rewriting-a-fact",
    "take-it-apart-yourself",
    "fig-explorer-live-model",
    "ex-memory-identity",
    "ex-memory-phrasings",
]
OPEN = """(id) => {
    const target = document.getElementById(id);
    const fold = target?.closest("details");
    return Boolean(target) && (!fold || fold.open);
}"""


@pytest.mark.parametrize("chapter", slow_but(["10_memory"], SECTIONS))
def test_every_section_of_the_first_edition_leads_somewhere(
    open_page, http_url, chapter
):
    page = open_page(f"{http_url}/chapters/{chapter}.html")
    lost = []
    for name in SECTIONS[chapter].split():
        page.evaluate("(id) => { location.hash = id }", name)
        page.wait_for_timeout(30)
        if not page.evaluate(OPEN, name):
            lost.append(name)
    assert lost == []


@pytest.mark.parametrize("name", slow_but(REWRITING[:1], REWRITING))
def test_what_went_to_another_page_is_found_there(open_page, http_url, name):
    found_on_the_next_page(open_page, http_url, name)


def test_what_went_to_another_page_is_found_on_a_disk_too(open_page, file_url):
    found_on_the_next_page(open_page, file_url, REWRITING[0])


def found_on_the_next_page(open_page, site, name):
    page = open_page(f"{site}/chapters/10_memory.html#{name}")
    page.wait_for_url("**/11_rewriting.html#*")
    page.wait_for_load_state()
    target = page.evaluate("location.hash.slice(1)")
    assert page.evaluate(OPEN, target), target
    page.watch.check()


@pytest.mark.parametrize("name", ["rewriting-a-fact", "take-it-apart-yourself"])
def test_without_scripts_an_old_link_stops_where_the_next_chapter_is_named(
    open_page, http_url, name
):
    address = f"{http_url}/chapters/10_memory.html#{name}"
    page = open_page(address, javascript=False)
    section = page.locator(f"section:has(> #{name}), section#{name}")
    assert section.locator('a[href^="11_rewriting.html"]').count() >= 1


def test_a_link_to_a_state_of_the_live_model_goes_where_the_model_is(
    open_page, http_url
):
    page = open_page(f"{http_url}/chapters/11_rewriting.html")
    root = page.locator(".mygpt-live-model")
    root.get_by_role("combobox", name="Prompt").fill("people in egypt speak")
    root.get_by_role("button", name="Copy link").click()
    state = page.evaluate("location.hash")
    page = open_page(f"{http_url}/chapters/10_memory.html{state}")
    page.wait_for_url(f"**/11_rewriting.html{state}")
    field = page.locator(".mygpt-live-model").get_by_role("combobox", name="Prompt")
    field.wait_for()
    assert field.input_value() == "people in egypt speak"
    page.watch.check()

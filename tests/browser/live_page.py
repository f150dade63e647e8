"""A live model on a page: its fields and folds, and what it says."""


def field(root, name="Prompt"):
    return root.get_by_role("combobox", name=name, exact=True)


def opened(root, *names):
    """The last of some folds; those that were closed are open now."""
    for name in names:
        title = root.page.locator("summary", has_text=name)
        fold = root.locator("details").filter(has=title).last
        if fold.get_attribute("open") is None:
            fold.locator("> summary").click()
    return fold


def inside(root):
    """Open all that shows the model's inside."""
    return opened(root, "Look inside", "Neurons one by one")


def likeliest(root):
    """The likeliest words with their probabilities."""
    return [tuple(text.split()) for text in root.texts(".mygpt-likeliest li")]


def facts(root):
    """For each fact: prompt, right answer, the model's, its probability, the mark."""
    if root.locator("summary", has_text="All facts").count():
        opened(root, "All facts")
    parts = (".mygpt-asked", ".mygpt-right bdi", ".mygpt-said bdi")
    parts += (".mygpt-said .mygpt-number", ".mygpt-sign")
    columns = [root.texts(f".mygpt-fact {part}") for part in parts]
    return [list(row) for row in zip(*columns, strict=True)]


def happened(root):
    """What is said of the edits."""
    return " ".join(root.text(".mygpt-happened").split())

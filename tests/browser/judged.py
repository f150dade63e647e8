"""axe on an open page, with the colours of each look judged, not of each word.

Contrast takes nine tenths of axe's time, and the thousand pieces of text on a page have
some hundred looks: ink, the papers behind it, size, weight, kind of element and of what
holds it. Those that an earlier page has shown to be good are passed over, and of a new
one the third and later. All other rules judge everything that is there.
"""

from axe_playwright_python.base import AXE_SCRIPT

COLOUR_RULES = ["color-contrast", "link-in-text-block"]
# The glyphs of a formula have its colour, which is judged; they are many, and hidden
# from assistive technology, which reads the MathML beside them.
GLYPHS = ".katex-html > *"
GOOD = set()  # the looks in which this process has found nothing wrong
# Marks what axe may pass over, and returns the looks that are new. Of these two are
# judged, for the first may lie under something. A field's words are not in its text.
MARK = """([selector, good]) => {
    document.querySelectorAll("[data-judged]").forEach(
        (one) => one.removeAttribute("data-judged"));
    const known = new Set(good);
    const times = new Map();
    const [NONE, KNOWN, NEW] = [0, 1, 2];
    const own = (one, style, papers) => {
        if (one.matches("input, select, textarea")) return NEW;
        const words = [...one.childNodes].some(
            (part) => part.nodeType === Node.TEXT_NODE && part.data.trim());
        if (!words || !one.checkVisibility({ visibilityProperty: true })) return NONE;
        const { parentElement, tagName } = one;
        const kind = [parentElement.tagName, tagName, one.getAttribute("class")];
        const { color, fill, fontSize, fontWeight, textDecorationLine } = style;
        const ink = [color, fill, fontSize, fontWeight, textDecorationLine];
        const look = [papers, kind, ink].join();
        if (known.has(look)) return KNOWN;
        times.set(look, (times.get(look) ?? 0) + 1);
        return times.get(look) > 2 ? KNOWN : NEW;
    };
    const judge = (one, around, outside) => {
        const without = outside && !one.matches(selector);
        const style = getComputedStyle(one);
        const { backgroundColor, backgroundImage, opacity, filter } = style;
        const paper = [backgroundColor, backgroundImage, opacity, filter].join();
        const none = paper === "rgba(0, 0, 0, 0),none,1,none";
        const papers = none ? around : `${around}/${paper}`;
        const parts = [...one.children].map(
            (part) => [part, judge(part, papers, without)]);
        const kinds = parts.map(([, kind]) => kind);
        const kind = Math.max(without ? NONE : own(one, style, papers), ...kinds);
        for (const [part, found] of parts)
            if (found !== NEW && (kind === NEW || one.matches(selector)))
                part.dataset.judged = "";
        return kind;
    };
    judge(document.documentElement, "", true);
    return [...times.keys()];
}"""
RUN = """async ([include, exclude, settings]) => {
    const context = { include: [[include]], exclude: exclude.map((one) => [one]) };
    const found = await axe.run(context, { resultTypes: ["violations"], ...settings });
    return found.violations.flatMap(({ id, nodes }) => nodes.map(
        ({ target, html, failureSummary }) =>
            `${id}: ${target} ${html} ${failureSummary}`));
}"""


def violations(page, rules=None, include="html"):
    """What axe finds by its rules, or some of them, but not by those of colours."""
    off = {"rules": {rule: {"enabled": False} for rule in COLOUR_RULES}}
    return run(page, include, [GLYPHS], {"runOnly": rules} if rules else off)


def colour_violations(page, include="html"):
    """What axe finds by its rules of colours."""
    new = page.evaluate(MARK, [include, sorted(GOOD)])
    exclude = [GLYPHS, "[data-judged]"]
    found = run(page, include, exclude, {"runOnly": COLOUR_RULES})
    if not found:
        GOOD.update(new)
    return found


def judge(page, include=".mygpt-explorer"):
    """Axe finds nothing wrong with a part of the page."""
    assert violations(page, include=include) == []
    assert colour_violations(page, include=include) == []


def run(page, include, exclude, settings):
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE_SCRIPT)
    return page.evaluate(RUN, [include, exclude, settings])

"""A matplotlib figure as SVG that stands inside a page: the page's ink and fonts, no style attribute, no script.

A style attribute would need a looser Content-Security-Policy; presentation attributes need none. Black becomes the
colour of the text around, so one figure serves a light and a dark page.
"""

from __future__ import annotations

import io
import re
import warnings
from typing import TYPE_CHECKING, Final
from xml.etree import ElementTree as ET

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_XLINK: Final = "{http://www.w3.org/1999/xlink}href"
_SHORTENED: Final = re.compile(r"(\.\d\d)\d+")
_REFERENCE: Final = re.compile(r"url\(#([^)]+)\)")
_BLACK: Final = {"#000000", "#000", "black"}
_OWN_FONT: Final = {"font-family", "font"}  # the page's fonts are used


def inline_svg(figure: Figure, prefix: str, label: str, described_by: str) -> str:
    """Return a figure as an ``<svg>`` element for HTML.

    Parameters
    ----------
    figure
        Where all that is neutral is black, more or less transparent.
    prefix
        Before every id, so that figures of one page do not share any.
    label
        The figure's name, for whoever does not see it.
    described_by
        The id of the element that says what there is to see.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from streamlearn.replays.inlinesvg import inline_svg
    >>> inline_svg(Figure(), "f1", "nothing & more", "f1-words")[:61]
    '<svg viewBox="0 0 460.8 345.6" role="img" aria-label="nothing'
    """
    root = ET.fromstring(_drawn(figure))  # noqa: S314 - what matplotlib has just written
    box = root.attrib["viewBox"]
    _restyle(root)
    _keep_used_ids(root, prefix)
    for group in root.iter():
        for child in list(group):
            if child.tag in {"style", "metadata"}:
                group.remove(child)
    root.attrib.clear()
    root.attrib.update({"viewBox": box, "role": "img", "aria-label": label, "aria-describedby": described_by})
    return ET.tostring(root, encoding="unicode")


def _drawn(figure: Figure) -> bytes:
    from matplotlib import rc_context  # noqa: PLC0415 - an extra

    drawn = io.BytesIO()
    plain = dict.fromkeys(("Date", "Creator", "Format", "Type"))
    # The same figure gives the same text; its own letters stay letters.
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": "streamlearn"}), warnings.catch_warnings():
        warnings.filterwarnings(
            "ignore", message="Glyph", category=UserWarning
        )  # the reader's font may have it
        figure.savefig(drawn, format="svg", transparent=True, metadata=plain)
    return drawn.getvalue()


def _restyle(root: ET.Element) -> None:
    """Turn style attributes into presentation attributes, black into the page's ink; drop the name spaces."""
    for element in root.iter():
        element.tag = element.tag.rpartition("}")[2]
        element.tail = None
        if element.tag != "text":
            element.text = None
        if (link := element.attrib.pop(_XLINK, None)) is not None:
            element.attrib["href"] = link
        for part in element.attrib.pop("style", "").split(";"):
            name, _, value = (side.strip() for side in part.partition(":"))
            if name and name not in _OWN_FONT:
                element.attrib[name] = value
        for name in ("fill", "stroke"):
            if element.attrib.get(name) in _BLACK or (element.tag == "text" and name == "fill"):
                element.attrib[name] = "currentColor"
        for name in ("d", "points", "transform", "x", "y"):
            if name in element.attrib:
                element.attrib[name] = _SHORTENED.sub(r"\1", element.attrib[name]).replace("\n", "").strip()


def _keep_used_ids(root: ET.Element, prefix: str) -> None:
    """Give ids that are referred to a prefix, and take the others away."""
    used = set()
    for element in root.iter():
        for name, value in list(element.attrib.items()):
            if name == "href":
                used.add(value.removeprefix("#"))
                element.attrib[name] = f"#{prefix}-{value.removeprefix('#')}"
            elif found := _REFERENCE.fullmatch(value):
                used.add(found[1])
                element.attrib[name] = f"url(#{prefix}-{found[1]})"
    for element in root.iter():
        if (own := element.attrib.pop("id", None)) in used:
            element.attrib["id"] = f"{prefix}-{own}"

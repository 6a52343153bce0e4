"""A Markdown extension for the proofs: TeX becomes MathML when the site is built, which every browser shows without a script.

It reads only pages with the comment ``<!-- formulas in TeX -->``; elsewhere a dollar is a dollar.
"""

from __future__ import annotations

import re

from latex2mathml.converter import convert
from markdown import Markdown
from markdown.extensions import Extension
from markdown.preprocessors import Preprocessor

MARK = "<!-- formulas in TeX -->"
FORMULA = re.compile(r"\$\$(?P<block>.+?)\$\$|\$(?P<inline>.+?)\$", re.DOTALL)
AFTER_SNIPPETS = 31
"""The priority: snippets, which have 32, put the text of the proof into the page first."""


class Formulas(Preprocessor):
    def run(self, lines: list[str]) -> list[str]:
        return FORMULA.sub(_mathml, "\n".join(lines)).split("\n") if MARK in lines else lines


class MathML(Extension):
    def extendMarkdown(self, md: Markdown) -> None:  # noqa: N802
        md.preprocessors.register(Formulas(md), "mathml", AFTER_SNIPPETS)


def makeExtension(**options: object) -> MathML:  # noqa: N802
    return MathML(**options)


def _mathml(found: re.Match[str]) -> str:
    if found["block"]:
        return f"\n\n<div>{_upright(convert(found['block'].strip(), display='block'))}</div>\n\n"
    # In a span, because Markdown takes <math> at the beginning of a line for a paragraph of its own.
    return f"<span>{_upright(convert(found['inline']))}</span>"


def _upright(mathml: str) -> str:
    """Keep bars of norms and absolute values at the size of the text: browsers would stretch them."""
    return re.sub(r"<mo>(&#x0?2016;|&#x0*7C;)</mo>", r'<mo stretchy="false">\1</mo>', mathml)

# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Small PDF files, written by hand."""

from collections.abc import Sequence
from typing import NamedTuple

FONTS = {"text": "Helvetica", "code": "Courier"}


class Line(NamedTuple):
    """A line of text at a place in points, from the left and from the bottom of a page of 400 by 600."""

    x: float
    y: float
    text: str
    size: float = 10
    font: str = "text"


def paragraph(x: float, y: float, *texts: str, size: float = 10, font: str = "text") -> list[Line]:
    """Lines below each other."""
    return [Line(x, y - 1.2 * size * number, text, size, font) for number, text in enumerate(texts)]


def pdf(*pages: Sequence[Line], trailer: str = "") -> bytes:
    """A file with these pages.

    Args:
        pages: the lines of each page, in the order in which they are written.
        trailer: further entries of the trailer.
    """
    names = list(FONTS)
    objects = ["<</Type/Catalog/Pages 2 0 R>>", ""]
    objects += [
        f"<</Type/Font/Subtype/Type1/BaseFont/{base}/Encoding/WinAnsiEncoding>>" for base in FONTS.values()
    ]  # fmt: skip
    fonts = "".join(f"/F{number} {number + 3} 0 R" for number in range(len(names)))
    kids = []
    for lines in pages:
        content = "\n".join(
            f"BT /F{names.index(one.font)} {one.size} Tf {one.x} {one.y} Td ({_escaped(one.text)}) Tj ET"
            for one in lines
        )
        objects.append(f"<</Length {len(content)}>>\nstream\n{content}\nendstream")
        number = len(objects)
        kids.append(f"{number + 1} 0 R")
        objects.append(
            f"<</Type/Page/Parent 2 0 R/MediaBox[0 0 400 600]/Contents {number} 0 R/Resources<</Font<<{fonts}>>>>>>"
        )
    objects[1] = f"<</Type/Pages/Count {len(kids)}/Kids[{' '.join(kids)}]>>"
    text, offsets = "%PDF-1.4\n", []
    for number, one in enumerate(objects, start=1):
        offsets.append(len(text))
        text += f"{number} 0 obj\n{one}\nendobj\n"
    table = "".join(f"{offset:010} 00000 n \n" for offset in offsets)
    end = f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n{table}"
    end += f"trailer\n<</Size {len(objects) + 1}/Root 1 0 R{trailer}>>\nstartxref\n{len(text)}\n%%EOF\n"
    return (text + end).encode("cp1252")


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace("(", r"\(").replace(")", r"\)")

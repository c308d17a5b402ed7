# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""One typography for all texts: straight quotation marks and apostrophes, plain spaces."""

import re
import unicodedata

# Regular expressions and their replacements, for text in Unicode's composed form (NFC). Guillemets lose the spaces
# inside them.
PLAIN_FORMS = (
    (r"[\u00ad\u200b\u2060\ufeff]", ""),
    (r"[\u0009\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000]", " "),
    (r"[\u2018\u2019\u201b\u02bc]", "'"),
    (r"«\s*|\s*»|[\u201c\u201d\u201e\u201f]", '"'),
    ("\u2026", "..."),
)


def plain_text(text: str) -> str:
    """The text in plain typography, as a tokenizer with `plain_typography` reads it."""
    text = unicodedata.normalize("NFC", text)
    for pattern, plain in PLAIN_FORMS:
        text = re.sub(pattern, plain, text)
    return text

# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Whatever a client sends: what is not translated comes back as it was."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hier_nmt.server import bounded_parts
from hier_nmt.server.bounded_parts import BoundedParts
from hier_nmt.server.texts import TextForm, text_translation
from hier_nmt.translation.translation_documents import TranslatedDocument
from hier_nmt.translation.translation_report import DecodingStatistics

FORMS = (
    TextForm(),
    TextForm(keeps_lines=False),
    TextForm("html"),
    TextForm("xml"),
    TextForm("xml", splitting_tags=frozenset("p"), ignored_tags=frozenset("x")),
)
PIECES = [
    *("a", "B c.", "D! ", "é", " ", "\n", "\r\n\n", "\t", "1", "12.", "&amp;", "&", "&#65;", "<", ">", '"', "'"),
    *("<b>", "</b>", "<p>", "</p>", '<x id="1">', "</x>", "<x/>", "<br>", "<!--", "-->", "<![CDATA[", "]]>", "<?a"),
    *("<code>", "</code>", '<i a=">">', "</i>", "<script>", "%s", "{name}", "?>", "\u2028", "\ufffc", "日本。", "\x00"),
]


@given(text=st.lists(st.sampled_from(PIECES)).map("".join) | st.text(), form=st.sampled_from(FORMS))
@settings(max_examples=300, deadline=None)
def test_text_that_is_copied_is_the_same_text(text: str, form: TextForm) -> None:
    work = text_translation(text, form, ("en", "fr"), limit=2)
    assert work.text([part.paragraphs for part in work.parts]) == text


@given(text=st.lists(st.sampled_from(PIECES)).map("".join), form=st.sampled_from(FORMS))
@settings(max_examples=200, deadline=None)
def test_every_sentence_is_translated_once(text: str, form: TextForm) -> None:
    work = text_translation(text, form, ("en", "fr"), limit=2)
    sentences = [one for part in work.parts for paragraph in part.paragraphs for one in paragraph]
    assert sentences == [slot.text for slot in work.layout.slots]


@given(text=st.text(alphabet="ab ,.", max_size=60))
@settings(max_examples=200, deadline=None)
def test_pieces_of_sentences_are_the_sentences(text: str) -> None:
    work = text_translation(text, TextForm(), ("en", "fr"), limit=2)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bounded_parts, "MAX_CHARACTERS", 7)
        bounded = BoundedParts(work.parts, 2, "")
    copied = [TranslatedDocument([*map(list, part.paragraphs)], DecodingStatistics()) for part in bounded.parts]
    joined = [document.paragraphs for document in bounded.join(copied)]
    wanted = [part.paragraphs for part in work.parts]
    assert [[[one.replace(" ", "") for one in p] for p in part] for part in joined] == [
        [[one.replace(" ", "") for one in p] for p in part] for part in wanted
    ]

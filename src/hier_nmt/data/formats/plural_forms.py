# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""The plural forms of languages, as the manual of GNU gettext (section 11.2.6, "Plural forms") has them."""

_SLAVIC = "(n%10==1 && n%100!=11 ? 0 : n%10>=2 && n%10<=4 && (n%100<10 || n%100>=20) ? 1 : 2)"
# Languages -> the number of forms, and the expression that chooses one.
_FORMS = {
    "ja ko vi zh th id": (1, "0"),
    "en de nl sv da no nb nn fo es pt it bg el fi et he eo hu tr": (2, "(n != 1)"),
    "fr pt_br": (2, "(n > 1)"),
    "ru uk be sr hr bs": (3, _SLAVIC),
    "pl": (3, "(n==1 ? 0 : n%10>=2 && n%10<=4 && (n%100<10 || n%100>=20) ? 1 : 2)"),
    "cs sk": (3, "(n==1) ? 0 : (n>=2 && n<=4) ? 1 : 2"),
    "lt": (3, "(n%10==1 && n%100!=11 ? 0 : n%10>=2 && (n%100<10 || n%100>=20) ? 1 : 2)"),
    "lv": (3, "(n%10==1 && n%100!=11 ? 0 : n != 0 ? 1 : 2)"),
    "ro": (3, "(n==1 ? 0 : (n==0 || (n%100 > 0 && n%100 < 20)) ? 1 : 2)"),
    "ga": (3, "n==1 ? 0 : n==2 ? 1 : 2"),
    "sl": (4, "(n%100==1 ? 0 : n%100==2 ? 1 : n%100==3 || n%100==4 ? 2 : 3)"),
}
_BY_LANGUAGE = {language: forms for languages, forms in _FORMS.items() for language in languages.split()}


def plural_forms(language: str) -> tuple[int, str] | None:
    """The number of plural forms of a language and the expression in n that chooses one; None for an unknown one."""
    code = language.lower().replace("-", "_")
    return _BY_LANGUAGE.get(code) or _BY_LANGUAGE.get(code.partition("_")[0])

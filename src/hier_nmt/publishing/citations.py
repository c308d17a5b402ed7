# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""BibTeX entries of the papers that models of this package are based on."""

# Keyed by the names in `hier_nmt.publishing.card_contents.CardTexts.citations`.
CITATIONS = {
    "vaswani2017": """@inproceedings{vaswani-etal-2017-attention,
  title = {Attention Is All You Need},
  author = {Vaswani, Ashish and Shazeer, Noam and Parmar, Niki and Uszkoreit, Jakob and Jones, Llion and
    Gomez, Aidan N. and Kaiser, {\\L}ukasz and Polosukhin, Illia},
  booktitle = {Advances in Neural Information Processing Systems},
  year = {2017}
}""",
    "lupo2022": """@inproceedings{lupo-etal-2022-focused,
  title = {Focused Concatenation for Context-Aware Neural Machine Translation},
  author = {Lupo, Lorenzo and Dinarelli, Marco and Besacier, Laurent},
  booktitle = {Proceedings of the Seventh Conference on Machine Translation (WMT)},
  year = {2022}
}""",
    "koehn2005": """@inproceedings{koehn-2005-europarl,
  title = {Europarl: A Parallel Corpus for Statistical Machine Translation},
  author = {Koehn, Philipp},
  booktitle = {Proceedings of Machine Translation Summit X: Papers},
  year = {2005}
}""",
    "trankova2024": """@article{trankova-etal-2024-hierarchical,
  title = {Hierarchical Encoding and Conditional Attention in Neural Machine Translation},
  author = {Trankova, Natalia and Rykunov, Dmitrii and Serov, Ivan and Giganov, Ivan and Starukhin, Yaroslav},
  journal = {The American Journal of Engineering and Technology},
  volume = {6},
  number = {9},
  pages = {45--55},
  year = {2024},
  doi = {10.37547/tajet/Volume06Issue09-07}
}""",
    "shen2023": """@mastersthesis{shen-2023-document,
  title = {Document-Level Machine Translation with Hierarchical Attention},
  author = {Shen, Yu-Tang},
  school = {San Jose State University},
  year = {2023}
}""",
    "ogunnaike2022": """@misc{ogunnaike-2022-attention,
  title = {Attention in Translation},
  author = {Ogunnaike, Oladapo},
  note = {Project report, CS 584},
  year = {2022}
}""",
}

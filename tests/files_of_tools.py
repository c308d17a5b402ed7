# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Five small files of each format as its own tools write them, typed after their documentation: name -> content, or
the members of an archive. Those of XLIFF, TMX, HTML and Markdown are in tests/files."""

import json
import re

from office_files import DOCX, EPUB, ODS, ODT, PPTX, XLSX, docx, epub, ods, odt, pptx, xlsx

VTT = {
    # Example of the standard: regions, styles, settings, notes.
    "w3c.vtt": "WEBVTT - A film\n\nREGION\nid:fred\nwidth:40%\n\nSTYLE\n::cue(b) {\n  color: red;\n}\n\nNOTE\n"
    "By hand.\n\n"
    "1 - title\n00:11.000 --> 00:13.000 line:0 align:start region:fred\n<v Roger Bingham>We are in New York City.\n\n"
    "00:13.000 --> 00:16.000\n<v.loud Ann>It's <i>the</i> <c.yellow.bg_blue>Lucern Hotel</c>.\n",
    "youtube.vtt": "WEBVTT\nKind: captions\nLanguage: en\n\n00:00:00.400 --> 00:00:03.030 align:start position:0%\n"
    "hello<00:00:00.640><c> and</c><00:00:00.880><c> welcome</c>\n",
    "subtitle edit.vtt": "\ufeffWEBVTT\r\n\r\n1\r\n00:00:01.000 --> 00:00:02.500\r\nWhere is she?\r\n\r\n"
    "2\r\n00:00:03.000 --> 00:00:04.000\r\n- Here.\r\n- Good.\r\n\r\n",
    "ffmpeg.vtt": "WEBVTT\n\n00:01.000 --> 00:04.000\nNever drink liquid nitrogen.\n\n00:05.000 --> 00:09.000\n"
    "&lt;i&gt; &amp; others\n\n",
    "meeting.vtt": "WEBVTT\n\n9d34b7a2-1/17-0\n00:00:03.120 --> 00:00:05.610\n<v Smith, Ann>Good morning.</v>\n\n"
    "9d34b7a2-1/18-0\n00:00:06.000 --> 00:00:07.000\n<v Jones, Bob>Shall we start?</v>\n",
}
_PO_HEADER = (
    'msgid ""\nmsgstr ""\n"Content-Type: text/plain; charset=UTF-8\\n"\n'
    '"Plural-Forms: nplurals=2; plural=(n > 1);\\n"\n\n'
)
PO = {
    "poedit.po": _PO_HEADER.replace("\n\n", '\n"X-Generator: Poedit 3.4\\n"\n"X-Poedit-SearchPath-0: .\\n"\n\n')
    + '#: main.c:12\nmsgid "Yes."\nmsgstr "Oui."\n',
    "django.po": _PO_HEADER + "#: app/models.py:7\n#, python-format\nmsgid \"%(n)d item\"\nmsgid_plural \"%(n)d "
    "items\"\n"
    'msgstr[0] "%(n)d objet"\nmsgstr[1] "%(n)d objets"\n\n#: app/a.html:1\nmsgctxt "month"\nmsgid "May"\nmsgstr '
    '"mai"\n',
    "wordpress.po": _PO_HEADER + "#. translators: %s: a name\n#: wp/a.php:3\n#, php-format\nmsgid \"<a "
    "href=\\\"%s\\\">Read</a>\"\n"
    'msgstr "<a href=\\"%s\\">Lire</a>"\n',
    "weblate.po": _PO_HEADER + "# A note.\n#, fuzzy\n#| msgid \"One\"\nmsgid \"Two\"\nmsgstr \"Un\"\n\n"
    '#~ msgid "Old"\n#~ msgstr "Vieux"\n',
    "xgettext.pot": '#, fuzzy\nmsgid ""\nmsgstr ""\n"Content-Type: text/plain; charset=UTF-8\\n"\n\n#: a.c:1\n'
    'msgid ""\n'
    '"First line\\n"\n"second line"\nmsgstr ""\n',
}  # fmt: skip
JSON = {
    "i18next.json": '{\n  "nav": {\n    "home": "Home",\n    "hello": "Hello {{name}}, see $t(nav.home)"\n  },\n'
    '  "item_one": "{{count}} item",\n  "item_other": "{{count}} items"\n}\n',
    "messages.json": '{\n  "app": {\n    "message": "Hello $USER$",\n    "description": "A greeting",\n'
    '    "placeholders": {"user": {"content": "$1", "example": "Ann"}}\n  }\n}\n',
    "formatjs.json": '{\n  "a1b2": {\n    "defaultMessage": "Hi, {name}!",\n    "description": "To a user"\n  }\n}\n',
    "app_en.arb": '{\n  "@@locale": "en",\n  "title": "My app",\n  "@title": {\n    "description": "Its name"\n '
    " }\n}\n",
    "compact.json": '{"a":"Caf\\u00e9","b":["One","Two"],"c":null,"d":1.50,"e":true}',
}
YAML = {
    "rails.yml": '---\nen:\n  greeting: Hello %{name}\n  items:\n    one: "%{count} item"\n    other: "%{count} '
    'items"\n',
    "messages.yaml": "# Symfony\nuser.greeting: 'Hello, %name%!'\n'It''s': \"It's \\\"it\\\"\"\n",
    "hugo.yaml": "- id: more\n  translation: Read more\n- id: count\n  translation:\n    other: \"{{ .Count }} "
    "posts\"\n",
    "discourse.yml": "js:\n  text: |\n    # A title\n\n    Some **text**.\n  folded: >-\n    A long\n    line.\n"
    "  none:\n",
    "plugin.yml": "prefix: '&6[Shop]&r '\r\nbought: \"&aYou bought {amount} of {item}.\"\r\ncount: 3 # per day\r\n",
}  # fmt: skip


def _notebook(source: object, minor: int = 5, **metadata: object) -> dict[str, object]:
    code = {"cell_type": "code", "execution_count": 1, "metadata": {}, "outputs": [], "source": ["print('Yes.')"]}
    cells = [{"cell_type": "markdown", "metadata": {}, "source": source}, code]
    return {"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": minor}


NOTEBOOKS = {
    "jupyter.ipynb": json.dumps(_notebook(["# A *title*\n", "\n", "Some `code`."], kernelspec={"name": "a"}), indent=1)
    + "\n",
    "colab.ipynb": json.dumps(_notebook("See [this](x).\n\n$$\nx^2\n$$", 0, colab={"name": "a"}), indent=2),
    "vscode.ipynb": json.dumps(_notebook(["Caf\u00e9\n"], 2), indent=1, ensure_ascii=False) + "\n",
    "papermill.ipynb": json.dumps(_notebook(["| a | b |\n", "|---|---|\n", "| One | Two |"], papermill={"a": "2"})),
    "ipython.ipynb": json.dumps(
        {"metadata": {"name": ""}, "nbformat": 3, "nbformat_minor": 0, "worksheets": [{"cells": [
            {"cell_type": "heading", "level": 1, "source": ["A title"]},
            {"cell_type": "code", "input": ["1"], "language": "python", "outputs": []},
        ]}]}
    ),
}  # fmt: skip
IWSLT = {
    "train.tags.en": "<url>http://www.ted.com/a</url>\n<keywords>talks, science</keywords>\n<speaker>Ann "
    "Smith</speaker>\n"
    "<talkid>1</talkid>\n<title>Ann Smith: A title</title>\n<description>What it is.</description>\n Yes.\n No.\n",
    "two.en": "<talkid>1</talkid>\nYes.\n<talkid>2</talkid>\nNo.\n",
    "reviewed.en": "<talkid>7</talkid>\n<reviewer>A</reviewer>\n<translator>B</translator>\nYes. (Laughter)\nNo.\n",
    "windows.en": "\ufeff<talkid>1</talkid>\r\nYes.\r\nNo.\r\n",
    "doc.en": '<doc docid="1535" genre="lectures">\n<talkid>1535</talkid>\nYes & no.\n</doc>\n',
}
HEADS = {
    "zero.en": {"zero.en": "Yes.\nNo.\nGo.\n", "zero.en.heads": "0\n2\n"},
    "one.en": {"one.en": "Yes.\nNo.\n", "one.en.heads": "1\n2\n"},
    "beside.en": {"beside.en": "Yes.\nNo.", "beside.heads": "0\n"},
    "windows.en": {"windows.en": "\ufeffYes.\r\nNo.\r\n", "windows.en.heads": "0\r\n1\r\n"},
    "spaces.en": {"spaces.en": "  Yes. \nNo.\u00a0\n", "spaces.en.heads": "0\n1"},
}
_DATASET = '<?xml version="1.0" encoding="utf-8"?>\n<dataset id="newstest2021">\n%s</dataset>\n'
_SEGMENTS = '<p>\n<seg id="1">{0}</seg>\n</p>\n'
WMT_XML = {
    "source.xml": _DATASET % f'<doc id="a" origlang="en">\n<src lang="en">\n'
    f'{_SEGMENTS.format("Yes &amp; no.")}</src>\n</doc>\n',
    "references.xml": _DATASET
    % (
        f'<doc id="a" origlang="en">\n<src lang="en">\n{_SEGMENTS.format("Yes.")}</src>\n'
        f'<ref lang="fr" translator="A">\n{_SEGMENTS.format("Oui.")}</ref>\n'
        f'<ref lang="fr" translator="B">\n{_SEGMENTS.format("Ben oui.")}</ref>\n</doc>\n'
    ),
    "systems.xml": _DATASET
    % (
        f'<doc id="a" origlang="en">\n<src lang="en">\n{_SEGMENTS.format("Yes.")}</src>\n'
        f'<hyp lang="fr" system="Online-A">\n{_SEGMENTS.format("Oui !")}</hyp>\n</doc>\n'
    ),
    "collections.xml": _DATASET
    % f'<collection id="news">\n<doc id="a" domain="news">\n<src lang="en">\n{_SEGMENTS.format("Yes.")}</src>\n'
        f'</doc>\n</collection>\n',
    "paragraphs.xml": _DATASET % '<doc id="a">\n<src lang="en">\n<p>\n<seg id="1">Yes.</seg>\n<seg id="2">'
    'No.</seg>\n</p>\n'
    '<p type="title">\n<seg id="3">Go.</seg>\n</p>\n</src>\n</doc>\n',
}  # fmt: skip
_XML = '<?xml version="1.0" encoding="utf-8"?>\n'
OPUS_XML = {
    "europarl.xml": _XML
    + '<text>\n<CHAPTER ID="1">\n<P id="1"></P>\n<s id="1">A title</s>\n<SPEAKER ID="1" NAME="Ann">\n<P id="2">\n'
    '<s id="2">Yes.</s>\n<s id="3">No &amp; go.</s>\n</P>\n</SPEAKER>\n</CHAPTER>\n</text>\n',
    "subtitles.xml": _XML + '<document id="4567">\n<s id="1">\n<time id="T1S" value="00:00:01,000" />\nYes.\n'
    '<time id="T1E" value="00:00:02,000" />\n</s>\n<meta><subtitle><language>English</language></subtitle>'
    "</meta>\n</document>\n",
    "software.xml": _XML + '<document>\n<s id="1">Open %s</s>\n<s id="2">&amp;File</s>\n</document>\n',
    "talks.xml": _XML
    + '<text>\n<head>\n<url>a</url>\n</head>\n<body>\n<p id="1">\n<s id="1">Yes.</s>\n</p>\n</body>\n</text>\n',
    "windows.xml": _XML.replace("\n", "\r\n") + '<text>\r\n<p id="1">\r\n<s id="1">Yes.</s>\r\n</p>\r\n</text>\r\n',
}


def _word(text: str, properties: str = "") -> str:
    quoted = re.sub(r"=(\w+)", r'="\1"', properties)
    properties = f"<w:rPr>{quoted}</w:rPr>" if properties else ""
    return f'<w:r>{properties}<w:t xml:space="preserve">{text}</w:t></w:r>'


_LIST = '<w:pPr><w:pStyle w:val="ListParagraph"/><w:numPr><w:ilvl w:val="0"/><w:numId w:val="1"/></w:numPr></w:pPr>'
WORD = {
    "word.docx": DOCX,
    "google docs.docx": docx(
        f'<w:p w:rsidR="0"><w:pPr><w:rPr/></w:pPr>{_word("A ", "<w:rtl w:val=0/>")}'
        f'{_word("red", "<w:b w:val=1/><w:rtl w:val=0/>")}{_word(" door.")}</w:p><w:sectPr/>'
    ),
    "writer.docx": docx(
        f'<w:p><w:pPr><w:pStyle w:val="Normal"/></w:pPr>{_word("Yes.")}</w:p><w:tbl><w:tblPr/><w:tr><w:tc>'
        f'<w:p>{_word("No.")}</w:p></w:tc></w:tr></w:tbl>', header=f'<w:p>{_word("A head")}</w:p>',
    ),
    "pandoc.docx": docx(
        f'<w:bookmarkStart w:id="20" w:name="a"/><w:p><w:pPr><w:pStyle w:val="Heading1"/></w:pPr>'
        f'{_word("A title")}</w:p>'
        f'<w:bookmarkEnd w:id="20"/><w:p>{_word("See ")}{_word("x = 1", "<w:rStyle w:val=VerbatimChar/>")}'
        f'{_word(".")}</w:p>'
    ),
    "python-docx.docx": docx(f"<w:p>{_LIST}{_word('One')}</w:p><w:p>{_LIST}{_word('Two', '<w:i/>')}</w:p><w:p/>"),
}  # fmt: skip


def _slide(*texts: str, properties: str = '<a:rPr lang="en"/>') -> str:
    return "".join(f"<a:p><a:r>{properties}<a:t>{text}</a:t></a:r></a:p>" for text in texts)


SLIDES = {
    "powerpoint.pptx": PPTX,
    "google slides.pptx": pptx(_slide("A title", properties='<a:rPr lang="en" sz="1800"/>') + "<a:p>"
    "<a:endParaRPr/></a:p>"),
    "python-pptx.pptx": pptx(_slide("One", "Two", properties="")),
    "impress.pptx": pptx(_slide("Yes."), _slide("No."), notes=_slide("Say it.")),
    "pandoc.pptx": pptx("<a:p><a:pPr lvl='0' indent='0'><a:buNone/></a:pPr><a:r><a:t>A </a:t></a:r><a:r><a:rPr b='1'/>"
                        "<a:t>red</a:t></a:r><a:r><a:t> door.</a:t></a:r></a:p>"),
}  # fmt: skip
OPEN_DOCUMENTS = {
    "writer.odt": ODT,
    "pandoc.odt": odt(
        '<text:h text:outline-level="1"><text:bookmark-start text:name="a"/>A title<text:bookmark-end '
        'text:name="a"/></text:h>'
        '<text:p>A <text:span text:style-name="T1">red</text:span> door.</text:p>'
    ),
    "lists.odt": odt("<text:list><text:list-item><text:p>One</text:p></text:list-item><text:list-item><text:p>"
    "Two</text:p>"
                     "</text:list-item></text:list>"),
    "tables.odt": odt('<table:table><table:table-row><table:table-cell><text:p>Yes.</text:p></table:table-cell>'
                      "</table:table-row></table:table><text:p/>"),
    "impress.odp": odt('<draw:page draw:name="p1"><draw:frame><draw:text-box><text:p>A title</text:p></draw:text-box>'
                       "</draw:frame></draw:page>", kind="presentation"),
}  # fmt: skip
BOOKS = {
    "sigil.epub": EPUB,
    "calibre.epub": epub('<p class="calibre1">Yes. <span class="italic">No.</span></p>', contents="Start"),
    "pandoc.epub": epub('<section id="a" class="level1"><h1>A title</h1><p>Some <code>code</code>.</p>'
    '</section>', contents="A title"),
    "indesign.epub": epub('<p class="Body"><span class="CharOverride-1">Yes.</span></p><hr/>', contents="1"),
    "gutenberg.epub": epub("<p>One.</p>", "<h2>CHAPTER I.</h2><p>Two<br/>lines.</p>", contents="CHAPTER I."),
}  # fmt: skip
_SI = "<si><t>{0}</t></si>"
WORKBOOKS = {
    "excel.xlsx": XLSX,
    "google sheets.xlsx": xlsx(_SI.format("Yes.") + "<si><r><rPr><b/><color theme='1'/></rPr><t>No.</t></r></si>"),
    "openpyxl.xlsx": xlsx(_SI.format("One") + _SI.format("Two words"), '<row r="1"><c r="A1" t="s"><v>0</v></c></row>'),
    "xlsxwriter.xlsx": xlsx('<si><t xml:space="preserve"> A space</t></si><si><t>Go &amp; see.</t></si>'),
    "libreoffice.xlsx": xlsx('<si><t xml:space="preserve">One line\nand another</t></si><si><t/></si>'),
}
_CELLS = (
    '<table:table-row><table:table-cell office:value-type="string"><text:p>{0}</text:p></table:table-cell>'
    "</table:table-row>"
)
SPREADSHEETS = {
    "calc.ods": ODS,
    "excel.ods": ods(_CELLS.format("Yes.") + '<table:table-row table:number-rows-repeated="1048574"/>'),
    "google sheets.ods": ods(_CELLS.format('<text:span text:style-name="T1">A red</text:span> door.')),
    "odfpy.ods": ods(_CELLS.format("One") + _CELLS.format("Two")),
    "pandas.ods": ods("<table:table-column/>" + _CELLS.format("A title") + "<table:table-row><table:table-cell "
                      'office:value-type="float" office:value="2"><text:p>2</text:p></table:table-cell>'
                      "</table:table-row>"),
}  # fmt: skip
PROPERTIES = {
    "resource bundle.properties": "# Messages\n! Of a program\nok = Yes, go\nsum.text={0} of {1} files aren''t there\n",
    "eclipse.properties": "pluginName=An editor\nlong = A line that \\\n    goes on \\\n    and on.\nempty=\n",
    "spring.properties": "error.size: The value must be at least {min}.\r\nerror.none : It is empty.\r\n",
    "native2ascii.properties": "a=Caf\\u00e9 is open\nb=\\ Two spaces\nc\\ d=A\\tb\n",
    "minecraft.properties": "\n\ntitle Hello there\nkeyalone\nescaped\\=key=One\\\\two\n",
}
STRINGS = {
    "xcode.strings": '/* The title. */\n"title" = "Hello, %@!";\n\n/* No comment provided by engineer. */\n'
    '"Yes" = "Yes";\n',
    "genstrings.strings": '/* Class = "NSMenuItem"; title = "Open"; ObjectID = "1"; */\n"1.title" = "Open \\"it\\"";\n',
    "infoplist.strings": 'NSCameraUsageDescription = "It takes pictures.";\nCFBundleName = App;\n',
    "swiftgen.strings": '// One\n"a.b" = "One\\nTwo"; // two\n"c" = "%1$@ of %2$d";\n',
    "windows.strings": '\ufeff"a"="Caf\\U00e9";\r\n"b"="Two";\r\n',
}
_CATALOGUE = '{{\n  "sourceLanguage" : "en",\n  "strings" : {{\n{0}\n  }},\n  "version" : "1.0"\n}}'
_UNIT = '"stringUnit" : {{\n{0}  "state" : "{1}",\n{0}  "value" : "{2}"\n{0}}}'
CATALOGUES = {
    # Keys are the texts, and a key of its own.
    "xcode.xcstrings": _CATALOGUE.format('    "" : {\n\n    },\n    "Hello, %@!" : {\n\n    },\n    "title" : {\n'
        '      "comment" : "The title",\n      "extractionState" : "manual",\n      "localizations" : {\n'
        '        "en" : {\n          ' + _UNIT.format(" " * 10, "translated", "All files")
        + '\n        }\n      }\n    }'),
    "plurals.xcstrings": _CATALOGUE.format('    "%lld files" : {\n      "localizations" : {\n        "en" : {\n'
        '          "variations" : {\n            "plural" : {\n              "one" : {\n                '
        + _UNIT.format(" " * 16, "translated", "%lld file")
        + '\n              },\n              "other" : {\n                '
        + _UNIT.format(" " * 16, "translated", "%lld files")
        + '\n              }\n            }\n          }\n        }\n      }\n    }'),
    "brand.xcstrings": _CATALOGUE.format(
        '    "Acme" : {\n      "shouldTranslate" : false\n    },\n    "Welcome" : {\n\n    }'
    ),
    # Written by a script.
    "script.xcstrings": '{\n    "sourceLanguage": "en",\n    "strings": {\n        "Yes": {},\n'
        '        "No \\"way\\"": {}\n    },\n    "version": "1.0"\n}\n',
    "windows.xcstrings": _CATALOGUE.format('    "Two\\nlines" : {\n\n    }').replace("\n", "\r\n"),
}  # fmt: skip
_RESOURCES = '<?xml version="1.0" encoding="utf-8"?>\n<resources{0}>\n{1}</resources>\n'
ANDROID = {
    "studio.xml": _RESOURCES.format("", '    <string name="app_name" translatable="false">App</string>\n'
        '    <string name="hello">It\\\'s <b>here</b>, %1$s!</string>\n'),
    "plurals.xml": _RESOURCES.format("", '    <!-- How many -->\n    <plurals name="n">\n        <item quantity="one">'
        '%d file</item>\n        <item quantity="other">%d files</item>\n    </plurals>\n'),
    "arrays.xml": _RESOURCES.format("", '    <string-array name="days">\n        <item>Monday</item>\n        <item>'
        '@string/a</item>\n    </string-array>\n    <color name="c">#fff</color>\n'),
    "xliff.xml": _RESOURCES.format(' xmlns:xliff="urn:oasis:names:tc:xliff:document:1.2"',
        '    <string name="a">Dear <xliff:g '
        'id="n" example="Ann">%s</xliff:g>, welcome</string>\n'),
    "weblate.xml": _RESOURCES.format("", '    <string name="q">"Say \'yes\'"</string>\n'
        '    <string name="h"><![CDATA[<i>Now</i>]]></string>\n    <string name="e">One\\nTwo</string>\n'),
}  # fmt: skip
_ASS = (
    "[Script Info]\n; Script generated by {0}\nScriptType: v4.00+\n\n[V4+ Styles]\nFormat: Name, Fontname\n"
    "Style: Default,Arial\n\n[Events]\n"
    "Format: Layer, Start, End, Style, Name, MarginL, MarginR, MarginV, Effect, Text\n{1}"
)
_EVENT = "Dialogue: 0,0:00:{0:02}.00,0:00:{1:02}.50,Default,,0,0,0,,{2}\n"
ASS = {
    "aegisub.ass": _ASS.format("Aegisub 3.2", "Comment: 0,0:00:00.00,0:00:01.00,Default,,0,0,0,,A note\n"
        + _EVENT.format(1, 2, "{\\i1}Where{\\i0} is she?") + _EVENT.format(3, 4, "- Here.\\N- Good.")),
    "subtitle edit.ass": "\ufeff"
        + _ASS.format("Subtitle Edit", _EVENT.format(1, 2, "Yes, I am.")).replace("\n", "\r\n"),
    "ffmpeg.ass": _ASS.format("FFmpeg", _EVENT.format(5, 6, "Never drink, ever.")),
    "fansub.ass": _ASS.format("x", _EVENT.format(1, 2, "{\\p1}m 0 0 l 9 9{\\p0}")
        + _EVENT.format(2, 3, "{\\k20}ka{\\k30}ra") + _EVENT.format(4, 5, "{\\pos(1,2)\\fad(1,2)}A sign")),
    "old.ssa": _ASS.format("x", _EVENT.format(1, 2, "Go on.")).replace("Layer", "Marked")
        .replace(": 0,0", ": Marked=0,0"),
}  # fmt: skip
FILES_OF_TOOLS: dict[str, dict[str, str | dict[str, str] | dict[str, bytes]]] = {
    "vtt": {**VTT},
    "ass": {**ASS},
    "po": {**PO},
    "json": {**JSON},
    "yaml": {**YAML},
    "properties": {**PROPERTIES},
    "strings": {**STRINGS},
    "xcstrings": {**CATALOGUES},
    "android": {**ANDROID},
    "notebook": {**NOTEBOOKS},
    "iwslt": {**IWSLT},
    "heads": {**HEADS},
    "wmt-xml": {**WMT_XML},
    "opus-xml": {**OPUS_XML},
    "docx": {**WORD},
    "pptx": {**SLIDES},
    "xlsx": {**WORKBOOKS},
    "odt": {**OPEN_DOCUMENTS},
    "ods": {**SPREADSHEETS},
    "epub": {**BOOKS},
}

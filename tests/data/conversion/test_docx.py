"""Every part of a Word document is read, or a note names it."""

import io
import zipfile

import pytest

from workbench.data.conversion.office.markup import style_chain
from workbench.data.conversion.registry import convert
from workbench.data.conversion.text import ConvertedText, UnreadableFileError

NAMESPACES = {
    "w": "http://schemas.openxmlformats.org/wordprocessingml/2006/main",
    "m": "http://schemas.openxmlformats.org/officeDocument/2006/math",
    "mc": "http://schemas.openxmlformats.org/markup-compatibility/2006",
    "a": "http://schemas.openxmlformats.org/drawingml/2006/main",
    "wp": "http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing",
    "wps": "http://schemas.microsoft.com/office/word/2010/wordprocessingShape",
    "w14": "http://schemas.microsoft.com/office/word/2010/wordml",
    "w16se": "http://schemas.microsoft.com/office/word/2015/wordml/symex",
    "c": "http://schemas.openxmlformats.org/drawingml/2006/chart",
    "dgm": "http://schemas.openxmlformats.org/drawingml/2006/diagram",
    "pic": "http://schemas.openxmlformats.org/drawingml/2006/picture",
    "v": "urn:schemas-microsoft-com:vml",
    "o": "urn:schemas-microsoft-com:office:office",
}


def word(body: str, parts: dict[str, str] | None = None, strict: bool = False) -> ConvertedText:
    """Convert a document with a body, and other parts by their names."""
    declared = " ".join(f'xmlns:{prefix}="{namespace}"' for prefix, namespace in NAMESPACES.items())
    if strict:
        declared = declared.replace(NAMESPACES["w"], "http://purl.oclc.org/ooxml/wordprocessingml/main")
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("word/document.xml", f"<w:document {declared}><w:body>{body}</w:body></w:document>")
        for name, content in (parts or {}).items():
            root, _, inside = content.partition(">")
            archive.writestr(f"word/{name}.xml", f"{root} {declared}>{inside}")
    return convert(".docx", file.getvalue())


def run(text: str, properties: str = "") -> str:
    return f'<w:r>{f"<w:rPr>{properties}</w:rPr>" if properties else ""}<w:t xml:space="preserve">{text}</w:t></w:r>'


def paragraph(*runs: str) -> str:
    return f"<w:p>{''.join(each if each.startswith('<') else run(each) for each in runs)}</w:p>"


def box(text: str) -> str:
    shape = f"<wps:wsp><wps:txbx><w:txbxContent>{paragraph(text)}</w:txbxContent></wps:txbx></wps:wsp>"
    return f'<w:drawing><wp:inline><a:graphic><a:graphicData uri="shape">{shape}</a:graphicData></a:graphic></wp:inline></w:drawing>'


def old_box(text: str) -> str:
    return f"<w:pict><v:shape><v:textbox><w:txbxContent>{paragraph(text)}</w:txbxContent></v:textbox></v:shape></w:pict>"


def graphic(inside: str) -> str:
    return f"<w:r><w:drawing><wp:inline><a:graphic><a:graphicData>{inside}</a:graphicData></a:graphic></wp:inline></w:drawing></w:r>"


SQUARE = "<m:sSup><m:e><m:r><m:t>b</m:t></m:r></m:e><m:sup><m:r><m:t>2</m:t></m:r></m:sup></m:sSup>"
EQUATIONS = {
    SQUARE: "b²",
    "<m:f><m:num><m:r><m:t>a+1</m:t></m:r></m:num><m:den><m:r><m:t>2</m:t></m:r></m:den></m:f>": "(a+1)/2",
    f"<m:rad><m:deg/><m:e>{SQUARE}<m:r><m:t>-4ac</m:t></m:r></m:e></m:rad>": "√(b²-4ac)",
    "<m:rad><m:deg><m:r><m:t>3</m:t></m:r></m:deg><m:e><m:r><m:t>x</m:t></m:r></m:e></m:rad>": "³√x",
    '<m:nary><m:naryPr><m:chr m:val="∑"/></m:naryPr><m:sub><m:r><m:t>i=1</m:t></m:r></m:sub><m:sup><m:r><m:t>n</m:t></m:r></m:sup>'
    "<m:e><m:sSub><m:e><m:r><m:t>x</m:t></m:r></m:e><m:sub><m:r><m:t>i</m:t></m:r></m:sub></m:sSub></m:e></m:nary>": "∑ᵢ₌₁ⁿ xᵢ",
    '<m:d><m:dPr><m:begChr m:val="["/><m:endChr m:val="]"/></m:dPr><m:e><m:r><m:t>0</m:t></m:r></m:e><m:e><m:r><m:t>1</m:t></m:r></m:e></m:d>': (
        "[0|1]"
    ),
    "<m:sSup><m:e><m:r><m:t>e</m:t></m:r></m:e><m:sup><m:r><m:t>-kt</m:t></m:r></m:sup></m:sSup>": "e^(-kt)",
    "<m:r><m:t>1</m:t></m:r><m:f><m:num><m:r><m:t>1</m:t></m:r></m:num><m:den><m:r><m:t>2</m:t></m:r></m:den></m:f><m:r><m:t>t</m:t></m:r>": "1 1/2 t",
    "<m:func><m:fName><m:r><m:t>sin</m:t></m:r></m:fName><m:e><m:r><m:t>x</m:t></m:r></m:e></m:func>": "sin x",
    "<m:m><m:mr><m:e><m:r><m:t>1</m:t></m:r></m:e><m:e><m:r><m:t>2</m:t></m:r></m:e></m:mr>"
    "<m:mr><m:e><m:r><m:t>3</m:t></m:r></m:e><m:e><m:r><m:t>4</m:t></m:r></m:e></m:mr></m:m>": "[1, 2; 3, 4]",
}


def test_equations_are_a_line_of_text():
    made = {equation: word(paragraph("The value ", f"<m:oMath>{equation}</m:oMath>", " counts.")).text for equation in EQUATIONS}
    assert made == {equation: f"The value {text} counts.\n" for equation, text in EQUATIONS.items()}
    alone = word(paragraph("Area:") + "<w:p><m:oMathPara><m:oMath><m:r><m:t>F = a · h</m:t></m:r></m:oMath></m:oMathPara></w:p>")
    assert (alone.text, alone.notes) == ("Area:\n\nF = a · h\n", ())


FIELDS = {
    "simple": '<w:fldSimple w:instr=" DOCPROPERTY Fee ">' + run("35 euros") + "</w:fldSimple>",
    "nested": '<w:fldSimple w:instr=" IF "><w:fldSimple w:instr=" REF ">' + run("35 euros") + "</w:fldSimple></w:fldSimple>",
    "complex": '<w:r><w:fldChar w:fldCharType="begin"/></w:r><w:r><w:instrText> =5*7 </w:instrText></w:r>'
    '<w:r><w:fldChar w:fldCharType="separate"/></w:r>' + run("35 euros") + '<w:r><w:fldChar w:fldCharType="end"/></w:r>',
    "list": '<w:r><w:fldChar w:fldCharType="begin"><w:ffData><w:ddList><w:result w:val="1"/><w:listEntry w:val="20 euros"/>'
    '<w:listEntry w:val="35 euros"/></w:ddList></w:ffData></w:fldChar></w:r><w:r><w:instrText> FORMDROPDOWN </w:instrText></w:r>'
    '<w:r><w:fldChar w:fldCharType="end"/></w:r>',
    "to the left": f'<w:bdo w:val="rtl">{run("35 ")}</w:bdo><w:dir w:val="ltr">{run("euros")}</w:dir>',
    "inserted": f'<w:ins w:id="1">{run("35 ")}</w:ins><w:del w:id="2"><w:r><w:delText>20 </w:delText></w:r></w:del>{run("euros")}',
    "moved": f'<w:moveFrom w:id="1">{run("now ")}</w:moveFrom>{run("35 ")}<w:moveTo w:id="2">{run("euros")}</w:moveTo>',
    "control": f"<w:sdt><w:sdtPr><w:alias/></w:sdtPr><w:sdtContent>{run('35 euros')}</w:sdtContent></w:sdt>",
    "tab": "<w:r><w:t>35</w:t><w:ptab/><w:t>euros</w:t></w:r>",
    "soft hyphen": "<w:r><w:t>35 eu</w:t><w:softHyphen/><w:t>ros</w:t></w:r>",
    "strict": run("35 euros"),
}


@pytest.mark.parametrize("kind", FIELDS)
def test_text_inside_of_other_elements_is_read(kind: str):
    made = word(paragraph("It costs ", FIELDS[kind], " a year."), strict=kind == "strict")
    assert (made.text, made.notes) == ("It costs 35 euros a year.\n", ())


@pytest.mark.parametrize(
    "drawing",
    [
        box("Ring 112."),
        old_box("Ring 112."),
        f'<mc:AlternateContent><mc:Choice Requires="wps">{box("Ring 112.")}</mc:Choice><mc:Fallback>{old_box("Ring 112.")}</mc:Fallback>'
        "</mc:AlternateContent>",
        f'<mc:AlternateContent><mc:Choice Requires="wps">{box("Ring 112.")}</mc:Choice></mc:AlternateContent>',
        f'<mc:AlternateContent><mc:Choice Requires="x"><w:x/></mc:Choice><mc:Fallback>{old_box("Ring 112.")}</mc:Fallback></mc:AlternateContent>',
    ],
)
def test_a_text_box_is_read_once_behind_its_paragraph(drawing: str):
    made = word(paragraph("In an emergency: ", f"<w:r>{drawing}</w:r>", "stay calm.") + paragraph("The end."))
    assert (made.text, made.notes) == ("In an emergency: stay calm.\n\nRing 112.\n\nThe end.\n", ())


def test_two_boxes_of_a_paragraph_keep_their_order_also_in_a_table():
    boxes = paragraph("Cell", f"<w:r>{box('First box.')}</w:r>", f"<w:r>{box('Second box.')}</w:r>")
    assert word(boxes).text == "Cell\n\nFirst box.\n\nSecond box.\n"
    made = word(f"<w:tbl>{''.join(f'<w:tr><w:tc>{boxes}</w:tc><w:tc>{paragraph(name)}</w:tc></w:tr>' for name in 'AB')}</w:tbl>")
    assert "| Cell First box. Second box. | B |" in made.text


def test_a_sign_of_a_newer_program_has_the_text_of_the_older_form():
    sign = '<w:r><mc:AlternateContent><mc:Choice Requires="w16se"><w16se:symEx/></mc:Choice><mc:Fallback><w:t>😀</w:t></mc:Fallback>'
    assert word(paragraph("Good ", f"{sign}</mc:AlternateContent></w:r>")).text == "Good 😀\n"


def test_check_boxes_are_signs():
    def controlled(value: str) -> str:
        return (
            f'<w:sdt><w:sdtPr><w14:checkbox><w14:checked w14:val="{value}"/></w14:checkbox></w:sdtPr>'
            "<w:sdtContent><w:r><w:t>x</w:t></w:r></w:sdtContent></w:sdt>"
        )

    old = (
        '<w:r><w:fldChar w:fldCharType="begin"><w:ffData><w:checkBox><w:checked/></w:checkBox></w:ffData></w:fldChar></w:r>'
        '<w:r><w:instrText> FORMCHECKBOX </w:instrText></w:r><w:r><w:fldChar w:fldCharType="end"/></w:r>'
    )
    made = word(paragraph(controlled("1"), " Dogs") + paragraph(controlled("0"), " Cats") + paragraph(old, " Birds"))
    assert (made.text, made.notes) == ("☒ Dogs\n\n☐ Cats\n\n☒ Birds\n", ())


def test_hidden_text_is_left_out_and_named():
    styles = (
        '<w:styles><w:style w:type="paragraph" w:styleId="Base"><w:rPr><w:vanish/></w:rPr></w:style><w:style w:type="paragraph" w:styleId="Note"><w:basedOn w:val="Base"/></w:style>'
        '<w:style w:type="paragraph" w:styleId="Shown"><w:basedOn w:val="Base"/><w:rPr><w:vanish w:val="0"/></w:rPr></w:style></w:styles>'
    )
    hidden = [run("no", "<w:vanish/>"), run("no", '<w:rStyle w:val="Note"/>')]
    shown = [
        run("yes", '<w:vanish w:val="false"/>'),
        run("yes", '<w:rStyle w:val="Shown"/>'),
        run("yes", '<w:vanish w:val="off"/><w:webHidden/>'),
    ]
    whole = f'<w:p><w:pPr><w:pStyle w:val="Note"/></w:pPr>{run("no")}</w:p>'
    made = word(paragraph(*hidden, *shown) + whole, {"styles": styles})
    assert (made.text, made.notes) == ("yesyesyes\n", ("has 3 hidden passages that are not read",))


def test_ruby_is_named_and_its_base_is_read():
    ruby = f"<w:r><w:ruby><w:rubyPr/><w:rt>{run('きょうと')}</w:rt><w:rubyBase>{run('京都')}</w:rubyBase></w:ruby></w:r>"
    made = word(paragraph(ruby, "は古い。"))
    assert (made.text, made.notes) == ("京都は古い。\n", ("has 1 ruby text that is not read",))


UNREAD = {
    "1 image that is": graphic("<pic:pic/>"),
    "1 chart that is": graphic("<c:chart/>"),
    "1 diagram that is": graphic("<dgm:relIds/>"),
    "1 drawing that is": graphic("<a:p><a:r><a:t>Text of a shape</a:t></a:r></a:p>"),
    "1 embedded object that is": "<w:r><w:object><v:shape><v:imagedata/></v:shape><o:OLEObject/></w:object></w:r>",
    "1 embedded document that is": '<w:altChunk xmlns:r="x" r:id="1"/>',
    "1 part of an unknown kind that is": "<w:madeUp><w:r><w:t>Text of next year's program</w:t></w:r></w:madeUp>",
    "2 images are": "",
}


@pytest.mark.parametrize("kind", [kind for kind in UNREAD if UNREAD[kind]])
def test_a_part_that_is_not_read_is_named(kind: str):
    made = word(paragraph("Before.") + paragraph(UNREAD[kind]) + paragraph("After."))
    assert (made.text, made.notes) == ("Before.\n\nAfter.\n", (f"has {kind} not read",))
    with pytest.raises(UnreadableFileError, match=f"has no text and has {kind} not read"):
        word(paragraph(UNREAD[kind]))


def test_notes_are_read_and_comments_headers_and_footers_are_named():
    parts = {
        "footnotes": f'<w:footnotes><w:footnote w:id="1">{paragraph(f"<m:oMath>{SQUARE}</m:oMath>", run("Secret", "<w:vanish/>"))}</w:footnote></w:footnotes>',
        "comments": f'<w:comments><w:comment w:id="1">{paragraph("Really?")}</w:comment></w:comments>',
        "header1": f"<w:hdr>{paragraph('Draft of May')}</w:hdr>",
        "header2": f"<w:hdr>{paragraph('7')}</w:hdr>",
        "footer1": f"<w:ftr>{paragraph('Internal')}</w:ftr>",
    }
    made = word(paragraph("A claim.", '<w:r><w:footnoteReference w:id="1"/></w:r>', '<w:r><w:commentReference w:id="1"/></w:r>'), parts)
    assert made.text == "A claim.[1]\n\n1. b² ↑\n"
    assert set(made.notes[0].removeprefix("has ").removesuffix(" that are not read").replace(" and ", ", ").split(", ")) == {
        "1 hidden passage",
        "1 comment",
        "1 header",
        "1 footer",
    }


def row(*cells: str) -> str:
    return f"<w:tr>{''.join(each if each.startswith('<') else f'<w:tc>{paragraph(each)}</w:tc>' for each in cells)}</w:tr>"


def cell(text: str, properties: str) -> str:
    return f"<w:tc><w:tcPr>{properties}</w:tcPr>{paragraph(text)}</w:tc>"


def test_rows_with_joined_cells_stay_lines():
    head = cell("Prices", '<w:gridSpan w:val="2"/>')
    title = word(f"<w:tbl>{row(head)}{row('Adults', '9 euros')}{row('Children', '4 euros')}</w:tbl>")
    assert title.text == "| Prices |  |\n| --- | --- |\n| Adults | 9 euros |\n| Children | 4 euros |\n"
    first, second = cell("Pool", '<w:vMerge w:val="restart"/>'), cell("", "<w:vMerge/>")
    rows = word(f"<w:tbl>{row('Where', 'Who', 'Price')}{row(first, 'Adults', '9')}{row(second, 'Children', '4')}</w:tbl>")
    assert rows.text == "| Where | Who | Price |\n| --- | --- | --- |\n| Pool | Adults | 9 |\n| Pool | Children | 4 |\n"


def test_raised_numbers_do_not_join_the_number_before():
    assert word(
        paragraph(
            "About 10", run("6", '<w:vertAlign w:val="superscript"/>'), " cells on 4 m", run("2", '<w:vertAlign w:val="superscript"/>')
        )
    ).text == ("About 10⁶ cells on 4 m²\n")


def level(number: int, text: str, form: str = "decimal", start: int = 1, more: str = "") -> str:
    return f'<w:lvl w:ilvl="{number}"><w:start w:val="{start}"/><w:numFmt w:val="{form}"/>{more}<w:lvlText w:val="{text}"/></w:lvl>'


def numbering(levels: str, lists: str = "", more: str = "") -> str:
    definition = f'<w:abstractNum w:abstractNumId="0">{levels}</w:abstractNum>'
    return f'<w:numbering>{definition}{more}<w:num w:numId="1"><w:abstractNumId w:val="0"/></w:num>{lists}</w:numbering>'


def other_list(number: int, inside: str = "", definition: int = 0) -> str:
    return f'<w:num w:numId="{number}"><w:abstractNumId w:val="{definition}"/>{inside}</w:num>'


def item(text: str, depth: int = 0, number: int = 1, style: str = "", mark: str = "") -> str:
    named = f'<w:pStyle w:val="{style}"/>' if style else ""
    listed = "" if style else f'<w:numPr><w:ilvl w:val="{depth}"/><w:numId w:val="{number}"/></w:numPr>'
    return f"<w:p><w:pPr>{named}{listed}<w:rPr>{mark}</w:rPr></w:pPr>{run(text) if text else ''}</w:p>"


FORMS = {
    "decimal": (1, "1.", "2."),
    "lowerLetter": (26, "z.", "aa."),
    "upperLetter": (27, "AA.", "BB."),
    "lowerRoman": (4, "iv.", "v."),
    "upperRoman": (9, "IX.", "X."),
    "decimalZero": (9, "09.", "10."),
    "ordinal": (1, "1st.", "2nd."),
}


@pytest.mark.parametrize("form", FORMS)
def test_a_list_has_the_numbers_that_word_shows_and_goes_on_behind_a_paragraph(form: str):
    start, first, second = FORMS[form]
    made = word(item("Open.") + paragraph("Mind the dog.") + item("Close."), {"numbering": numbering(level(0, "%1.", form, start))})
    assert (made.text, made.notes) == (f"{first} Open.\n\nMind the dog.\n\n{second} Close.\n", ())


def test_clauses_have_their_labels_and_deeper_levels_begin_again():
    levels = (
        level(0, "%1.") + level(1, "%1.%2") + level(2, "(%3)", "lowerLetter") + level(3, "%1.%4", start=3, more='<w:lvlRestart w:val="0"/>')
    )
    depths = (0, 1, 2, 2, 1, 2, 3, 0, 1, 3)
    made = word("".join(item("x", depth) for depth in depths), {"numbering": numbering(levels)})
    assert [line.split() for line in made.text.splitlines()] == [
        [label, "x"] for label in ("1.", "1.1", "(a)", "(b)", "1.2", "(a)", "1.3", "2.", "2.1", "2.4")
    ]


def test_lists_of_one_definition_count_together_unless_they_begin_again():
    body = item("x") + item("x", number=2) + item("x", number=3) + item("x", number=3) + item("x", number=4) + item("x", number=5)
    lists = (
        other_list(2)
        + other_list(3, '<w:lvlOverride w:ilvl="0"><w:startOverride w:val="7"/></w:lvlOverride>')
        + other_list(4, f'<w:lvlOverride w:ilvl="0">{level(0, "Step %1:")}</w:lvlOverride>')
        + other_list(5, definition=6)
        + other_list(9, definition=5)
    )
    linked = '<w:abstractNum w:abstractNumId="5"><w:styleLink w:val="S"/>' + level(0, "§ %1", "upperRoman") + "</w:abstractNum>"
    link = '<w:abstractNum w:abstractNumId="6"><w:numStyleLink w:val="S"/></w:abstractNum>'
    made = word(body, {"numbering": numbering(level(0, "%1."), lists, linked + link), "styles": STYLES})
    assert made.text == "1. x\n2. x\n7. x\n8. x\nStep 9: x\n§ I x\n"


STYLES = (
    "<w:styles>"
    '<w:style w:styleId="H1"><w:name w:val="heading 1"/><w:pPr><w:numPr><w:numId w:val="1"/></w:numPr></w:pPr></w:style>'
    '<w:style w:type="paragraph" w:styleId="H2"><w:name w:val="heading 2"/><w:basedOn w:val="H1"/></w:style>'
    '<w:style w:type="paragraph" w:styleId="Clause"><w:pPr><w:numPr><w:ilvl w:val="2"/><w:numId w:val="1"/></w:numPr></w:pPr></w:style>'
    '<w:style w:type="paragraph" w:styleId="Plain"><w:basedOn w:val="Clause"/><w:pPr><w:numPr><w:numId w:val="0"/></w:numPr></w:pPr></w:style>'
    '<w:style w:type="numbering" w:styleId="S"><w:pPr><w:numPr><w:numId w:val="9"/></w:numPr></w:pPr></w:style>'
    '<w:style w:type="character" w:styleId="Struck"><w:rPr><w:strike/></w:rPr></w:style>'
    "</w:styles>"
)
OUTLINE = (
    level(0, "Part %1", "upperRoman", more='<w:pStyle w:val="H1"/>')
    + level(1, "%1.%2", more='<w:pStyle w:val="H2"/><w:isLgl/>')
    + level(2, "(%3)", "lowerLetter")
)


def test_headings_and_styles_have_their_numbers():
    body = "".join(item(style, style=style) for style in ("H1", "H2", "Clause", "Clause", "Plain", "H2", "H1", "H2"))
    made = word(body, {"numbering": numbering(OUTLINE), "styles": STYLES})
    assert made.text == ("# Part I H1\n\n## 1.1 H2\n\n    (a) Clause\n    (b) Clause\n\nPlain\n\n## 1.2 H2\n\n# Part II H1\n\n## 2.1 H2\n")


def test_numbers_in_a_table_are_text_of_their_cells():
    first, second = (f"<w:tc>{item(text)}</w:tc>" for text in ("", "Close."))
    made = word(
        f"<w:tbl>{row(first, 'Ada')}{row(second, 'Bo')}</w:tbl>{item('')}{item('After.')}", {"numbering": numbering(level(0, "%1."))}
    )
    assert made.text == "| 1. | Ada |\n| --- | --- |\n| 2. Close. | Bo |\n\n4. After.\n"


def test_bullets_stay_and_paragraphs_without_a_shown_number_are_none():
    levels = level(0, "•", "bullet") + level(1, "%2)") + level(2, "", "none") + level(3, "%2%4.", "none")
    made = word(item("a") + item("b", 1) + item("c", 2) + item("e", 3) + item("d"), {"numbering": numbering(levels)})
    assert made.text == "- a\n  1) b\n\nc\n\n      1. e\n- d\n"
    hidden = item("x", mark="<w:vanish/>").replace("<w:r>", "<w:r><w:rPr><w:vanish/></w:rPr>")
    merged = item("x", mark='<w:del w:id="1"/>') + item("y")
    assert word(hidden + merged, {"numbering": numbering(level(0, "%1."))}).text == "1. xy\n"


STRUCK = {
    "one line": run("100", "<w:strike/>"),
    "two lines": run("100", "<w:dstrike/>"),
    "parts": run("1", "<w:strike/>") + run("00", "<w:b/><w:strike/>"),
    "style": run("100", '<w:rStyle w:val="Struck"/>'),
}


@pytest.mark.parametrize("kind", STRUCK)
def test_struck_text_is_marked(kind: str):
    made = word(paragraph("It was ", STRUCK[kind], run(" 80", '<w:strike w:val="0"/>')), {"styles": STYLES})
    assert made.text == "It was ~~100~~ 80\n"


def test_raised_letters_do_not_join_the_name_before():
    assert word(paragraph("x", run("max", '<w:vertAlign w:val="superscript"/>'))).text == "x^max\n"


def test_a_row_that_begins_in_a_later_column_keeps_its_columns():
    later = row("9", "4").replace("<w:tr>", '<w:tr><w:trPr><w:gridBefore w:val="1"/></w:trPr>')
    assert (
        word(f"<w:tbl>{row('', 'Adults', 'Children')}{later}</w:tbl>").text
        == "|  | Adults | Children |\n| --- | --- | --- |\n|  | 9 | 4 |\n"
    )


def test_a_table_in_a_cell_leaves_the_rows_of_the_outer_one():
    inner = f"<w:tbl>{row('Adults', '9')}{row('Children', '4')}</w:tbl>"
    both = f"<w:tc>{paragraph('Fees')}{inner}<w:p/></w:tc>"
    made = word(f"<w:tbl>{row('Place', 'In euros')}{row('The swimming pool', both)}{row('The library', 'none')}</w:tbl>")
    assert made.text == (
        "| Place | In euros |\n| --- | --- |\n| The swimming pool | Fees Adults, 9; Children, 4 |\n| The library | none |\n"
    )


@pytest.mark.parametrize("separator", ["/", "\\"])
def test_a_main_part_of_another_name_is_read_in_the_same_way(separator):
    names = {
        "[Content_Types].xml": "<Types xmlns='http://schemas.openxmlformats.org/package/2006/content-types'/>",
        "_rels/.rels": "<Relationships xmlns='http://schemas.openxmlformats.org/package/2006/relationships'><Relationship Id='rId1' "
        "Type='http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument' Target='word/main.xml'/></Relationships>",
        "word/main.xml": f"<w:document xmlns:w='{NAMESPACES['w']}'><w:body><w:p><w:fldSimple>{run('80 euros')}</w:fldSimple></w:p></w:body></w:document>",
    }
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, content in names.items():
            archive.writestr(name.replace("/", separator), content)
    assert convert(".docx", file.getvalue()).text == "80 euros\n"


def test_an_archive_with_a_password_is_refused():
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("word/document.xml", "<a/>")
    raw = file.getvalue()
    directory = raw.index(b"PK\x01\x02")
    with pytest.raises(UnreadableFileError, match="is encrypted; remove its password"):
        convert(".docx", raw[: directory + 8] + b"\1" + raw[directory + 9 :])


def test_a_chain_of_styles_is_climbed_to_a_limit_and_once_if_it_is_a_loop():
    assert len(list(style_chain("s0", {f"s{number}": f"s{number + 1}" for number in range(20_000)}))) == 100
    assert list(style_chain("a", {"a": "b", "b": "a"})) == ["a", "b"]

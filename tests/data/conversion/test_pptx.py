"""Every part of a presentation is read, or a note names it."""

from collections.abc import Callable
from typing import Any

import pptx
import pytest
from lxml import etree
from pptx.chart.data import CategoryChartData, XyChartData
from pptx.enum.chart import XL_CHART_TYPE
from pptx.opc.package import Part
from pptx.opc.packuri import PackURI
from pptx.util import Inches

from tests.mixed_documents import saved
from workbench.data.conversion.registry import convert
from workbench.data.conversion.text import ConvertedText

NAMESPACES = {
    "p": "http://schemas.openxmlformats.org/presentationml/2006/main",
    "a": "http://schemas.openxmlformats.org/drawingml/2006/main",
    "a14": "http://schemas.microsoft.com/office/drawing/2010/main",
    "m": "http://schemas.openxmlformats.org/officeDocument/2006/math",
    "mc": "http://schemas.openxmlformats.org/markup-compatibility/2006",
    "r": "http://schemas.openxmlformats.org/officeDocument/2006/relationships",
    "dgm": "http://schemas.openxmlformats.org/drawingml/2006/diagram",
}
PLACE = (Inches(1), Inches(2), Inches(4), Inches(3))


def deck(change: Callable[[Any], object]) -> ConvertedText:
    """Convert a presentation with a slide *Fees* that was changed."""
    made = pptx.Presentation()
    slide = made.slides.add_slide(made.slide_layouts[5])
    slide.shapes.title.text = "Fees"
    change(slide)
    return convert(".pptx", saved(made.save))


def add(slide: Any, markup: str) -> None:
    declared = " ".join(f'xmlns:{prefix}="{namespace}"' for prefix, namespace in NAMESPACES.items())
    slide.shapes._spTree.extend(etree.fromstring(f"<all {declared}>{markup}</all>"))


def shape(paragraph: str, number: int = 70, properties: str = "") -> str:
    names = f'<p:nvSpPr><p:cNvPr id="{number}" name="s" {properties}/><p:cNvSpPr/><p:nvPr/></p:nvSpPr><p:spPr/>'
    return f"<p:sp>{names}<p:txBody><a:bodyPr/><a:p>{paragraph}</a:p></p:txBody></p:sp>"


def text_shape(text: str) -> str:
    return shape(f"<a:r><a:t>{text}</a:t></a:r>")


def frame(uri: str, inside: str = "") -> str:
    names = '<p:nvGraphicFramePr><p:cNvPr id="71" name="f"/><p:cNvGraphicFramePr/><p:nvPr/></p:nvGraphicFramePr><p:xfrm/>'
    return f'<p:graphicFrame>{names}<a:graphic><a:graphicData uri="{uri}">{inside}</a:graphicData></a:graphic></p:graphicFrame>'


def alternatives(*forms: str) -> str:
    choices = "".join(f'<mc:Choice Requires="x">{form}</mc:Choice>' for form in forms[:-1])
    return f"<mc:AlternateContent>{choices}<mc:Fallback>{forms[-1]}</mc:Fallback></mc:AlternateContent>"


EQUATION = "<a14:m><m:oMath><m:sSup><m:e><m:r><m:t>r</m:t></m:r></m:e><m:sup><m:r><m:t>2</m:t></m:r></m:sup></m:sSup></m:oMath></a14:m>"


@pytest.mark.parametrize(
    ("markup", "text"),
    [
        (alternatives(text_shape("New form"), text_shape("Old form")), "New form"),
        (alternatives("<p:sp/>", text_shape("Old form")), "Old form"),
        (alternatives(shape(f"<a:r><a:t>Area </a:t></a:r>{EQUATION}"), "<p:pic/>"), "Area r²"),
        (
            f"<p:grpSp><p:nvGrpSpPr><p:cNvPr id='9' name='g'/><p:cNvGrpSpPr/><p:nvPr/></p:nvGrpSpPr><p:grpSpPr/>{text_shape('Inside')}</p:grpSp>",
            "Inside",
        ),
    ],
)
def test_text_in_several_forms_equations_and_groups_is_read_once(markup: str, text: str):
    made = deck(lambda slide: add(slide, markup))
    assert (made.text, made.notes) == (f"# Fees\n\n{text}\n", ())


def test_a_chart_is_its_title_and_a_table():
    data = CategoryChartData()
    data.categories = ["2023", "2024"]
    data.add_series("Adults", (9, 9.5))
    data.add_series("Children", (4, None))

    def change(slide: Any) -> None:
        chart = slide.shapes.add_chart(XL_CHART_TYPE.COLUMN_CLUSTERED, *PLACE, data).chart
        chart.has_title, chart.chart_title.text_frame.text = True, "Fees by year"

    made = deck(change)
    table = "|  | Adults | Children |\n| --- | --- | --- |\n| 2023 | 9 | 4 |\n| 2024 | 9.5 |  |"
    assert (made.text, made.notes) == (f"# Fees\n\nFees by year\n\n{table}\n", ())


def test_a_diagram_is_a_list():
    points = [("doc", ""), ("node", "Ask"), ("parTrans", "x"), ("node", "Answer"), ("pres", "x")]
    body = "<dgm:t><a:bodyPr/><a:p><a:r><a:t>{}</a:t></a:r></a:p></dgm:t>"
    data = "".join(f'<dgm:pt modelId="{number}" type="{kind}">{body.format(text)}</dgm:pt>' for number, (kind, text) in enumerate(points))

    def change(slide: Any) -> None:
        model = f'<dgm:dataModel xmlns:dgm="{NAMESPACES["dgm"]}" xmlns:a="{NAMESPACES["a"]}"><dgm:ptLst>{data}</dgm:ptLst></dgm:dataModel>'
        part = Part(
            PackURI("/ppt/diagrams/data1.xml"),
            "application/vnd.openxmlformats-officedocument.drawingml.diagramData+xml",
            slide.part.package,
            model.encode(),
        )
        relation = slide.part.relate_to(part, "http://schemas.openxmlformats.org/officeDocument/2006/relationships/diagramData")
        add(slide, frame("http://schemas.openxmlformats.org/drawingml/2006/diagram", f'<dgm:relIds r:dm="{relation}"/>'))

    made = deck(change)
    assert (made.text, made.notes) == ("# Fees\n\n- Ask\n- Answer\n", ())


def scatter(slide: Any) -> None:
    data = XyChartData()
    data.add_series("Adults").add_data_point(1, 2)
    slide.shapes.add_chart(XL_CHART_TYPE.XY_SCATTER, *PLACE, data)


def commented(slide: Any) -> None:
    comments = f'<p:cmLst xmlns:p="{NAMESPACES["p"]}"><p:cm/></p:cmLst>'
    part = Part(PackURI("/ppt/comments/comment1.xml"), "application/xml", slide.part.package, comments.encode())
    slide.part.relate_to(part, "http://schemas.openxmlformats.org/officeDocument/2006/relationships/comments")


NEW_CHART = alternatives(frame("http://schemas.microsoft.com/office/drawing/2014/chartex"), text_shape("This chart is not available."))
PICTURE = '<p:pic><p:nvPicPr><p:cNvPr id="8" name="p"/><p:cNvPicPr/><p:nvPr>{}</p:nvPr></p:nvPicPr><p:blipFill/><p:spPr/></p:pic>'


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (scatter, "1 chart"),
        (lambda slide: add(slide, NEW_CHART), "1 chart"),
        (lambda slide: add(slide, PICTURE.format("")), "1 image"),
        (lambda slide: add(slide, PICTURE.format("<a:videoFile r:link='r9'/>")), "1 media file"),
        (lambda slide: add(slide, frame("http://schemas.openxmlformats.org/presentationml/2006/ole")), "1 embedded object"),
        (lambda slide: add(slide, alternatives("<p:contentPart/>", "<p:pic/>")), "1 drawing in ink"),
        (lambda slide: add(slide, shape("<a:r><a:t>Hidden</a:t></a:r>", properties='hidden="1"')), "1 hidden shape"),
        (commented, "1 comment"),
    ],
)
def test_a_part_that_is_not_read_is_named(change: Callable[[Any], object], what: str):
    made = deck(change)
    assert (made.text, made.notes) == ("# Fees\n", (f"has {what} that is not read",))


def runs(*texts: str, **properties: str) -> str:
    values = " ".join(f'{name}="{value}"' for name, value in properties.items())
    return "".join(f"<a:r><a:rPr {values}/><a:t>{text}</a:t></a:r>" for text in texts)


@pytest.mark.parametrize(
    ("paragraph", "text"),
    [
        (runs("10") + runs("-", "3", baseline="30000") + runs(" m"), "10⁻³ m"),
        (runs("x") + runs("max", baseline="30000"), "x^max"),
        (runs("2") + runs("nd", baseline="30000") + runs(" of H") + runs("2", baseline="-25000") + runs("O"), "2nd of H2O"),
        (runs("101") + runs("2", baseline="-25000") + runs("10") + runs("3", "4", baseline="30000", strike="sngStrike"), "101₂10~~³⁴~~"),
        (runs("was ") + runs("100 ", "euros ", strike="sngStrike") + runs("80"), "was ~~100 euros~~ 80"),
        (runs("was ") + runs("100", strike="dblStrike") + runs(" 80", strike="noStrike"), "was ~~100~~ 80"),
    ],
)
def test_raised_and_struck_text_is_marked(paragraph: str, text: str):
    assert deck(lambda slide: add(slide, shape(paragraph))).text == f"# Fees\n\n{text}\n"

    def change(slide: Any) -> None:
        table = slide.shapes.add_table(1, 2, *PLACE).table
        table.cell(0, 1).text_frame._txBody[-1].extend(etree.fromstring(f'<all xmlns:a="{NAMESPACES["a"]}">{paragraph}</all>'))

    assert deck(change).text == f"# Fees\n\n|  | {text} |\n| --- | --- |\n"


def numbered(text: str, scheme: str, level: int = 0, start: str = "") -> str:
    number = f'<a:buAutoNum type="{scheme}" {f"startAt={chr(34)}{start}{chr(34)}" if start else ""}/>' if scheme else ""
    return f'<a:p><a:pPr lvl="{level}">{number}</a:pPr>{runs(text)}</a:p>'


@pytest.mark.parametrize(
    ("paragraphs", "text"),
    [
        ([("a", "arabicPeriod", 0, "4"), ("b", "arabicPeriod", 0, "4")], "4. a\n5. b"),
        ([("a", "alphaLcParenBoth"), ("", ""), ("b", "alphaLcParenBoth")], "(a) a\n(b) b"),
        ([("a", "romanUcPeriod"), ("c", ""), ("b", "romanUcPeriod")], "I. a\n\nc\n\nI. b"),
        (
            [("a", "arabicParenR"), ("b", "alphaUcPeriod", 1), ("c", "arabicParenR"), ("d", "alphaUcPeriod", 1)],
            "1) a\n  A. b\n2) c\n  A. d",
        ),
        ([("a", "romanLcParenR", 0, "3"), ("b", "arabicPlain")], "iii) a\n1 b"),
    ],
)
def test_numbered_paragraphs_have_their_numbers(paragraphs: list[Any], text: str):
    written = "".join(numbered(*each) for each in paragraphs)
    made = deck(lambda slide: add(slide, shape("").replace("<a:p></a:p>", written)))
    assert made.text == f"# Fees\n\n{text}\n"


def test_a_placeholder_has_the_numbers_of_its_layout_and_a_list_of_bullets_stays():
    for own, text in (("", "3. a\n4. b"), ("<a:buChar char='•'/>", "- a\n- b")):
        made = pptx.Presentation()
        style = (
            f'<a:lstStyle xmlns:a="{NAMESPACES["a"]}"><a:lvl1pPr><a:buAutoNum type="arabicPeriod" startAt="3"/></a:lvl1pPr></a:lstStyle>'
        )
        body = made.slide_layouts[1].placeholders[1].text_frame._txBody
        body.replace(body.find("{*}lstStyle"), etree.fromstring(style))
        slide = made.slides.add_slide(made.slide_layouts[1])
        slide.shapes.title.text = "Fees"
        frame = slide.placeholders[1].text_frame
        frame.text = "a\nb"
        for paragraph in frame.paragraphs:
            if own:
                paragraph._p.get_or_add_pPr().append(etree.fromstring(own.replace("<a:buChar", f'<a:buChar xmlns:a="{NAMESPACES["a"]}"')))
        assert convert(".pptx", saved(made.save)).text == f"# Fees\n\n{text}\n"


def test_a_hidden_slide_is_named_and_all_texts_of_the_notes_are_read():
    made = pptx.Presentation()
    for number in (1, 2):
        slide = made.slides.add_slide(made.slide_layouts[5])
        slide.shapes.title.text = f"Part {number}"
    slide.element.set("show", "0")
    notes = made.slides[0].notes_slide
    notes.notes_text_frame.text = "Speak slowly."
    notes.shapes._spTree.append(
        etree.fromstring(text_shape("Mind the time.").replace("<p:sp>", f'<p:sp xmlns:p="{NAMESPACES["p"]}" xmlns:a="{NAMESPACES["a"]}">'))
    )
    converted = convert(".pptx", saved(made.save))
    assert converted.text == "# Part 1\n\nSpeak slowly.\n\nMind the time.\n"
    assert converted.notes == ("has 1 hidden slide that is not read",)

"""A web page becomes its content: without what its elements and roles call navigation, and without what it hides."""

import pytest

from workbench.data.conversion.registry import convert
from workbench.data.conversion.text import UnreadableFileError

BODY = "<p>Every bike must be returned to the shed before 18:30, and a late return costs 15 euros.</p>"


def text_of(body: str, head: str = "<title>Bikes</title>") -> str:
    return convert(".html", f"<!DOCTYPE html><html><head>{head}</head><body>{body}</body></html>".encode()).text


def test_only_the_main_element_is_read():
    help_text = "<div><h2>Keyboard shortcuts</h2><p>Press S to search in the book</p></div>"
    for opening, closing in (("<main>", "</main>"), ("<div role='main'>", "</div>"), ("<article>", "</article>")):
        page = f"{help_text}<ul id='themes'><li>Ayu</li></ul>{opening}<h1>Return</h1>{BODY}{closing}<p>Made by a machine</p>"
        assert text_of(page) == f"# Return\n\n{BODY[3:-4]}\n"


def test_a_main_element_with_little_of_the_page_is_not_its_content():
    text = text_of(f"{BODY * 9}<main><p>Loading</p></main>")
    assert text.count("before 18:30") == 9
    two = text_of(f"<article>{BODY}</article><article><p>Another article of the same page.</p></article>")
    assert "before 18:30" in two
    assert "Another article" in two


def test_navigation_and_hidden_parts_are_left_out():
    parts = [
        "<nav><a href='x'>Next</a> XX</nav>",
        "<footer>XX</footer>",
        "<aside>XX</aside>",
        "<div role='navigation'>XX</div>",
        "<div role=contentinfo>XX</div>",
        "<div hidden>XX</div>",
        "<span aria-hidden='true'>XX</span>",
        "<div style='color: red; Display : none'><p>XX</p></div>",
        "<template>XX</template>",
        "<noscript>XX</noscript>",
        "<a class='headerlink' href='#a'>¶</a>",
    ]
    kept = f"# Return\n\n{BODY[3:-4]}\n"
    assert {around: text_of(f"<h1>Return</h1>{around}{BODY}") for around in parts} == dict.fromkeys(parts, kept)


def test_parts_that_are_content_stay():
    text = text_of(
        f"<main><h1>Return</h1>{BODY}<aside>Ring the bell.</aside><p hidden='until-found'>Opens later.</p>"
        "<blockquote>Ride<footer>Ada</footer></blockquote><p><a href='#n'>Note 1</a></p></main>"
    )
    assert all(part in text for part in ("Ring the bell.", "Opens later.", "Ada", "Note 1"))
    assert "The whole page is in a footer" in text_of("<footer>The whole page is in a footer</footer>")


def test_a_page_that_only_redirects_is_refused_and_one_that_reloads_itself_is_read():
    with pytest.raises(UnreadableFileError, match="only redirects to another page"):
        text_of("<p>Redirecting to <a href='b.html'>b.html</a>.</p>", '<meta http-equiv="Refresh" content="0; URL=b.html">')
    assert "before 18:30" in text_of(BODY, '<meta http-equiv="refresh" content="30">')
    assert "before 18:30" in text_of(BODY * 9, '<meta http-equiv="refresh" content="30; url=b.html">')


def test_parts_that_are_not_read_are_named():
    parts = {
        "<div hidden>Secret</div><p style='display:none'>More</p>": "2 hidden parts",
        "<template><p>Later</p></template>": "1 hidden part",
        "<noscript>Turn scripts on</noscript>": "1 hidden part",
        "<img src=a.png><img src=b.png alt='A bike'><img src=line.png alt=''>": "2 images",
        "<iframe src=b.html></iframe>": "1 embedded page",
        "<object data=a.pdf>No viewer</object><embed src=b.swf>": "2 embedded objects",
        "<svg><text>9 euros</text></svg><svg><path d='M0 0'/></svg>": "1 drawing",
        "<video src=a.mp4></video><audio src=a.mp3></audio>": "2 media files",
        "<ruby>京都<rp>(</rp><rt>きょうと</rt><rp>)</rp></ruby>": "1 ruby text",
        "<div hidden><img src=a.png></div><nav><img src=b.png></nav>": "",
    }
    made = {part: convert(".html", f"<h1>Return</h1>{part}{BODY}".encode()) for part in parts}
    notes = {part: (f"has {what} that {'is' if what.startswith('1') else 'are'} not read",) if what else () for part, what in parts.items()}
    assert {part: page.notes for part, page in made.items()} == notes
    kept = {page.text.replace("\n\n京都", "") for page in made.values()}
    assert kept == {f"# Return\n\n{BODY[3:-4]}\n"}


def test_a_main_element_beside_more_text_is_noted():
    page = convert(".html", f"<div>{BODY * 3}</div><main>{BODY}</main>".encode())
    assert page.notes == ("has 75.0 % of its text outside of its main element, which is not read",)
    assert convert(".html", f"<nav>{BODY * 3}</nav><main>{BODY}</main>".encode()).notes == ()


def test_rows_with_joined_cells_stay_lines():
    rows = "<tr><td rowspan=2>Pool</td><td>Adults</td><td>9</td></tr><tr><td>Children</td><td>4</td></tr><tr><td colspan=3>Closed on Mondays</td></tr>"
    assert text_of(f"<table><tr><th>Where</th><th>Who</th><th>Price</th></tr>{rows}</table>", "") == (
        "| Where | Who | Price |\n| --- | --- | --- |\n| Pool | Adults | 9 |\n| Pool | Children | 4 |\n| Closed on Mondays |  |  |\n"
    )
    # A list in a cell is no line.
    assert "|" not in text_of("<table><tr><td colspan=2>A</td></tr><tr><td><ul><li>B</li></ul></td><td>C</td></tr></table>", "")
    assert "word" in text_of("<table><tr><td rowspan=99999 colspan=99999>word</td></tr><tr><td>b</td></tr></table>", "")


def test_end_tags_that_html_lets_authors_leave_out_end_cells_rows_items_and_options():
    table = "| Plan | Price |\n| --- | --- |\n| Basic | 5 |\n| Pro | 10 |\n"
    for markup in (
        "<table><tr><th>Plan<th>Price<tr><td>Basic<td>5<tr><td>Pro<td>10</table>",
        "<table><thead><tr><th>Plan<th>Price<tbody><tr><td>Basic<td><b>5</b><tr><td>Pro<td>10</tbody></table>",
        "<table><th>Plan</th><th>Price</th></tr><td>Basic</td><td>5</td></tr><td>Pro</td><td>10</td></table>",
        "<table><tr><th>Plan</th><th>Price</th></tr><tr><td>Basic<td>5</tr><tr><td>Pro<td><i>10<tfoot></table>",
    ):
        assert text_of(markup, "") == table
    joined = "<table><tr><td rowspan=2>north<td>q1<td>10<tr><td>q2<td>20</table>"
    assert text_of(joined, "") == "| north | q1 | 10 |\n| --- | --- | --- |\n| north | q2 | 20 |\n"
    assert text_of("<ul><li>a<ol><li>b<li>c</ol><li>d</ul>", "") == "- a\n  1. b\n  2. c\n- d\n"
    assert text_of("<table><tr><td><ul><li>a</ul><td>b</table><p>c</p>", "") == "- a\n\nb\n\nc\n"
    assert text_of("<p>Pay by <select><option>card<option selected>cash<option>bill</select>.</p>", "") == "Pay by\n\ncash\n\n.\n"


def test_a_small_table_in_a_cell_is_a_line_and_one_that_lays_out_the_page_is_not():
    inner = "<table><tr><td>Adults</td><td>9</td></tr><tr><td>Children</td><td>4</td></tr></table>"
    rows = "<tr><th>Place</th><th>Fees in euros</th></tr><tr><td>The swimming pool</td><td>{}</td></tr><tr><td>The library</td><td>none</td></tr>"
    assert text_of(f"<table>{rows.format(inner)}</table>", "") == (
        "| Place | Fees in euros |\n| --- | --- |\n| The swimming pool | Adults, 9; Children, 4 |\n| The library | none |\n"
    )
    layout = f"<table><tr><td>Menu</td><td>Search</td></tr><tr><td>Home</td><td>{inner}</td></tr></table>"
    assert "| Adults | 9 |\n| --- | --- |\n| Children | 4 |" in text_of(layout, "")


LISTS = {
    "<ol start=5><li>a</li><li>b</li></ol>": "5. a\n6. b",
    "<ol><li>a</li><li value=9>b</li><li>c</li></ol>": "1. a\n9. b\n10. c",
    "<ol reversed><li>a<ol><li>x</ol><li>b</ol>": "2. a\n  1. x\n1. b",
    "<ol reversed start=0><li>a<li>b</ol>": "0. a\n-1. b",
    "<ol type=a start=26><li>a<li>b</ol>": "z. a\naa. b",
    "<ol type=A><li>a<li type=i value=4>b</ol>": "A. a\niv. b",
    "<ol type=I start=1999><li>a</ol>": "MCMXCIX. a",
    "<ol style='color: red; list-style-type: lower-roman'><li>a<li>b</ol>": "i. a\nii. b",
    "<ol style='list-style: inside upper-alpha'><li>a</ol>": "A. a",
    "<ol start=x type=?><li>a</ol>": "1. a",
    "<ol type=i start=5000><li>a</ol>": "5000. a",
    "<ul type=a><li>a</ul>": "- a",
}


@pytest.mark.parametrize("markup", LISTS)
def test_items_have_the_numbers_that_a_browser_shows(markup: str):
    assert text_of(markup, "") == f"{LISTS[markup]}\n"


DELETED = {
    "was <del>100</del> 80": "was ~~100~~ 80",
    "was <s> 100 <b>euros</b> </s>80": "was ~~100 euros~~ 80",
    "was <strike>100</strike>": "was ~~100~~",
    "was <span style='text-decoration: red line-through'>100</span> 80": "was ~~100~~ 80",
    "<del><p>One</p><p>Two<br>Three</p></del>": "~~One~~\n\n~~Two~~\n~~Three~~",
    "<s>a</s><b><s>b</s></b> <s>c</s>": "~~ab~~ ~~c~~",
    "<del>a <s>b</s></del> <del> </del>c <ins>d</ins>": "~~a b~~ c d",
    "<table><tr><td>a</td><td><s>b</s></td></tr><tr><td>c</td><td>d</td></tr></table>": "| a | ~~b~~ |\n| --- | --- |\n| c | d |",
}


@pytest.mark.parametrize("markup", DELETED)
def test_deleted_text_is_marked(markup: str):
    assert text_of(markup, "") == f"{DELETED[markup]}\n"


FORMS = {
    "<input type=radio checked> yes <input type=radio> no": "☒ yes ☐ no",
    "<label><input type=checkbox CHECKED>Dogs</label><label><input type=checkbox>Cats</label>": "☒ Dogs ☐ Cats",
    "<div><input type=checkbox></div><p>Menu</p>": "Menu",
    "<table><tr><td>Dogs<td><input type=checkbox checked><tr><td>Cats<td><input type=checkbox></table>": "| Dogs | ☒ |\n| --- | --- |\n| Cats | ☐ |",
    "amount <input value='450 EUR'>, on <input type=date value=2026-05-01>": "amount 450 EUR , on 2026-05-01",
    "a<input type=hidden value=token><input type=submit value=Send><input type=password value=x>": "a",
    "by <select><option>card</option><option>cash</option></select>": "by\n\ncard",
    "by <select><optgroup label=x><option>card</option></optgroup><option selected>cash</option></select>": "by\n\ncash",
    "<select multiple><option>card</option><option selected>cash</option></select>": "☐ card\n\n☒ cash",
    "<textarea>A note</textarea>": "A note",
}


@pytest.mark.parametrize("markup", FORMS)
def test_a_form_says_what_is_chosen(markup: str):
    assert text_of(f"<form>{markup}</form>", "") == f"{FORMS[markup]}\n"


MATHML = {
    "<mfrac><mn>1</mn><mn>2</mn></mfrac>": "1/2",
    "<mfrac><mrow><mi>a</mi><mo>+</mo><mn>1</mn></mrow><mn>2</mn></mfrac><mi>x</mi>": "(a+1)/2 x",
    "<mn>1</mn><mfrac><mn>1</mn><mn>2</mn></mfrac>": "1 1/2",
    "<mfrac linethickness=0><mi>n</mi><mi>k</mi></mfrac>": "n; k",
    "<msqrt><mn>9</mn></msqrt>": "√9",
    "<msqrt><mi>x</mi><mo>+</mo><mn>9</mn></msqrt><mn>2</mn>": "√(x+9)2",
    "<mroot><mi>x</mi><mn>3</mn></mroot>": "³√x",
    "<msup><mi>x</mi><mn>2</mn></msup>": "x²",
    "<msup><mi>x</mi><mi>max</mi></msup><mi>y</mi>": "x^max y",
    "<msup><mn>10</mn><mrow><mo>-</mo><mn>3</mn></mrow></msup>": "10⁻³",
    "<msubsup><mi>x</mi><mi>i</mi><mn>2</mn></msubsup>": "xᵢ²",
    "<munderover><mo>∑</mo><mrow><mi>i</mi><mo>=</mo><mn>1</mn></mrow><mi>n</mi></munderover><mi>i</mi>": "∑ᵢ₌₁ⁿi",
    "<munder><mi>lim</mi><mi>t</mi></munder>": "limₜ",
    "<mover><mi>x</mi><mo>¯</mo></mover>": "x\u0304",
    "<mfenced open='[' close=']' separators=';'><mn>0</mn><mn>1</mn></mfenced>": "[0;1]",
    "<mtable><mtr><mtd><mn>1</mn></mtd><mtd><mn>2</mn></mtd></mtr><mtr><mtd><mn>3</mn></mtd><mtd><mn>4</mn></mtd></mtr></mtable>": "[1, 2; 3, 4]",
    "<semantics><mfrac><mn>3</mn><mn>4</mn></mfrac><annotation-xml><cn>0.75</cn></annotation-xml></semantics>": "3/4",
    "<mi>f</mi><mo>&ApplyFunction;</mo><mi>x</mi>": "fx",
    "<mfrac><mn>1</mn></mfrac>": "1",
    "<msup><mfrac><mn>2</mn><mn>3</mn></mfrac><mn>2</mn></msup>": "(2/3)²",
    "<msup><mrow><msup><mi>x</mi><mn>2</mn></msup></mrow><mn>3</mn></msup>": "(x²)³",
    "<mmultiscripts><mi>U</mi><mn>9</mn><mn>2</mn><mprescripts/><mn>92</mn><mn>238</mn></mmultiscripts>": "₉₂²³⁸U₉²",
    "<mmultiscripts><mi>C</mi><mprescripts/><none/><mn>14</mn></mmultiscripts>": "¹⁴C",
    "<mn>10</mn><mspace width='1em'/><mtext>m s</mtext>": "10 m s",
}


@pytest.mark.parametrize("markup", MATHML)
def test_equations_in_mathml_are_the_line_that_word_equations_are(markup: str):
    assert text_of(f"<p>So <math>{markup}</math>.</p>", "") == f"So {MATHML[markup]}.\n"
    prefixed = markup.replace("</", "<\0").replace("<", "<m:").replace("<m:\0", "</m:")
    assert text_of(f"<p>So <m:math>{prefixed}</m:math>.</p>", "") == f"So {MATHML[markup]}.\n"


def test_an_equation_nested_deeper_than_python_recurses_keeps_its_signs():
    assert text_of(f"<p>So <math>{'<mrow>' * 3000}<mi>x</mi>{'</mrow>' * 3000}</math>.</p>", "") == "So x.\n"


RAISED = {
    "x<sup>max</sup>": "x^max",
    "x<sup>n</sup>": "xⁿ",
    "<i>x</i><sup><i>n+k</i></sup>": "x^(n+k)",
    "10<sup>a</sup>": "10a",
    "(a+b)<sup>k</sup>": "(a+b)^k",
    "2<sup>nd</sup>, XIX<sup>e</sup>, M<sup>me</sup>, Shed<sup>TM</sup>": "2nd, XIXe, Mme, ShedTM",
    "see<sup><a href='#n'>b</a></sup> and<sup>[2]</sup>": "seeb and[2]",
    "5<sup>1</sup>/<sub>2</sub> and <sup>3</sup>&frasl;<sub>4</sub>": "5 1/2 and 3⁄4",
    "101<sub>2</sub> is 5<sub>10</sub>, H<sub>2</sub>O": "101₂ is 5₁₀, H2O",
    "<p>One</p><p><sup>a</sup> Two": "One\n\na Two",
}


@pytest.mark.parametrize("markup", RAISED)
def test_raised_letters_do_not_join_the_name_before(markup: str):
    assert text_of(markup, "") == f"{RAISED[markup]}\n"


def test_equations_raised_numbers_and_soft_hyphens_keep_their_meaning():
    source = "<math><semantics><mrow><mi>E</mi><mo>=</mo><mi>m</mi></mrow><annotation encoding='application/x-tex'>E = m c^2</annotation></semantics></math>"
    assert text_of(f"<p>So {source} holds for 10<sup>6</sup> cells on 4 m<sup>2</sup> of soft&shy;ware<sup>th</sup>.</p>", "") == (
        "So E = m c^2 holds for 10⁶ cells on 4 m² of softwareth.\n"
    )
    assert text_of("<p>So <math><mi>x</mi><mo>=</mo><mn>2</mn></math>.</p>", "") == "So x=2.\n"


@pytest.mark.parametrize("rows", ["300", "0", "9" * 5_000])
def test_a_cell_of_hundreds_of_rows_is_repeated_in_all_of_them(rows: str):
    others = "".join(f"<tr><td>place {number}" for number in range(1, 300))
    assert text_of(f"<table><tr><td rowspan={rows}>North<td>place 0{others}</table>").splitlines()[-1] == "| North | place 299 |"


def test_joined_cells_of_more_cells_than_a_person_reads_stay_as_they_are():
    cells = "<td rowspan=200 colspan=200>x" * 20
    assert text_of(f"<table>{f'<tr>{cells}' * 300}</table>").count("x") == 6_000


def test_an_encoding_that_the_page_declares_is_read_as_browsers_read_it():
    page = "<meta charset=iso-8859-1><p>It’s 5 € … “quoted”</p>"
    assert [convert(".html", page.encode(encoding)).text for encoding in ("cp1252", "utf-8")] == ["It’s 5 € … “quoted”\n"] * 2

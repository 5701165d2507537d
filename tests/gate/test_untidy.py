"""The formats of a gate escape every text of the data."""

import xml.etree.ElementTree as ElementTree

from workbench.core.errors import InputError
from workbench.gate.check import GateReport
from workbench.gate.render import annotation_lines, gate_json, gate_junit, gate_lines, gate_markdown, gate_table, write_unchecked
from workbench.gate.rules import RuleResult
from workbench.measures.statistics.decisions import Decision
from workbench.report.analysis.causes import QuestionLoss

ODD = 'a<script>|b`\n::error::x\x1b[31m 5% "q" & ]]>'
HITS = tuple({"rank": rank, "doc_id": ODD, "start": 0, "end": 9, "text": ODD, "relevant": rank == 1} for rank in (1, 2))
LOST = QuestionLoss(ODD, ODD, "document", ODD, 1, 0, "rank", HITS, HITS, ODD, (), "recall@5", 1.0, 0.0)
RULES = [RuleResult(rule=ODD, kind="baseline", metric="recall@5", slice=ODD, condition="retrieved", outcome=Decision.FAIL, reason=ODD)]
PASSED = RuleResult(
    rule="test",
    kind="retrieval test",
    metric="",
    slice="all",
    condition="retrieved",
    outcome=Decision.PASS,
    reason="d has rank 1",
    query_id="q",
)
REPORT = GateReport("run", "configuration", RULES, [LOST], None, [ODD])


def test_a_terminal_gets_no_control_characters_and_no_commands():
    lines = list(gate_lines(REPORT))
    assert all("\x1b" not in line and "\n" not in line for line in lines)
    assert not any(line.startswith("::") for line in lines)


def test_markdown_shows_markup_as_text():
    text = gate_markdown(REPORT)
    assert "\x1b" not in text
    assert "<script>" not in text.replace("\\<script\\>", "")
    assert all(line.count("|") - line.count("\\|") == 4 for line in text.splitlines() if line.startswith("| ❌"))


def test_junit_is_xml_whatever_the_texts_are():
    (case,) = ElementTree.fromstring(gate_junit(REPORT)).iter("testcase")
    assert "a<script>|b`" in str(case.get("name"))
    assert [
        (note.get("name"), "a<script>|b`" in str(note.get("value"))) for note in ElementTree.fromstring(gate_junit(REPORT)).iter("property")
    ] == [("note", True)]
    (failure,) = case
    assert (failure.tag, failure.get("type")) == ("failure", "fail")


def test_junit_is_xml_with_every_character_that_xml_does_not_allow(tmp_path):
    # https://www.w3.org/TR/xml/#charsets
    illegal = [*map(chr, (*range(0x09), 0x0B, 0x0C, *range(0x0E, 0x20), *range(0xD800, 0xE000), 0xFFFE, 0xFFFF))]
    text = "".join(illegal)
    rule = RuleResult(rule=text, kind="baseline", metric="recall@5", slice=text, condition="retrieved", outcome=Decision.FAIL, reason=text)
    (suite,) = ElementTree.fromstring(gate_junit(GateReport(text, text, [rule], [], None, [text])).encode())
    assert "\\ufffe\\uffff" in str(suite.get("name"))
    write_unchecked(InputError(text), tmp_path / "run", None, tmp_path / "junit.xml")
    assert next(ElementTree.parse(tmp_path / "junit.xml").iter("error")).get("message", "").startswith("\\x00\\x01")


def test_an_annotation_is_one_line_without_another_command():
    lines = list(annotation_lines(REPORT))
    assert len(lines) == 2
    assert all(line.startswith(("::error title=", "::notice title=")) and "\n" not in line for line in lines)
    assert "5%25" in lines[0]


def test_tables_and_json_keep_the_texts():
    assert gate_table(REPORT)["rule"].tolist() == [ODD, ""]
    found = gate_json(REPORT)
    assert (found["rules"][0]["reason"], found["rules"][0]["p"], found["lost"][0]["query_id"]) == (ODD, None, ODD)


def test_many_retrieval_tests_that_pass_are_counted():
    lines = list(gate_lines(GateReport("run", "c", [*RULES, *[PASSED] * 30])))
    assert len(lines) == 3
    assert lines[-1] == "pass       30 retrieval tests"

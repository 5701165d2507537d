from workbench.report.cells import table_lines
from workbench.report.model import Cell, Column, Row, Table
from workbench.report.topics.registry import summary_lines


def test_a_table_is_aligned_with_numbers_to_the_right():
    rows = [Row([Cell("a"), Cell("0.5")]), Row([Cell("longer"), Cell("10.25")])]
    assert table_lines(Table("", [Column("name", "word"), Column("value")], rows)) == [
        "name    value",
        "a         0.5",
        "longer  10.25",
    ]


def test_the_summary_has_the_order_the_window_the_failures_and_the_verdict(shown):
    lines = summary_lines(shown.run)
    assert lines[1] == "By span_recall@500t, with 95 % intervals and numbers of questions"
    assert any(line.startswith("Not ranked: chunks longer than the embedder's window of 48 tokens") for line in lines)
    assert sum(line.endswith("✕ –") for line in lines) == 3
    assert any(line.startswith("Fix ") and "three configurations fail for one reason" in line for line in lines)

from benchmarks.shown import lines


def test_mappings_with_the_same_columns_are_a_table_and_others_are_lines():
    found = {"rows": {"a": {"x": 1, "y": 0.25}, "longer": {"x": 12_000, "y": 3.14159}}, "ratios": {"theirs / ours": 4.25}, "texts": 120}
    assert list(lines(found)) == [
        "rows:",
        "               x      y",
        "  a            1  0.250",
        "  longer  12,000   3.14",
        "ratios:",
        "  theirs / ours  4.25",
        "texts: 120",
    ]


def test_what_is_deeper_is_indented_and_lists_are_shown():
    found = {"rounds": [{"plain": {"wall": 47.0}, "forked": {"wall": 18.5}}], "sizes": [1, 2]}
    assert list(lines(found)) == [
        "rounds:",
        "  1:",
        "            wall",
        "    plain     47",
        "    forked  18.5",
        "sizes: 1, 2",
    ]


def test_claims_come_last_with_their_bounds():
    claims = [
        {"claim": "gap", "found": 0.0012, "at most": 0.005, "holds": True},
        {"claim": "ratio", "found": 3.1, "at least": 4.0, "holds": False},
    ]
    assert list(lines({"claims": claims, "n": 1})) == [
        "n: 1",
        "holds: gap: 0.001 (at most 0.005)",
        "FAILS: ratio: 3.1 (at least 4)",
    ]

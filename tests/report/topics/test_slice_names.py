import pytest

from workbench.report.topics.retrieval.questions import slice_name


@pytest.mark.parametrize(
    ("label", "name"),
    [
        ("all", "all questions"),
        ("type=table", "type: table"),
        ("type=table&domain=hr", "type: table, domain: hr"),
        ("team=R&D", "team: R&D"),
        ("team=R&D&type=a=b", "team: R&D, type: a=b"),
    ],
)
def test_a_slice_is_named_by_its_fields_and_values(label: str, name: str) -> None:
    assert slice_name(label) == name

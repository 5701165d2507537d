from workbench.report.results.run_tables import RunTables
from workbench.report.sentences import about_trust


def test_a_report_names_code_and_pickled_weights_and_says_nothing_without_them() -> None:
    trusted = {"code": ["cutters:by_page"], "pickles": {"models/mine": ["2_Dense/pytorch_model.bin"]}}
    assert about_trust(RunTables(trusted, {})) == [
        "This run executed code named in the experiment: cutters:by_page.",
        "The weights of models/mine were loaded from pickles: 2_Dense/pytorch_model.bin.",
    ]
    assert about_trust(RunTables({"code": [], "pickles": {}}, {})) == about_trust(RunTables({}, {})) == []

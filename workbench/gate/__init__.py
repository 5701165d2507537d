"""Gates: rules with ids, checked on the tables of a finished run.

`rules` declares the rules and the key `gate`, `baseline` writes and reads baselines, and `check.check_gate` returns a `GateReport`: the results
of each rule by its id, as values. `render` shows this document in a terminal, in Markdown, as annotations and as JUnit, and the
pytest plugin collects a test for each id. `measures/statistics/decisions` tests whether a rule passes, fails or is undecided; `check` corrects these
decisions for the number of rules. `checklist` audits a run. Imports `report` and `measures`, but no component and no stage.
"""

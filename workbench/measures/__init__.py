"""Measurements without tables or files: metrics, the causes of failures, and statistics.

`metrics/` has one definition, registry and evaluator for all metrics, `attribution/` the list of causes and how each is recognised, `statistics/`
intervals, paired tests and the verdict. Stages compute with them; reports and gates read their results.
"""

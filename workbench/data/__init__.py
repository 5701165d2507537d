"""Datasets: documents, questions and labels.

`sources` names the kinds, `formats/` reads and writes each, `draft` collects what was read, `checks` reports all its faults at once or gives a
`Dataset`. `conversion/` makes text of the files of a folder, one module a format. Imports `core` and `llm/models`.
"""

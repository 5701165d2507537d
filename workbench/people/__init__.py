"""The work of people: labels, questions, and the beginning of an experiment.

`labelling/` keeps the labels of people in append-only files and makes the dataset that follows; its `session` is one person's work, which a widget
shows. `generation/` has questions with evidence that a model writes and a person accepts, `new_experiment/` makes an experiment of a folder.
"""

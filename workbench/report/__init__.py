"""A finished run as a person reads it, from its tables alone: nothing here imports what makes a run.

`results/` reads the tables and the history, `analysis/` computes values from them without words, and each module of `topics/` shows one part, in the
order of `topics/registry`. `model` has the blocks, `sentences` those that topics share, `views` the notebooks, `render/` the
outputs. Gates, widgets and people import `results`, `analysis` and `render`.
"""

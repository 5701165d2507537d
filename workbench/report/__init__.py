"""The report of a run as values, and its renderers. It reads the tables of a run, and imports nothing that makes one.

`topics/` has a module for each topic, `model` the blocks, `summary` the questions at the head, `views` the notebooks, `render/` the outputs.
"""

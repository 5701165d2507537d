"""The runner of experiments: the experiment file, the graph of its stages, and everything that computes it.

`experiment/` turns YAML into an `Experiment` and loads no model. `pipeline/` has `Stage`, the graph, and `stages/` with the stages and their tables.
`execution/` plans, runs, screens and publishes, on this machine or on Dask workers; `notebook_runner/` runs the notebooks of a run.
"""

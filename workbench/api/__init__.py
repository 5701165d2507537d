"""The Python interface: `workbench/__init__.pyi` lists the names.

`pipeline`, `experiments` and `results` have the objects of a notebook, `scoring/` scores rankings and systems of others, `export/` writes a
configuration as a folder that runs alone, `widgets/` are the explorer, the labellers, chunk boundaries and what-if rankings.
"""

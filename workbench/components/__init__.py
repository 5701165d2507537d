"""The parts of a pipeline, one folder a stage: a base class and the components derived from it, which `registry.py` lists, with those of other packages.

`chunking/` `embedding/` `retrieval/` `reranking/` `rewriting/` find passages, `context/` packs them by the one rule, alters copies and plants attacks,
`answering/` answers, `judging/` judges answers and tests judges. A component is a frozen value that loads its model when it is used.
"""

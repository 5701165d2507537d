"""The parts of a pipeline, one folder a stage: a base class, one file each, and one registry, which reads those of other packages too.

`chunking/` `embedding/` `retrieval/` `reranking/` `rewriting/` find passages, `context/` packs them by the one rule, `answering/` answers, `judging/`
judges answers and tests judges, `perturb/` alters passages and plants attacks. A component is a frozen value that loads its model when it is used.
"""

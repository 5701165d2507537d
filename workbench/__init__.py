"""Workbench: find the chunking, embedding and retrieval that is best on your data, with the uncertainty of every result.

Importing it loads neither torch nor chromadb. `__init__.pyi` lists the public names.
"""

import lazy_loader

__version__ = "0.1.0"
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
# `from workbench import *` must not hide Python's own map.
__all__.remove("map")

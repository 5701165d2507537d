"""Workbench: find the chunking, embedding and retrieval that is best on your data, with the uncertainty of every result.

Importing it loads neither torch nor chromadb. `__init__.pyi` lists the public names.
"""

import importlib

import lazy_loader

__version__ = "0.1.0"
_public, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
# `from workbench import *` must not hide Python's own map.
__all__.remove("map")


def __getattr__(name: str) -> object:
    """Return a public name, which is imported now. The error of another name says which one is meant."""
    try:
        return _public(name)
    except AttributeError:
        if name in __all__ or name.startswith("_"):
            raise
    # Imported only now, as the public names are.
    raise importlib.import_module("workbench.core.text.guessed_names").unknown_public_name(name, __all__)

"""Renderers of blocks: a page, the outputs of a notebook, and plain text."""

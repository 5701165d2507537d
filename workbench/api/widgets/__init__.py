"""Widgets of notebooks: the explorer, the labellers, chunk boundaries and what-if rankings. Each uses the API as a person would."""

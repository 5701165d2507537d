"""Rank a run by other metrics, slices and budgets."""

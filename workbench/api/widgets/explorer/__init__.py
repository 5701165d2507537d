"""Explore two configurations of a run side by side."""

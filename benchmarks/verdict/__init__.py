"""Simulations of the verdict: how often it is wrong, how much it finds, beside an oracle."""

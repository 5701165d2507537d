"""Simulations of the verdict: its error rates and its power, compared with an oracle."""

"""Tests of data that keep arriving: e-detectors of a broken limit, bounds of means, and drift between two samples of vectors."""

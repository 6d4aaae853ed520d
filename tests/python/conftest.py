"""Hypothesis draws the same examples in every run, and a busy machine is not a failure.

For new examples: pytest --hypothesis-profile=default --hypothesis-seed=N.
"""
from hypothesis import settings

settings.register_profile("tegula", deadline=None, derandomize=True, database=None)
settings.load_profile("tegula")

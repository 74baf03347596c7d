"""Commands of ``preprocess``.

Packages are imported inside the functions, so that --help is fast.
"""

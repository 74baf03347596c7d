"""Linear algebra of large sparse symmetric matrices, independent of finite elements.

Ordering, factorization, lowest modes.
"""

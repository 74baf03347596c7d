"""Linear algebra of large sparse symmetric matrices: ordering, factorization, eigenmodes;
independent of finite elements.
"""

"""Analyses of a model: motions, equilibria, linearizations, kinematics, inverse dynamics, matrices,
comparisons.
"""

"""Analyses of a model.

Motions, equilibria, linearizations, kinematics, inverse dynamics, matrices, comparisons.
"""

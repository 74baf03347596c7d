"""Consistent initial states.

Assembly, loop closure, velocities and accelerations that satisfy all constraints.
"""

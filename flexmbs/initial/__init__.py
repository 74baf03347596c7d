"""Consistent initial states: assembly, loop closure, velocities and accelerations that meet all
constraints.
"""

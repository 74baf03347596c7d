"""Three-dimensional scene of a solution for the player.

Poses, surfaces and arrows at common instants.
"""

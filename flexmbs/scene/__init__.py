"""Scene of a solution in three dimensions: what the player shows, with poses, surfaces and arrows
at common instants.
"""

"""Three-dimensional scene of a solution for the player: poses, surfaces and arrows at common
instants."""

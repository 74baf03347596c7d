"""Parameters of models by paths, outputs of runs, and the identity of their inputs."""

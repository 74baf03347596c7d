"""What is computed with a model: motions, equilibria, linearizations, kinematics, inverse dynamics, matrices, comparisons."""

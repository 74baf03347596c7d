"""Model at one state: tangents, Jacobians and linearized laws; sequences of states as solutions."""

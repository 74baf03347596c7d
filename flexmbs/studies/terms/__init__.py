"""Terms of the equations of motion at a state, kinematics and inverse dynamics."""

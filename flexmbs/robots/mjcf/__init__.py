"""Import of MuJoCo's MJCF files."""

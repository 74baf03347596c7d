"""MuJoCo's MJCF files as models."""

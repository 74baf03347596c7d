"""Time integration: runs, runs that survive interruptions, and the stepper."""

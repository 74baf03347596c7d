"""What each command of ``preprocess`` does."""

"""The warning of the preprocessor."""


class PreprocessWarning(UserWarning):
    """Valid input that is probably not intended."""

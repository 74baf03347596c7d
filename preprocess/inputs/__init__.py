"""Input of users and other programs.

Checks of arguments, numbers in text files, guards of other packages' readers, and the
preprocessor's warning.
"""

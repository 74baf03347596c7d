"""This file puts the folder on the path, so that the tests of every room find the helpers here."""

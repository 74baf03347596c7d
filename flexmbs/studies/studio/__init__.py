"""A model file under edit: changed numbers are checked, run, and written back into its text.

`session`       the file, its parameters, checks of changed values, saving
`edited_text`   numbers of a model → places in its TOML text, where only they change
`runs`          runs in a worker process, their progress and results for the page
"""

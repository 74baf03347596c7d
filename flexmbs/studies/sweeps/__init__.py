"""Sweeps: one model, many runs with other values of its parameters.

The path of the data, a file for each step:

    `designs`     ranges and lists of parameters × a design → points, the values of each case
    `ranges`          ranges and distributions of parameters
    `designs`         ranges and lists of parameters × a design → points, the values of each case
    `study`           properties common to all cases; a point → the model with these values
    `named_outputs`   a solution → the numbers that are kept of it
    `batch`           cases run in turn into a log, on disk before they are reported
    `folder`          the logs of a sweep: the record of finished cases, which are not repeated
    `workers`         where batches run: processes, threads, any executor
    `schedule`        open cases → batches, until none are left; handles workers that die
    `table`           the logs → one table
    `sweep`           `fm.sweep`, all of it
    `study_file`      a sweep from a TOML file
    `indices`         Sobol indices
    `reliability`     probability of failure
"""

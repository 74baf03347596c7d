"""Sweeps: one model, many runs with other values of its parameters.

The path of the data, a file for each step:

    `designs`     ranges and lists of parameters × a design → points, the values of each case
    `study`       what all cases have in common, sent to where they run; a point → the model with these values
    `outputs`     a solution → the numbers that are kept of it
    `batch`       cases run one after the other into a log of their own, on disk before they are reported
    `folder`      the logs of a sweep: the record of finished cases, which are not repeated
    `workers`     where batches run: processes, threads, any executor
    `schedule`    which cases are open → batches, until none are; workers that die
    `table`       the logs → one table
    `sweep`       `fm.sweep`, all of it
"""

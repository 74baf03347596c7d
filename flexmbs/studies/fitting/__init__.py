"""Derivatives of runs by parameters of their model, and what is done with them.

`outputs`          a solution → the numbers of interest
`runs`             values of parameters → those numbers, by a run; what of its course must not change
`extrapolation`    differences with several steps → derivatives with error estimates
`derivatives`      a function, with its noise → its gradient, some evaluations at a time
`sensitivities`    `fm.sensitivities`
`measurements`     measured signals
`identify`         `fm.identify`
`optimize`         `fm.optimize`
"""

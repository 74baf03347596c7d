"""Derivatives of runs with respect to model parameters; identification and optimization.

`outputs`          a solution → the numbers of interest
`runs`             values of parameters → outputs, by a run; its discrete course, which must not change
`extrapolation`    differences with several steps → derivatives with error estimates
`derivatives`      a function, with its noise → its gradient, some evaluations at a time
`along`            the equations of motion along a trajectory, their slopes; kernels: `along_kernels`
`begun`            initial states of the nominal and perturbed runs
`implicit_steps`   tangents of the steps of generalized-α
`explicit_steps`   tangents of the steps of explicit methods
`varied`           variations of trajectories
`exact`            derivatives of outputs by tangents
`adjoint`          derivatives of outputs by adjoints
`gradients`        the exact derivatives as others use them
`sensitivities`    `fm.sensitivities`
`measurements`     measured signals
`identify`         `fm.identify`
`optimize`         `fm.optimize`
"""

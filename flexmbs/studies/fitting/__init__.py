"""Derivatives of runs with respect to model parameters; identification and optimization.

`parameter_runs`         values of parameters → outputs, by a run; its discrete course
`parameter_bounds`       sizes and bounds of parameters
`extrapolation`          differences with several steps → derivatives with error estimates
`derivatives`            a function, with its noise → its gradient, some evaluations at a time
`trajectory_equations`   equations of motion along a trajectory, and their slopes
`trajectory_kernels`     kernels of these
`initial_runs`           initial states of the nominal and perturbed runs
`implicit_steps`         tangents of the steps of generalized-α
`explicit_steps`         tangents of the steps of explicit methods
`perturbed_solutions`    solutions with perturbed trajectories
`step_tangents`          derivatives of outputs by tangents
`adjoint`                derivatives of outputs by adjoints
`gradients`              derivatives of runs, by whichever method applies
`sensitivities`          `fm.sensitivities`
`measurements`           measured signals
`identify`               `fm.identify`
`optimize`               `fm.optimize`

Outputs are evaluated by `flexmbs.studies.parameters.outputs`.
"""

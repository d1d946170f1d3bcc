"""Learners: from binned rows, gradients and hessians to one term of the additive model."""

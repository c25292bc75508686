"""What lasts: the shadow repository, the operation log, and the locks between kernels."""

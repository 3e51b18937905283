"""What is known of a Program: affine forms, dependences, domains. Nothing here changes one."""

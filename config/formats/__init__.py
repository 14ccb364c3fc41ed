"""How dates are written, by language; what is not here is as Django has it."""

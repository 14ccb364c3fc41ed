"""Search what is stored for private text that shouldn't be there. Product 3, 12; spec 004 scratchpad."""

"""What things cost as they grow: run by hand, since it takes long and much room."""

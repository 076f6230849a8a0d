"""Other packages' interfaces on top of our kernels: change one import and keep the script."""

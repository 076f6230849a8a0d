"""A package, because installed packages may bring a package called ``tests``, which a plain folder would not hide."""

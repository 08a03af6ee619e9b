"""What a daemon should refuse: one case a function or line, with what came of it."""

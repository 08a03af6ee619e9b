"""What aria2's clients may notice, asked for in the same states of any program that speaks the protocol."""

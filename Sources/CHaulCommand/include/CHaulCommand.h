#ifndef C_HAUL_COMMAND_H
#define C_HAUL_COMMAND_H

// What the C library hands to a program before its `main`. Linked into the commands only: no application gets it with the library.

/// The words that the program was started with, its own name first; `*count` is their number.
///
/// Returns NULL where the C library hands no arguments to constructors.
char *const *haul_command_words(int *count);

#endif

#ifndef C_HAUL_COMMAND_H
#define C_HAUL_COMMAND_H

// Access to the arguments that the C library passes to constructors before `main`. Only the commands link this target,
// so no application gets it with the library.

/// Returns the words of the command line, the program's own name first. `*count` is set to their number.
///
/// Returns NULL if the C library passes no arguments to constructors.
char *const *haul_command_words(int *count);

#endif

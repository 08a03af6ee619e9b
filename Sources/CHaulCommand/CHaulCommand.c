#include "CHaulCommand.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static int word_count;
static char **words;

// `least_free` is the number of descriptors that Swift's runtime opens before the first line of an async main. The
// runtime traps without them. With one more, the command itself can report the shortage.
enum { least_free = 5, enough = 64, exit_status = 4 };

static int free_descriptors(const struct rlimit *limits) {
    int free = 0;
    for (int fd = 0; fd < (int)limits->rlim_cur && free < least_free; fd++)
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF) free++;
    return free;
}

// Each closed standard stream takes a descriptor when it is opened.
static int closed_streams(void) {
    int closed = 0;
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0) closed++;
    return closed;
}

static void require_descriptors(void) {
    struct rlimit limits;
    if (getrlimit(RLIMIT_NOFILE, &limits) != 0 || limits.rlim_cur >= enough) return;
    if (limits.rlim_max > limits.rlim_cur) {
        rlim_t before = limits.rlim_cur;
        limits.rlim_cur = limits.rlim_max < enough ? limits.rlim_max : enough;
        if (setrlimit(RLIMIT_NOFILE, &limits) != 0) limits.rlim_cur = before;
    }
    int free = free_descriptors(&limits) - closed_streams();
    if (free >= least_free) return;
    char *slash = word_count > 0 ? strrchr(words[0], '/') : NULL;
    dprintf(STDERR_FILENO, "%s: This process may open only %d more files, too few to begin. Raise the limit (ulimit -n).\n",
            slash ? slash + 1 : word_count > 0 ? words[0] : "haul", free < 0 ? 0 : free);
    _exit(exit_status);
}

// glibc and dyld call constructors with the arguments of main. Swift's runtime reads the arguments from /proc or from
// the memory before the environment. Both fail if /proc is not mounted and a preloaded library has moved the
// environment.
#if defined(__GLIBC__) || defined(__APPLE__)
__attribute__((constructor)) static void begin(int argc, char **argv) {
    word_count = argc;
    words = argv;
    require_descriptors();
}
#else
__attribute__((constructor)) static void begin(void) { require_descriptors(); }
#endif

char *const *haul_command_words(int *count) {
    *count = word_count;
    return words;
}

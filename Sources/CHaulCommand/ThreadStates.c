// While all threads of libdispatch are busy, it opens /proc/TID/stat of each of them every second. It traps if it
// cannot open the file, as in a chroot or a container without /proc. The replacement of open(2) below tells libdispatch
// that the thread runs, so that libdispatch starts no further thread.
//
// A definition in the program takes precedence over the C library's, whether libdispatch is linked statically or
// dynamically.

#if defined(__linux__)

#define _GNU_SOURCE
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/types.h>
#include <unistd.h>

static int is_thread_state(const char *path) {
    const char prefix[] = "/proc/";
    if (strncmp(path, prefix, sizeof prefix - 1) != 0) return 0;
    const char *number = path + sizeof prefix - 1;
    const char *end = number;
    while (isdigit((unsigned char)*end)) end++;
    return end > number && strcmp(end, "/stat") == 0;
}

/// Returns a descriptor from which the state of a running thread can be read, or -1.
static int running_thread(void) {
    const char text[] = "0 (thread) R 0\n";
    int file = memfd_create("thread", MFD_CLOEXEC);
    if (file < 0) return -1;
    if (write(file, text, sizeof text - 1) == (ssize_t)(sizeof text - 1) && lseek(file, 0, SEEK_SET) == 0) return file;
    close(file);
    return -1;
}

int open(const char *path, int flags, ...) {
    mode_t mode = 0;
    if ((flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE) {
        va_list rest;
        va_start(rest, flags);
        mode = va_arg(rest, mode_t);
        va_end(rest);
    }
    int file = openat(AT_FDCWD, path, flags, mode);
    if (file >= 0 || !is_thread_state(path)) return file;
    int error = errno;
    // If /proc is mounted, the thread or process has ended.
    if (access("/proc/self/stat", F_OK) != 0) file = running_thread();
    errno = error;
    return file;
}

#endif

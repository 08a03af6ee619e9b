#define _GNU_SOURCE
#include "CHaulSystem.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

// Tested in two steps, because without glibc the second condition is not a valid expression.
#if defined(__GLIBC__) && defined(__GLIBC_PREREQ)
#if __GLIBC_PREREQ(2, 34)
#define HAUL_HAS_CLOSEFROM 1
#endif
#endif

int haul_spawn(const char *path, char *const arguments[], char *const environment[], const int32_t outputs[2],
               int32_t *process) {
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none, all;
    pid_t started = 0;
    short flags = POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF;
    int code;

    if ((code = posix_spawn_file_actions_init(&actions)) != 0) return code;
    if ((code = posix_spawnattr_init(&attributes)) != 0) {
        posix_spawn_file_actions_destroy(&actions);
        return code;
    }
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO && code == 0; fd++) {
        int output = fd == STDIN_FILENO ? -1 : outputs[fd - STDOUT_FILENO];
        code = output < 0 ? posix_spawn_file_actions_addopen(&actions, fd, "/dev/null", O_RDWR, 0)
                          : posix_spawn_file_actions_adddup2(&actions, output, fd);
    }
    // Closes descriptors that other parts of the process opened without O_CLOEXEC.
#if defined(HAUL_HAS_CLOSEFROM)
    if (code == 0) code = posix_spawn_file_actions_addclosefrom_np(&actions, STDERR_FILENO + 1);
#elif defined(POSIX_SPAWN_CLOEXEC_DEFAULT)
    flags |= POSIX_SPAWN_CLOEXEC_DEFAULT;
#endif
    sigemptyset(&none);
    sigfillset(&all);
    sigdelset(&all, SIGKILL);
    sigdelset(&all, SIGSTOP);
    if (code == 0) code = posix_spawnattr_setsigmask(&attributes, &none);
    if (code == 0) code = posix_spawnattr_setsigdefault(&attributes, &all);
    if (code == 0) code = posix_spawnattr_setpgroup(&attributes, 0);
    if (code == 0) code = posix_spawnattr_setflags(&attributes, flags);
    if (code == 0) code = posix_spawn(&started, path, &actions, &attributes, arguments, environment);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    *process = started;
    return code;
}

int haul_await_end(int32_t process) {
    siginfo_t info;
    int result;
    do result = waitid(P_PID, (id_t)process, &info, WEXITED | WNOWAIT);
    while (result < 0 && errno == EINTR);
    return result;
}

int haul_reap(int32_t process) {
    int status = 0;
    pid_t result;
    do result = waitpid((pid_t)process, &status, 0);
    while (result < 0 && errno == EINTR);
    if (result < 0) return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 256 + WTERMSIG(status);
}

int haul_signal_group(int32_t group, int signal) { return kill(-(pid_t)group, signal); }

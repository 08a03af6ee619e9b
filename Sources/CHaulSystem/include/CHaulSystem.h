// System calls that Swift's Glibc module hides or cannot call. This file makes no decisions.
//
// It includes no system header: the feature macros of these calls would give Swift a second, different view of the C
// library's types. Each function returns the result of its system call and sets errno as that call does.
#pragma once

#include <stdint.h>

// Writes, and drops the pages from the page cache once they are on disk (Linux 6.14). `iov` is a `struct iovec *`.
int64_t haul_write_uncached(int fd, const void *iov, int count, int64_t offset);
// Opens the file of a descriptor again for writing with O_DIRECT. Fails with ENOTSUP unless the file system reports
// (Linux 6.1) an alignment that divides `block`.
int haul_open_direct(int fd, uint32_t block);
// Copies bytes between two regular files in the kernel. Fails with ENOTSUP where there is no such call.
int64_t haul_copy(int from, int64_t from_offset, int to, int64_t to_offset, uint64_t count);
// Renames a file unless the new name is taken. Both names are relative to open folders.
int haul_rename_noreplace_at(int from_folder, const char *from, int to_folder, const char *to);
// Makes the allocator of this process keep freed memory. A list of small files allocates and frees the same few
// megabytes thousands of times, and each system call for that costs as much as a file. For programs, not for libraries.
void haul_keep_freed_memory(void);
// Opens a file without a name in memory. It does not survive exec. Fails with ENOSYS where there is no such call.
int haul_open_memory(void);
// Starts to write a file's cached pages to the disk, without waiting.
void haul_start_writing(int fd);
// Makes the last `sqlite3_close` leave the write-ahead log as it is, instead of copying it into the database.
struct sqlite3;
void haul_sqlite_keep_log(struct sqlite3 *database);
// Calls syncfs(2). Fails with ENOTSUP unless the kernel reports write errors (Linux 5.8) and the sync of the file
// system is a real one.
int haul_sync_file_system(int fd);
// Allocates blocks without changing the file's length.
int haul_preallocate(int fd, int64_t length);
// Wrappers of flock(2). Swift imports only the struct `flock`, because C has a struct and a function of that name. The
// lock functions do not wait.
int haul_lock_exclusive(int fd);
int haul_lock_shared(int fd);
int haul_unlock(int fd);
// Returns whether any process has the file open for writing: 1, 0, or -1 if the system does not tell (systems other
// than Linux, files of other users, network file systems). `fd` must be open only for reading.
int haul_is_open_for_writing(int fd);
// Locks one byte of a file without waiting (F_OFD_SETLK). The lock belongs to the open file, not to the process. The
// kernel releases the lock when the last descriptor closes, however the process ends.
int haul_lock_byte(int fd, int64_t offset);
int haul_unlock_byte(int fd, int64_t offset);
// Returns whether another open file holds the lock on a byte: 1, 0, or -1.
int haul_is_byte_locked(int fd, int64_t offset);
// Returns the same for all bytes together.
int haul_is_any_byte_locked(int fd);
// Calls fstatat(2) on `name` in the folder `fd` without following a symbolic link, or fstat(2) on `fd` if `name` is
// null. Sets device, inode, links, mode, size, blocks and modification time, and nothing else. `born` is the creation
// time in nanoseconds since 1970, or 0 if the file system does not report it.
struct stat;
int haul_status(int fd, const char *name, struct stat *status, int64_t *born);
// Calls openat(2), which is variadic and therefore not callable from Swift. The descriptor does not survive exec.
int haul_open_at(int folder, const char *name, int flags, unsigned int mode);
// Opens a folder in an open folder, to name files in it. Needs no permission to list it.
int haul_enter(int folder, const char *name, int follows_link);
// Starts a program as the leader of a new process group. Only the standard streams are open, and no signal is ignored
// or blocked. `outputs` holds the descriptors for standard output and standard error. The input is /dev/null, and so is
// an output with a negative descriptor. `arguments` and `environment` end with a null pointer. Returns 0 or an errno.
int haul_spawn(const char *path, char *const arguments[], char *const environment[], const int32_t outputs[2],
               int32_t *process);
// Does the same, and lets the program open as many files as the hard limit allows.
int haul_spawn_with_most_files(const char *path, char *const arguments[], char *const environment[],
                               const int32_t outputs[2], int32_t *process);
// Waits until a child has ended, without reaping it. No other process gets its number before haul_reap.
int haul_await_end(int32_t process);
// Returns the exit status of a child that has ended, or 256 plus the signal that ended it. Returns -1 if the child has
// been reaped already.
int haul_reap(int32_t process);
int haul_signal_group(int32_t group, int signal);

// Connects to a socket of this machine by path or (Linux) by abstract name. Neither name contains a NUL. The descriptor
// does not block and does not survive exec.
int haul_connect_local(const char *name, uint64_t length, int is_abstract);
// Returns 0 if a socket can bind to this address of 4 or 16 bytes. Fails with EADDRNOTAVAIL if no interface has the
// address.
int haul_try_address(const uint8_t *bytes, int count);

// Calls getaddrinfo(3) for TCP, and `found` with each numeric address in the order of preference. An IPv6 address
// includes its zone. Waits for name servers and cannot be interrupted. Returns 0 or an EAI_ code.
int haul_look_up(const char *name, void *context, void (*found)(void *context, const char *address));

// Opens an rtnetlink(7) socket that receives every change of links, addresses and routes. The socket does not block and
// does not survive exec. The netlink functions exist on Linux only and fail with ENOSYS elsewhere.
int haul_netlink_open(void);
// Requests all entries of a type such as RTM_GETLINK. The kernel's answers carry `sequence`.
int haul_netlink_dump(int fd, int type, uint32_t sequence);
// Receives the next message of the kernel. Returns -1 with ENOBUFS if messages were lost or truncated.
int64_t haul_netlink_receive(int fd, void *buffer, uint64_t size);

// Starts a detached thread with a stack of 1 MiB. Returns 0, or an errno if `run` will not be called.
int haul_start_thread(void *(*run)(void *), void *context);
// Does the same for a thread that haul_join_thread has to be called for, and sets `thread` to its identity.
int haul_start_joinable_thread(void *(*run)(void *), void *context, uint64_t *thread);
// Returns the identity of the thread that calls.
uint64_t haul_this_thread(void);
// Waits until a joinable thread has ended. Returns 0, ETIMEDOUT, or another errno.
int haul_join_thread(uint64_t thread, int64_t milliseconds);

// Makes these signals wake haul_await_signal instead of ending or stopping the process. Must not be called from two
// threads at once. For programs, not for libraries.
int haul_catch_signals(const int32_t *signals, int count);
// Waits for the next caught signal and returns it. Each delivery is returned once.
int haul_await_signal(void);
// Restores the default action of these signals.
void haul_release_signals(const int32_t *signals, int count);
// Performs the default action of a caught signal: ends or stops the process. Returns once the process continues.
void haul_take_default(int signal);
// Returns 1 if the signal is ignored, as SIGHUP is under nohup(1).
int haul_ignores_signal(int signal);

// Returns how many descriptors the process may open: now, and after raising the limit.
int haul_descriptor_limits(int64_t *now, int64_t *most);
// Raises the limit to `limit`, or as far as possible. Started programs inherit it.
int haul_raise_descriptor_limit(int64_t limit);
// Returns how many descriptors below `below` are open, without opening one.
int haul_open_descriptors(int below);

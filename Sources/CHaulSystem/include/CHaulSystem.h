// System calls that Swift's Glibc module hides or cannot call. Nothing here decides anything.
//
// No system header is included: the feature macros that these calls need would give Swift a second, different view of
// the C library's types. Each function returns what the call returns, and sets errno as it does.
#pragma once

#include <stdint.h>

// Linux 6.14: write, and drop the pages from the cache once they are on disk. iov is a `struct iovec *`.
int64_t haul_write_uncached(int fd, const void *iov, int count, int64_t offset);
// Opens the file of a descriptor once more for writing with O_DIRECT, where the file system says (Linux 6.1) that `block` bytes are
// a multiple of what it needs; ENOTSUP elsewhere.
int haul_open_direct(int fd, uint32_t block);
int haul_rename_noreplace(const char *from, const char *to);
// The same with both names below open folders.
int haul_rename_noreplace_at(int from_folder, const char *from, int to_folder, const char *to);
// Lets the allocator of this process keep what is freed: a list of small files allocates and frees the same few megabytes
// thousands of times, and each trip to the system costs as much as a file. For programs, not for libraries.
void haul_keep_freed_memory(void);
// Starts to write a file's cached pages to the disk, without waiting.
void haul_start_writing(int fd);
// syncfs(2), where the kernel reports the errors of writing (Linux 5.8) and the file system's sync is a real one; ENOTSUP
// elsewhere.
int haul_sync_file_system(int fd);
// Reserves blocks without changing the file's length.
int haul_reserve(int fd, int64_t length);
// Swift sees the struct `flock` where C has both a struct and a function of that name. Neither waits.
int haul_lock_exclusive(int fd);
int haul_lock_shared(int fd);
int haul_unlock(int fd);
// Whether any process has the file open for writing: 1, 0, or -1 where the system does not say (other systems than Linux, files
// of other users, network file systems). `fd` is open only for reading.
int haul_is_open_for_writing(int fd);
// A lock on one byte of a file, held by the open file and not by the process (F_OFD_SETLK): the kernel gives it up when the last
// descriptor closes, however the process ends. Does not wait.
int haul_lock_byte(int fd, int64_t offset);
int haul_unlock_byte(int fd, int64_t offset);
// Whether somebody else than this open file holds the lock on a byte: 1, 0, or -1.
int haul_is_byte_locked(int fd, int64_t offset);
// The same of all bytes together.
int haul_is_any_byte_locked(int fd);
// What fstat(2) says of the descriptor or, where `path` is not null, lstat(2) of the path: device, inode, links, mode, size, blocks
// and time of modification, and nothing else. `born` is when the file was created, in nanoseconds since 1970; 0 where the file
// system does not say.
struct stat;
int haul_status(int fd, const char *path, struct stat *status, int64_t *born);
// open(2) is variadic, which Swift cannot call; the descriptor does not survive exec.
int haul_open(const char *path, int flags, unsigned int mode);
// The same below an open folder: openat(2).
int haul_open_at(int folder, const char *name, int flags, unsigned int mode);
// Starts a program as the leader of a process group of its own, with no other open files than its standard streams and no signal
// ignored or blocked. Standard output and standard error are the two descriptors of `outputs`, the input is /dev/null, and so is
// an output below 0. Returns 0 or an errno; both lists end with a null pointer.
int haul_spawn(const char *path, char *const arguments[], char *const environment[], const int32_t outputs[2],
               int32_t *process);
// Waits until a child has ended, and leaves it to haul_reap: until then no other process gets its number.
int haul_await_end(int32_t process);
// The exit status of a child that has ended, or 256 and the signal that ended it; -1 when somebody else has asked already.
int haul_reap(int32_t process);
int haul_signal_group(int32_t group, int signal);

// A connection to a socket of this machine, by path or (Linux) by abstract name, without a NUL in either case. The
// descriptor does not block and does not survive exec.
int haul_connect_local(const char *name, uint64_t length, int is_abstract);
// 0 if a socket can have this local address of 4 or 16 bytes; EADDRNOTAVAIL where no interface has it.
int haul_try_address(const uint8_t *bytes, int count);

// getaddrinfo(3) for TCP: calls `found` with each address in digits, an IPv6 one with its zone, in the order in which they are to be
// tried. Waits for the servers of names, and cannot be interrupted. Returns 0 or an EAI_ code.
int haul_look_up(const char *name, void *context, void (*found)(void *context, const char *address));

// rtnetlink(7), Linux only; ENOSYS elsewhere. Opens a socket that is told of every change of links, addresses and routes. It
// does not block and does not survive exec.
int haul_netlink_open(void);
// Asks for everything there is of a kind, RTM_GETLINK and the like. The kernel answers messages with this sequence.
int haul_netlink_dump(int fd, int type, uint32_t sequence);
// The next message of the kernel's; -1 with ENOBUFS when some were lost or cut.
int64_t haul_netlink_receive(int fd, void *buffer, uint64_t size);

// Starts a thread that nothing joins, with a stack of 1 MiB. Returns 0 or an errno: then `run` is not called.
int haul_start_thread(void *(*run)(void *), void *context);

// Has these signals wake haul_await_signal instead of ending or stopping the process. From one thread at a time; for programs, not
// for libraries.
int haul_catch_signals(const int32_t *signals, int count);
// Waits for the next of them, and returns it: each one wakes it once.
int haul_await_signal(void);
// Lets these signals end the process again.
void haul_release_signals(const int32_t *signals, int count);
// Lets a signal that was caught do what it does to other programs: end the process, or stop it. Returns when it goes on.
void haul_take_default(int signal);
// 1 where a signal is ignored, as nohup(1) leaves SIGHUP.
int haul_ignores_signal(int signal);

// How many descriptors the process may have open: now, and after raising the limit.
int haul_descriptor_limits(int64_t *now, int64_t *most);
// Raises the limit to this, or as far as it may be raised. Programs that are started inherit it.
int haul_raise_descriptor_limit(int64_t limit);
// How many descriptors below this number are open. Takes none for looking.
int haul_open_descriptors(int below);

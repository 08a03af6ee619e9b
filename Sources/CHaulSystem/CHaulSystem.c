#define _GNU_SOURCE
#include "CHaulSystem.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#ifdef __linux__
#include <linux/magic.h>
#include <malloc.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/types.h>
#include <sys/utsname.h>
#include <sys/vfs.h>

#ifndef RWF_DONTCACHE
#define RWF_DONTCACHE 0x00000080
#endif
#ifndef RENAME_NOREPLACE
#define RENAME_NOREPLACE 1
#endif

int haul_is_open_for_writing(int fd) {
    // The kernel grants a read lease only if no process has the file open for writing. A process that opens the file
    // meanwhile breaks the lease, and the kernel reports that with a signal. The default action of SIGIO would end this
    // process; SIGURG is ignored by default.
    if (fcntl(fd, F_SETSIG, SIGURG) != 0) return -1;
    if (fcntl(fd, F_SETLEASE, F_RDLCK) != 0) return errno == EAGAIN ? 1 : -1;
    fcntl(fd, F_SETLEASE, F_UNLCK);
    return 0;
}

int64_t haul_write_uncached(int fd, const void *iov, int count, int64_t offset) {
    // Calls by number, because an older C library has no wrapper, or has one that refuses unknown flags.
    return syscall(SYS_pwritev2, fd, iov, (unsigned long)count, (unsigned long)offset,
                   (unsigned long)((uint64_t)offset >> 32), RWF_DONTCACHE);
}

int haul_open_direct(int fd, uint32_t block) {
    // Calls by number and reads by offset, because the structure of an older C library ends before these fields.
    enum { want_direct = 0x2000, memory_at = 0x98 / 4, offset_at = 0x9c / 4 };
    uint32_t status[64] = {0};
    char path[32];
    if (syscall(SYS_statx, fd, "", AT_EMPTY_PATH, want_direct, status) != 0) return -1;
    uint32_t memory = status[memory_at], offset = status[offset_at];
    if (!(status[0] & want_direct) || memory == 0 || offset == 0 || block % memory != 0 || block % offset != 0) {
        errno = ENOTSUP;
        return -1;
    }
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    return open(path, O_WRONLY | O_DIRECT | O_CLOEXEC);
}

int64_t haul_copy(int from, int64_t from_offset, int to, int64_t to_offset, uint64_t count) {
    loff_t in = from_offset, out = to_offset;
    return copy_file_range(from, &in, to, &out, count, 0);
}

int haul_rename_noreplace_at(int from_folder, const char *from, int to_folder, const char *to) {
    return (int)syscall(SYS_renameat2, from_folder, from, to_folder, to, RENAME_NOREPLACE);
}

void haul_keep_freed_memory(void) {
#ifdef __GLIBC__
    mallopt(M_TOP_PAD, 4 << 20);
    mallopt(M_TRIM_THRESHOLD, 32 << 20);
    mallopt(M_MMAP_THRESHOLD, 4 << 20);
#endif
}

int haul_open_memory(void) {
    // By number, because an older C library has no wrapper. 1 is MFD_CLOEXEC.
    return (int)syscall(SYS_memfd_create, "haul", 1U);
}

void haul_start_writing(int fd) { sync_file_range(fd, 0, 0, SYNC_FILE_RANGE_WRITE); }

int haul_sync_file_system(int fd) {
    struct utsname name;
    int major = 0, minor = 0;
    struct statfs status;
    if (uname(&name) != 0 || sscanf(name.release, "%d.%d", &major, &minor) != 2) goto unsupported;
    if (major < 5 || (major == 5 && minor < 8)) goto unsupported;
    if (fstatfs(fd, &status) != 0) return -1;
    switch ((unsigned long)status.f_type) {
    case EXT4_SUPER_MAGIC:
    case XFS_SUPER_MAGIC:
    case BTRFS_SUPER_MAGIC: return syncfs(fd);
    }
unsupported:
    errno = ENOTSUP;
    return -1;
}

int haul_preallocate(int fd, int64_t length) { return fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, length); }

int haul_status(int fd, const char *name, struct stat *status, int64_t *born) {
    struct statx all;
    int flags = name ? AT_SYMLINK_NOFOLLOW : AT_EMPTY_PATH;
    unsigned int mask = STATX_BASIC_STATS | STATX_BTIME;
    *born = 0;
    // A sandbox may forbid statx alone. In that case the older call gives the result.
    if (statx(fd, name ? name : "", flags, mask, &all) != 0) {
        return name ? fstatat(fd, name, status, AT_SYMLINK_NOFOLLOW) : fstat(fd, status);
    }
    *status = (struct stat){
        .st_dev = makedev(all.stx_dev_major, all.stx_dev_minor),
        .st_ino = all.stx_ino,
        .st_nlink = all.stx_nlink,
        .st_mode = all.stx_mode,
        .st_size = all.stx_size,
        .st_blocks = all.stx_blocks,
        .st_mtim = {.tv_sec = all.stx_mtime.tv_sec, .tv_nsec = all.stx_mtime.tv_nsec},
    };
    // The date is only compared, so it may wrap beyond 64 bits of nanoseconds.
    if (all.stx_mask & STATX_BTIME) {
        *born = (int64_t)((uint64_t)all.stx_btime.tv_sec * 1000000000ULL + all.stx_btime.tv_nsec);
    }
    return 0;
}
#else
// Written from the manuals of Apple's systems. No Apple machine has compiled or run this code yet.
#ifdef __APPLE__
int haul_status(int fd, const char *name, struct stat *status, int64_t *born) {
    if ((name ? fstatat(fd, name, status, AT_SYMLINK_NOFOLLOW) : fstat(fd, status)) != 0) return -1;
    *born = (int64_t)((uint64_t)status->st_birthtimespec.tv_sec * 1000000000ULL + status->st_birthtimespec.tv_nsec);
    return 0;
}

int haul_rename_noreplace_at(int from_folder, const char *from, int to_folder, const char *to) {
    return renameatx_np(from_folder, from, to_folder, to, RENAME_EXCL);
}

int haul_preallocate(int fd, int64_t length) {
    struct stat status;
    if (fstat(fd, &status) != 0) return -1;
    // F_PEOFPOSMODE allocates the bytes after the allocated ones.
    int64_t more = length - (int64_t)status.st_blocks * 512;
    if (more <= 0) return 0;
    fstore_t store = {.fst_flags = F_ALLOCATEALL, .fst_posmode = F_PEOFPOSMODE, .fst_offset = 0, .fst_length = more};
    return fcntl(fd, F_PREALLOCATE, &store) < 0 ? -1 : 0;
}
#else
int haul_status(int fd, const char *name, struct stat *status, int64_t *born) {
    *born = 0;
    return name ? fstatat(fd, name, status, AT_SYMLINK_NOFOLLOW) : fstat(fd, status);
}

int haul_rename_noreplace_at(int from_folder, const char *from, int to_folder, const char *to) {
    (void)from_folder, (void)from, (void)to_folder, (void)to;
    errno = ENOSYS;
    return -1;
}

int haul_preallocate(int fd, int64_t length) {
    (void)fd, (void)length;
    errno = ENOSYS;
    return -1;
}
#endif

int64_t haul_write_uncached(int fd, const void *iov, int count, int64_t offset) {
    (void)fd, (void)iov, (void)count, (void)offset;
    errno = ENOTSUP;
    return -1;
}

int haul_open_direct(int fd, uint32_t block) {
    (void)fd, (void)block;
    errno = ENOTSUP;
    return -1;
}

int haul_is_open_for_writing(int fd) {
    (void)fd;
    errno = ENOTSUP;
    return -1;
}

int64_t haul_copy(int from, int64_t from_offset, int to, int64_t to_offset, uint64_t count) {
    (void)from, (void)from_offset, (void)to, (void)to_offset, (void)count;
    errno = ENOTSUP;
    return -1;
}

void haul_keep_freed_memory(void) {}

int haul_open_memory(void) {
    errno = ENOSYS;
    return -1;
}

void haul_start_writing(int fd) { (void)fd; }

int haul_sync_file_system(int fd) {
    (void)fd;
    errno = ENOTSUP;
    return -1;
}
#endif

int haul_lock_exclusive(int fd) { return flock(fd, LOCK_EX | LOCK_NB); }
int haul_lock_shared(int fd) { return flock(fd, LOCK_SH | LOCK_NB); }
int haul_unlock(int fd) { return flock(fd, LOCK_UN); }

static struct flock one_byte(short type, int64_t offset) {
    // Locks of open files require `l_pid` to be 0.
    struct flock lock = {.l_type = type, .l_whence = SEEK_SET, .l_start = offset, .l_len = 1, .l_pid = 0};
    return lock;
}

int haul_lock_byte(int fd, int64_t offset) {
    struct flock lock = one_byte(F_WRLCK, offset);
    return fcntl(fd, F_OFD_SETLK, &lock);
}

int haul_unlock_byte(int fd, int64_t offset) {
    struct flock lock = one_byte(F_UNLCK, offset);
    return fcntl(fd, F_OFD_SETLK, &lock);
}

int haul_is_byte_locked(int fd, int64_t offset) {
    struct flock lock = one_byte(F_WRLCK, offset);
    if (fcntl(fd, F_OFD_GETLK, &lock) != 0) return -1;
    return lock.l_type != F_UNLCK;
}

int haul_is_any_byte_locked(int fd) {
    // A length of 0 extends the range to the end of the largest possible file.
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 0, .l_len = 0, .l_pid = 0};
    if (fcntl(fd, F_OFD_GETLK, &lock) != 0) return -1;
    return lock.l_type != F_UNLCK;
}

int haul_open_at(int folder, const char *name, int flags, unsigned int mode) {
    return openat(folder, name, flags | O_CLOEXEC, mode);
}

int haul_enter(int folder, const char *name, int follows_link) {
    int flags = O_DIRECTORY | O_CLOEXEC | (follows_link ? 0 : O_NOFOLLOW);
#ifdef O_PATH
    flags |= O_PATH;
#endif
    return openat(folder, name, flags);
}

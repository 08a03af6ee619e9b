#define _GNU_SOURCE
#include "CHaulSystem.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static int close_failed(int fd) {
    int code = errno;
    close(fd);
    errno = code;
    return -1;
}

static int open_socket(int family, int type) {
    int fd = socket(family, type, 0);
    if (fd < 0) return -1;
    if (fcntl(fd, F_SETFD, FD_CLOEXEC) < 0 || fcntl(fd, F_SETFL, O_NONBLOCK) < 0) return close_failed(fd);
    return fd;
}

int haul_connect_local(const char *name, uint64_t length, int is_abstract) {
    struct sockaddr_un address;
    memset(&address, 0, sizeof address);
    address.sun_family = AF_UNIX;
    // Leaves room for the NUL after a path or before an abstract name.
    if (length == 0 || length > sizeof address.sun_path - 1) {
        errno = ENAMETOOLONG;
        return -1;
    }
    memcpy(address.sun_path + (is_abstract ? 1 : 0), name, length);
    int fd = open_socket(AF_UNIX, SOCK_STREAM);
    if (fd < 0) return -1;
    socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length + 1);
    return connect(fd, (struct sockaddr *)&address, size) == 0 ? fd : close_failed(fd);
}

int haul_look_up(const char *name, void *context, void (*found)(void *context, const char *address)) {
    struct addrinfo hints, *first = NULL;
    memset(&hints, 0, sizeof hints);
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_protocol = IPPROTO_TCP;
    int code = getaddrinfo(name, NULL, &hints, &first);
    if (code != 0) return code;
    for (struct addrinfo *next = first; next != NULL; next = next->ai_next) {
        char text[NI_MAXHOST];
        if (next->ai_family != AF_INET && next->ai_family != AF_INET6) continue;
        if (getnameinfo(next->ai_addr, next->ai_addrlen, text, sizeof text, NULL, 0, NI_NUMERICHOST) == 0) {
            found(context, text);
        }
    }
    freeaddrinfo(first);
    return 0;
}

int haul_try_address(const uint8_t *bytes, int count) {
    struct sockaddr_storage address;
    socklen_t size;
    memset(&address, 0, sizeof address);
    if (count == 4) {
        struct sockaddr_in *four = (struct sockaddr_in *)&address;
        four->sin_family = AF_INET;
        memcpy(&four->sin_addr, bytes, 4);
        size = sizeof *four;
    } else {
        struct sockaddr_in6 *six = (struct sockaddr_in6 *)&address;
        six->sin6_family = AF_INET6;
        memcpy(&six->sin6_addr, bytes, 16);
        size = sizeof *six;
    }
    int fd = open_socket(address.ss_family, SOCK_DGRAM);
    if (fd < 0) return -1;
    if (bind(fd, (struct sockaddr *)&address, size) != 0) return close_failed(fd);
    return close(fd);
}

#ifdef __linux__
#include <linux/netlink.h>
#include <linux/rtnetlink.h>

int haul_netlink_open(void) {
    struct sockaddr_nl own = {.nl_family = AF_NETLINK};
    own.nl_groups = RTMGRP_LINK | RTMGRP_IPV4_IFADDR | RTMGRP_IPV6_IFADDR | RTMGRP_IPV4_ROUTE | RTMGRP_IPV6_ROUTE;
    int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE);
    if (fd < 0) return -1;
    return bind(fd, (struct sockaddr *)&own, sizeof own) == 0 ? fd : close_failed(fd);
}

int haul_netlink_dump(int fd, int type, uint32_t sequence) {
    struct {
        struct nlmsghdr header;
        struct rtgenmsg body;
        char padding[3];
    } request = {.header = {.nlmsg_len = NLMSG_LENGTH(sizeof(struct rtgenmsg)),
                            .nlmsg_type = (uint16_t)type,
                            .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP,
                            .nlmsg_seq = sequence}};
    struct sockaddr_nl kernel = {.nl_family = AF_NETLINK};
    return (int)sendto(fd, &request, sizeof request, 0, (struct sockaddr *)&kernel, sizeof kernel);
}

int64_t haul_netlink_receive(int fd, void *buffer, uint64_t size) {
    for (;;) {
        struct sockaddr_nl sender;
        struct iovec part = {.iov_base = buffer, .iov_len = size};
        struct msghdr message = {
            .msg_name = &sender, .msg_namelen = sizeof sender, .msg_iov = &part, .msg_iovlen = 1};
        ssize_t count = recvmsg(fd, &message, 0);
        if (count < 0) return -1;
        // Any process may send to a netlink socket. Only the kernel has the port number 0.
        if (message.msg_namelen != sizeof sender || sender.nl_pid != 0) continue;
        if (message.msg_flags & MSG_TRUNC) {
            errno = ENOBUFS;
            return -1;
        }
        return count;
    }
}
#else
int haul_netlink_open(void) {
    errno = ENOSYS;
    return -1;
}

int haul_netlink_dump(int fd, int type, uint32_t sequence) {
    (void)fd, (void)type, (void)sequence;
    errno = ENOSYS;
    return -1;
}

int64_t haul_netlink_receive(int fd, void *buffer, uint64_t size) {
    (void)fd, (void)buffer, (void)size;
    errno = ENOSYS;
    return -1;
}
#endif

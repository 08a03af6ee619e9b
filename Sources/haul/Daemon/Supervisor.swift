import Foundation
import HaulKit

/// Tells systemd the state of the daemon by datagrams (sd_notify(3)). Does nothing without `NOTIFY_SOCKET`.
struct Supervisor: Sendable {
    private let socket: String?
    /// Half of the time after which systemd takes the daemon for dead; `nil` without a watchdog.
    let watchdogInterval: Duration?

    init(_ environment: [String: String] = ProcessInfo.processInfo.environment) {
        socket = environment["NOTIFY_SOCKET"]
        let isOurs = environment["WATCHDOG_PID"].map { $0 == String(getpid()) } ?? true
        let microseconds = environment["WATCHDOG_USEC"].flatMap(Int64.init) ?? 0
        watchdogInterval = isOurs && microseconds > 0 && microseconds < 1 << 50 ? .microseconds(microseconds / 2) : nil
    }

    func tell(_ state: String) {
        guard let socket else { return }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        var name = Array(socket.utf8)
        // `@` stands for the zero byte with which a name in Linux's abstract namespace begins.
        if name.first == UInt8(ascii: "@") { name[0] = 0 }
        guard !name.isEmpty, name.count < MemoryLayout.size(ofValue: address.sun_path) else { return }
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: name) }
        let descriptor = Glibc.socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { return }
        defer { close(descriptor) }
        let length = socklen_t(MemoryLayout<sa_family_t>.size + name.count)
        _ = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                // Ignores errors, because the supervisor may have ended.
                sendto(descriptor, state, state.utf8.count, Int32(MSG_NOSIGNAL), pointer, length)
            }
        }
    }

    /// Sends RELOADING=1 with the time of the monotonic clock, as sd_notify(3) requires.
    func tellReloading() {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        tell("RELOADING=1\nMONOTONIC_USEC=\(Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1000)")
    }
}

// Facts about this machine and its processes.
internal import Foundation

extension SystemCalls {
    /// Returns an id that changes with each boot of the machine. Empty if the platform has none, which counts as
    /// changed.
    static func bootID() -> String {
        #if os(Linux)
            // No error to report: without this file every start is treated as one after a power loss.
            let text = (try? String(contentsOfFile: "/proc/sys/kernel/random/boot_id", encoding: .utf8)) ?? ""
            return String(text.prefix { !$0.isWhitespace })
        #elseif canImport(Darwin)
            // Not tried on Darwin.
            var size = 0
            guard sysctlbyname("kern.bootsessionuuid", nil, &size, nil, 0) == 0, size > 1 else { return "" }
            var bytes = [UInt8](repeating: 0, count: size)
            guard sysctlbyname("kern.bootsessionuuid", &bytes, &size, nil, 0) == 0 else { return "" }
            return String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
        #else
            return ""
        #endif
    }

    /// Returns the path of the current folder as bytes; empty if `getcwd` fails.
    static func currentFolder() -> [UInt8] {
        guard let path = getcwd(nil, 0) else { return [] }
        defer { free(path) }
        return Array(UnsafeRawBufferPointer(start: path, count: strlen(path)))
    }

    /// Checks that the monotonic clock is not negative, which only happens under a library that moves clocks.
    ///
    /// - Throws: ``DownloadError`` with code ``DownloadError/Code/internalFault``.
    static func checkClock() throws(DownloadError) {
        var time = timespec()
        guard clock_gettime(CLOCK_MONOTONIC, &time) == 0, time.tv_sec < 0 else { return }
        throw DownloadError(
            .internalFault,
            "The clock that measures time-outs stands below zero: a library that is loaded before others (LD_PRELOAD), such as libfaketime, moves it. Let it leave the monotonic clock alone (FAKETIME_DONT_FAKE_MONOTONIC=1)."
        )
    }

    /// Whether a process with this number exists, of this user or another.
    static func isRunning(process: Int32) -> Bool { kill(process, 0) == 0 || errno == EPERM }
}

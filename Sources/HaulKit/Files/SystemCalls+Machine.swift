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

    /// Returns the processor time that this process has used; zero if the platform does not tell it.
    static func processorTime() -> Duration {
        var time = timespec()
        guard clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time) == 0 else { return .zero }
        return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
    }

    /// Returns the processor time of the whole machine since its start; `nil` where `/proc/stat` is missing or has
    /// another form.
    static func machineTicks() -> ProcessorReading.MachineTicks? {
        #if os(Linux)
            var bytes = [UInt8](repeating: 0, count: 256)
            // No error to report: without the counters the processors count as free.
            guard let descriptor = try? open("/proc/stat", O_RDONLY) else { return nil }
            defer { close(descriptor) }
            guard let count = try? bytes.withUnsafeMutableBytes({ try read(descriptor, into: $0, at: 0) }) else {
                return nil
            }
            var ticks = ProcessorReading.MachineTicks(statLine: String(decoding: bytes.prefix(count), as: UTF8.self))
            ticks?.processors = ProcessInfo.processInfo.activeProcessorCount
            return ticks
        #else
            return nil
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

import Foundation
import HaulKit

/// Measures the cost of a downloader with 100,000 downloads and prints one line per figure. `Benchmarks/scale`,
/// `Benchmarks/running` and `Acceptance/kill-queue` run this program.
///
/// Its first argument is the URL of a server that answers too late to matter, because the network is not measured here.
@main enum Scale {
    static func main() async throws {
        let arguments = CommandLine.arguments
        guard arguments.count >= 3, let base = URL(string: arguments[1]), let count = Int(arguments[2]) else {
            print("usage: HaulScale URL COUNT [active | all | running]")
            return
        }
        let folder = FileManager.default.currentDirectoryPath
        if arguments.count > 3, arguments[3] == "all" {
            try await complete(base, count, folder)
        } else if arguments.count > 3, arguments[3] == "running" {
            try await run(base, count, folder)
        } else if arguments.count > 3 {
            try await transfer(base, count, folder)
        } else {
            try await manage(base, count, folder)
        }
    }

    private static func configuration(_ folder: String) -> Downloader.Configuration {
        var configuration = Downloader.Configuration(stateFolder: folder + "/state")
        configuration.queue.maxConcurrentDownloads = 4
        configuration.connections.initial = 1
        configuration.connections.maxPerDownload = 1
        return configuration
    }

    /// Number of downloads per call of `add`. An application with 1,000,000 URLs does not hold them all in memory
    /// either.
    private static let addedTogether = 10_000

    private static func requests(_ base: URL, _ range: Range<Int>, _ folder: String) -> [DownloadRequest] {
        range.map { number in
            var request = DownloadRequest(
                base.appendingPathComponent("waiting/file\(number)"),
                to: .file(path: "\(folder)/out/file\(number)")
            )
            request.group = "group \(number % 100)"
            return request
        }
    }

    private static func manage(_ base: URL, _ count: Int, _ folder: String) async throws {
        let clock = ContinuousClock()
        func measure(_ name: String, _ work: () async throws -> Void) async rethrows {
            let time = try await clock.measure { try await work() }
            print("\(name)\t\(Double(time.components.attoseconds) / 1e18 + Double(time.components.seconds))")
        }
        let configuration = configuration(folder)
        var downloader = try await Downloader(configuration)
        var added = 0
        await measure("add") { added = await add(count, to: downloader, base, folder) }
        print("added\t\(added)")
        print("memory after adding, MiB\t\(residentMiB())")
        try await pages(downloader, measure)
        try await measure("pause all") { try await downloader.pause(.all) }
        print("paused\t\(try await downloader.count(DownloadFilter(states: [.paused])))")
        try await measure("resume all") { try await downloader.resume(.all) }
        await downloader.shutDown()
        try await measure("open again") { downloader = try await Downloader(configuration) }
        print(
            "waiting or running\t\(try await downloader.count(DownloadFilter(states: [.queued, .connecting, .transferring, .waiting, .verifying])))"
        )
        try await pages(downloader, measure)
        print("memory at the end, MiB\t\(residentMiB())")
        print("most memory, MiB\t\(residentMiB("VmHWM"))")
        await downloader.shutDown()
    }

    private static func add(_ count: Int, to downloader: Downloader, _ base: URL, _ folder: String) async -> Int {
        var added = 0
        for first in stride(from: 0, to: count, by: addedTogether) {
            let range = first..<min(count, first + addedTogether)
            for case .success in await downloader.add(requests(base, range, folder)) { added += 1 }
        }
        return added
    }

    private static func pages(
        _ downloader: Downloader,
        _ measure: (String, () async throws -> Void) async throws -> Void
    )
        async throws
    {
        for (name, query) in [
            ("page by state", DownloadFilter(states: [.queued], limit: 50)),
            ("page by state, far", DownloadFilter(states: [.queued], offset: 50_000, limit: 50)),
            ("page by group", DownloadFilter(group: "group 7", limit: 50)),
            ("page by group and state", DownloadFilter(states: [.queued], group: "group 7", limit: 50)),
            ("page of what failed", DownloadFilter(states: [.failed], limit: 50)),
        ] {
            try await measure(name) { _ = try await downloader.list(query) }
        }
    }

    /// Runs four downloads at 10 MB/s together while `count` downloads wait. Prints the CPU seconds of 20 seconds.
    private static func transfer(_ base: URL, _ count: Int, _ folder: String) async throws {
        var configuration = configuration(folder)
        configuration.network.bytesPerSecond = 10_000_000
        let downloader = try await Downloader(configuration)
        var active: [Download] = []
        for number in 0..<4 {
            var request = DownloadRequest(
                base.appendingPathComponent("active"),
                to: .file(path: "\(folder)/out/active\(number)")
            )
            request.priority = 1
            active.append(try await downloader.add(request))
        }
        _ = await add(count, to: downloader, base, folder)
        try await Task.sleep(for: .seconds(3))
        let before = cpuSeconds()
        try await Task.sleep(for: .seconds(20))
        print("CPU in 20 s\t\(cpuSeconds() - before)")
        print("bytes\t\(active.map(\.snapshot.receivedBytes).reduce(0, +))")
        await downloader.shutDown()
    }

    /// Runs `count` downloads from one slow server at once. Prints threads, memory, and the time to pause, resume and
    /// cancel all of them.
    private static func run(_ base: URL, _ count: Int, _ folder: String) async throws {
        var configuration = configuration(folder)
        configuration.queue.maxConcurrentDownloads = count
        configuration.connections.maxPerHost = count
        configuration.connections.stallTimeout = .seconds(3600)
        configuration.connections.connectTimeout = .seconds(600)
        let downloader = try await Downloader(configuration)
        let clock = ContinuousClock()
        func measure(_ name: String, _ work: () async throws -> Int) async rethrows {
            var changed = 0
            let time = try await clock.measure { changed = try await work() }
            let seconds = Double(time.components.attoseconds) / 1e18 + Double(time.components.seconds)
            print("\(name)\t\(seconds)\n\(name), downloads\t\(changed)")
            fflush(nil)
        }
        print("threads before\t\(status("Threads"))")
        let downloads = try await downloader.add(requests(base, 0..<count, folder)).map { try $0.get() }
        func arrive() async throws {
            while downloads.contains(where: { $0.snapshot.state != .transferring || $0.snapshot.receivedBytes == 0 }) {
                try await Task.sleep(for: .milliseconds(20))
            }
        }
        try await measure("until all run") {
            try await arrive()
            return count
        }
        var (threads, cpu) = (0, cpuSeconds())
        for _ in 0..<50 {
            threads = max(threads, status("Threads"))
            try await Task.sleep(for: .milliseconds(100))
        }
        cpu = cpuSeconds() - cpu
        print("threads while all run\t\(threads)\nmemory, MiB\t\(residentMiB())\nCPU in 5 s\t\(cpu)")
        try await measure("pause all") { try await downloader.pause(.all) }
        try await measure("resume all") { try await downloader.resume(.all) }
        try await measure("until all run again") {
            try await arrive()
            return count
        }
        print("most memory, MiB\t\(residentMiB("VmHWM"))\nthreads before cancelling\t\(status("Threads"))")
        fflush(nil)
        try await measure("cancel all") { try await downloader.cancel(.all) }
        await downloader.shutDown()
    }

    /// Downloads `count` files, 50 at once. A run after a kill continues them. Prints the contents of the store at the
    /// end.
    private static func complete(_ base: URL, _ count: Int, _ folder: String) async throws {
        var configuration = configuration(folder)
        configuration.queue.maxConcurrentDownloads = 50
        configuration.connections.maxPerHost = 50
        let downloader = try await Downloader(configuration)
        let present = try await downloader.count()
        print("present\t\(present)")
        // Keys make a repeated `add` return the existing downloads.
        if present < count {
            var all = requests(base, 0..<count, folder)
            for number in all.indices { all[number].key = "\(number)" }
            for result in await downloader.add(all) { _ = try result.get() }
        }
        print("added")
        fflush(nil)
        let open: Set<DownloadSnapshot.State> = [.queued, .connecting, .transferring, .waiting, .verifying, .paused]
        while try await downloader.count(DownloadFilter(states: open)) > 0 {
            try await Task.sleep(for: .milliseconds(50))
        }
        print("completed\t\(try await downloader.count(DownloadFilter(states: [.completed])))")
        print("all\t\(try await downloader.count())")
        await downloader.shutDown()
    }

    private static func cpuSeconds() -> Double {
        var time = timespec()
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }

    private static func residentMiB(_ name: String = "VmRSS") -> Int { status(name) / 1024 }

    /// Returns a number from /proc/self/status.
    private static func status(_ name: String) -> Int {
        let status = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
        let line = status.split(separator: "\n").first { $0.hasPrefix(name) } ?? ""
        return Int(line.split(whereSeparator: { !$0.isNumber }).first ?? "") ?? 0
    }
}

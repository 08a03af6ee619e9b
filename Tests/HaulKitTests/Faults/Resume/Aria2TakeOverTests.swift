import Foundation
import HaulTesting
import Testing

@testable import HaulCore
@testable import HaulKit

/// The path of `aria2c`; `nil` if it is not installed.
private let aria2Program = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":")
    .map { $0 + "/aria2c" }.first { FileManager.default.isExecutableFile(atPath: $0) }

/// Downloads that aria2 itself has begun.
@Suite(
    "Downloads that aria2 has begun",
    .serialized,
    .timeLimit(.minutes(60)),
    .enabled(if: aria2Program != nil, "needs aria2c")
)
struct Aria2TakeOverTests {
    private let content = TestContent(seed: 31, count: 40_000_000)

    /// Starts aria2, and ends it with `signal` once its control file claims `count` bytes.
    ///
    /// - Returns: the control file that aria2 leaves.
    private func begin(_ rig: DownloaderRig, until count: Int64, _ signal: Int32, _ options: [String]) async throws
        -> Aria2ControlFile
    {
        let control = URL(fileURLWithPath: rig.path + ".aria2")
        let process = try SystemCommand.start(
            [try #require(aria2Program), "--no-conf", "--quiet", "--auto-save-interval=1", "-k1M", "-d", rig.folder]
                + ["-o", "file.bin", "--timeout=600"] + options + [rig.server.url("/file.bin")]
        )
        let isOver = CancelFlag()
        let end = Task { await Self.end(of: process, isOver) }
        while !isOver.isSet {
            // While aria2 replaces the control file, the file may be missing or incomplete.
            if let bytes = try? Data(contentsOf: control), let file = try? Aria2ControlFile([UInt8](bytes)),
                file.claimed.count >= count
            {
                break
            }
            try await Task.sleep(for: .milliseconds(20))
        }
        kill(process, signal)
        _ = await end.value
        return try Aria2ControlFile([UInt8](try Data(contentsOf: control)))
    }

    /// Waits on a thread of its own, because tasks have only as many threads as there are cores.
    private static func end(of process: Int32, _ isOver: CancelFlag) async -> SystemCommand.Ending {
        await withCheckedContinuation { continuation in
            Thread.detachNewThread {
                continuation.resume(returning: SystemCommand.end(of: process) { isOver.set() })
            }
        }
    }

    @Test(
        "fetches less than 1 MiB again of a download of several connections",
        arguments: [SIGKILL, SIGINT],
        [["-x4", "-s4", "--file-allocation=none"], ["-x4", "-s4", "--file-allocation=prealloc"], ["-x1"]]
    )
    func continues(_ signal: Int32, _ options: [String]) async throws {
        // The answers to aria2 fall silent, so that it never completes the file.
        let silent = content.resource().silent(after: options == ["-x1"] ? 12_000_000 : 4_000_000)
        let (whole, isOver) = (content.resource().paced(2_000_000), CancelFlag())
        try await DownloaderRig.run(
            configure: {
                $0.share()
                $0.connections.smallestPiece = 256 << 10
            },
            serving: { (isOver.isSet ? whole : silent).reply(to: $0) }
        ) { rig in
            let control = try await begin(rig, until: 8_000_000, signal, options)
            isOver.set()
            let claimed = control.claimed.count
            #expect(control.total == content.count)
            #expect(claimed >= 8_000_000 && claimed < content.count)
            let (before, requests) = (rig.server.bodyBytesSent, rig.server.requests.count)
            try await rig.download { $0.adopts = .aria2ControlFile }
            #expect(try rig.holdsOnly(content))
            let again = rig.server.requests[requests...].reduce(Int64(0)) { sum, request -> Int64 in
                guard let range = request.range else { return sum + claimed }
                let asked = ByteSet(range.first..<(range.last.map { $0 + 1 } ?? content.count))
                return sum + control.claimed.intersection(asked).count
            }
            let sent = rig.server.bodyBytesSent - before - (content.count - claimed)
            print(
                "aria2, signal \(signal), \(options.joined(separator: " ")): \(claimed) bytes taken over,",
                terminator: " "
            )
            print("\(again) of them asked for again, \(sent) bytes sent beside what is missing")
            #expect(again < 1 << 20)
        }
    }
}

import Foundation

@testable import HaulKit

/// A downloader between a server that is played and a disk that has only so much space.
struct SpaceRig: Sendable {
    let disk: SimulatedDisk
    let transport: ScriptedTransport
    let downloader: Downloader
    let configuration: Downloader.Configuration

    static let content: [UInt8] = (0..<400_000).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) }
    static let size = Int64(content.count)

    /// A downloader over this disk and a server whose files are all alike.
    ///
    /// - Parameter isLengthKnown: whether the first answer says how long the file is.
    static func open(
        _ disk: SimulatedDisk,
        in folder: String,
        isLengthKnown: Bool = true,
        configure: (inout Downloader.Configuration) -> Void = { _ in }
    ) async throws -> SpaceRig {
        var configuration = Downloader.Configuration(stateFolder: folder)
        configuration.storage.batchBytes = 16 * 1024
        configuration.storage.progressInterval = .milliseconds(5)
        configuration.connections.maxPerDownload = 1
        configure(&configuration)
        let store = try DownloadStore(
            folder: folder,
            name: "default",
            isExclusive: configuration.storage.restoration == .everything,
            bootID: disk.bootID
        )
        let transport = ScriptedTransport { request, _ in
            var answer = ScriptedTransport.file(content, tag: "\"a\"", for: request)
            if !isLengthKnown, answer.status == 200 { answer.headers.removeAll { $0.0 == "Content-Length" } }
            return answer
        }
        let downloader = try await Downloader(over: disk, transport, store, configuration)
        return SpaceRig(disk: disk, transport: transport, downloader: downloader, configuration: configuration)
    }

    static func run(
        isLengthKnown: Bool = true,
        configure: (inout Downloader.Configuration) -> Void = { _ in },
        _ test: (SpaceRig) async throws -> Void
    ) async throws {
        try await withFolder { folder in
            let rig = try await open(
                SimulatedDisk(seed: 1),
                in: folder,
                isLengthKnown: isLengthKnown,
                configure: configure
            )
            var failure: (any Error)?
            do { try await test(rig) } catch { failure = error }
            await rig.downloader.shutDown()
            if let failure { throw failure }
        }
    }

    static func withFolder(_ body: (String) async throws -> Void) async throws {
        let folder = NSTemporaryDirectory() + "haul-space-\(UUID().uuidString)"
        // Leftovers in the temporary folder are no failure.
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try await body(folder)
    }

    func request(_ number: Int = 1) throws -> DownloadRequest {
        guard let url = URL(string: "http://server.test/\(number).bin") else { throw URLError(.badURL) }
        return DownloadRequest(url, to: .file(path: Self.path(number)))
    }

    func add(_ number: Int = 1) async throws -> Download { try await downloader.add(try request(number)) }

    static func path(_ number: Int = 1) -> String { "/data/\(number).bin" }
}

/// Every change of state of a download, from now on.
struct StateLog: Sendable {
    private let changes: AsyncStream<DownloadSnapshot>

    init(_ download: Download) {
        // Listens from here on, whenever the task gets its turn.
        var iterator = download.events.makeAsyncIterator()
        let (stream, changes) = AsyncStream.makeStream(of: DownloadSnapshot.self)
        self.changes = stream
        Task {
            while let event = await iterator.next() {
                if case .changed(let snapshot) = event { changes.yield(snapshot) }
            }
            changes.finish()
        }
    }

    /// All of them, once the run is over.
    var all: [DownloadSnapshot] {
        get async { await changes.reduce(into: []) { $0.append($1) } }
    }
}

extension Download {
    /// Returns once it is held for this reason, or its run is over.
    @discardableResult
    func isHeld(for reason: HoldReason) async -> DownloadSnapshot {
        for await event in events {
            if case .changed(let snapshot) = event, snapshot.state == .paused, snapshot.holdReason == reason {
                return snapshot
            }
        }
        return snapshot
    }
}

extension [DownloadSnapshot] {
    /// Times that it came to a pause, and times that it went on from one.
    var pauses: (begun: Int, ended: Int) {
        let begun = filter { $0.state == .paused }.count
        let ended = zip(self, dropFirst()).filter { $0.0.state == .paused && $0.1.state != .paused }.count
        return (begun, ended)
    }
}

import Foundation
import HaulTesting

@testable import HaulCore
@testable import HaulKit

/// A downloader between a scripted server and a simulated disk. It opens no socket, and only its store is on a real
/// disk.
struct SimulatedRig: Sendable {
    let disk: SimulatedDisk
    let transport: ScriptedTransport
    let downloader: Downloader
    let configuration: Downloader.Configuration

    static let content: [UInt8] = (0..<400_000).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) }
    static let size = Int64(content.count)

    /// Opens a downloader.
    ///
    /// - Parameters:
    ///   - folder: the folder of the store.
    ///   - event: called after each commit of the store, on the store's own thread.
    ///   - script: returns the answer to a request; the second parameter is the number of the request.
    static func open(
        _ disk: SimulatedDisk,
        in folder: String,
        configure: (inout Downloader.Configuration) -> Void = { _ in },
        observing event: @escaping @Sendable (StoreEvent) -> Void = { _ in },
        answering script: @escaping @Sendable (TransportRequest, Int) -> ScriptedTransport.Answer
    ) async throws -> SimulatedRig {
        var configuration = Downloader.Configuration(stateFolder: folder)
        configure(&configuration)
        let store = try DownloadStore(
            folder: folder,
            name: "default",
            isExclusive: configuration.storage.restoration == .everything,
            bootID: disk.bootID,
            observer: event
        )
        let transport = ScriptedTransport(script)
        let downloader = try await Downloader(over: disk, transport, store, configuration)
        return SimulatedRig(disk: disk, transport: transport, downloader: downloader, configuration: configuration)
    }

    /// Opens a downloader with a server whose files are all ``content``, and one connection per file.
    ///
    /// - Parameter isLengthKnown: whether the first answer has the length of the file.
    static func open(
        _ disk: SimulatedDisk,
        in folder: String,
        isLengthKnown: Bool = true,
        configure: (inout Downloader.Configuration) -> Void = { _ in }
    ) async throws -> SimulatedRig {
        try await open(
            disk,
            in: folder,
            configure: { configuration in
                configuration.storage.batchBytes = 16 * 1024
                configuration.storage.progressInterval = .milliseconds(5)
                configuration.connections.maxPerDownload = 1
                configure(&configuration)
            },
            answering: { request, _ in
                var answer = ScriptedTransport.file(content, tag: "\"a\"", for: request)
                if !isLengthKnown, answer.status == 200 { answer.headers.removeAll { $0.0 == "Content-Length" } }
                return answer
            }
        )
    }

    static func run(
        isLengthKnown: Bool = true,
        configure: (inout Downloader.Configuration) -> Void = { _ in },
        _ test: (SimulatedRig) async throws -> Void
    ) async throws {
        try await TemporaryFolder.with { folder in
            let rig = try await open(
                SimulatedDisk(seed: 1),
                in: folder.path,
                isLengthKnown: isLengthKnown,
                configure: configure
            )
            var failure: (any Error)?
            do { try await test(rig) } catch { failure = error }
            await rig.downloader.shutDown()
            if let failure { throw failure }
        }
    }

    func request(_ number: Int = 1) throws -> DownloadRequest {
        guard let url = URL(string: "http://server.test/\(number).bin") else { throw URLError(.badURL) }
        return DownloadRequest(url, to: .file(path: Self.path(number)))
    }

    func add(_ number: Int = 1) async throws -> Download { try await downloader.add(try request(number)) }

    static func path(_ number: Int = 1) -> String { "/data/\(number).bin" }
}

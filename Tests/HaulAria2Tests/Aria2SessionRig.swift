import Foundation
import HaulKit
import HaulTesting
import Testing

@testable import HaulAria2
@testable import HaulServer

/// Runs a session on a downloader with scripted answers.
struct Aria2SessionRig: Sendable {
    let script: DownloadScript
    let downloader: Downloader
    let session: Aria2Session

    /// - Parameters:
    ///   - confined: keeps files in the script's folder.
    ///   - follows: whether the session follows the downloader's events. An `Aria2Server` follows them for its session.
    static func run(
        confined: Bool = true,
        follows: Bool = true,
        configure: (inout Aria2Configuration) -> Void = { _ in },
        _ body: (Aria2SessionRig) async throws -> Void
    ) async throws {
        let script = DownloadScript()
        try FileManager.default.createDirectory(atPath: script.folder, withIntermediateDirectories: true)
        let downloader = try await Downloader.scripted(script)
        var configuration = Aria2Configuration()
        let folder = script.folder
        if confined { configuration.roots = { AllowedFolders(folder: folder, roots: []) } }
        configure(&configuration)
        var global = Aria2Options()
        try global.set("dir", folder)
        let session = Aria2Session(downloader, global: global, configuration: configuration)
        let following = Task { if follows { await session.run() } }
        let result = await Result { () async throws in
            try await body(Aria2SessionRig(script: script, downloader: downloader, session: session))
        }
        await downloader.shutDown()
        await following.value
        try result.get()
    }

    @discardableResult
    func call(_ method: String, _ parameters: Aria2Value...) async throws -> Aria2Value {
        try await session.call("aria2." + method, parameters)
    }

    /// Returns the message of the error that a call throws, or `nil` if the call succeeds.
    func failure(_ method: String, _ parameters: Aria2Value...) async -> String? {
        do {
            _ = try await session.call(method.contains(".") ? method : "aria2." + method, parameters)
            return nil
        } catch { return error.message }
    }

    /// Adds a download that stalls until the script is stepped.
    @discardableResult
    func add(_ name: String, bytes: Int = 1000, options: [String: Aria2Value] = [:]) async throws -> String {
        let url = "https://example.org/\(name)"
        try script.respond(to: url, with: .data([UInt8](repeating: 7, count: bytes)).inSteps(2))
        return try await call("addUri", [.text(url)], .structure(options)).text
    }

    func status(_ gid: String, _ keys: Aria2Value...) async throws -> Aria2Value {
        try await call("tellStatus", .text(gid), .list(keys))
    }

    /// Waits until a download has a status.
    func wait(_ gid: String, for status: String) async throws {
        let reached = await (try await download(gid)).snapshot { Aria2State($0).rawValue == status }
        #expect(reached != nil, "\(gid) ended before it was \(status)")
    }

    /// Waits until a condition holds that the session learns from events.
    func until(_ condition: () async throws -> Bool) async throws {
        while try await !condition() { try await Task.sleep(for: .milliseconds(2)) }
    }

    func download(_ gid: String) async throws -> Download {
        guard case .download(let id, _) = try await session.find(gid) else { throw Missing() }
        return try #require(try await downloader.find(id: id))
    }

    struct Missing: Error {}
}

extension Result where Failure == any Error {
    init(_ body: () async throws -> Success) async {
        do { self = .success(try await body()) } catch { self = .failure(error) }
    }
}

extension Aria2Value {
    var text: String { if case .text(let text) = self { text } else { "" } }
    var items: [Aria2Value] { if case .list(let items) = self { items } else { [] } }
    var members: [String: Aria2Value] { if case .structure(let members) = self { members } else { [:] } }
    subscript(_ name: String) -> Aria2Value { members[name] ?? .null }
    subscript(_ index: Int) -> Aria2Value { items.indices.contains(index) ? items[index] : .null }
}

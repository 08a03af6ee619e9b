import Foundation
import HTTPTypes
import HaulKit
import HaulTesting
import Hummingbird
import HummingbirdTesting
import Logging
import NIOCore
import NIOFoundationCompat

@testable import HaulServer

/// Runs a server on a downloader in a temporary folder. Requests go to the routes without a socket unless a test needs
/// one.
struct ServerRig {
    let folder: TemporaryFolder
    let downloader: Downloader
    let server: HaulServer
    let token: String

    static let silent = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }

    static func run(
        configure: (inout ServerConfiguration) -> Void = { _ in },
        _ body: @Sendable @escaping (ServerRig, any TestClientProtocol) async throws -> Void,
        testing: TestingSetup = .router
    ) async throws {
        let folder = try TemporaryFolder()
        let (state, downloads) = (folder("state"), folder("downloads"))
        for path in [state, downloads] {
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        }
        let metrics = MetricsRegistry()
        var settings = Downloader.Configuration(name: "test", stateFolder: state)
        settings.telemetry.metrics = metrics
        let downloader = try await Downloader(settings)
        var configuration = ServerConfiguration(stateFolder: state, folder: downloads)
        configure(&configuration)
        let server = try HaulServer(downloader, configuration, logger: silent, metrics: metrics)
        let token = try String(contentsOfFile: state + "/token", encoding: .utf8).trimmingCharacters(in: .newlines)
        let rig = ServerRig(folder: folder, downloader: downloader, server: server, token: token)
        do {
            try await Application(router: server.router()).test(testing) { client in try await body(rig, client) }
        } catch {
            await downloader.shutDown()
            throw error
        }
        await downloader.shutDown()
    }
}

extension ServerRig {
    /// Serves one file over HTTP while `body` runs.
    static func serving(_ content: TestContent, _ body: @Sendable (String) async throws -> Void) async throws {
        let resource = FileResource(content: content, etag: "\"1\"")
        let server = try await TestServer.start { resource.reply(to: $0) }
        do { try await body(server.url("/file.bin")) } catch {
            await server.stop()
            throw error
        }
        await server.stop()
    }

    /// Adds a download and waits until its file is complete.
    func complete(_ url: String, name: String) async throws -> DownloadID {
        var request = try DownloadRequest(url, to: .folder(path: folder("downloads")))
        request.suggestedName = name
        return try await downloader.add(request).result().id
    }
}

extension TestClientProtocol {
    /// Sends a request with the token, as a script does.
    func call(
        _ method: HTTPRequest.Method,
        _ path: String,
        _ rig: ServerRig,
        json: String? = nil,
        _ fields: HTTPFields = [:]
    ) async throws -> TestResponse {
        var headers = fields
        headers[.authorization] = "Bearer \(rig.token)"
        if json != nil { headers[.contentType] = "application/json" }
        return try await send(method, path, headers, body: json)
    }

    /// Sends a request with exactly these fields.
    func send(
        _ method: HTTPRequest.Method,
        _ path: String,
        _ fields: HTTPFields,
        body: String? = nil
    ) async throws -> TestResponse {
        try await execute(uri: path, method: method, headers: fields, body: body.map { ByteBuffer(string: $0) }) { $0 }
    }
}

extension TestResponse {
    var json: JSONValue {
        get throws { try JSONDecoder().decode(JSONValue.self, from: Data(buffer: body)) }
    }

    var code: String? {
        guard case .object(let fields) = try? json, case .string(let code) = fields["code"] else { return nil }
        return code
    }
}

extension JSONValue {
    subscript(_ name: String) -> JSONValue? {
        if case .object(let fields) = self { fields[name] } else { nil }
    }
    subscript(_ index: Int) -> JSONValue? {
        if case .array(let items) = self, items.indices.contains(index) { items[index] } else { nil }
    }
    var text: String? { if case .string(let text) = self { text } else { nil } }
    var number: Int64? { if case .integer(let number) = self { number } else { nil } }
    var count: Int? { if case .array(let items) = self { items.count } else { nil } }
}

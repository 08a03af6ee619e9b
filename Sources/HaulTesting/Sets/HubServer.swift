internal import Foundation
internal import HaulKit

/// A model hub on 127.0.0.1 that behaves as the Hugging Face hub does towards clients that download.
///
/// ```swift
/// let hub = try await HubServer.start()
/// let model = HubFile("model.bin", TestContent(seed: 7, count: 300_000_000), isLarge: true)
/// let first = hub.commit([HubFile("config.json", "{}".utf8), model], to: "org/model")
/// // HF_ENDPOINT=hub.url
/// await hub.stop()
/// ```
///
/// The hub answers these requests, for datasets and spaces with `datasets/` and `spaces/` before the name:
///
/// - `GET /api/models/ORG/NAME[/revision/REV]`: the commit that a branch or a commit id names, by default `main`;
/// - `GET /api/models/ORG/NAME/tree/REV?recursive=true`: the files of the commit, page by page;
/// - `GET` and `HEAD /ORG/NAME/resolve/REV/PATH`: a small file, or for a large file a redirect to a signed link at the
///   storage, which is a second server on another port.
///
/// Large files and small ones differ by ``HubFile/isLarge`` alone, not by their length. Both servers run until
/// ``stop()``.
package final class HubServer: Sendable {
    /// Read access to a repository.
    package enum Access: Sendable {
        /// Everybody without a token, and every known token.
        case open
        /// Only tokens that ``HubServer/allow(_:for:)`` named for the repository. To others the repository does not
        /// exist.
        case `private`
        /// The same tokens as for `private`. Others may see the names of the files but not their bytes.
        case gated
    }

    /// Options of the hub. Every option takes effect with the next request.
    package struct Options: Sendable {
        /// Maximum number of entries on a page of the tree. With `expand=true`, a page has at most 50.
        package var pageLength = 1000
        /// The pace of each body that is a file, in bytes per second; `nil` for no limit.
        package var bytesPerSecond: Int?
        /// Whether a small file is behind a redirect (307) to a path of the hub, as at huggingface.co.
        package var redirectsSmallFiles = false
        /// Time for which a signed link is valid, in seconds by the clock ``now``.
        package var linkLifetime: Int64 = 3600
        /// Number of requests for which a signed link is good; `nil` for no limit.
        package var requestsPerLink: Int?
        /// The clock of the signed links, in seconds since 1970.
        package var now: @Sendable () -> Int64 = { Int64(Date().timeIntervalSince1970) }

        /// Makes the options of a hub without faults.
        package init() {}
    }

    /// The repositories, and the answers of both servers.
    let shelf: HubShelf
    private let hub: TestServer
    private let storage: TestServer

    private init(shelf: HubShelf, hub: TestServer, storage: TestServer) {
        self.shelf = shelf
        self.hub = hub
        self.storage = storage
    }

    /// Starts a hub without repositories.
    ///
    /// - Parameters:
    ///   - port: the port of the hub; 0 for any. The storage takes any.
    ///   - onRequest: called with each request to the hub before its answer is decided, on a thread of the server. Must
    ///     not block; may change the hub.
    /// - Throws: the error of the system if a server cannot listen.
    package static func start(
        _ options: Options = Options(),
        port: Int = 0,
        onRequest: (@Sendable (TestRequest) -> Void)? = nil
    ) async throws -> HubServer {
        let shelf = HubShelf(options)
        let storage = try await TestServer.start { request in shelf.storageReply(to: request) }
        let address = storage.url("")
        do {
            let hub = try await TestServer.start(port: port) { request in
                onRequest?(request)
                return shelf.reply(to: request, storage: address)
            }
            return HubServer(shelf: shelf, hub: hub, storage: storage)
        } catch {
            await storage.stop()
            throw error
        }
    }

    /// Stops both servers, and closes their connections.
    package func stop() async {
        await hub.stop()
        await storage.stop()
    }

    /// The address of the hub, for `HF_ENDPOINT`.
    package var url: String { hub.url("") }

    /// The address of the storage.
    package var storageURL: String { storage.url("") }

    /// The options for the next requests.
    package var options: Options {
        get { shelf.withState { $0.options } }
        set { shelf.withState { $0.options = newValue } }
    }

    // MARK: - Repositories

    /// Adds a commit that has exactly these files, and moves a branch to it. Makes the repository if there is none.
    ///
    /// - Parameter repository: `ORG/NAME`, `datasets/ORG/NAME` or `spaces/ORG/NAME`.
    /// - Returns: the commit, 40 hexadecimal digits. The same commits made in the same order have the same digits.
    @discardableResult
    package func commit(_ files: [HubFile], to repository: String, branch: String = "main") -> String {
        let number = shelf.withState { $0.repositories[repository]?.commits.count ?? 0 }
        let commit = HubCommit(files, name: "\(repository) \(number)")
        shelf.withState { state in
            state.repositories[repository, default: .init()].commits[commit.id] = commit
            state.repositories[repository, default: .init()].branches[branch] = commit.id
            for file in files where file.isLarge { state.blobs[HubShelf.blobPath(of: file, in: commit)] = file }
        }
        return commit.id
    }

    /// Moves a branch to a commit of its repository, or makes the branch.
    package func move(_ branch: String, of repository: String, to commit: String) {
        shelf.withState { $0.repositories[repository]?.branches[branch] = commit }
    }

    /// Sets the read access to a repository, which must have a commit.
    package func restrict(_ repository: String, to access: Access) {
        shelf.withState { $0.repositories[repository]?.access = access }
    }

    /// Makes a token known to the hub. The token may read the named repositories and all open ones. A second call for
    /// the same token replaces its named repositories.
    ///
    /// The hub refuses an unknown token, even for open repositories.
    package func allow(_ token: String, for repositories: Set<String> = []) {
        shelf.withState { $0.tokens[token] = repositories }
    }

    // MARK: - What has come

    /// The requests to the hub so far.
    package var requests: [TestRequest] { hub.requests }

    /// The requests to the storage so far.
    package var storageRequests: [TestRequest] { storage.requests }

    /// Number of bytes of files that the system took from both servers so far. Pages of the API do not count.
    package var bodyBytesSent: Int64 { hub.bodyBytesSent + storage.bodyBytesSent }

    /// Number of requests to the storage with an `Authorization` field, which clients must send to the hub only.
    package var authorizationsAtStorage: Int { storage.requests.count { $0["Authorization"] != nil } }
}

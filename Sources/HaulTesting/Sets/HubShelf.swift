internal import Foundation
internal import HaulKit
internal import Synchronization

/// The repositories of a ``HubServer`` and the links to its storage, shared by both servers and the test.
final class HubShelf: Sendable {
    struct Repository: Sendable {
        var access = HubServer.Access.open
        var commits: [String: HubCommit] = [:]
        var branches: [String: String] = [:]
    }

    struct State: Sendable {
        var options: HubServer.Options
        var repositories: [String: Repository] = [:]
        /// The repositories that a token may read beyond the open ones.
        var tokens: [String: Set<String>] = [:]
        /// The large files by their paths at the storage.
        var blobs: [String: HubFile] = [:]
        var linkCount = 0
        /// Number of requests for each link, by the number of the link.
        var linkUses: [Int: Int] = [:]
    }

    private let state: Mutex<State>
    /// Secret of the signatures of links.
    private let secret = UInt64.random(in: .min ... .max)

    init(_ options: HubServer.Options) {
        state = Mutex(State(options: options))
    }

    func withState<Result: Sendable>(_ body: (inout State) -> Result) -> Result {
        state.withLock { body(&$0) }
    }

    // MARK: - The hub

    /// Returns the hub's answer.
    ///
    /// - Parameter storage: the address of the storage, without a slash at the end.
    func reply(to request: TestRequest, storage: String) -> TestReply {
        guard ["GET", "HEAD"].contains(request.method) else {
            return .empty(405, "Method Not Allowed", headers: [("Allow", "GET, HEAD")])
        }
        do throws(HubProblem) {
            guard let route = HubRoute(request.path) else { throw .noPage }
            let state = withState { $0 }
            let (repository, commit) = try state.find(route, for: request)
            switch route.page {
            case .info:
                let info = HubInfo(repository: route.repository, commit: commit, access: repository.access)
                return json(info, for: request)
            case .tree: return tree(commit, options: state.options, for: request)
            case .file(let path, let isDirect):
                guard let file = commit.file(path) else { throw .entry(commit: commit.id) }
                let commitField = ("X-Repo-Commit", commit.id)
                if file.isLarge {
                    let link = storage + link(to: Self.blobPath(of: file, in: commit))
                    return redirect(302, "Found", to: link, file, [commitField], for: request)
                }
                if state.options.redirectsSmallFiles, !isDirect {
                    let target = route.directTarget(path, commit: commit.id)
                    return redirect(307, "Temporary Redirect", to: target, file, [commitField], for: request)
                }
                return resource(file, etag: file.oid, state.options, [commitField]).reply(to: request)
            }
        } catch {
            return json(["error": error.message], error.status, error.reason, error.headers, for: request)
        }
    }

    private func tree(_ commit: HubCommit, options: HubServer.Options, for request: TestRequest) -> TestReply {
        let query = HubQuery(request.target)
        let isExpanded = query["expand"]?.lowercased() == "true"
        let longest = isExpanded ? min(options.pageLength, 50) : options.pageLength
        let length = max(1, min(longest, query["limit"].flatMap { Int($0) } ?? longest))
        let isRecursive = query["recursive"]?.lowercased() == "true"
        let all = isRecursive ? commit.entries : commit.entries.filter { !$0.path.utf8.contains(UInt8(ascii: "/")) }
        let start = min(all.count, query["cursor"].flatMap(HubQuery.position) ?? 0)
        let end = min(all.count, start + length)
        var entries = Array(all[start..<end])
        if isExpanded { for index in entries.indices { entries[index].lastCommit = .init(id: commit.id) } }
        var headers: [(String, String)] = []
        if end < all.count {
            let host = request["Host"] ?? ""
            headers.append(("Link", "<http://\(host)\(request.path)?\(query.next(end))>; rel=\"next\""))
        }
        return json(entries, 200, "OK", headers, for: request)
    }

    private func redirect(
        _ status: Int,
        _ reason: String,
        to target: String,
        _ file: HubFile,
        _ headers: [(String, String)],
        for request: TestRequest
    ) -> TestReply {
        let fields = [
            ("Location", target), ("X-Linked-Size", "\(file.content.count)"),
            ("X-Linked-Etag", "\"\(file.sha256 ?? file.oid)\""), ("Content-Type", "text/plain; charset=utf-8"),
        ]
        return reply(status, reason, headers + fields, Array("\(reason). Redirecting to \(target)".utf8), for: request)
    }

    private func resource(
        _ file: HubFile,
        etag: String,
        _ options: HubServer.Options,
        _ headers: [(String, String)] = []
    ) -> FileResource {
        var resource = FileResource(content: file.served, etag: "\"\(etag)\"")
        resource.bytesPerSecond = options.bytesPerSecond
        resource.extraHeaders = headers
        return resource
    }

    // MARK: - The storage

    /// Returns the path of a file at the storage. The path contains a digest of the file's name too, because one of two
    /// files with the same digest may serve other bytes (``HubFile/corrupt()``).
    static func blobPath(of file: HubFile, in commit: HubCommit) -> String {
        let name = TestContent(file.path.utf8).digest(.sha1).hexadecimal
        return "/repos/\(commit.id)/\(name)/\(file.sha256 ?? file.oid)"
    }

    /// Returns a new link, as path and query.
    private func link(to path: String) -> String {
        let (number, expiry) = withState { state in
            state.linkCount += 1
            return (state.linkCount, state.options.now() + state.options.linkLifetime)
        }
        let fields = "Expires=\(expiry)&Key-Pair-Id=\(number)"
        return "\(path)?\(fields)&Signature=\(signature(of: "\(path)?\(fields)"))"
    }

    private func signature(of link: String) -> String {
        TestContent("\(secret) \(link)".utf8).digest(.sha256).hexadecimal
    }

    /// Returns the storage's answer: 403 for a link that has expired, was used too often or is not signed.
    func storageReply(to request: TestRequest) -> TestReply {
        let query = HubQuery(request.target)
        guard let expires = query["Expires"], let number = query["Key-Pair-Id"], let expiry = Int64(expires),
            let link = Int(number),
            query["Signature"] == signature(of: "\(request.path)?Expires=\(expires)&Key-Pair-Id=\(number)")
        else { return denied("The signature does not match", for: request) }
        let (file, options, isValid) = withState { state in
            state.linkUses[link, default: 0] += 1
            let isFresh = state.options.now() < expiry
            let isFirst = state.options.requestsPerLink.map { state.linkUses[link, default: 0] <= $0 } ?? true
            return (state.blobs[request.path], state.options, isFresh && isFirst)
        }
        guard isValid else { return denied("Request has expired", for: request) }
        guard let file, let digest = file.sha256 else { return .empty(404, "Not Found") }
        // The storage has other validators than the hub.
        return resource(file, etag: String(digest.prefix(32)) + "-1", options).reply(to: request)
    }

    private func denied(_ message: String, for request: TestRequest) -> TestReply {
        let text = "<?xml version=\"1.0\"?><Error><Code>AccessDenied</Code><Message>\(message)</Message></Error>"
        return reply(403, "Forbidden", [("Content-Type", "application/xml")], Array(text.utf8), for: request)
    }

    // MARK: - Both

    private func json(
        _ value: some Encodable,
        _ status: Int = 200,
        _ reason: String = "OK",
        _ headers: [(String, String)] = [],
        for request: TestRequest
    ) -> TestReply {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.withoutEscapingSlashes]
        // Fails only for numbers that JSON cannot express. The hub has no such value.
        guard let body = try? encoder.encode(value) else { return .empty(500, "Internal Server Error") }
        let fields = [("Content-Type", "application/json; charset=utf-8")] + headers
        return reply(status, reason, fields, Array(body), for: request)
    }

    private func reply(
        _ status: Int,
        _ reason: String,
        _ headers: [(String, String)],
        _ body: [UInt8],
        for request: TestRequest
    ) -> TestReply {
        let head = TestStep.head(
            status: status,
            reason: reason,
            headers: headers + [("Content-Length", "\(body.count)")]
        )
        return TestReply(request.method == "HEAD" ? [head] : [head, .raw(body)])
    }
}

extension HubShelf.State {
    /// Returns the commit that a request is for, and its repository.
    ///
    /// The names of a gated repository's files are public; the bytes of the files are not.
    func find(_ route: HubRoute, for request: TestRequest) throws(HubProblem) -> (HubShelf.Repository, HubCommit) {
        let token = request["Authorization"].map { $0.hasPrefix("Bearer ") ? String($0.dropFirst(7)) : $0 }
        let readable = token.flatMap { tokens[$0] }
        if token != nil, readable == nil { throw .unknownToken }
        let isMember = readable?.contains(route.repository) ?? false
        guard let repository = repositories[route.repository], repository.access != .private || isMember else {
            throw token == nil ? .repositoryWithoutToken : .repository
        }
        guard let commit = repository.commits[repository.branches[route.revision] ?? route.revision] else {
            throw .revision(route.revision)
        }
        if case .file = route.page, repository.access == .gated, !isMember {
            throw .gated(route.repository, hasToken: token != nil, commit: commit.id)
        }
        return (repository, commit)
    }
}

import Foundation
import HaulTesting

/// Runs a `HubServer` as a process, for the programs of `Acceptance/sets`.
///
/// The first line of the input is a `HubDescription` in JSON. The answer is a line with the addresses and the commits.
/// Each further line is a request, and has a line of JSON as its answer:
///
///     counts                       requests and bytes so far
///     targets                      the method and target of every request to the hub so far
///     move BRANCH REPOSITORY N     moves a branch to the commit with this number, counted from 0
///     rate BYTES                   sets the pace of each body in bytes per second; 0 for no limit
///
/// The server stops at the end of the input.
@main enum HubTool {
    static func main() async throws {
        guard let line = readLine() else { throw HubToolError("A description is missing.") }
        let description = try JSONDecoder().decode(HubDescription.self, from: Data(line.utf8))
        let hub = try await HubServer.start(description.options)
        for (token, repositories) in description.tokens ?? [:] { hub.allow(token, for: Set(repositories)) }
        var commits: [String: [String]] = [:]
        for repository in description.repositories {
            for commit in repository.commits {
                let id = hub.commit(
                    commit.files.map { $0.file },
                    to: repository.name,
                    branch: commit.branch ?? "main"
                )
                commits[repository.name, default: []].append(id)
            }
            hub.restrict(repository.name, to: repository.allowed)
        }
        try write(HubStart(url: hub.url, storage: hub.storageURL, commits: commits))
        while let line = readLine() {
            let words = line.split(separator: " ").map(String.init)
            switch (words.first, words.count) {
            case ("counts", 1):
                let counts = HubCounts(
                    requests: hub.requests.count,
                    storageRequests: hub.storageRequests.count,
                    bytes: hub.bodyBytesSent,
                    authorizationsAtStorage: hub.authorizationsAtStorage
                )
                try write(counts)
            case ("targets", 1): try write(hub.requests.map { "\($0.method) \($0.target)" })
            case ("move", 4):
                guard let number = Int(words[3]), let ids = commits[words[2]], ids.indices.contains(number) else {
                    throw HubToolError("There is no such commit: \(line)")
                }
                hub.move(words[1], of: words[2], to: ids[number])
                try write(ids[number])
            case ("rate", 2):
                guard let rate = Int(words[1]) else { throw HubToolError("Not a number: \(line)") }
                hub.options.bytesPerSecond = rate > 0 ? rate : nil
                try write(rate)
            default: throw HubToolError("Not a request: \(line)")
            }
        }
        await hub.stop()
    }

    private static func write(_ value: some Encodable) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.withoutEscapingSlashes]
        try FileHandle.standardOutput.write(contentsOf: encoder.encode(value) + Data("\n".utf8))
    }
}

struct HubToolError: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}

/// What a hub has, and how it answers.
struct HubDescription: Decodable {
    struct Repository: Decodable {
        /// `ORG/NAME`, for datasets and spaces after `datasets/` or `spaces/`.
        let name: String
        /// `open`, `private` or `gated`; without it `open`.
        let access: String?
        /// In their order: a later one of the same branch is its head.
        let commits: [Commit]

        var allowed: HubServer.Access {
            switch access {
            case "private": .private
            case "gated": .gated
            default: .open
            }
        }
    }

    struct Commit: Decodable {
        let branch: String?
        let files: [File]
    }

    struct File: Decodable {
        let path: String
        /// The length in bytes. The content is a function of seed and length.
        let size: Int64
        let seed: UInt64?
        let large: Bool?
        let corrupt: Bool?

        var file: HubFile {
            let file = HubFile(path, TestContent(seed: seed ?? 1, count: size), isLarge: large ?? false)
            return corrupt == true ? file.corrupt() : file
        }
    }

    let repositories: [Repository]
    /// The repositories that each token may read beside the open ones.
    let tokens: [String: [String]]?
    let pageLength: Int?
    let bytesPerSecond: Int?
    let redirectsSmallFiles: Bool?
    /// In seconds.
    let linkLifetime: Int64?
    let requestsPerLink: Int?

    var options: HubServer.Options {
        var options = HubServer.Options()
        options.pageLength = pageLength ?? options.pageLength
        options.bytesPerSecond = bytesPerSecond
        options.redirectsSmallFiles = redirectsSmallFiles ?? options.redirectsSmallFiles
        options.linkLifetime = linkLifetime ?? options.linkLifetime
        options.requestsPerLink = requestsPerLink
        return options
    }
}

/// The answer to a description.
struct HubStart: Encodable {
    let url: String
    let storage: String
    /// The commits of each repository, in the order of the description.
    let commits: [String: [String]]
}

/// The answer to `counts`.
struct HubCounts: Encodable {
    let requests: Int
    let storageRequests: Int
    let bytes: Int64
    let authorizationsAtStorage: Int
}

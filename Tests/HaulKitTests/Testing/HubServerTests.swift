import Foundation
import HaulKit
import Synchronization
import Testing

@testable import HaulTesting

@Suite(.timeLimit(.minutes(60)))
struct HubServerTests {
    /// Starts a hub with these options, ends it after `body`.
    private func withHub(
        _ options: HubServer.Options = HubServer.Options(),
        _ body: (HubServer) throws -> Void
    ) async throws {
        let hub = try await HubServer.start(options)
        let result = Result { try body(hub) }
        await hub.stop()
        try result.get()
    }

    private func answer(
        _ hub: HubServer,
        _ target: String,
        method: String = "GET",
        token: String? = nil
    ) -> HubAnswer {
        let headers = [("Host", "hub")] + (token.map { [("Authorization", "Bearer \($0)")] } ?? [])
        let request = TestRequest(method: method, target: target, headers: headers)
        return HubAnswer(hub.shelf.reply(to: request, storage: "http://storage"))
    }

    private func stored(_ hub: HubServer, _ link: String?) throws -> HubAnswer {
        let target = try #require(link).replacing("http://storage", with: "")
        return HubAnswer(hub.shelf.storageReply(to: TestRequest(target: target)))
    }

    private func entries(_ answer: HubAnswer) throws -> [[String: Any]] {
        try #require(JSONSerialization.jsonObject(with: Data(answer.body)) as? [[String: Any]])
    }

    @Test func publishesTheDigestsOfGitAndSHA256() {
        // Of `git hash-object` and `sha256sum`.
        let small = HubFile("a", "hello\n".utf8)
        #expect(small.oid == "ce013625030ba8dba906f756967f9e9ca394464a")
        #expect(small.sha256 == nil)
        let large = HubFile("a", "hello\n".utf8, isLarge: true)
        #expect(large.sha256 == "5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03")
        #expect(large.oid == "fa61e1ef71c9908c0926776a4aa3504b3a27f159")
        #expect(large.pointerLength == 126)
        let generated = TestContent(seed: 3, count: 3_000_001)
        #expect(generated.digest(.sha256) == TestContent(generated.bytes(0..<generated.count)).digest(.sha256))
    }

    @Test func listsTheTreePageByPage() async throws {
        var options = HubServer.Options()
        options.pageLength = 2
        try await withHub(options) { hub in
            // "ü" and "u" with a diaeresis are equal strings and two names.
            let names = ["b/c/d", "a", "b/e", "f \u{FC}%", "f u\u{308}%"]
            let commit = hub.commit(names.map { HubFile($0, $0.utf8, isLarge: $0 == "a") }, to: "org/model")
            var target: String? = "/api/models/org/model/tree/\(commit)?recursive=true&expand=false"
            var pages: [[[String: Any]]] = []
            while let page = target {
                let answer = answer(hub, page)
                pages.append(try entries(answer))
                let link = answer["Link"]
                target = link?.dropFirst("<http://hub".count).split(separator: ">").first.map(String.init)
                #expect(link == nil || link?.hasSuffix("; rel=\"next\"") == true)
            }
            #expect(pages.map(\.count) == [2, 2, 2, 1])
            let paths = pages.joined().compactMap { $0["path"] as? String }
            #expect(
                paths.map { Array($0.utf8) }
                    == ["a", "b", "b/c", "b/c/d", "b/e", "f u\u{308}%", "f \u{FC}%"]
                    .map { Array($0.utf8) }
            )
            let large = try #require(pages[0][0]["lfs"] as? [String: Any])
            #expect(large["size"] as? Int == 1)
            #expect(pages[0][1]["type"] as? String == "directory")
        }
    }

    @Test func namesTheCommitOfABranchThatMoves() async throws {
        try await withHub { hub throws in
            let first = hub.commit([HubFile("a", [1])], to: "datasets/org/set")
            let second = hub.commit([HubFile("a", [2])], to: "datasets/org/set", branch: "refs/pr/1")
            func sha(_ revision: String) throws -> String? {
                let answer = answer(hub, "/api/datasets/org/set/revision/\(revision)")
                let object = try JSONSerialization.jsonObject(with: Data(answer.body)) as? [String: Any]
                return object?["sha"] as? String
            }
            #expect(try sha("main") == first)
            #expect(try sha("refs%2Fpr%2F1") == second)
            hub.move("main", of: "datasets/org/set", to: second)
            #expect(try sha("main") == second)
            #expect(try sha(first) == first)
            #expect(answer(hub, "/datasets/org/set/resolve/main/a")["X-Repo-Commit"] == second)
            #expect(answer(hub, "/datasets/org/set/resolve/\(first)/a")["X-Repo-Commit"] == first)
            let missing = answer(hub, "/api/datasets/org/set/revision/none")
            #expect(missing.status == 404 && missing["X-Error-Code"] == "RevisionNotFound")
            let entry = answer(hub, "/datasets/org/set/resolve/main/none", method: "HEAD")
            #expect(entry.status == 404 && entry["X-Error-Code"] == "EntryNotFound" && entry.body.isEmpty)
        }
    }

    @Test func redirectsALargeFileToALinkThatExpires() async throws {
        let clock = ManualSeconds()
        var options = HubServer.Options()
        options.linkLifetime = 60
        options.now = { clock.seconds }
        try await withHub(options) { hub in
            let file = HubFile("dir/big", [1, 2, 3], isLarge: true)
            hub.commit([file], to: "org/model")
            let answer = answer(hub, "/org/model/resolve/main/dir/big", method: "HEAD")
            #expect(answer.status == 302)
            #expect(answer["X-Linked-Size"] == "3")
            #expect(try answer["X-Linked-Etag"] == "\"\(#require(file.sha256))\"")
            let link = answer["Location"]
            let good = try stored(hub, link)
            #expect(good.status == 200 && good.content == [1, 2, 3] && good["X-Repo-Commit"] == nil)
            #expect(try stored(hub, link.map { $0 + "0" }).status == 403)
            clock.seconds = 60
            #expect(try stored(hub, link).status == 403)
            hub.options.requestsPerLink = 1
            let next = self.answer(hub, "/org/model/resolve/main/dir/big")["Location"]
            #expect(try stored(hub, next).status == 200)
            #expect(try stored(hub, next).status == 403)
        }
    }

    @Test func hidesAPrivateRepositoryAndTheBytesOfAGatedOne() async throws {
        try await withHub { hub in
            for name in ["org/open", "org/private", "org/gated"] { hub.commit([HubFile("a", [1])], to: name) }
            hub.restrict("org/private", to: .private)
            hub.restrict("org/gated", to: .gated)
            hub.allow("member", for: ["org/private", "org/gated"])
            hub.allow("other")
            func outcome(_ target: String, _ token: String?) -> String {
                let answer = answer(hub, target, token: token)
                return "\(answer.status) \(answer["X-Error-Code"] ?? answer["X-Error-Message"] ?? "")"
            }
            for target in ["/org/private/resolve/main/a", "/api/models/org/private/revision/main"] {
                #expect(outcome(target, nil) == "401 RepoNotFound")
                #expect(outcome(target, "other") == "404 RepoNotFound")
                #expect(outcome(target, "member") == "200 ")
            }
            #expect(outcome("/api/models/org/gated/revision/main", nil) == "200 ")
            #expect(outcome("/org/gated/resolve/main/a", nil) == "401 GatedRepo")
            #expect(outcome("/org/gated/resolve/main/a", "other") == "403 GatedRepo")
            #expect(outcome("/org/gated/resolve/main/a", "member") == "200 ")
            #expect(outcome("/org/open/resolve/main/a", nil) == "200 ")
            #expect(outcome("/org/open/resolve/main/a", "wrong") == "401 Invalid credentials in Authorization header")
        }
    }

    @Test func sendsOtherBytesForACorruptFile() async throws {
        try await withHub { hub in
            let files = [
                HubFile("small", [1, 2, 3]).corrupt(), HubFile("cut", [1, 2, 3]).serving(TestContent([1])),
                HubFile("big", TestContent(seed: 9, count: 100), isLarge: true).corrupt(),
            ]
            hub.commit(files, to: "org/model")
            let small = answer(hub, "/org/model/resolve/main/small")
            #expect(small["ETag"] == "\"\(HubFile("small", [1, 2, 3]).oid)\"")
            #expect(small.content.count == 3 && small.content != [1, 2, 3])
            #expect(answer(hub, "/org/model/resolve/main/cut").content == [1])
            let big = try stored(hub, answer(hub, "/org/model/resolve/main/big")["Location"])
            #expect(big.content.count == 100 && big.content != TestContent(seed: 9, count: 100).bytes(0..<100))
        }
    }

    @Test func redirectsASmallFileToAPathOfTheHubWhereAsked() async throws {
        var options = HubServer.Options()
        options.redirectsSmallFiles = true
        try await withHub(options) { hub in
            hub.commit([HubFile("a b/\u{FC}%.txt", [7])], to: "spaces/org/app")
            let first = answer(hub, "/spaces/org/app/resolve/main/a%20b/%C3%BC%25.txt")
            #expect(first.status == 307)
            let target = try #require(first["Location"])
            #expect(target.hasPrefix("/api/resolve-cache/spaces/org/app/"))
            #expect(answer(hub, target).content == [7])
        }
    }
}

/// A clock in seconds that a test sets.
private final class ManualSeconds: Sendable {
    private let state = Mutex<Int64>(0)

    var seconds: Int64 {
        get { state.withLock { $0 } }
        set { state.withLock { $0 = newValue } }
    }
}

/// The parts of an answer of the hub or its storage.
private struct HubAnswer {
    var status = 0
    var headers: [(String, String)] = []
    /// The bytes of a page.
    var body: [UInt8] = []
    /// The bytes of a file.
    var content: [UInt8] = []

    init(_ reply: TestReply) {
        for step in reply.steps {
            switch step {
            case .head(let status, _, let headers): (self.status, self.headers) = (status, headers)
            case .raw(let bytes): body = bytes
            case .body(let range, let content): self.content = content.bytes(range)
            default: break
            }
        }
    }

    subscript(name: String) -> String? { headers.first { $0.0.lowercased() == name.lowercased() }?.1 }
}

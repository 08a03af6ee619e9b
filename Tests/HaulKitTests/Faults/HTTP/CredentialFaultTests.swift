import Foundation
import HaulTesting
import Testing

@testable import HaulCore
@testable import HaulKit

/// Line 12 of `docs/practice-list.md`, second part: the servers that get the secrets of a request.
@Suite(.serialized, .timeLimit(.minutes(60)))
struct CredentialFaultTests {
    private let content = TestContent.first
    private let headers = ["Authorization: Bearer secret", "Cookie: id=secret", "X-Api-Key: secret"]
        .compactMap { HeaderField($0) }
    private let names = ["Authorization", "Cookie", "X-Api-Key"]

    private func basic(_ text: String) -> String { "Basic " + Data(text.utf8).base64EncodedString() }

    /// Returns the names of the secret fields in each request.
    private func secrets(of server: TestServer) -> [[String]] {
        server.requests.map { request in names.filter { request[$0] != nil } }
    }

    /// Calls `test` with a rig whose server redirects to a second server.
    private func across(
        location: @escaping @Sendable (TestServer, TestRequest) -> String,
        _ test: (DownloaderRig, TestServer) async throws -> Void
    ) async throws {
        let resource = content.resource()
        try await DownloaderRig.run(
            others: [{ resource.reply(to: $0) }],
            serving: { .redirect(to: location($1[0], $0)) }
        ) { try await test($0, $0.others[0]) }
    }

    // MARK: Refused credentials

    private func refusal(
        _ user: String = "",
        netrc: String? = nil,
        headers: [HeaderField] = []
    ) async throws -> String {
        var message = ""
        try await DownloaderRig.run(
            configure: { $0.network.netrc = netrc.map { Netrc($0) } },
            serving: { _ in
                .empty(401, "Unauthorized", headers: [("WWW-Authenticate", "Basic realm=\"r\"")])
            }
        ) { rig in
            var request = try rig.request(
                url: rig.server.url("/file.bin").replacingOccurrences(of: "://", with: "://" + user)
            )
            request.headers = headers
            let error = try await rig.failure(of: request)
            #expect(error.status == 401 && !error.description.contains("secret"))
            #expect(error.wantsCredentials == (user.isEmpty && netrc == nil && headers.isEmpty))
            message = error.message
        }
        return message
    }

    @Test func saysWhichCredentialsWereRefused() async throws {
        #expect(try await refusal().contains("requires a user name and password"))
        #expect(try await refusal("ada:secret@").contains("user name and password of the URL"))
        let netrc = "machine 127.0.0.1 login ada password secret"
        #expect(try await refusal(netrc: netrc).contains("user name and password of .netrc"))
        let field = try #require(HeaderField("Authorization: Bearer secret"))
        #expect(try await refusal(headers: [field]).contains("Authorization header field"))
    }

    @Test func tellsAProxysAnswerFromAServersThatIsNone() async throws {
        try await DownloaderRig.run(serving: { _ in .empty(407, "Proxy Authentication Required") }) { rig in
            let error = try await rig.failure()
            #expect(error.code == .refusedByServer && error.status == 407)
            #expect(error.message.contains("a proxy's answer"))
        }
    }

    @Test func keepsHeadersOnTheSameOrigin() async throws {
        let resource = content.resource()
        try await DownloaderRig.run(
            serving: { $0.path == "/file.bin" ? .redirect(to: "/there") : resource.reply(to: $0) }
        ) { rig in
            try await rig.download { $0.headers = headers }
            #expect(secrets(of: rig.server) == [names, names])
        }
    }

    @Test func dropsHeadersOnAnotherPort() async throws {
        try await across(location: { other, _ in other.url("/file.bin") }) { rig, other in
            try await rig.download { $0.headers = headers }
            #expect(try rig.holdsOnly(content))
            #expect(secrets(of: rig.server) == [names])
            #expect(secrets(of: other) == [[]])
        }
    }

    @Test func dropsHeadersOnAnotherHost() async throws {
        let resource = content.resource()
        try await DownloaderRig.run(serving: { request in
            guard let host = request["Host"], host.hasPrefix("127.0.0.1") else { return resource.reply(to: request) }
            return .redirect(to: "http://" + host.replacingOccurrences(of: "127.0.0.1", with: "localhost") + "/there")
        }) { rig in
            try await rig.download { $0.headers = headers }
            #expect(secrets(of: rig.server) == [names, []])
        }
    }

    @Test func dropsHeadersOnAnotherScheme() async throws {
        let resource = content.resource()
        let certificate = try TestCertificate.shared()
        let secure = try await TestServer.start(tls: certificate) { resource.reply(to: $0) }
        let target = secure.url("/file.bin")
        try await DownloaderRig.run(
            configure: { $0.network.certificateAuthorities = certificate.certificatePath },
            serving: { _ in .redirect(to: target) }
        ) { rig in
            let url = "http://localhost:\(rig.server.port)/file.bin"
            try await rig.download(try rig.request(url: url) { $0.headers = headers })
            #expect(secrets(of: rig.server) == [names])
            #expect(secrets(of: secure) == [[]])
        }
        await secure.stop()
    }

    @Test func doesNotBringHeadersBackWhenTheRedirectsComeHome() async throws {
        let resource = content.resource()
        try await DownloaderRig.run(
            others: [{ .redirect(to: "http://127.0.0.1:\($0.target.dropFirst(6))/home") }],
            serving: { request, others in
                guard request.path == "/file.bin", let host = request["Host"] else {
                    return resource.reply(to: request)
                }
                let port = host.split(separator: ":").last ?? ""
                return .redirect(to: "http://127.0.0.1:\(others[0].port)/back/\(port)")
            }
        ) { rig in
            try await rig.download { $0.headers = headers }
            #expect(secrets(of: rig.server) == [names, []])
            #expect(secrets(of: rig.others[0]) == [[]])
        }
    }

    @Test func sendsUserInfoAsBasicAuthenticationToItsOriginOnly() async throws {
        try await across(location: { other, _ in other.url("/file.bin") }) { rig, other in
            let url = "http://me:s%20ecret@127.0.0.1:\(rig.server.port)/file.bin"
            try await rig.download(try rig.request(url: url))
            #expect(rig.server.requests.map { $0["Authorization"] } == [basic("me:s ecret")])
            #expect(rig.server.requests.map(\.target) == ["/file.bin"])
            #expect(other.requests.map { $0["Authorization"] } == [nil])
        }
    }

    @Test func doesNotTakeUserInfoFromALocation() async throws {
        try await across(location: { other, _ in "http://you:guess@127.0.0.1:\(other.port)/file.bin" }) { rig, other in
            try await rig.download()
            #expect(other.requests.map { $0["Authorization"] } == [nil])
            #expect(try rig.holdsOnly(content))
        }
    }

    @Test func sendsWhatNetrcSaysToTheNamedHostOnly() async throws {
        let resource = content.resource()
        let netrc = Netrc("machine 127.0.0.1 login me password secret\nmachine localhost login you password guess")
        try await DownloaderRig.run(
            configure: { $0.network.netrc = netrc },
            serving: { request in
                guard let host = request["Host"], host.hasPrefix("127.0.0.1") else {
                    return resource.reply(to: request)
                }
                return .redirect(
                    to: "http://" + host.replacingOccurrences(of: "127.0.0.1", with: "localhost") + "/there"
                )
            }
        ) { rig in
            try await rig.download()
            #expect(rig.server.requests.map { $0["Authorization"] } == [basic("me:secret"), nil])
        }
    }

    @Test func sendsNothingToAHostThatNetrcDoesNotName() async throws {
        let resource = content.resource()
        let netrc = Netrc("machine elsewhere.example login me password secret")
        try await DownloaderRig.run(configure: { $0.network.netrc = netrc }, serving: { resource.reply(to: $0) }) {
            rig in
            try await rig.download()
            #expect(rig.server.requests.map { $0["Authorization"] } == [nil])
        }
    }

    @Test(arguments: [("default login any password all", false), ("machine 127.0.0.1 login me password secret", true)])
    func sendsToTheURLsOfAMetalinkOnlyWhatNamesTheirHost(_ text: String, _ isSent: Bool) async throws {
        let resource = content.resource()
        try await DownloaderRig.run(configure: { $0.network.netrc = Netrc(text) }, serving: { resource.reply(to: $0) })
        {
            rig in
            let source = "<url>\(rig.server.url("/file.bin"))</url>"
            let document =
                "<metalink xmlns=\"urn:ietf:params:xml:ns:metalink\"><file name=\"file.bin\">\(source)</file></metalink>"
            let file = try #require(try Metalink(Data(document.utf8)).files.first)
            try await rig.download(DownloadRequest(file, into: rig.folder))
            #expect(rig.server.requests.map { $0["Authorization"] != nil } == [isSent])
            // A URL that the user sets instead gets the user's header fields.
            var request = DownloadRequest(file, into: rig.folder)
            request.url = try #require(URL(string: rig.server.url("/other")))
            request.destination = .file(path: rig.folder + "/other")
            try await rig.download(request)
            #expect(rig.server.requests.map { $0["Authorization"] != nil } == [isSent, true])
        }
    }

    @Test func prefersTheHeaderToTheURLAndTheURLToNetrc() async throws {
        let resource = content.resource()
        let netrc = Netrc("default login file password secret")
        try await DownloaderRig.run(configure: { $0.network.netrc = netrc }, serving: { resource.reply(to: $0) }) {
            rig in
            let url = "http://url:secret@127.0.0.1:\(rig.server.port)/"
            try await rig.download(try rig.request(url: url + "1") { $0.destination = .file(path: rig.folder + "/1") })
            try await rig.download(
                try rig.request(url: url + "2") { request in
                    request.destination = .file(path: rig.folder + "/2")
                    request.headers = headers
                }
            )
            #expect(rig.server.requests.map { $0["Authorization"] } == [basic("url:secret"), "Bearer secret"])
        }
    }
}

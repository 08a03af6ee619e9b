import HaulTesting
import Testing

@testable import HaulCore
@testable import HaulKit

/// Addresses that downloads may not connect to: in a URL, behind a name, after a redirect, or of a mirror.
@Suite(.serialized, .timeLimit(.minutes(60)))
struct DeniedAddressFaultTests {
    private let content = TestContent.first
    /// All loopback addresses except that of the test servers.
    private static let others = ["127.0.0.2/31", "127.0.0.4/30", "127.0.0.8/29", "::1"].compactMap(AddressBlock.init)

    @Test(arguments: ["127.0.0.1", "localhost", "127.1", "2130706433", "0x7f.1", "[::ffff:127.0.0.1]"])
    func makesNoConnection(to host: String) async throws {
        let resource = content.resource()
        try await DownloaderRig.run(
            configure: { $0.network.deniedAddresses = AddressBlock.nonPublic },
            serving: { resource.reply(to: $0) }
        ) { rig in
            let error = try await rig.failure(of: rig.request(url: "http://\(host):\(rig.server.port)/file.bin"))
            #expect(error.code == .addressDenied, "\(error)")
            #expect(rig.server.requests.isEmpty)
        }
    }

    @Test(arguments: ["127.0.0.2", "[::1]", "[::ffff:127.0.0.9]", "127.2"])
    func doesNotFollowARedirect(to host: String) async throws {
        try await DownloaderRig.run(
            configure: { $0.network.deniedAddresses = Self.others },
            serving: { _ in .redirect(to: "http://\(host):9/file.bin") }
        ) { rig in
            let error = try await rig.failure()
            #expect(error.code == .addressDenied, "\(error)")
            #expect(rig.server.requests.count == 1)
        }
    }

    @Test func usesTheAddressOfANameThatIsAllowed() async throws {
        let resource = content.resource()
        try await DownloaderRig.run(
            configure: { $0.network.deniedAddresses = Self.others },
            serving: { resource.reply(to: $0) }
        ) { rig in
            // `localhost` is `::1` and 127.0.0.1.
            try await rig.download(rig.request(url: "http://localhost:\(rig.server.port)/file.bin"))
            #expect(try rig.holdsOnly(content))
        }
    }

    @Test func asksNoMirrorThere() async throws {
        var resource = content.resource()
        resource.extraHeaders = [("Link", "<http://127.0.0.2:9/file.bin>; rel=duplicate")]
        try await DownloaderRig.run(
            configure: { $0.network.deniedAddresses = Self.others },
            serving: { [resource] in resource.reply(to: $0) }
        ) { rig in
            try await rig.download()
            #expect(try rig.holdsOnly(content))
        }
    }
}

import Foundation
import HaulTesting
import Testing

@testable import HaulCore
@testable import HaulKit

/// Connections from a given address or interface. The server listens on 127.0.0.1.
@Suite(.timeLimit(.minutes(60)))
struct BindingFaultTests {
    private let content = TestContent.first

    private func run(_ binding: NetworkBinding?, _ test: (DownloaderRig) async throws -> Void) async throws {
        try await DownloaderRig.run(serving: content.resource(), configure: { $0.network.binding = binding }, test)
    }

    @Test(
        arguments: [
            (nil, "127.0.0.1"), (.localAddress("127.0.0.9"), "127.0.0.9"), (.interface("lo"), "127.0.0.1"),
        ] as [(NetworkBinding?, String)]
    )
    func theServerSeesTheAddressThatWasChosen(binding: NetworkBinding?, seen: String) async throws {
        try await run(binding) { rig in
            try await rig.download()
            #expect(try rig.holdsOnly(content))
            #expect(Set(rig.server.requests.map(\.remoteAddress)) == [seen])
        }
    }

    @Test func aProxyIsReachedFromThereToo() async throws {
        let proxy = try await TestProxy.start(.http)
        try await DownloaderRig.run(
            serving: content.resource(),
            configure: { configuration in
                configuration.network.binding = .localAddress("127.0.0.9")
                configuration.network.proxies = ProxySettings(try .init(proxy.url))
            }
        ) { rig in
            try await rig.download()
            #expect(proxy.entries.count == 1)
        }
        await proxy.stop()
    }

    @Test func aMissingInterfaceIsNamed() async throws {
        try await run(.interface("nosuch0")) { rig in
            let failure = try await rig.failure()
            #expect(failure.code == .connectionFailed)
            #expect(failure.cause == "There is no network interface called nosuch0.")
            #expect(rig.server.requests.isEmpty)
        }
    }

    @Test func anAddressOfAnotherMachineIsNamed() async throws {
        try await run(.localAddress("192.0.2.77")) { rig in
            let failure = try await rig.failure()
            #expect(failure.code == .connectionFailed)
            #expect(failure.cause == "No network interface of this machine has the address 192.0.2.77.")
            #expect(rig.server.requests.isEmpty)
        }
    }

    @Test(.enabled(if: (try? NetworkBinding.localAddress("::1").check()) != nil, "needs IPv6"))
    func anInterfaceGivesTheServerAnAddressOfItsOwnVersion() async throws {
        try await run(.interface("lo")) { rig in
            // The server refused the connection. A local address was found, although 127.0.0.1 was tried first and does
            // not fit.
            let failure = try await rig.failure(of: try rig.request(url: "http://[::1]:1/file.bin"))
            #expect(failure.message.contains("refuses connections"))
        }
    }

    @Test func aRefusedConnectionIsStillCalledThat() async throws {
        try await run(.localAddress("127.0.0.9")) { rig in
            let failure = try await rig.failure(of: try rig.request(url: "http://\(DownloaderRig.nobody)/file.bin"))
            #expect(failure.message.contains("refuses connections"))
        }
    }
}

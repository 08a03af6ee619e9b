import Foundation
import HaulTesting
import Testing

@testable import HaulFleet

/// Real workers whose files have proxies for some origins.
@Suite(.serialized, .timeLimit(.minutes(60)))
struct ProxyProcessTests {
    private let content = TestContent(seed: 9, count: 200_000)

    @Test func anOriginIsAskedThroughItsProxyAlone() async throws {
        let resource = FileResource(content: content, etag: "\"1\"")
        let server = try await TestServer.start { resource.reply(to: $0) }
        let proxy = try await TestServer.start { resource.reply(to: $0) }
        try await FleetRig.run { rig in
            let list = ["http://data.invalid/far", server.url("/near")]
            try await rig.add(list.map { #"{"url": "\#($0)", "path": "\#($0.suffix(4).drop { $0 == "/" })"}"# })
            let proxies = rig.folder("proxies")
            let address = proxy.url("").replacing("http://", with: "http://user:secret@")
            try "http://data.invalid \(address)\n\(server.url("")) direct\n".write(
                toFile: proxies,
                atomically: true,
                encoding: .utf8
            )
            // Nothing listens here. Only an origin that the file does not name would be asked through it.
            rig.setVariable("http_proxy", "http://127.0.0.1:9")
            let worker = try rig.startWorker("one", "--until-drained", "--origin-proxies", proxies)
            #expect(await rig.ending(of: worker) == .exited(0))
            #expect(try rig.holds(content, "far") && rig.holds(content, "near"))
            #expect(proxy.requests.map(\.target) == ["http://data.invalid/far"])
            #expect(proxy.requests.allSatisfy { $0["Proxy-Authorization"] != nil })
            #expect(server.requests.map(\.target) == ["/near"])
        }
        await server.stop()
        await proxy.stop()
    }
}

import HaulKit
import Testing

@testable import HaulFleet

struct OriginProxiesTests {
    @Test func eachOriginGetsItsProxyOfTheFile() throws {
        var proxies = try ProxySettings.environment(["all_proxy": "http://all:1"])
        let text = """
            # Two origins.
            https://data.example http://user:secret@proxy.example:3128

            http://127.0.0.1:81/ direct
            """
        try OriginProxies.add(text, of: "f", to: &proxies)
        #expect(proxies.origins.count == 2)
        #expect(proxies.origins.values.compactMap(\.self).map(\.description) == ["http://proxy.example:3128"])
    }

    @Test(arguments: [
        "https://data.example", "data.example http://p:1", "https://data.example/folder http://p:1",
        "https://data.example ftp://u:secret@p:1", "https://data.example socks5://u:secret@p:1",
    ])
    func namesTheLineThatIsNoProxy(_ line: String) throws {
        var proxies = ProxySettings.direct
        let error = try #require(
            #expect(throws: FleetError.self) {
                try OriginProxies.add("\n# x\n\(line)", of: "/etc/proxies", to: &proxies)
            }
        )
        #expect(error.message.contains("Line 3 of /etc/proxies") && !error.message.contains("secret"))
    }
}

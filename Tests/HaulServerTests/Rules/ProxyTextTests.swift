import HaulKit
import Testing

@testable import HaulServer

/// The text of the proxy setting.
@Suite struct ProxyTextTests {
    @Test(arguments: [
        ("", ""), ("direct", "direct"), ("proxy.lan:3128", "http://proxy.lan:3128"),
        ("http://name:secret@proxy.lan:3128", "http://***@proxy.lan:3128"),
        ("name@proxy.lan", "http://***@proxy.lan:8080"),
        ("socks5://127.0.0.1", "socks5://127.0.0.1:1080"), ("secret://secret", "***"), ("http://", "***"),
    ])
    func theMaskedTextHasNoPassword(_ text: String, _ masked: String) {
        #expect(ProxyText.masked(text) == masked)
    }

    @Test func anEmptyTextLeavesTheProxiesOfTheEnvironment() throws {
        let environment = try ProxySettings(url: "http://127.0.0.1:9")
        #expect(try ProxyText.settings("", environment) == environment)
        #expect(try ProxyText.settings("", nil) == ProxySettings.direct)
        #expect(try ProxyText.settings("direct", environment) == ProxySettings.direct)
        #expect(try ProxyText.settings("http://127.0.0.1:8", environment) == ProxySettings(url: "http://127.0.0.1:8"))
    }
}

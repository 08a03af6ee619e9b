import Foundation
import Testing

@testable import HaulCore
@testable import HaulKit

struct ProxySettingsTests {
    @Test(arguments: [
        ("proxy.example", "proxy.example", 8080), ("proxy.example:3128", "proxy.example", 3128),
        ("http://proxy.example:3128/", "proxy.example", 3128), ("HTTP://PROXY:1", "PROXY", 1),
    ])
    func readsAnHTTPProxy(_ text: String, _ host: String, _ port: Int) throws {
        let proxy = try ProxySettings.Proxy(text)
        #expect(proxy.kind == .http && proxy.host == host && proxy.port == port && proxy.credentials == nil)
    }

    @Test(arguments: ["socks5://p", "socks5h://p", "socks://p", "SOCKS5://p:1080"])
    func readsASOCKSProxy(_ text: String) throws {
        let proxy = try ProxySettings.Proxy(text)
        #expect(proxy.kind == .socks5 && proxy.host == "p" && proxy.port == 1080)
    }

    @Test func readsCredentials() throws {
        #expect(try ProxySettings.Proxy("user:pa%3Ass%40@p:1").credentials == "user:pa:ss@")
        #expect(try ProxySettings.Proxy("http://user@p:1").credentials == "user:")
    }

    @Test(arguments: [
        "", "http://", "://", "https://p", "ftp://p", "socks4://p", "socks5://user:secret@p", "a b", ":8080",
    ])
    func refusesWhatItCannotUse(_ text: String) {
        let error = #expect(throws: DownloadError.self) { try ProxySettings.Proxy(text) }
        #expect(error?.code == .proxyFailed)
        #expect(error?.description.contains("secret") == false)
    }

    @Test func aProxyOfAnOriginCountsBeforeEverythingElse() throws {
        var settings = try ProxySettings(url: "all:1", exceptions: ["a.example"])
        let (named, direct) = (
            try #require(URL(string: "https://a.example/x")), try #require(URL(string: "http://b:81/"))
        )
        settings.origins = [Origin(named): try ProxySettings.Proxy("own:2"), Origin(direct): nil]
        #expect(settings.proxy(for: named)?.host == "own" && settings.proxy(for: direct) == nil)
        #expect(settings.proxy(for: try #require(URL(string: "http://b:82/")))?.host == "all")
        #expect(settings.proxy(for: try #require(URL(string: "http://a.example/x"))) == nil)
    }

    @Test func readsTheEnvironmentAsCurlDoes() throws {
        let settings = try ProxySettings.environment([
            "http_proxy": "a:1", "HTTPS_PROXY": "b:2", "ALL_PROXY": "c:3", "no_proxy": "x.example, .Y.example",
        ])
        #expect(settings.http?.host == "a" && settings.https?.host == "b")
        #expect(settings.exceptions == ["x.example", ".y.example"])
        let all = try ProxySettings.environment(["all_proxy": "socks5://c", "http_proxy": ""])
        #expect(all.http?.kind == .socks5 && all.http == all.https)
    }

    @Test func ignoresTheVariableThatARequestCanSet() throws {
        #expect(try ProxySettings.environment(["HTTP_PROXY": "evil:1"]) == .direct)
    }

    @Test func asksEachSchemeThroughItsOwnProxy() throws {
        let (http, https) = (try ProxySettings.Proxy("a:1"), try ProxySettings.Proxy("b:2"))
        let settings = ProxySettings(http: http, https: https, exceptions: [])
        #expect(settings.proxy(for: link("http://h/")) == http)
        #expect(settings.proxy(for: link("HTTPS://h/")) == https)
        #expect(ProxySettings.direct.proxy(for: link("http://h/")) == nil)
    }

    @Test(arguments: [
        ("*", "http://any.example/", true), ("h.example", "http://h.example/", true),
        ("h.example", "http://H.EXAMPLE/", true), ("h.example", "http://sub.h.example/", true),
        (".h.example", "http://h.example/", true), ("*.h.example", "http://a.h.example/", true),
        ("h.example", "http://evilh.example/", false), ("h.example", "http://h.example.evil/", false),
        ("ample", "http://h.example/", false), ("h.example:81", "http://h.example:81/", true),
        ("h.example:81", "http://h.example:82/", false), ("h.example:81", "http://h.example/", false),
        ("h.example:443", "https://h.example/", true), ("h.example:80", "http://h.example/", true),
        ("h.example:80", "https://h.example/", false), ("h.example:x", "http://h.example/", false),
        ("10.0.0.1", "http://10.0.0.1/", true), ("10.0.0.1", "http://110.0.0.1/", false), (".", "http://h/", false),
        ("::1", "http://[::1]/", true), ("", "http://h/", false), ("[::1]", "http://[::1]:8080/", true),
        ("[::1]:8080", "http://[::1]:8080/", true), ("[::1]:8080", "http://[::1]/", false),
        ("[::1]x", "http://[::1]/", false), ("*:8080", "http://h:8080/", true), ("*:8080", "http://h/", false),
        ("10.0.0.0/8", "http://10.1.2.3/", true), ("10.0.0.0/8", "http://11.1.2.3/", false),
        ("fd00::/8", "http://[fd12::1]/", true), ("0:0::1", "http://[::1]/", true), ("*", "http://[::1]/", true),
    ])
    func knowsWhichHostsAreAskedDirectly(_ exception: String, _ url: String, _ isDirect: Bool) throws {
        let settings = ProxySettings(
            http: try ProxySettings.Proxy("p:1"),
            https: try ProxySettings.Proxy("p:1"),
            exceptions: [exception]
        )
        #expect((settings.proxy(for: link(url)) == nil) == isDirect)
    }
}

import HTTPTypes
import HummingbirdTesting
import NIOCore
import Testing

@testable import HaulServer

/// Tests which hosts a request may name. The cases come from attacks on other daemons, such as CVE-2018-5702.
@Suite struct HostCheckTests {
    private func problem(_ authority: String?, _ fields: HTTPFields = [:], allowed: Set<String> = []) -> Problem? {
        do throws(Problem) {
            _ = try HostCheck(allowed: allowed).host(
                of: HTTPRequest(method: .get, scheme: "http", authority: authority, path: "/", headerFields: fields)
            )
            return nil
        } catch { return error }
    }

    @Test(arguments: [
        "localhost", "LOCALHOST", "localhost:1", "localhost:", "LocalHost:65535", "127.0.0.1", "127.0.0.1:4285",
        "10.1.2.3:80",
        "[::1]",
        "[::1]:4285", "[fe80::1]:1",
    ])
    func letsInLocalhostAndAddressesOnAnyPort(_ authority: String) { #expect(problem(authority) == nil) }

    @Test(arguments: [
        "evil.example", "localhost.evil.example", "localhost.", "127.0.0.1.", "127.1", "127.0.0.1.nip.example", "::1",
        "[::1",
        "[::1]x", "[evil.example]", "localhost:port", "localhost:123456", "a@localhost", "", ":80",
        "0x7f.0.0.1",
        "localhost evil.example", "evil.example:80:80",
    ])
    func refusesEveryOtherName(_ authority: String) {
        #expect([421, 400].contains(problem(authority)?.status))
        #expect(problem(authority)?.code == "hostNotAllowed")
    }

    @Test func saysWhatItSawAndWhatToSet() throws {
        let problem = try #require(self.problem("evil.example"))
        #expect(problem.status == 421)
        #expect(problem.detail.contains("evil.example"))
        #expect(problem.suggestion?.contains("--allow-host") == true)
    }

    @Test func letsInAHostThatWasConfigured() {
        #expect(problem("NAS.lan:80", allowed: ["nas.lan"]) == nil)
        #expect(problem("x.nas.lan", allowed: ["nas.lan"]) != nil)
    }

    @Test func refusesNoHostAndTwoHosts() throws {
        #expect(problem(nil)?.status == 400)
        let host = try #require(HTTPField.Name("Host"))
        #expect(problem("localhost", [host: "evil.example"])?.status == 400)
    }

    @Test func controlCharactersOfAHostAreNotRepeated() {
        #expect(problem("evil\u{1B}[31m\nexample")?.detail.unicodeScalars.allSatisfy { $0.value > 31 } == true)
    }
}

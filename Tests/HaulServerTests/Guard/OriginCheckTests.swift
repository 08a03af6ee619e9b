import HTTPTypes
import HummingbirdTesting
import NIOCore
import Testing

@testable import HaulServer

/// Tests requests that a page of another site makes a browser send.
@Suite struct OriginCheckTests {
    private func status(_ fields: [String: String], _ kind: OriginCheck.Kind, isSecure: Bool = false) throws -> Int? {
        var headers = HTTPFields()
        for (name, value) in fields { headers[try #require(HTTPField.Name(name))] = value }
        let head = HTTPRequest(
            method: .post,
            scheme: "http",
            authority: "localhost:4285",
            path: "/x",
            headerFields: headers
        )
        do throws(Problem) {
            try OriginCheck.check(head, kind, isSecure: isSecure)
            return nil
        } catch { return error.status }
    }

    @Test(arguments: [
        ["Origin": "null"], ["Origin": "http://evil.example"], ["Origin": "https://localhost:4285"],
        ["Origin": "http://localhost:4286"], ["Origin": "http://localhost"], ["Sec-Fetch-Site": "cross-site"],
        ["Sec-Fetch-Site": "same-site"], ["Origin": "http://localhost:4285", "Sec-Fetch-Site": "cross-site"],
    ])
    func refusesOtherSites(_ fields: [String: String]) throws {
        #expect(try status(fields, .writing) == 403)
        #expect(try status(fields, .reading) == 403)
        // A link on any site may lead to the page.
        #expect(try status(fields, .page) == nil)
    }

    @Test(arguments: [
        ["Origin": "http://localhost:4285"], ["Sec-Fetch-Site": "same-origin"], ["Sec-Fetch-Site": "none"],
        ["Origin": "http://LOCALHOST:4285", "Sec-Fetch-Site": "same-origin"],
    ])
    func letsInThePageItself(_ fields: [String: String]) throws {
        #expect(try status(fields, .writing) == nil)
        #expect(try status(fields, .reading) == nil)
    }

    @Test func aChangeNeedsASignOfWhereItComesFrom() throws {
        #expect(try status([:], .writing) == 403)
        #expect(try status([:], .reading) == nil)
    }

    @Test func behindATrustedProxyTheOriginIsHTTPS() throws {
        #expect(try status(["Origin": "https://localhost:4285"], .writing, isSecure: true) == nil)
        #expect(try status(["Origin": "http://localhost:4285"], .writing, isSecure: true) == 403)
    }
}

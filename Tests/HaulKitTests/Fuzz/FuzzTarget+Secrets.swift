import Foundation

@testable import HaulCore
@testable import HaulKit

/// Parsers of cookies and authentication challenges.
extension FuzzTarget {
    static let secrets: [FuzzTarget] = [
        FuzzTarget(
            text: "Set-Cookie",
            [
                "a=b; Path=/x; Domain=.example; Secure; HttpOnly; Max-Age=60",
                "session=\"q w\"; expires=Wed, 09 Jun 2027 10:18:14 GMT; SameSite=Lax", "=x",
                "__Host-a=b; Secure; Path=/",
                "a=; Max-Age=-1", "a=b; Expires=Thursday, 1-jan-70 00:00:00",
            ]
        ) { text in
            guard let origin = URL(string: "https://files.example/a/b.iso"),
                let other = URL(string: "https://example/a/b.iso"),
                let plain = URL(string: "http://files.example/a/b.iso")
            else { return nil }
            guard let cookie = Cookie(text, from: origin, now: now) else { return nil }
            if cookie.isFor(other, now: now) || cookie.isFor(plain, now: now) { return "it goes to another origin" }
            if (cookie.name + cookie.value).unicodeScalars.contains(where: isControl) { return "a control character" }
            let semicolon = UInt8(ascii: ";")
            if cookie.name.isEmpty || cookie.name.utf8.contains(UInt8(ascii: "="))
                || (cookie.name + cookie.value).utf8.contains(semicolon)
            {
                return "\(cookie.name)=\(cookie.value) is several"
            }
            var cookies = Cookies()
            cookies.put(cookie, now: now)
            if let field = cookies.field(for: origin, now: now), field != "\(cookie.name)=\(cookie.value)" {
                return field
            }
            guard let line = CookieFile.write(cookie) else { return nil }
            guard let again = CookieFile.read(Substring(line.dropLast())) else { return "\(line) cannot be read again" }
            let isSame =
                again.name == cookie.name && again.value == cookie.value && again.path == cookie.path
                && again.isSecure == cookie.isSecure && again.isHTTPOnly == cookie.isHTTPOnly
            let file = Cookies(netscape: CookieFile.heading + line)
            return isSame && file.count == 1 ? nil : "\(cookie) is written as \(line)"
        },
        FuzzTarget(
            text: "dates of cookies",
            ["Wed, 09 Jun 2027 10:18:14 GMT", "Thu Jan  1 00:00:00 1970", "1-jan-70 00:00:00", "29 Feb 2023 1:2:3"]
        ) { text in
            guard let date = CookieDate.read(text) else { return nil }
            guard date.timeIntervalSince1970 < 253_402_300_800 + 86_400 * 3 else { return "\(date)" }
            return date < HTTPDateBounds.first || CookieDate.read(HTTPDate.format(date)) == date ? nil : "\(date)"
        },
        FuzzTarget(
            text: "files of cookies",
            [
                "# Netscape HTTP Cookie File\n\n.example\tTRUE\t/\tFALSE\t0\ta\tb\n#HttpOnly_files.example\tFALSE\t/x\tTRUE\t1900000000\tc\td\n",
                "files.example\tFALSE\t/\tFALSE\t1e300\ta\n", "127.0.0.1\tTRUE\t/\tFALSE\tnan\ta\tb",
            ]
        ) { text in
            let cookies = Cookies(netscape: text)
            let written = cookies.netscape(now: now)
            let again = Cookies(netscape: written).netscape(now: now)
            if again != written { return "\(written.debugDescription) and \(again.debugDescription)" }
            for address in ["https://files.example/x/y", "http://127.0.0.1/"] {
                guard let url = URL(string: address), let field = cookies.field(for: url, now: now) else { continue }
                if HeaderField("Cookie", field) == nil { return "\(field.debugDescription) is no value of a field" }
            }
            return nil
        },
        FuzzTarget(
            text: "WWW-Authenticate",
            [
                "Digest realm=\"a, b\", nonce=\"n\\\"1\", qop=\"auth, auth-int\", algorithm=SHA-256, opaque=\"o\"",
                "Basic realm=\"x\", Digest realm=\"y\",nonce=z,algorithm=MD5-sess,qop=auth,userhash=true,stale=TRUE",
                "Negotiate YII=, Digest realm=, nonce=\"\"", "Digest nonce=1, realm=\"caf\u{E9}\"",
            ]
        ) { text in
            let challenges = AuthenticationChallenge.read([text])
            if challenges.count > text.utf8.count { return "\(challenges.count) challenges" }
            for challenge in challenges where challenge.scheme.isEmpty { return "a scheme without a name" }
            guard let best = DigestChallenge.best(of: challenges) else { return nil }
            let field = best.authorization(
                Credentials("u\"ser:pass"),
                method: "GET",
                target: "/a?b",
                count: 1,
                clientNonce: "c"
            )
            if HeaderField("Authorization", field) == nil { return "\(field.debugDescription) is no value of a field" }
            let again = AuthenticationChallenge.read([field])
            guard again.count == 1, let said = again.first else { return "\(field) is \(again.count) of them" }
            let isSame =
                said.scheme == "digest" && said.parameters["realm"] == best.realm
                && said.parameters["nonce"] == best.nonce
                && said.parameters["opaque"] == best.opaque && said.parameters["uri"] == "/a?b"
            return isSame ? nil : "\(best) is answered by \(field)"
        },
    ]

    static func isControl(_ scalar: Unicode.Scalar) -> Bool { scalar.properties.generalCategory == .control }

    /// HTTP dates cannot express earlier dates.
    private enum HTTPDateBounds { static let first = Date(timeIntervalSince1970: -11_644_473_600) }
}

package import Foundation

/// Reads and writes the lines of a `cookies.txt` file. A line has seven fields: host, whether subdomains are included,
/// path, whether TLS is required, expiry in seconds since 1970 (0 for a session cookie), name, value.
package enum CookieFile {
    static let heading = "# Netscape HTTP Cookie File\n\n"
    private static let httpOnly = "#HttpOnly_"

    package static func read(_ line: Substring) -> Cookie? {
        var line = line
        let isHTTPOnly = line.hasPrefix(httpOnly)
        if isHTTPOnly { line = line.dropFirst(httpOnly.count) }
        guard !line.hasPrefix("#") else { return nil }
        var fields = line.split(separator: "\t", omittingEmptySubsequences: false).map(String.init)
        // Some writers omit an empty value together with its tab.
        if fields.count == 6 { fields.append("") }
        guard fields.count == 7, let seconds = Double(fields[4]) else { return nil }
        return cookie(
            host: fields[0],
            withSubdomains: fields[1].uppercased() == "TRUE",
            path: fields[2],
            isSecure: fields[3].uppercased() == "TRUE",
            isHTTPOnly: isHTTPOnly,
            expires: seconds > 0 ? date(seconds) : nil,
            name: fields[5],
            value: fields[6]
        )
    }

    /// Makes a cookie from the values of any kind of file.
    ///
    /// - Parameter host: leading dots are dropped; only `withSubdomains` decides about subdomains.
    /// - Returns: `nil` for a cookie that cannot be sent, or that no server may set.
    package static func cookie(
        host: String,
        withSubdomains: Bool,
        path: String,
        isSecure: Bool,
        isHTTPOnly: Bool,
        expires: Date?,
        name: String,
        value: String
    ) -> Cookie? {
        guard !name.isEmpty, path.utf8.first == UInt8(ascii: "/"),
            name.utf8.count + value.utf8.count <= Cookie.mostBytes,
            ![host, path, name, value].contains(where: Self.hasControls),
            !(name + value).utf8.contains(UInt8(ascii: ";"))
        else { return nil }
        let host = String(Substring(host.lowercased().utf8.drop { $0 == UInt8(ascii: ".") }))
        guard HTTPHost.isPossible(host) else { return nil }
        var cookie = Cookie(
            name: name,
            value: value,
            place: .host(host, withSubdomains: withSubdomains),
            path: path,
            isSecure: isSecure,
            expires: expires
        )
        cookie.isHTTPOnly = isHTTPOnly
        return cookie
    }

    private static func hasControls(_ text: String) -> Bool {
        text.unicodeScalars.contains { $0.properties.generalCategory == .control }
    }

    /// - Parameter seconds: since 1970. A date after the year 9999 becomes the last second of that year.
    package static func date(_ seconds: Double) -> Date { Date(timeIntervalSince1970: min(seconds, 253_402_300_799)) }

    package static func write(_ cookie: Cookie) -> String? {
        let (host, withSubdomains): (String, Bool) =
            switch cookie.place {
            case .origin(let origin): (origin.host, false)
            case .host(let host, let withSubdomains): (host, withSubdomains)
            }
        // A tab would begin another field.
        guard !(cookie.path + cookie.name + cookie.value).contains("\t") else { return nil }
        let fields = [
            (cookie.isHTTPOnly ? httpOnly : "") + (withSubdomains ? "." : "") + host, flag(withSubdomains), cookie.path,
            flag(cookie.isSecure), cookie.expires.map { "\(Int64($0.timeIntervalSince1970))" } ?? "0", cookie.name,
            cookie.value,
        ]
        return fields.joined(separator: "\t") + "\n"
    }

    private static func flag(_ value: Bool) -> String { value ? "TRUE" : "FALSE" }
}

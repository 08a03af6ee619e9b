internal import Foundation

/// Lines of a `cookies.txt` file: host, whether subdomains are meant, path, whether TLS is needed, when it expires in seconds
/// since 1970 (0: with its session), name, value.
enum CookieFile {
    static let heading = "# Netscape HTTP Cookie File\n\n"
    private static let httpOnly = "#HttpOnly_"

    static func read(_ line: Substring) -> Cookie? {
        var line = line
        let isHTTPOnly = line.hasPrefix(httpOnly)
        if isHTTPOnly { line = line.dropFirst(httpOnly.count) }
        guard !line.hasPrefix("#") else { return nil }
        var fields = line.split(separator: "\t", omittingEmptySubsequences: false).map(String.init)
        // Some writers leave an empty value away, with its tab.
        if fields.count == 6 { fields.append("") }
        guard fields.count == 7, !fields[5].isEmpty, fields[2].hasPrefix("/"),
            fields[5].utf8.count + fields[6].utf8.count <= Cookie.mostBytes,
            !line.unicodeScalars.contains(where: { $0 != "\t" && $0.properties.generalCategory == .control }),
            !(fields[5] + fields[6]).utf8.contains(UInt8(ascii: ";"))
        else { return nil }
        let host = String(Substring(fields[0].lowercased().utf8.drop { $0 == UInt8(ascii: ".") }))
        let withSubdomains = fields[1].uppercased() == "TRUE"
        guard HTTPHost.isPossible(host), let seconds = Double(fields[4]) else { return nil }
        var cookie = Cookie(
            name: fields[5],
            value: fields[6],
            place: .host(host, withSubdomains: withSubdomains),
            path: fields[2],
            isSecure: fields[3].uppercased() == "TRUE",
            expires: seconds > 0 ? Date(timeIntervalSince1970: min(seconds, 253_402_300_799)) : nil
        )
        cookie.isHTTPOnly = isHTTPOnly
        return cookie
    }

    static func write(_ cookie: Cookie) -> String? {
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

internal import NIOCore

/// The head of a request to an HTTP proxy.
struct ProxyHead {
    let method: String
    let target: String
    let version: String
    let headers: [(String, String)]

    /// Takes a head out of the buffer; `nil` if the head is not complete.
    init?(readFrom buffer: inout ByteBuffer) {
        let view = buffer.readableBytesView
        guard let end = view.firstRange(of: Array("\r\n\r\n".utf8)) else { return nil }
        let lines = String(decoding: view[..<end.lowerBound], as: UTF8.self).split(separator: "\r\n")
        buffer.moveReaderIndex(forwardBy: view.distance(from: view.startIndex, to: end.upperBound))
        let words = (lines.first ?? "").split(separator: " ")
        method = words.first.map { String($0) } ?? ""
        target = words.count > 1 ? String(words[1]) : ""
        version = words.count > 2 ? String(words[2]) : "HTTP/1.1"
        headers = lines.dropFirst().map { line in
            let name = line.prefix { $0 != ":" }
            let value = line.dropFirst(name.count + 1)
            return (String(name), String(value.drop { $0 == " " }))
        }
    }

    /// The destination of the request: the target of CONNECT, else the authority of the absolute form.
    var authority: String {
        guard let scheme = target.firstRange(of: "://") else { return target }
        return String(target[scheme.upperBound...].prefix { $0 != "/" && $0 != "?" })
    }

    /// The host and the port of the authority, 80 by default. An IPv6 address loses its brackets.
    var address: (host: String, port: Int) {
        guard let colon = authority.lastIndex(of: ":"), !authority[colon...].contains("]"),
            let port = Int(authority[authority.index(after: colon)...])
        else { return (Self.bare(authority[...]), 80) }
        return (Self.bare(authority[..<colon]), port)
    }

    /// The head for the origin, with the path alone and without `Proxy-` fields.
    var forOrigin: String {
        let path = target.dropFirst("http://".count + authority.count)
        let kept = headers.filter { !$0.0.lowercased().hasPrefix("proxy-") }
        let lines =
            ["\(method) \(path.hasPrefix("/") ? path : "/" + path) \(version)"] + kept.map { "\($0.0): \($0.1)" }
        return lines.joined(separator: "\r\n") + "\r\n\r\n"
    }

    private static func bare(_ host: Substring) -> String {
        host.hasPrefix("[") ? String(host.dropFirst().dropLast()) : String(host)
    }
}

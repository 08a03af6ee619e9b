internal import Foundation

/// The address of Amazon S3 or of another store.
struct S3Endpoint: Sendable, Hashable {
    /// The address of a request, with its path but without a query.
    struct Target: Sendable, Hashable {
        var scheme: String
        var host: String
        var port: Int
        var path: String

        /// The value of the `Host` field.
        var authority: String { port == (scheme == "https" ? 443 : 80) ? host : "\(host):\(port)" }
        /// URL for the connection. The path is passed separately.
        var origin: String { "\(scheme)://\(host):\(port)/" }
    }

    private let custom: Target?
    private let bucket: String
    private let isVirtual: Bool

    /// - Throws: ``FleetError/Code/invalidInput`` for a malformed endpoint or region.
    init(_ settings: S3Settings) throws(FleetError) {
        guard Self.isRegion(settings.region) else {
            throw FleetError(.invalidInput, "\(RelativePath.quoted(settings.region)) is no name of a region.")
        }
        bucket = settings.bucket
        if let text = settings.endpoint {
            guard let url = URLComponents(string: text), let scheme = url.scheme?.lowercased(),
                scheme == "https" || scheme == "http", let host = url.host?.lowercased(), !host.isEmpty,
                url.query == nil,
                url.fragment == nil, url.user == nil, (1...65535).contains(url.port ?? 80)
            else {
                throw FleetError(
                    .invalidInput,
                    "The endpoint must be a URL such as https://s3.example.org, without user, query and fragment."
                )
            }
            var path = url.percentEncodedPath
            while path.hasSuffix("/") { path.removeLast() }
            custom = Target(
                scheme: scheme,
                host: host,
                port: url.port ?? (scheme == "https" ? 443 : 80),
                path: path
            )
        } else {
            custom = nil
        }
        isVirtual =
            switch settings.addressing {
            case .path: false
            case .virtualHost: true
            // A certificate for *.s3.REGION.amazonaws.com does not cover a bucket name with dots.
            case .automatic: settings.endpoint == nil && settings.bucket.utf8.allSatisfy(Self.isOfHost)
            }
    }

    /// The name of the store in messages.
    var name: String { custom?.authority ?? "Amazon S3" }

    /// - Parameter key: the object's key; `nil` for the bucket itself.
    func target(region: String, key: String?) -> Target {
        var target = custom ?? Target(scheme: "https", host: Self.host(region), port: 443, path: "")
        if isVirtual {
            target.host = "\(bucket).\(target.host)"
            target.path += "/"
        } else {
            target.path += "/\(bucket)" + (key == nil ? "" : "/")
        }
        target.path += key.map(S3Encoding.key) ?? ""
        return target
    }

    /// Returns the target of a temporary redirect (307). Returns `nil` if the target is outside the store, because
    /// signed requests must not leave it.
    func redirected(from target: Target, to location: String) -> Target? {
        guard let url = URLComponents(string: location) else { return nil }
        var next = target
        if let host = url.host?.lowercased(), !host.isEmpty {
            guard let scheme = url.scheme?.lowercased() else { return nil }
            next.scheme = scheme
            next.host = host
            next.port = url.port ?? (scheme == "https" ? 443 : 80)
        }
        let path = url.percentEncodedPath
        guard path.utf8.first == UInt8(ascii: "/") else { return nil }
        next.path = path
        guard next.scheme == target.scheme, next.port == target.port, isOwn(next.host) else { return nil }
        return next
    }

    private func isOwn(_ host: String) -> Bool {
        if let custom { return host == custom.host || host.hasSuffix("." + custom.host) }
        return host.hasSuffix(".amazonaws.com") || host.hasSuffix(".amazonaws.com.cn")
    }

    /// Whether `text` can be a region. The text comes from settings or the store and becomes a part of a host name.
    static func isRegion(_ text: String) -> Bool {
        (1...40).contains(text.utf8.count) && text.utf8.allSatisfy(isOfHost)
    }

    private static func host(_ region: String) -> String {
        "s3.\(region).amazonaws.com" + (region.hasPrefix("cn-") ? ".cn" : "")
    }

    private static func isOfHost(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"): true
        default: false
        }
    }
}

import Crypto
import HaulKit

/// Makes the path of an item without a path in the list: `HOST/PATH/NAME` of its URL, `BUCKET/KEY` of an object.
///
/// The path stays below the folder for any URL. If the URL has a query, an overlong path, or a part that is unsafe as a
/// file name, the name contains a hash of path and query, so that different URLs give different paths. Some paths still
/// coincide, for example those of `http` and `https`, of `/a/b` and `/a//b`, of `/a/` and `/a/index.html`, or, on some
/// file systems, of `/a` and `/A`. The second item then fails with a conflict and never replaces the first file.
enum ItemPath {
    private static let longestPath = 1024
    private static let longestName = 240

    static func from(url: String) -> String {
        if let object = S3Object(url) { return from(object) }
        let parts = URLParts(url)
        let segments = parts.path.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: true).map(safe)
        let isFolder = parts.path.isEmpty || parts.path.last == UInt8(ascii: "/")
        let query = parts.query.map { [UInt8(ascii: "?")] + Array($0) }
        return join(
            host(parts),
            segments,
            isFolder: isFolder,
            isAltered: query != nil,
            Array(parts.path) + (query ?? [])
        )
    }

    /// Returns `BUCKET/KEY`.
    private static func from(_ object: S3Object) -> String {
        let segments = object.key.split(separator: "/", omittingEmptySubsequences: true).map { part in
            let name = FileName.safe(String(part))
            return (name, isExact: name.map { $0 == part } ?? false)
        }
        let isFolder = object.key.hasSuffix("/")
        let folder = FileName.safe(object.bucket) ?? "bucket"
        return join(folder, segments, isFolder: isFolder, isAltered: false, Array(object.key.utf8))
    }

    /// - Parameters:
    ///   - isFolder: whether the text ends with a slash, so that the name is missing.
    ///   - isAltered: whether the segments do not stand for the whole text.
    ///   - text: what a name that does not stand for the whole text has the hash of.
    private static func join(
        _ folder: String,
        _ parts: [(name: String?, isExact: Bool)],
        isFolder: Bool,
        isAltered: Bool,
        _ text: [UInt8]
    ) -> String {
        let isAltered = isAltered || !parts.allSatisfy(\.isExact)
        var segments = parts.compactMap(\.name)
        if isFolder || segments.isEmpty { segments.append("index.html") }
        var name = segments.removeLast()
        let length = segments.reduce(folder.utf8.count + name.utf8.count + 1) { $0 + $1.utf8.count + 1 }
        let isLong = length > longestPath
        if isAltered || isLong { name = mark(name, text) }
        return ([folder] + (isLong ? [] : segments) + [name]).joined(separator: "/")
    }

    private static func host(_ parts: URLParts) -> String {
        let name = String(decoding: parts.host, as: UTF8.self).lowercased()
        let isStandard = parts.port.isEmpty || parts.port.elementsEqual((parts.isSecure ? "443" : "80").utf8)
        let text = isStandard ? name : name + "_" + String(decoding: parts.port, as: UTF8.self)
        return FileName.safe(text) ?? "host"
    }

    /// Returns the segment as a file name, or `nil` if nothing remains, and whether the name equals the decoded
    /// segment.
    private static func safe(_ raw: Substring.UTF8View) -> (String?, isExact: Bool) {
        guard raw.contains(UInt8(ascii: "%")) else {
            let text = String(Substring(raw))
            let name = FileName.safe(text)
            return (name, name == text)
        }
        let bytes = percentDecoded(raw)
        guard let text = String(validating: bytes, as: UTF8.self) else {
            return (FileName.safe(String(decoding: bytes, as: UTF8.self)), false)
        }
        let name = FileName.safe(text)
        return (name, name.map { $0.utf8.elementsEqual(text.utf8) } ?? false)
    }

    private static func percentDecoded(_ raw: Substring.UTF8View) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(raw.count)
        var rest = raw
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "%"), let high = rest.first?.hexadecimal,
                let low = rest.dropFirst().first?.hexadecimal
            {
                rest = rest.dropFirst(2)
                bytes.append(high << 4 | low)
            } else {
                bytes.append(byte)
            }
        }
        return bytes
    }

    /// Inserts 16 hexadecimal digits of the hash before the extension of `name`.
    private static func mark(_ name: String, _ hashed: [UInt8]) -> String {
        let digits = Array(SHA256.hash(data: hashed).prefix(8)).hexadecimal
        let dot = name.utf8.lastIndex(of: UInt8(ascii: "."))
        let hasExtension = dot.map { $0 > name.startIndex && name.utf8.distance(from: $0, to: name.endIndex) <= 11 }
        let end = hasExtension == true ? dot ?? name.endIndex : name.endIndex
        let suffix = "-" + digits + name[end...]
        var stem = name[..<end]
        while stem.utf8.count + suffix.utf8.count > longestName, !stem.isEmpty { stem.removeLast() }
        return stem + suffix
    }
}

extension UInt8 {
    /// The value of this ASCII character as a hexadecimal digit; `nil` for any other character.
    var hexadecimal: UInt8? {
        switch self {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): self - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): self - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): self - UInt8(ascii: "A") + 10
        default: nil
        }
    }
}

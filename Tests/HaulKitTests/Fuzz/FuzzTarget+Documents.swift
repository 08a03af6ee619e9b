import Foundation

@testable import HaulCore
@testable import HaulKit

/// Parsers of documents and texts.
extension FuzzTarget {
    private static let four = """
        <?xml version="1.0" encoding="UTF-8"?><metalink xmlns="urn:ietf:params:xml:ns:metalink"><file name="a/b.iso"><size>20</size>\
        <hash type="sha-256">2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b</hash><pieces length="10" type="sha-1">\
        <hash>1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a</hash><hash>1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a</hash></pieces>\
        <url priority="1" location="de">http://one.example/a.iso</url><url>ftp://two.example/a</url></file></metalink>
        """
    private static let three = """
        <?xml version="1.0"?><metalink version="3.0" xmlns="http://www.metalinker.org/"><files><file name="a.iso"><verification>\
        <hash type="md5">0d0d0d0d0d0d0d0d0d0d0d0d0d0d0d0d</hash></verification><resources><url type="http" preference="90">\
        http://one.example/a.iso</url></resources></file></files></metalink>
        """

    static let documents: [FuzzTarget] = [
        FuzzTarget("Metalink", [four, three, "<!DOCTYPE x [<!ENTITY a \"b\">]><metalink>&a;</metalink>"]) { bytes in
            let limits = Metalink.Limits()
            guard let metalink = try? Metalink(Data(bytes), limits: limits) else { return nil }
            if metalink.files.isEmpty { return "a Metalink of nothing" }
            for file in metalink.files {
                if let wrong = parts(file.name).lazy.compactMap(unsafe).first { return wrong }
                if file.sources.isEmpty { return "\(file.name) has no source" }
                for source in file.sources where !source.url.isAskable { return "\(source.url.masked) cannot be asked" }
                if let size = file.size, size < 0 { return "a size of \(size)" }
                guard let pieces = file.pieces else { continue }
                if let size = file.size, pieces.covers(size), size > 0 {
                    var end: Int64 = 0
                    for index in pieces.digests.indices {
                        let range = pieces.range(of: index, total: size)
                        if range.lowerBound != end || range.isEmpty { return "piece \(index) is \(range)" }
                        end = range.upperBound
                    }
                    if end != size { return "the pieces end at \(end)" }
                }
            }
            return nil
        },
        FuzzTarget(text: "Metalink in UTF-16", [four, three, "<?xml version=\"1.0\"?><a/>"]) { text in
            guard !text.utf8.isEmpty, !text.contains("encoding"),
                !text.unicodeScalars.contains(where: { $0 == "\u{0}" || $0 == "\u{FEFF}" })
            else { return nil }
            let plain = try? Metalink(Array(text.utf8))
            for isBig in [false, true] {
                let units = [0xFEFF] + Array(text.utf16)
                let bytes = units.flatMap {
                    isBig ? [UInt8($0 >> 8), UInt8($0 & 0xFF)] : [UInt8($0 & 0xFF), UInt8($0 >> 8)]
                }
                if (try? Metalink(bytes)) != plain { return "another Metalink than in UTF-8" }
            }
            return nil
        },
        FuzzTarget(
            text: "pieces in the store",
            ["{\"algorithm\":\"sha1\",\"pieceLength\":10,\"digests\":\"1a1a\"}", "{\"pieceLength\":-1}", "[]"]
        ) { text in
            guard let pieces = try? JSONDecoder().decode(PieceHashes.self, from: Data(text.utf8)) else { return nil }
            return pieces.pieceLength > 0 ? nil : "pieces of \(pieces.pieceLength) bytes"
        },
        FuzzTarget(
            text: "checksums",
            ["sha256:" + String(repeating: "2b", count: 32), "MD5:" + String(repeating: "0d", count: 16), "sha-1:00"]
        ) {
            text in
            guard let checksum = try? DownloadRequest.Checksum(text) else { return nil }
            guard let again = try? DownloadRequest.Checksum(checksum.description) else {
                return "\(checksum) cannot be read again"
            }
            return again == checksum ? nil : "\(again)"
        },
        FuzzTarget(
            text: "stretches in the store",
            ["0-100,250-300", "5-5", "-1-3", "0-9223372036854775807", "10-20,15-30,1-2"]
        ) { text in
            let set = ByteSet(text: text)
            if ByteSet(text: set.text) != set { return set.text }
            if let first = set.ranges.first, first.lowerBound < 0 { return "\(first)" }
            if set.count < 0 || set.prefix < 0 { return "\(set.count) bytes" }
            _ = set.firstGap(before: 100)
            _ = set.end(from: 15)
            return nil
        },
        FuzzTarget(text: "ids", ["0190b0a6-7b1c-7c3e-8f00-000000000001", "0190b0a67b1c7c3e8f00000000000001"]) { text in
            guard let id = DownloadID(text) else { return nil }
            return DownloadID(id.description) == id ? nil : "\(id)"
        },
        FuzzTarget(
            text: "resources in the store",
            [
                "{\"total\":5,\"validator\":{\"entityTag\":\"\\\"a\\\"\",\"lastModifiedIsStrong\":false},\"hasUsableRanges\":true,\"isFramed\":true}"
            ]
        ) { text in
            guard let resource = try? JSONDecoder().decode(Resource.self, from: Data(text.utf8)) else { return nil }
            _ = RangeRequest.resuming(resource, at: 10, resumesUnverified: true)
            return nil
        },
    ]
}

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

    private static let segments = """
        #EXTM3U
        #EXT-X-VERSION:7
        #EXT-X-TARGETDURATION:4
        #EXT-X-MEDIA-SEQUENCE:9
        #EXT-X-DEFINE:NAME="a",VALUE="x"
        #EXT-X-KEY:METHOD=AES-128,URI="k",IV=0x0000000000000000000000000000000A
        #EXT-X-MAP:URI="i.mp4",BYTERANGE="5@0"
        #EXTINF:4,
        #EXT-X-BYTERANGE:188@376
        {$a}.ts
        #EXT-X-DISCONTINUITY
        #EXT-X-GAP
        #EXTINF:3.5,title
        b.ts?s=1
        #EXT-X-ENDLIST
        """
    private static let variants = """
        #EXTM3U
        #EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="a",NAME="b",LANGUAGE="de",DEFAULT=YES,URI="c"
        #EXT-X-STREAM-INF:BANDWIDTH=800000,RESOLUTION=1280x720,CODECS="avc1.64001f,mp4a.40.2",AUDIO="a"
        v.m3u8
        """

    static let documents: [FuzzTarget] = [
        FuzzTarget("playlists of streams", [segments, variants, "#EXTM3U\n#EXT-X-ENDLIST"]) { bytes in
            guard let url = HTTPURL("http://one.example/a/master.m3u8?token=1") else { return "no URL" }
            switch try? StreamPlaylist.parse(bytes, url: url, imports: ["b": "y"]) {
            case nil: return nil
            case .media(let playlist)?:
                for (index, segment) in playlist.segments.enumerated() {
                    if segment.number != playlist.mediaSequence + Int64(index) { return "number \(segment.number)" }
                    if segment.range?.isEmpty == true { return "an empty range" }
                    if !(0...1e6).contains(segment.duration) { return "\(segment.duration) seconds" }
                    if !segment.url.url.isAskable { return "\(segment.url.url.masked) cannot be asked" }
                }
                var live = LivePlan(from: .now)
                _ = try? live.handle(.playlist(playlist, at: .start))
                guard let plan = try? StreamPlan(playlist) else { return nil }
                return plan.version.split(separator: "-").count == 3 ? nil : "the version \(plan.version)"
            case .multivariant(let playlist)?:
                let selection = try? playlist.select(audio: .all, subtitles: .all)
                return selection.map { $0.description.contains("\n") } == true ? "a description of two lines" : nil
            }
        },
        FuzzTarget("logs of streams", [String(decoding: StreamRecord.whole(.film, Array("{}".utf8)), as: UTF8.self)]) {
            bytes in
            var log = StreamLog()
            var rest = bytes[...]
            while let record = StreamRecord(head: rest.prefix(StreamRecord.headLength)) {
                rest = rest.dropFirst(StreamRecord.headLength)
                guard rest.count >= record.length, log.take(record, Array(rest.prefix(Int(record.length)))) else {
                    break
                }
                rest = rest.dropFirst(Int(record.length))
            }
            if log.end != bytes.count - rest.count, log.film != nil, log.end > bytes.count {
                return "a log beyond its end"
            }
            let front = Array(bytes.prefix(StreamRecord.headLength - 1))
            guard
                StreamRecord(
                    head: (front.prefix(2) == [0x48, 0x4C] ? front + StreamRecord.completing(front) : [])[...]
                ) != nil
            else {
                return front.prefix(2) == [0x48, 0x4C] && (front.count < 3 || front[2] <= 5) && front.count <= 20
                    ? "a head that is not completed" : nil
            }
            return nil
        },
        FuzzTarget(
            "segments of streams",
            ["G" + String(repeating: "x", count: 187), "ID3\u{4}", "WEBVTT\n", "....ftyp"]
        ) { bytes in
            var watch = SegmentMedia.Watch()
            var whole = SegmentMedia.Watch()
            var pieces: String?
            for byte in bytes { pieces = pieces ?? watch.take([byte]) }
            let once = whole.take(bytes) ?? whole.finish()
            pieces = pieces ?? watch.finish()
            return (pieces == nil) == (once == nil)
                ? nil : "another judgement in pieces: \(pieces ?? "media"), \(once ?? "media")"
        },
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

import Foundation

@testable import HaulCore

extension DownloadRequest {
    /// Returns a request in which each option differs from its default.
    static func full() throws -> DownloadRequest {
        var request = try DownloadRequest("https://u:p@h.example/a%20b c", to: .file(path: "/d/m/a"))
        (request.root, request.target, request.earlierSpelling) = ("/d", "/a%20b%20c", "https://h.example/a")
        (request.isChosenByDocument, request.isNameNumbered) = (true, true)
        request.mirrors = [Metalink.Source(try SpelledURL("https://m.example/{a}"), priority: 2)]
        request.suggestedName = "ü"
        request.headers = [HeaderField("A", "b \"c\"")].compactMap { $0 }
        request.checksum = DownloadRequest.Checksum(.sha256, digest: Array(0..<32))
        request.pieces = PieceHashes(.sha1, pieceLength: 5, digests: [Array(0..<20)])
        (request.size, request.bytesPerSecond) = (5, 9)
        request.adopts = .partialFile
        (request.maxConnections, request.initialConnections) = (7, 3)
        (request.onConflict, request.onDuplicate) = (.skip, .refuse)
        (request.failsOnChange, request.resumesUnverified) = (true, true)
        (request.setsModificationTime, request.allowsInsecureRedirects) = (true, true)
        (request.key, request.group, request.owner) = ("k", "g", "o")
        request.page = link("https://u:p@h.example/page?session=secret")
        request.startsPaused = true
        request.repairs = FileStatus(kind: .file, size: 5, allocated: 8, device: 1, inode: 2, born: 3, modified: 4)
        if let file = request.repairs { request.replaces = ReplacedFilm(path: "/d/m/a", file: file, missing: 2) }
        request.stream = DownloadRequest.Stream()
        request.stream?.variant = "720p"
        request.method = .post(body: Data("b".utf8), type: "text/plain")
        (request.metadata, request.priority) = (DownloadRequest.Metadata(json: "{\"a\":1}"), -3)
        return request
    }
}

internal import Foundation
internal import HaulKit
internal import Hummingbird

/// `GET /api/v1/downloads/:id`: the row of one download and the details that a row does not contain.
struct DetailRoute {
    let services: Services

    private struct Segment: Encodable {
        var host: String
        var start: Int64
        var end: Int64
        var bytesPerSecond: Int64
    }

    private struct Details: Encodable {
        var requestURL: String
        var finalURL: String?
        var headers: [String: String]
        var mirrors: [String]
        var checksum: String?
        var speedLimit: Int64?
        var segments: [Segment]
        var ranges: [[Int64]]
        var log: [DownloadLogs.Entry]
        var rev: String
    }

    private struct Answer: Encodable {
        var row: DownloadRow
        var details: Details

        func encode(to encoder: any Encoder) throws {
            try row.encode(to: encoder)
            try details.encode(to: encoder)
        }
    }

    func add(to router: Router<ServerContext>) {
        router.get("/api/v1/downloads/:id") { _, context in
            let download = try await services.download(context)
            let rev = await services.feed.position
            let (snapshot, request) = try await problems { () throws(DownloadError) in
                (try await services.downloader.list(.ids([download.id])).first, try await download.request())
            }
            guard let snapshot, let request else {
                throw Problem(.notFound, "notFound", "There is no download with this id.")
            }
            let details = Details(
                requestURL: request.url.masked,
                finalURL: snapshot.finalURL?.masked,
                // Hides the values, which may be secret; the names show which fields are sent.
                headers: Dictionary(request.headers.map { ($0.name, "***") }, uniquingKeysWith: { first, _ in first }),
                mirrors: request.mirrors.map(\.url.masked),
                checksum: request.checksum?.description,
                speedLimit: request.bytesPerSecond,
                segments: snapshot.connections.map { connection in
                    Segment(
                        host: connection.host,
                        start: connection.remainingRange.lowerBound,
                        end: connection.remainingRange.upperBound,
                        bytesPerSecond: DownloadRow.count(connection.bytesPerSecond)
                    )
                },
                ranges: snapshot.receivedRanges.map { [$0.lowerBound, $0.upperBound] },
                log: await services.feed.log(of: download.id),
                rev: rev
            )
            var row = DownloadRow(snapshot)
            // Before the file name is known, the folder is that of the request.
            if row.folder == nil, case .folder(let path) = request.destination { row.folder = path }
            return JSONBody.response(Answer(row: row, details: details))
        }
    }
}

internal import Foundation
internal import HaulKit
internal import Hummingbird

/// `GET /api/v1/downloads/:id`: the row of one download and the details that a row does not contain.
struct DetailRoute {
    let services: Services

    private struct Answer: Encodable {
        var row: DownloadRow
        var details: DownloadDetails

        func encode(to encoder: any Encoder) throws {
            try row.encode(to: encoder)
            try details.encode(to: encoder)
        }
    }

    func add(to routes: RouteTable) {
        routes.get("/api/v1/downloads/:id") { asked, context in
            let download = try await services.download(context)
            let rev = await services.feed.position
            let (snapshot, request) = try await problems { () throws(DownloadError) in
                (try await services.downloader.list(.ids([download.id])).first, try await download.request())
            }
            guard let snapshot, let request else {
                throw Problem(.notFound, "notFound", "There is no download with this id.")
            }
            let log = await services.feed.log(of: download.id)
            let details = DownloadDetails(snapshot, request, log: log, rev: rev)
            var row = DownloadRow(snapshot)
            // Before the file name is known, the folder is that of the request.
            if row.folder == nil, case .folder(let path) = request.destination { row.folder = path }
            return JSONBody.response(Answer(row: row, details: details), to: asked)
        }
    }
}

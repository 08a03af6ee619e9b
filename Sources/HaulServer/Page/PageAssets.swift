internal import CHaulPage
internal import Foundation
internal import HTTPTypes
internal import Hummingbird
internal import NIOCore

/// The files of the page, from a table in the binary. A request must name the exact path of a file.
package struct PageAssets: Sendable {
    struct Asset: Sendable {
        let type: String
        let body: ByteBuffer
        let entityTag: String
    }

    /// The assets by path below the page's folder.
    let assets: [String: Asset]

    package init() {
        let table = UnsafeBufferPointer(start: haul_page_assets(), count: haul_page_asset_count())
        assets = Dictionary(
            table.map { entry in
                let bytes = UnsafeBufferPointer(start: entry.bytes, count: entry.count)
                let body = ByteBuffer(bytes: bytes)
                let asset = Asset(type: String(cString: entry.type), body: body, entityTag: EntityTag.of(body))
                return (String(cString: entry.path), asset)
            },
            uniquingKeysWith: { first, _ in first }
        )
    }

    package var paths: Set<String> { Set(assets.keys) }

    /// Paths that are served without a sign-in, because they contain no data of the user.
    var openPaths: Set<String> {
        Set(assets.keys.filter { $0 != Self.description }.map { "/" + $0 }).union(["/", Self.favicon])
    }

    package static let description = "openapi.json"
    /// Path of the icon that browsers request when they show a file without a page.
    private static let favicon = "/favicon.ico"

    func add(to routes: RouteTable) {
        for (path, asset) in assets where path != Self.description {
            add(asset, at: "/" + path, to: routes)
            if path == "index.html" { add(asset, at: "/", to: routes) }
            if path == "icon-192.png" { add(asset, at: Self.favicon, to: routes) }
        }
        if let asset = assets[Self.description] { add(asset, at: "/api/v1/openapi.json", to: routes) }
    }

    private func add(_ asset: Asset, at path: String, to routes: RouteTable) {
        routes.get(path) { request, _ in answer(asset, request) }
        routes.head(path) { request, _ in answer(asset, request) }
    }

    private func answer(_ asset: Asset, _ request: Request) -> Response {
        // `no-cache` makes the browser revalidate each time, because another version of the server may have another
        // page.
        var headers: HTTPFields = [.eTag: asset.entityTag, .cacheControl: "no-cache"]
        if EntityTag.isNamed(asset.entityTag, by: request.headers[.ifNoneMatch]) {
            return Response(status: .notModified, headers: headers)
        }
        headers[.contentType] = asset.type
        guard request.method != .head else {
            headers[.contentLength] = String(asset.body.readableBytes)
            return Response(
                status: .ok,
                headers: headers,
                body: .init(contentLength: asset.body.readableBytes) { writer in
                    try await writer.finish(nil)
                }
            )
        }
        return Response(status: .ok, headers: headers, body: .init(byteBuffer: asset.body))
    }
}

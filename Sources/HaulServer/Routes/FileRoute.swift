internal import CDispatch
internal import Foundation
internal import HTTPTypes
internal import HaulKit
internal import Hummingbird
internal import NIOCore
internal import NIOPosix

/// Route of the finished file of a download, with ranges (RFC 9110 §14). Downloaded bytes never appear as a page of
/// this server: only media and plain text are shown, in a sandbox. Everything else is an attachment.
struct FileRoute {
    let services: Services

    func add(to routes: RouteTable) {
        routes.get("/api/v1/downloads/:id/file") { request, context in try await answer(request, context) }
        routes.head("/api/v1/downloads/:id/file") { request, context in try await answer(request, context) }
    }

    private func answer(_ request: Request, _ context: ServerContext) async throws -> Response {
        var query = try Query(request)
        let isAttachment = try query.flag("download")
        try query.finish()
        let download = try await services.download(context)
        let (snapshot, state) = try await problems { () throws(DownloadError) in
            (try await services.downloader.list(.ids([download.id])).first, try await download.fileState())
        }
        guard let snapshot, snapshot.state == .completed, let path = snapshot.path, state != .missing else {
            throw Problem(.conflict, "notFinished", "The download has no finished file.")
        }
        // Resolves the path again, because a folder in it may have become a link after the download.
        guard let real = AllowedFolders.resolved(path),
            services.folders.roots.contains(where: { AllowedFolders.isInside(real, $0) })
        else { throw Problem(.forbidden, "forbiddenFolder", "The file is no longer in a folder that is allowed.") }
        let file: OpenFile
        do { file = try await OpenFile(path) } catch {
            throw Problem(.conflict, "notFinished", "The file cannot be read: \(error)")
        }
        if EntityTag.isNamed(file.entityTag, by: request.headers[.ifNoneMatch]) {
            return Response(status: .notModified, headers: [.eTag: file.entityTag])
        }
        let kind = MediaKind(name: snapshot.name)
        var headers: HTTPFields = [
            .contentType: kind.type,
            .acceptRanges: "bytes",
            .eTag: file.entityTag,
            .contentDisposition: Disposition.field(snapshot.name, isAttachment: isAttachment || !kind.isShown),
        ]
        // Prevents the file from running scripts or reaching anything, even if a browser opens it as a page of its own.
        headers[.contentSecurityPolicy] =
            "sandbox; default-src 'none'; media-src 'self'; img-src 'self'; style-src 'unsafe-inline'"
        switch RequestedRange(request.head, length: file.length, entityTag: file.entityTag) {
        case .none:
            return respond(request, .ok, headers, file, 0..<file.length)
        case .some(let range):
            headers[.contentRange] = "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(file.length)"
            return respond(request, .partialContent, headers, file, range)
        case .unsatisfied:
            headers[.contentRange] = "bytes */\(file.length)"
            headers[.contentDisposition] = nil
            headers[.contentType] = nil
            return Response(status: .rangeNotSatisfiable, headers: headers)
        }
    }

    private func respond(
        _ request: Request,
        _ status: HTTPResponse.Status,
        _ headers: HTTPFields,
        _ file: OpenFile,
        _ range: Range<Int64>
    ) -> Response {
        var headers = headers
        let count = Int(range.upperBound - range.lowerBound)
        guard request.method != .head else {
            headers[.contentLength] = String(count)
            return Response(
                status: status,
                headers: headers,
                body: .init(contentLength: count) { writer in try await writer.finish(nil) }
            )
        }
        return Response(
            status: status,
            headers: headers,
            body: .init(contentLength: count) { writer in
                try await file.send(range, to: &writer)
                try await writer.finish(nil)
            }
        )
    }
}

/// An open file that is being sent. Reads on threads that may block. Closes the file when its response is released,
/// even if the client leaves before the body begins.
private final class OpenFile: Sendable {
    let length: Int64
    let entityTag: String
    private let descriptor: Int32
    private static let chunk = 256 << 10

    init(_ path: String) async throws {
        (descriptor, length, entityTag) = try await NIOThreadPool.singleton.runIfActive {
            let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
            guard descriptor >= 0 else { throw ServerError(String(cString: strerror(errno))) }
            var info = stat()
            guard fstat(descriptor, &info) == 0, info.st_mode & S_IFMT == S_IFREG else {
                Glibc.close(descriptor)
                throw ServerError("It is no regular file.")
            }
            let tag = "\"\(info.st_ino)-\(info.st_size)-\(info.st_mtim.tv_sec)-\(info.st_mtim.tv_nsec)\""
            return (descriptor, Int64(info.st_size), tag)
        }
    }

    deinit { _ = Glibc.close(descriptor) }

    func send(_ range: Range<Int64>, to writer: inout any ResponseBodyWriter) async throws {
        var offset = range.lowerBound
        while offset < range.upperBound {
            let (start, count) = (offset, Int(min(Int64(Self.chunk), range.upperBound - offset)))
            let buffer = try await NIOThreadPool.singleton.runIfActive {
                var buffer = ByteBufferAllocator().buffer(capacity: count)
                let read = buffer.writeWithUnsafeMutableBytes(minimumWritableBytes: count) { memory in
                    max(0, pread(self.descriptor, memory.baseAddress, count, Int(start)))
                }
                // The file became shorter. The answer ends early, which the client notices by `Content-Length`.
                guard read > 0 else { throw ServerError("The file ended early.") }
                return buffer
            }
            offset += Int64(buffer.readableBytes)
            try await writer.write(buffer)
        }
    }
}

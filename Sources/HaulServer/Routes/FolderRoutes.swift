internal import CDispatch
internal import Foundation
internal import HTTPTypes
internal import HaulKit
internal import Hummingbird
internal import NIOPosix

/// Routes that list and create folders below the allowed roots.
struct FolderRoutes {
    let services: Services
    private static let limit = 1000

    private struct Folder: Encodable {
        var name: String
        var path: String
    }
    private struct Answer: Encodable {
        var path: String
        var parent: String?
        var freeBytes: Int64?
        var items: [Folder]
        var roots: [String]
        var truncated: Bool
    }

    func add(to routes: RouteTable) {
        routes.get("/api/v1/folders") { request, _ in
            var query = try Query(request)
            let path = try query.text("path")
            try query.finish()
            return JSONBody.response(try await list(path))
        }
        routes.post("/api/v1/folders") { request, _ in
            var body = try await JSONBody(request, limit: 64 << 10)
            let path = try body.required("path", String.self)
            try body.finish()
            let folder = try services.folders.folder(path)
            try await NIOThreadPool.singleton.runIfActive {
                do { try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true) } catch
                {
                    throw Problem(.conflict, "folderNotMade", "The folder \(folder) cannot be made.", cause: "\(error)")
                }
            }
            return JSONBody.response(try await list(folder), status: .created)
        }
    }

    private func list(_ path: String?) async throws -> Answer {
        let folder = try services.folders.folder(path)
        let roots = services.folders.roots
        let names = try await NIOThreadPool.singleton.runIfActive { try Self.names(in: folder) }
        let parent =
            folder == "/"
            ? nil : folder.lastIndex(of: "/").map { $0 == folder.startIndex ? "/" : String(folder[..<$0]) }
        return Answer(
            path: folder,
            parent: parent.flatMap { parent in roots.contains { AllowedFolders.isInside(parent, $0) } ? parent : nil },
            freeBytes: try await problems { () throws(DownloadError) in
                try await services.downloader.files.freeDiskSpace(at: folder)
            },
            items: names.prefix(Self.limit).map {
                Folder(name: $0, path: folder == "/" ? "/" + $0 : folder + "/" + $0)
            },
            roots: roots,
            truncated: names.count > Self.limit
        )
    }

    /// Returns the names of the visible subfolders. Leaves out symbolic links. Returns none if `folder` does not exist
    /// yet.
    private static func names(in folder: String) throws -> [String] {
        guard let stream = opendir(folder) else {
            if errno == ENOENT { return [] }
            throw Problem(
                .forbidden,
                "forbiddenFolder",
                "The folder \(folder) cannot be read: \(String(cString: strerror(errno)))"
            )
        }
        defer { closedir(stream) }
        var names: [String] = []
        while names.count <= 10_000, let entry = readdir(stream) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) { pointer in
                pointer.withMemoryRebound(to: CChar.self, capacity: 256) { String(validatingCString: $0) }
            }
            guard let name, !name.hasPrefix(".") else { continue }
            var info = stat()
            guard lstat(folder + "/" + name, &info) == 0, info.st_mode & S_IFMT == S_IFDIR else { continue }
            names.append(name)
        }
        return names.sorted { $0.compare($1, options: [.caseInsensitive, .numeric]) == .orderedAscending }
    }
}

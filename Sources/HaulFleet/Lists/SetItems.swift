internal import Foundation
package import HaulKit

/// The files of a set as items of a queue. An item contains neither the token of a hub nor other header fields, because
/// workers have their own (``OriginFields``).
package struct SetItems: Sendable {
    /// The items, in the order of the publisher.
    package private(set) var items: [NewItem] = []
    /// A sentence for each file that cannot be an item.
    package private(set) var refused: [String] = []

    /// - Parameters:
    ///   - files: the files of the set. Their names are safe relative paths.
    ///   - source: the source of the set with its pinned commit (`hf://ORG/NAME@COMMIT`), or a URL. It becomes metadata
    ///     of each item.
    ///   - folder: folder of the set below the destination; `nil` for one that is named after the source.
    /// - Throws: ``FleetError/Code/invalidInput`` for a folder that is not below the destination.
    package init(_ files: [FileSet.File], of source: String, folder: String? = nil) throws(FleetError) {
        let folder = folder.map(Self.withoutEndingSlash) ?? Self.folder(of: source)
        _ = try RelativePath(folder)
        for file in files {
            do throws(LineError) { items.append(try Self.item(file, source, folder)) } catch {
                refused.append("\(file.name) \(error.text).")
            }
        }
    }

    /// The items as a sequence that ``QueueLoader/add(_:progress:)`` reads.
    package var stream: AsyncStream<NewItem> {
        AsyncStream { continuation in
            for item in items { continuation.yield(item) }
            continuation.finish()
        }
    }

    private static func item(_ file: FileSet.File, _ source: String, _ folder: String) throws(LineError) -> NewItem {
        var raw = RawItem()
        raw.url = file.url.absoluteString
        raw.path = "\(folder)/\(file.name)"
        raw.checksum = file.checksum?.description
        raw.size = file.size
        let mirrors = file.mirrors.map(\.url).filter { ["http", "https"].contains($0.scheme) }
        raw.mirrors = mirrors.prefix(RawItem.mostMirrors).map(\.absoluteString)
        raw.others = ["\"set\":\(JSONText.quoted(source))", "\"name\":\(JSONText.quoted(file.name))"]
        let item = try raw.checked(0)
        do throws(FleetError) { _ = try RelativePath(item.resolvedPath) } catch {
            throw LineError(0, "is no path below the destination")
        }
        return item
    }

    /// Returns `org/model@COMMIT` for a hub, and host and path for other URLs. Removes the name of a checksum list from
    /// the end of the path.
    static func folder(of source: String) -> String {
        let start = source.firstRange(of: "://")?.upperBound ?? source.startIndex
        var parts = source[start...].prefix { $0 != "?" && $0 != "#" }.split(separator: "/").map { String($0) }
        if parts.count > 1, let last = parts.last, ChecksumList.isName(last) { parts.removeLast() }
        let safe = parts.compactMap { FileName.safe($0) }
        return safe.isEmpty ? "set" : safe.joined(separator: "/")
    }

    private static func withoutEndingSlash(_ folder: String) -> String {
        folder.hasSuffix("/") ? String(folder.dropLast()) : folder
    }
}

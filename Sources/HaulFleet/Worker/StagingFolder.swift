internal import Foundation
internal import HaulKit

/// The files in the folder in which one worker completes its downloads: `NUMBER` of an item, with endings for what belongs to it. The
/// calls block.
enum StagingFolder {
    /// - Returns: those that could not be removed.
    static func remove(_ paths: [String]) -> [(String, SystemCalls.Errno)] {
        paths.compactMap { path in
            // Without hard links a file has its final name, and is gone from here.
            do throws(SystemCalls.Errno) { try SystemCalls.remove(path) } catch  where error.code != ENOENT {
                return (path, error)
            } catch {}
            return nil
        }
    }

    /// Removes what no download knows: of a process that was killed, or of a file system that was away when an item ended.
    static func removeAll(in folder: String, besides items: Set<Int64>) {
        // Unreadable: then there is nothing that could be removed.
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        _ = remove(
            names.filter { name in
                guard let item = Int64(name.prefix { $0 != "." }) else { return name.hasPrefix("probe-") }
                return !items.contains(item)
            }.map { folder + "/" + $0 }
        )
    }
}

internal import Foundation
internal import HaulKit

/// Functions for the folder in which one worker completes its downloads. Files are named by item number, with suffixes
/// for auxiliary files. The calls block.
enum StagingFolder {
    /// Removes files; returns those that could not be removed.
    static func remove(_ paths: [String]) -> [(String, SystemCalls.Errno)] {
        paths.compactMap { path in
            // Ignores a missing file, because publishing renames files on a file system without hard links.
            do throws(SystemCalls.Errno) { try SystemCalls.remove(path) } catch  where error.code != ENOENT {
                return (path, error)
            } catch {}
            return nil
        }
    }

    /// Removes the files of items that are not in `items`, and remaining probe files. A killed process leaves such
    /// files, and so does a file system that was missing when an item ended.
    static func removeAll(in folder: String, besides items: Set<Int64>) {
        // An unreadable folder has nothing that could be removed.
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        _ = remove(
            names.filter { name in
                guard let item = Int64(name.prefix { $0 != "." }) else { return name.hasPrefix("probe-") }
                return !items.contains(item)
            }.map { folder + "/" + $0 }
        )
    }
}

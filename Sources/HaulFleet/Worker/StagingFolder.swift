internal import Foundation
internal import HaulKit

/// Functions for the folder in which one worker completes its downloads. Files are named by item number, with suffixes
/// for auxiliary files. The calls block.
enum StagingFolder {
    /// Removes files; returns those that could not be removed.
    static func remove(_ paths: [String]) -> [(String, SystemCalls.Errno)] {
        paths.compactMap { path in
            // On a file system without hard links, a published file was renamed and is missing here.
            do throws(SystemCalls.Errno) { try SystemCalls.remove(path) } catch  where error.code != ENOENT {
                return (path, error)
            } catch {}
            return nil
        }
    }

    /// Removes files that no download knows. They are from a killed process, or from a file system that was missing
    /// when an item ended.
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

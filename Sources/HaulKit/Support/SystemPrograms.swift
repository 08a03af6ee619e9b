internal import Foundation

/// Finds the programs of the system that Haul runs.
package enum SystemPrograms {
    /// Returns the path of an executable file in a folder of `PATH`; `nil` if there is none.
    package static func path(of name: String) -> String? {
        let folders = (ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin").split(separator: ":")
        return folders.lazy.filter { $0.hasPrefix("/") }.map { "\($0)/\(name)" }
            .first { FileManager.default.isExecutableFile(atPath: $0) }
    }
}

internal import Foundation

/// The user's home folder.
package enum HomeFolder {
    /// Returns `$HOME`, as every other program does (POSIX, XDG). If `$HOME` is unset or not an absolute path, returns
    /// the home folder from the system's list of users.
    package static func path(_ environment: [String: String] = ProcessInfo.processInfo.environment) -> String {
        guard let home = environment["HOME"], home.hasPrefix("/") else { return NSHomeDirectory() }
        return home
    }

    /// Returns the path of `name` in the home folder.
    package static func path(_ name: String, _ environment: [String: String] = ProcessInfo.processInfo.environment)
        -> String
    {
        FilePaths.join(path(environment), name)
    }
}

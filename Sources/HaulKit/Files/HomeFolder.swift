internal import Foundation

/// The user's home folder.
package enum HomeFolder {
    /// `$HOME`, as for every other program (POSIX, XDG); what the system's list of users says where that is not set or is no
    /// absolute path.
    package static func path(_ environment: [String: String] = ProcessInfo.processInfo.environment) -> String {
        guard let home = environment["HOME"], home.hasPrefix("/") else { return NSHomeDirectory() }
        return home
    }

    /// A path below it.
    package static func path(_ name: String, _ environment: [String: String] = ProcessInfo.processInfo.environment)
        -> String
    {
        FilePaths.join(path(environment), name)
    }
}

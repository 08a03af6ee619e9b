internal import CHaulSystem
internal import Foundation

/// Stream sockets of this machine.
enum LocalSocket {
    /// Connects to a path or an abstract name; the descriptor does not block.
    static func connect(to name: String, isAbstract: Bool) throws(DBusError) -> Int32 {
        while true {
            let descriptor = haul_connect_local(name, UInt64(name.utf8.count), isAbstract ? 1 : 0)
            if descriptor >= 0 { return descriptor }
            guard errno == EINTR else { throw .notConnected }
        }
    }
}

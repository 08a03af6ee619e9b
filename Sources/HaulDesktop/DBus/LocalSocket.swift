internal import CHaulSystem
internal import Foundation

/// Connects stream sockets to Unix domain addresses.
enum LocalSocket {
    /// Connects to a path or to an abstract name. Returns a non-blocking descriptor.
    static func connect(to name: String, isAbstract: Bool) throws(DBusError) -> Int32 {
        while true {
            let descriptor = haul_connect_local(name, UInt64(name.utf8.count), isAbstract ? 1 : 0)
            if descriptor >= 0 { return descriptor }
            guard errno == EINTR else { throw .notConnected }
        }
    }
}

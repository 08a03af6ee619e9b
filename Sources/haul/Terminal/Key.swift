import Foundation
import HaulKit

/// Keys of a view.
enum Key: Hashable, Sendable {
    case up, down, pageUp, pageDown, first, last
    case character(Character)

    /// Parses the bytes of a terminal: ASCII characters, and the sequences of the arrow, page, home and end keys.
    /// Ignores other sequences.
    static func keys(_ bytes: ArraySlice<UInt8>) -> [Key] {
        var keys: [Key] = []
        var rest = bytes
        while let byte = rest.popFirst() {
            guard byte == 0x1B else {
                if byte >= 0x20, byte < 0x7F { keys.append(.character(Character(Unicode.Scalar(byte)))) }
                continue
            }
            guard rest.first == UInt8(ascii: "[") || rest.first == UInt8(ascii: "O") else { continue }
            rest = rest.dropFirst()
            // The parameters come first, then one final byte (ECMA-48 §5.4).
            let parameters = rest.prefix { (0x20...0x3F).contains($0) }
            rest = rest.dropFirst(parameters.count)
            switch (rest.popFirst().map { Character(Unicode.Scalar($0)) }, String(decoding: parameters, as: UTF8.self))
            {
            case ("A", _): keys.append(.up)
            case ("B", _): keys.append(.down)
            case ("H", _), ("~", "1"), ("~", "7"): keys.append(.first)
            case ("F", _), ("~", "4"), ("~", "8"): keys.append(.last)
            case ("~", "5"): keys.append(.pageUp)
            case ("~", "6"): keys.append(.pageDown)
            default: break
            }
        }
        return keys
    }

    /// Calls `body` with each key, on a thread of its own, until standard input ends.
    static func read(_ body: @escaping @Sendable (Key) -> Void) {
        _ = DetachedThread.start {
            var buffer = [UInt8](repeating: 0, count: 256)
            while true {
                let count = Foundation.read(STDIN_FILENO, &buffer, buffer.count)
                if count < 0, errno == EINTR { continue }
                if count < 0, errno == EAGAIN {
                    // Waits for data, because another program that shares the terminal has made it non-blocking.
                    var ready = pollfd(fd: STDIN_FILENO, events: Int16(POLLIN), revents: 0)
                    poll(&ready, 1, -1)
                    continue
                }
                guard count > 0 else { return }
                for key in keys(buffer[..<count]) { body(key) }
            }
        }
    }
}

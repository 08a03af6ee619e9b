import Foundation
import HaulServer
import NIOCore

struct ServerEvent: Sendable {
    var name: String
    var data: Data
}

/// Reads the part of `text/event-stream` (HTML Standard, server-sent events) that the daemon writes: one `data` line
/// per event.
struct ServerEventReader {
    private var rest: [UInt8] = []
    /// Maximum size of an incomplete event, far above the size of every event of the daemon.
    static let mostBytes = 64 << 20

    mutating func events(_ buffer: ByteBuffer) throws -> [ServerEvent] {
        rest.append(contentsOf: buffer.readableBytesView)
        var events: [ServerEvent] = []
        var start = rest.startIndex
        var index = start
        while index + 1 < rest.endIndex {
            if rest[index] == 10, rest[index + 1] == 10 {
                if let event = Self.event(rest[start..<index]) { events.append(event) }
                start = index + 2
                index = start
            } else {
                index += 1
            }
        }
        rest.removeFirst(start)
        guard rest.count <= Self.mostBytes else {
            throw Complaint("The events of the daemon cannot be read.", .otherFailure)
        }
        return events
    }

    private static func event(_ frame: ArraySlice<UInt8>) -> ServerEvent? {
        var event = ServerEvent(name: "message", data: Data())
        for line in frame.split(separator: 10) {
            let text = line.prefix { $0 != UInt8(ascii: ":") }
            let value = line.dropFirst(text.count + 1).drop { $0 == 32 }
            if text.elementsEqual("event".utf8) { event.name = String(decoding: value, as: UTF8.self) }
            if text.elementsEqual("data".utf8) { event.data = Data(value) }
        }
        return event.data.isEmpty ? nil : event
    }
}

internal import NIOCore

/// An event as `text/event-stream` writes it (HTML Standard, server-sent events).
enum EventFrame {
    static func frame(_ event: String, _ data: some Encodable, id: String? = nil) -> ByteBuffer {
        var buffer = ByteBuffer()
        if let id { buffer.writeString("id: \(id)\n") }
        buffer.writeString("event: \(event)\ndata: ")
        // JSON has no line break of its own: those in strings are escaped.
        buffer.writeImmutableBuffer(JSONBody.buffer(data))
        buffer.writeString("\n\n")
        return buffer
    }
}

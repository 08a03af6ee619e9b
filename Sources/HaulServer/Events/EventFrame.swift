internal import NIOCore

/// Encodes an event as `text/event-stream` (HTML Standard, server-sent events).
enum EventFrame {
    static func frame(_ event: String, _ data: some Encodable, id: String? = nil) -> ByteBuffer {
        var buffer = ByteBuffer()
        if let id { buffer.writeString("id: \(id)\n") }
        buffer.writeString("event: \(event)\ndata: ")
        // The JSON contains no line breaks, because those in strings are escaped.
        buffer.writeImmutableBuffer(JSONBody.buffer(data))
        buffer.writeString("\n\n")
        return buffer
    }
}

/// A message of the D-Bus protocol, version 1.
struct DBusMessage: Sendable, Hashable {
    enum Kind: UInt8, Sendable {
        case call = 1
        case answer, error, signal
    }

    /// `nil` for a kind that this version of the protocol does not define. Receivers ignore such messages.
    var kind: Kind?
    var flags: UInt8 = 0
    /// Never 0. ``DBusConnection`` sets the serial of each call.
    var serial: UInt32 = 1
    var path: String?
    var interface: String?
    var member: String?
    var errorName: String?
    var replySerial: UInt32?
    var destination: String?
    var sender: String?
    var body: [DBusValue] = []

    /// Limit of a message, far above the size of the expected answers. The protocol allows 128 MiB.
    static let mostBytes = 1 << 18
    /// Length of the fixed part of the header, which contains the length of the message.
    static let prefixBytes = 16
    private static let noAutoStart: UInt8 = 0x2

    /// - Parameter startsService: whether the bus may start a service that does not run.
    static func call(
        to destination: String,
        path: String,
        interface: String,
        member: String,
        _ body: [DBusValue] = [],
        startsService: Bool = true
    ) -> DBusMessage {
        DBusMessage(
            kind: .call,
            flags: startsService ? 0 : noAutoStart,
            path: path,
            interface: interface,
            member: member,
            destination: destination,
            body: body
        )
    }

    /// Returns a call to the bus itself.
    static func toBus(_ member: String, _ body: [DBusValue] = []) -> DBusMessage {
        let name = "org.freedesktop.DBus"
        return call(to: name, path: "/org/freedesktop/DBus", interface: name, member: member, body)
    }

}

// MARK: Reading

extension DBusMessage {
    /// Returns the length of a whole message.
    ///
    /// - Parameter prefix: the first ``prefixBytes`` bytes of the message.
    static func length(_ prefix: [UInt8]) throws(DBusError) -> Int {
        guard prefix.count >= prefixBytes, let isLittleEndian = isLittleEndian(prefix[0]), prefix[3] == 1 else {
            throw .malformed
        }
        var reader = DBusReader(prefix, isLittleEndian: isLittleEndian)
        let numbers = try reader.values([.byte, .byte, .byte, .byte, .uint32, .uint32, .uint32])
        guard case .uint32(let body) = numbers[4], case .uint32(let fields) = numbers[6] else { throw .malformed }
        let total = UInt64(prefixBytes) + (UInt64(fields) + 7) & ~7 + UInt64(body)
        guard total <= mostBytes else { throw .malformed }
        return Int(total)
    }

    /// Reads one whole message.
    init(_ bytes: [UInt8]) throws(DBusError) {
        guard try Self.length(bytes) == bytes.count, let isLittleEndian = Self.isLittleEndian(bytes[0]) else {
            throw .malformed
        }
        var reader = DBusReader(bytes, isLittleEndian: isLittleEndian)
        let head = try reader.values([
            .byte, .byte, .byte, .byte, .uint32, .uint32, .array(.structure([.byte, .variant])),
        ])
        guard case .byte(let kind) = head[1], kind != 0, case .byte(let flags) = head[2],
            case .uint32(let serial) = head[5], serial != 0, case .array(_, let fields) = head[6]
        else { throw .malformed }
        self.init(kind: Kind(rawValue: kind))
        self.flags = flags
        self.serial = serial
        var signature = ""
        for field in fields {
            guard case .structure(let pair) = field, case .byte(let code) = pair[0], case .variant(let value) = pair[1]
            else { throw .malformed }
            switch (code, value) {
            case (1, .objectPath(let text)): path = text
            case (2, .string(let text)): interface = text
            case (3, .string(let text)): member = text
            case (4, .string(let text)): errorName = text
            case (5, .uint32(let number)): replySerial = number
            case (6, .string(let text)): destination = text
            case (7, .string(let text)): sender = text
            case (8, .signature(let text)): signature = text
            case (9, .uint32): break
            case (0...9, _): throw .malformed
            default: break  // a field of a later version
            }
        }
        guard isComplete else { throw .malformed }
        try reader.align(to: 8)
        body = try reader.values(try DBusType.read(signature.utf8))
        guard reader.isAtEnd else { throw .malformed }
    }

    private static func isLittleEndian(_ persisted: UInt8) -> Bool? {
        switch persisted {
        case UInt8(ascii: "l"): true
        case UInt8(ascii: "B"): false
        default: nil
        }
    }

    /// Whether the message has the fields that its kind requires.
    private var isComplete: Bool {
        switch kind {
        case .call: path != nil && member != nil
        case .answer: replySerial != nil
        case .error: replySerial != nil && errorName != nil
        case .signal: path != nil && interface != nil && member != nil
        case nil: true
        }
    }

}

// MARK: Writing

extension DBusMessage {
    func encoded() throws(DBusError) -> [UInt8] {
        guard let kind, serial != 0, isComplete else { throw .malformed }
        var content = DBusWriter()
        for value in body { try content.write(value) }
        guard let bodyBytes = UInt32(exactly: content.bytes.count) else { throw .malformed }
        let signature = body.map(\.type.code).joined()
        let fields: [(UInt8, DBusValue?)] = [
            (1, path.map { .objectPath($0) }), (2, interface.map { .string($0) }), (3, member.map { .string($0) }),
            (4, errorName.map { .string($0) }), (5, replySerial.map { .uint32($0) }),
            (6, destination.map { .string($0) }), (7, sender.map { .string($0) }),
            (8, signature.isEmpty ? nil : .signature(signature)),
        ]
        var writer = DBusWriter()
        let head: [DBusValue] = [
            .byte(UInt8(ascii: "l")), .byte(kind.rawValue), .byte(flags), .byte(1), .uint32(bodyBytes), .uint32(serial),
            .array(
                of: .structure([.byte, .variant]),
                fields.compactMap { code, value in value.map { .structure([.byte(code), .variant($0)]) } }
            ),
        ]
        for value in head { try writer.write(value) }
        writer.align(to: 8)
        writer.append(content.bytes)
        guard writer.bytes.count <= Self.mostBytes else { throw .malformed }
        return writer.bytes
    }
}

/// A message of the kernel about links, addresses or routes (rtnetlink(7)), with the parts that `LinkTable` needs.
struct NetlinkMessage: Sendable, Equatable {
    enum Content: Sendable, Equatable {
        case link(index: Int32, name: String?, isUp: Bool, hasCarrier: Bool, isLoopback: Bool)
        case linkGone(index: Int32)
        /// An address that is still checked for duplicates, or has failed the check, is not usable.
        case address(AddressKey, isUsable: Bool)
        case addressGone(AddressKey)
        /// A default route. A dump lists the route; a notification says that it was added, changed or removed.
        case defaultRoute(isUsable: Bool)
        /// The end of a dump.
        case done
        /// A request was refused with this errno.
        case refused(Int32)
        /// Messages were lost.
        case overrun
        case other
    }

    /// Identifies an address of a link. The kernel may list the same address twice, with two prefix lengths.
    struct AddressKey: Sendable, Hashable {
        var index: Int32
        var address: IPAddress
        var prefixLength: UInt8
    }

    /// Sequence number of the request that the message answers; 0 for notifications.
    var sequence: UInt32
    /// Whether the kernel's tables changed during the dump, so that its messages may contradict each other.
    var wasInterrupted = false
    var content: Content

    /// Parses one datagram. Stops at a message whose length field is less than 16 or reaches beyond the datagram. No
    /// byte beyond the datagram is read.
    static func parse(_ datagram: ArraySlice<UInt8>) -> [NetlinkMessage] {
        var messages: [NetlinkMessage] = []
        var rest = NativeBytes(datagram)
        while let length = rest.uint32(at: 0).flatMap({ Int(exactly: $0) }), length >= 16, length <= rest.count,
            let type = rest.uint16(at: 4), let flags = rest.uint16(at: 6), let sequence = rest.uint32(at: 8)
        {
            let body = rest.part(from: 16, to: length)
            messages.append(
                NetlinkMessage(
                    sequence: sequence,
                    wasInterrupted: flags & 0x10 != 0,
                    content: content(type, body)
                )
            )
            // Messages begin at multiples of four bytes.
            rest = rest.part(from: min((length + 3) & ~3, rest.count), to: rest.count)
        }
        return messages
    }

    private static func content(_ type: UInt16, _ body: NativeBytes) -> Content {
        switch type {
        case 2: body.int32(at: 0).map { $0 == 0 ? .other : .refused($0 == .min ? .max : -$0) } ?? .other
        case 3: .done
        case 4: .overrun
        case 16, 17: link(body, isGone: type == 17)
        case 20, 21: address(body, isGone: type == 21)
        case 24, 25: route(body, isGone: type == 25)
        default: .other
        }
    }

    /// `struct ifinfomsg`: family, type, index, flags, change.
    private static func link(_ body: NativeBytes, isGone: Bool) -> Content {
        // Only messages of family 0 describe links. Other families describe bridge ports, and report a port that leaves
        // its bridge as gone although the link still exists.
        guard body.byte(at: 0) == 0, let index = body.int32(at: 4), let flags = body.uint32(at: 8) else {
            return .other
        }
        if isGone { return .linkGone(index: index) }
        var name: String?
        var operational: UInt8 = 0
        for (kind, value) in body.attributes(from: 16) {
            if kind == 3 { name = String(decoding: value.bytes.prefix { $0 != 0 }, as: UTF8.self) }
            if kind == 16 { operational = value.byte(at: 0) ?? 0 }
        }
        // States of RFC 2863: unknown (0) and up (6). A dormant link has a carrier but carries nothing yet, like Wi-Fi
        // before its login.
        let isOperational = operational == 0 || operational == 6
        return .link(
            index: index,
            name: name,
            isUp: flags & 0x1 != 0,
            hasCarrier: flags & 0x10000 != 0 && isOperational,
            isLoopback: flags & 0x8 != 0
        )
    }

    /// `struct ifaddrmsg`: family, prefix length, flags, scope, index.
    private static func address(_ body: NativeBytes, isGone: Bool) -> Content {
        guard let prefixLength = body.byte(at: 1), let short = body.byte(at: 2), let index = body.int32(at: 4) else {
            return .other
        }
        var flags = UInt32(short)
        var own: IPAddress?
        var given: IPAddress?
        for (kind, value) in body.attributes(from: 8) {
            switch kind {
            case 1: given = IPAddress(bytes: Array(value.bytes))
            // If this attribute is present, attribute 1 may be the far end of a point-to-point link.
            case 2: own = IPAddress(bytes: Array(value.bytes))
            case 8: flags = value.uint32(at: 0) ?? flags
            default: break
            }
        }
        guard let address = own ?? given else { return .other }
        let key = AddressKey(index: index, address: address, prefixLength: prefixLength)
        // IFA_F_TENTATIVE and IFA_F_DADFAILED: an address that is still being checked, or is a duplicate.
        return isGone ? .addressGone(key) : .address(key, isUsable: flags & 0x48 == 0)
    }

    /// `struct rtmsg`: family, lengths of destination and source, type of service, table, protocol, scope, type, flags.
    private static func route(_ body: NativeBytes, isGone: Bool) -> Content {
        // 2 and 10 are IPv4 and IPv6. Other families route multicast.
        guard let family = body.byte(at: 0), family == 2 || family == 10, body.byte(at: 1) == 0,
            let type = body.byte(at: 7), let flags = body.uint32(at: 8)
        else { return .other }
        // Type 1 is RTN_UNICAST; a default route of another type leads to no server. RTM_F_CLONED marks a cache entry,
        // and RTNH_F_DEAD and RTNH_F_LINKDOWN mark routes that lead nowhere at present.
        return .defaultRoute(isUsable: !isGone && type == 1 && flags & 0x211 == 0)
    }
}

/// Bytes that are read as numbers in the machine's byte order. Reading outside of the bytes returns `nil`.
struct NativeBytes {
    let bytes: ArraySlice<UInt8>
    var count: Int { bytes.count }

    init(_ bytes: ArraySlice<UInt8>) { self.bytes = bytes }

    func byte(at offset: Int) -> UInt8? { offset < count ? bytes[bytes.startIndex + offset] : nil }

    func uint16(at offset: Int) -> UInt16? { load(at: offset) }
    func uint32(at offset: Int) -> UInt32? { load(at: offset) }
    func int32(at offset: Int) -> Int32? { load(at: offset) }

    private func load<Number: FixedWidthInteger & BitwiseCopyable>(at offset: Int) -> Number? {
        let size = MemoryLayout<Number>.size
        guard offset >= 0, size <= count, offset <= count - size else { return nil }
        return bytes.withUnsafeBytes { $0.loadUnaligned(fromByteOffset: offset, as: Number.self) }
    }

    /// Returns a part of the bytes. `from` and `to` have to lie within the bytes.
    func part(from: Int, to: Int) -> NativeBytes {
        NativeBytes(bytes[(bytes.startIndex + from)..<(bytes.startIndex + to)])
    }

    /// Returns the attributes behind the fixed part of a message: length, type and value, each aligned to four bytes.
    func attributes(from start: Int) -> [(kind: UInt16, value: NativeBytes)] {
        var found: [(UInt16, NativeBytes)] = []
        var offset = start
        while let length = uint16(at: offset).map(Int.init), length >= 4, length <= count - offset,
            let kind = uint16(at: offset + 2)
        {
            // The upper two bits of the type are flags.
            found.append((kind & 0x3fff, part(from: offset + 4, to: offset + length)))
            offset += (length + 3) & ~3
        }
        return found
    }
}

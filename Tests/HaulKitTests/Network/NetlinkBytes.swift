@testable import HaulCore
@testable import HaulKit

/// Messages in the format of the kernel (rtnetlink(7)).
enum NetlinkBytes {
    static func message(_ type: UInt16, sequence: UInt32 = 0, flags: UInt16 = 0, _ body: [UInt8]) -> [UInt8] {
        padded(bytes(UInt32(16 + body.count)) + bytes(type) + bytes(flags) + bytes(sequence) + bytes(UInt32(0)) + body)
    }

    static func attribute(_ kind: UInt16, _ value: [UInt8]) -> [UInt8] {
        padded(bytes(UInt16(4 + value.count)) + bytes(kind) + value)
    }

    static func link(
        _ index: Int32,
        _ name: String,
        flags: UInt32 = 0x10001,
        family: UInt8 = 0,
        operational: UInt8 = 6,
        isGone: Bool = false,
        sequence: UInt32 = 0
    ) -> [UInt8] {
        message(
            isGone ? 17 : 16,
            sequence: sequence,
            [family, 0] + bytes(UInt16(1)) + bytes(index) + bytes(flags) + bytes(UInt32(0))
                + attribute(3, Array(name.utf8) + [0]) + attribute(16, [operational])
        )
    }

    static func address(
        _ index: Int32,
        _ address: [UInt8],
        flags: UInt8 = 0,
        isGone: Bool = false,
        sequence: UInt32 = 0
    ) -> [UInt8] {
        message(
            isGone ? 21 : 20,
            sequence: sequence,
            [address.count == 4 ? 2 : 10, 24, flags, 0] + bytes(index) + attribute(1, address)
        )
    }

    static func route(
        to length: UInt8 = 0,
        family: UInt8 = 2,
        type: UInt8 = 1,
        flags: UInt32 = 0,
        isGone: Bool = false,
        sequence: UInt32 = 0
    ) -> [UInt8] {
        message(isGone ? 25 : 24, sequence: sequence, [family, length, 0, 0, 254, 4, 0, type] + bytes(flags))
    }

    static func done(_ sequence: UInt32, flags: UInt16 = 2) -> [UInt8] {
        message(3, sequence: sequence, flags: flags, bytes(Int32(0)))
    }

    static func error(_ code: Int32, sequence: UInt32) -> [UInt8] { message(2, sequence: sequence, bytes(-code)) }

    static func bytes(_ number: some FixedWidthInteger & BitwiseCopyable) -> [UInt8] {
        withUnsafeBytes(of: number) { Array($0) }
    }

    private static func padded(_ bytes: [UInt8]) -> [UInt8] {
        bytes + [UInt8](repeating: 0, count: (4 - bytes.count % 4) % 4)
    }
}

extension NetlinkMessage {
    static func parse(_ bytes: [UInt8]) -> [NetlinkMessage] { parse(bytes[...]) }
}

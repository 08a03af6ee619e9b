/// FNV-1a of 64 bits. The hash is the same in each process, unlike `Hasher`, but gives no protection against forgery.
package enum StableHash {
    package static func of(_ octets: some Sequence<UInt8>) -> UInt64 {
        octets.reduce(0xcbf2_9ce4_8422_2325) { ($0 ^ UInt64($1)) &* 0x0000_0100_0000_01b3 }
    }
}

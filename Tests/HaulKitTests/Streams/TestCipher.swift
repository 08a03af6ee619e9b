/// AES-128 in CBC mode with PKCS#7 padding (FIPS 197, SP 800-38A), written apart from the library that decrypts.
enum TestCipher {
    static func encrypt(_ plain: [UInt8], key: [UInt8], vector: [UInt8]) -> [UInt8] {
        let padding = 16 - plain.count % 16
        let padded = plain + [UInt8](repeating: UInt8(padding), count: padding)
        let words = expanded(key)
        var (previous, result) = (vector, [UInt8]())
        result.reserveCapacity(padded.count)
        for start in stride(from: 0, to: padded.count, by: 16) {
            previous = block((0..<16).map { padded[start + $0] ^ previous[$0] }, words)
            result += previous
        }
        return result
    }

    /// The vector of a segment without a stated one (RFC 8216 §5.2).
    static func vector(_ number: UInt8) -> [UInt8] { [UInt8](repeating: 0, count: 15) + [number] }

    private static let substitution: [UInt8] = {
        func rotated(_ byte: UInt8, _ count: UInt8) -> UInt8 { byte << count | byte >> (8 - count) }
        var table = [UInt8](repeating: 0, count: 256)
        var (first, second): (UInt8, UInt8) = (1, 1)
        repeat {
            first = first ^ doubled(first)
            second ^= second << 1
            second ^= second << 2
            second ^= second << 4
            if second & 0x80 != 0 { second ^= 0x09 }
            let mixed = second ^ rotated(second, 1) ^ rotated(second, 2) ^ rotated(second, 3) ^ rotated(second, 4)
            table[Int(first)] = mixed ^ 0x63
        } while first != 1
        table[0] = 0x63
        return table
    }()

    private static func doubled(_ byte: UInt8) -> UInt8 { byte << 1 ^ (byte & 0x80 != 0 ? 0x1B : 0) }

    private static func expanded(_ key: [UInt8]) -> [UInt8] {
        var (words, round): ([UInt8], UInt8) = (key, 1)
        while words.count < 176 {
            var last = Array(words.suffix(4))
            if words.count % 16 == 0 {
                last = [last[1], last[2], last[3], last[0]].map { substitution[Int($0)] }
                last[0] ^= round
                round = doubled(round)
            }
            for index in 0..<4 { words.append(words[words.count - 16] ^ last[index]) }
        }
        return words
    }

    private static func block(_ input: [UInt8], _ words: [UInt8]) -> [UInt8] {
        var state = (0..<16).map { input[$0] ^ words[$0] }
        for round in 1...10 {
            var next = (0..<16).map { substitution[Int(state[($0 + 4 * ($0 % 4)) % 16])] }
            if round < 10 {
                let columns = next
                for index in 0..<16 {
                    let start = index / 4 * 4
                    let column = (0..<4).map { columns[start + (index + $0) % 4] }
                    next[index] = doubled(column[0]) ^ doubled(column[1]) ^ column[1] ^ column[2] ^ column[3]
                }
            }
            state = (0..<16).map { next[$0] ^ words[16 * round + $0] }
        }
        return state
    }
}

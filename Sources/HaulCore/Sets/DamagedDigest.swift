/// Finds digests in lines that ``ChecksumLine`` cannot read: digests with a wrong character, without a name, or within
/// other text. If such a line were ignored, the file that it names would count as one that the publisher does not have.
enum DamagedDigest {
    /// Length of the shortest digest, MD5, in hexadecimal digits.
    private static let leastLength = 32

    /// Whether a line has as many letters and digits in a row as a digest, and nearly all of them are hexadecimal
    /// digits.
    static func isIn(_ line: some Sequence<UInt8>) -> Bool {
        var (length, digits) = (0, 0)
        for byte in line {
            if byte.hexadecimalValue != nil {
                length += 1
                digits += 1
            } else if (0x61...0x7A).contains(byte | 0x20) {
                length += 1
            } else {
                if isDigest(length, digits) { return true }
                (length, digits) = (0, 0)
            }
        }
        return isDigest(length, digits)
    }

    private static func isDigest(_ length: Int, _ digits: Int) -> Bool {
        length >= leastLength && digits * 8 >= length * 7
    }
}

/// Finds out how deeply a JSON text is nested, without decoding it.
enum JSONDepth {
    /// Ignores brackets in strings. Leaves invalid JSON to the decoder.
    static func isAtMost(_ limit: Int, _ bytes: some Sequence<UInt8>) -> Bool {
        var (depth, isInString, isEscaped) = (0, false, false)
        for byte in bytes {
            if isInString {
                if isEscaped {
                    isEscaped = false
                } else if byte == UInt8(ascii: "\\") {
                    isEscaped = true
                } else if byte
                    == UInt8(ascii: "\"")
                {
                    isInString = false
                }
                continue
            }
            switch byte {
            case UInt8(ascii: "\""): isInString = true
            case UInt8(ascii: "["), UInt8(ascii: "{"):
                depth += 1
                if depth > limit { return false }
            case UInt8(ascii: "]"), UInt8(ascii: "}"): depth -= 1
            default: break
            }
        }
        return true
    }
}

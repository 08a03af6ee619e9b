/// Expands the sets and ranges of a URI, as aria2's `--parameterized-uri` does: `http://{a,b}/f[01-10].png`.
package enum ParameterizedURI {
    /// Maximum number of expanded URIs. A larger number, such as three ranges of a hundred, is a mistake or an attack.
    private static let most = 100_000

    /// - Throws: ``Aria2Error`` for an unclosed bracket, an invalid range, or too many URIs.
    package static func expanded(_ uri: String) throws(Aria2Error) -> [String] {
        var results = [""]
        var rest = uri[...]
        while let start = rest.firstIndex(where: { $0 == "{" || $0 == "[" }) {
            let (open, before) = (rest[start], rest[..<start])
            let after = rest[rest.index(after: start)...]
            guard let end = after.firstIndex(of: open == "{" ? "}" : "]") else {
                throw Aria2Error(
                    .unknown,
                    open == "{" ? "Missing '}' in the parameterized string." : "Loop range missing."
                )
            }
            let parts = try open == "{" ? set(after[..<end]) : range(after[..<end])
            let (count, overflow) = results.count.multipliedReportingOverflow(by: parts.count)
            guard !overflow, count <= most else {
                throw Aria2Error(.unknown, "The parameterized URI stands for more than \(most) URIs.")
            }
            results = results.flatMap { prefix in parts.map { prefix + before + $0 } }
            rest = after[after.index(after: end)...]
        }
        return results.map { $0 + rest }
    }

    private static func set(_ text: Substring) throws(Aria2Error) -> [String] {
        let parts = text.split(separator: ",").map(plain).filter { !$0.isEmpty }
        guard !parts.isEmpty else { throw Aria2Error(.unknown, "Empty {} is not allowed.") }
        return parts
    }

    private static func plain(_ text: Substring) -> String {
        String(text.drop { $0 == " " }.reversed().drop { $0 == " " }.reversed())
    }

    /// Expands `1-10`, `01-10` with leading zeros, `a-z`, and any of them with a step, as `1-10:2`.
    private static func range(_ text: Substring) throws(Aria2Error) -> [String] {
        let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        let ends = (parts.first ?? "").split(separator: "-", maxSplits: 1, omittingEmptySubsequences: false)
        let step = parts.count == 2 ? Int(parts[1]) ?? 0 : 1
        guard ends.count == 2, step > 0, let first = ends.first, let last = ends.last else { throw invalid }
        if let low = Int(first), let high = Int(last), low >= 0, high >= 0 {
            return try numbers(low, high, step, width: first.count)
        }
        guard let low = letter(first), let high = letter(last), (low < 97) == (high < 97) else { throw invalid }
        let (lower, upper) = (min(low, high), max(low, high))
        return stride(from: Int(lower), through: Int(upper), by: step).map { String(UnicodeScalar(UInt8($0))) }
    }

    private static func numbers(_ one: Int, _ other: Int, _ step: Int, width: Int) throws(Aria2Error) -> [String] {
        let (low, high) = (min(one, other), max(one, other))
        guard (high - low) / step < most, width <= 20 else { throw invalid }
        return stride(from: low, through: high, by: step).map { number in
            let digits = String(number)
            return String(repeating: "0", count: max(0, width - digits.count)) + digits
        }
    }

    private static func letter(_ text: Substring) -> UInt8? {
        guard text.utf8.count == 1, let byte = text.utf8.first, (65...90).contains(byte) || (97...122).contains(byte)
        else {
            return nil
        }
        return byte
    }

    private static var invalid: Aria2Error { Aria2Error(.unknown, "Invalid loop range.") }
}

/// A parameter or a result of aria2's RPC, in any encoding. Results consist of texts, integers, lists and structures;
/// parameters may have all cases.
package enum Aria2Value: Sendable, Hashable {
    case null
    case flag(Bool)
    case integer(Int64)
    case decimal(Double)
    case text(String)
    case list([Aria2Value])
    case structure([String: Aria2Value])

    /// The value of an option as text. aria2 accepts only texts, but clients also send numbers and flags.
    var optionText: String? {
        switch self {
        case .text(let text): text
        case .integer(let number): String(number)
        case .flag(let flag): String(flag)
        case .decimal(let number): Int64(exactly: number).map { String($0) } ?? String(number)
        case .null, .list, .structure: nil
        }
    }

    /// Returns the text for an option. aria2 ignores all values but texts. This method also accepts valid numbers and
    /// flags, and ignores the rest.
    func text(for option: Aria2Option) -> String? {
        let text: String?
        switch (option.kind, self) {
        case (_, .text(let given)): return given
        case (.flag, .integer(0)): text = "false"
        case (.flag, .integer(1)): text = "true"
        default: text = optionText
        }
        // Reports no error for an invalid number or flag, because aria2 ignores the value too.
        guard let text, (try? option.normalized(text)) != nil else { return nil }
        return text
    }

    /// The approximate number of bytes of the encoded value.
    var weight: Int {
        switch self {
        case .null, .flag, .integer, .decimal: 16
        case .text(let text): text.utf8.count + 16
        case .list(let items): items.reduce(16) { $0 + $1.weight }
        case .structure(let members): members.reduce(16) { $0 + $1.key.utf8.count + 8 + $1.value.weight }
        }
    }
}

extension Aria2Value: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral, ExpressibleByArrayLiteral,
    ExpressibleByDictionaryLiteral
{
    package init(stringLiteral value: String) { self = .text(value) }
    package init(integerLiteral value: Int64) { self = .integer(value) }
    package init(arrayLiteral elements: Aria2Value...) { self = .list(elements) }
    package init(dictionaryLiteral elements: (String, Aria2Value)...) {
        self = .structure(Dictionary(elements) { _, last in last })
    }
}

/// A parameter or a result of aria2's RPC, whichever encoding it came or goes in. Results consist of texts, integers, lists and
/// structures; parameters may have the rest.
package enum Aria2Value: Sendable, Hashable {
    case null
    case flag(Bool)
    case integer(Int64)
    case decimal(Double)
    case text(String)
    case list([Aria2Value])
    case structure([String: Aria2Value])

    /// The value of an option. aria2 takes texts alone and ignores the rest; clients send numbers and flags nevertheless.
    var optionText: String? {
        switch self {
        case .text(let text): text
        case .integer(let number): String(number)
        case .flag(let flag): String(flag)
        case .decimal(let number): Int64(exactly: number).map { String($0) } ?? String(number)
        case .null, .list, .structure: nil
        }
    }

    /// The text for an option. aria2 passes over what is no text; numbers and flags that the option takes count as their
    /// texts here, and the others are passed over.
    func text(for option: Aria2Option) -> String? {
        let text: String?
        switch (option.kind, self) {
        case (_, .text(let given)): return given
        case (.flag, .integer(0)): text = "false"
        case (.flag, .integer(1)): text = "true"
        default: text = optionText
        }
        // What is wrong with the value is not told: aria2 does not look at it at all.
        guard let text, (try? option.normalized(text)) != nil else { return nil }
        return text
    }

    /// A rough count of the bytes that the value takes when it is written.
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

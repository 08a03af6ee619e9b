@testable import HaulCore

extension HeaderFields: ExpressibleByDictionaryLiteral {
    public init(dictionaryLiteral elements: (String, String)...) { self.init(elements) }

    mutating func add(name: String, value: String) { self = HeaderFields(pairs + [(name, value)]) }

    mutating func remove(name: String) { self = HeaderFields(pairs.filter { $0.0.lowercased() != name.lowercased() }) }

    mutating func replaceOrAdd(name: String, value: String) {
        remove(name: name)
        add(name: name, value: value)
    }

    private var pairs: [(String, String)] { lines.map { ($0.name, $0.value) } }
}

internal import Foundation
internal import HTTPTypes
internal import Hummingbird

/// The query of a request. ``finish()`` refuses a name that was not read, as ``JSONBody/finish()`` does. ``init(_:)``
/// refuses a repeated name. A `+` stands for a blank, as browsers and most libraries write it; `%2B` is a plus sign.
struct Query {
    private var fields: [String: String] = [:]

    init(_ request: Request) throws {
        for pair in (request.uri.query ?? "").split(separator: "&") {
            let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            let (name, value) = (Self.decoded(parts[0]), parts.count > 1 ? Self.decoded(parts[1]) : "")
            guard fields.updateValue(value, forKey: name) == nil else {
                throw Problem.invalidField("\(name.prefix(60)) stands in the query twice.")
            }
        }
    }

    private static func decoded(_ text: Substring) -> String {
        let text = text.replacing("+", with: " ")
        return text.removingPercentEncoding ?? String(text)
    }

    mutating func text(_ name: String) throws -> String? { fields.removeValue(forKey: name) }

    mutating func number(_ name: String, _ range: ClosedRange<Int>) throws -> Int? {
        guard let text = fields.removeValue(forKey: name) else { return nil }
        guard let number = Int(text), range.contains(number) else {
            throw Problem.invalidField(
                "\(name) must be a number from \(range.lowerBound) to \(range.upperBound)."
            )
        }
        return number
    }

    mutating func flag(_ name: String) throws -> Bool {
        switch fields.removeValue(forKey: name) {
        case nil, "false": return false
        case "true": return true
        default: throw Problem.invalidField("\(name) must be true or false.")
        }
    }

    func finish() throws {
        guard let name = fields.keys.min() else { return }
        throw Problem(.unprocessableContent, "unknownField", "There is no query parameter named \(name.prefix(60)).")
    }
}

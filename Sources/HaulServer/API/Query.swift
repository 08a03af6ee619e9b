internal import HTTPTypes
internal import Hummingbird

/// The query of a request. ``finish()`` refuses a name that was not read, as ``JSONBody/finish()`` does. ``init(_:)``
/// refuses a repeated name.
struct Query {
    private var fields: [String: String] = [:]

    init(_ request: Request) throws {
        for (name, value) in request.uri.queryParameters {
            let (name, value) = (String(name), String(value))
            guard fields.updateValue(value, forKey: name) == nil else {
                throw Problem.invalidField("\(name.prefix(60)) stands in the query twice.")
            }
        }
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

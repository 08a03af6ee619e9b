internal import Foundation

/// Parses an XML-RPC call. Lacks the dangerous features of XML: refuses a document type declaration, and all entities
/// but the five predefined ones and character references.
struct Aria2XMLReader {
    /// Maximum depth of values.
    static let mostDepth = 32

    struct Malformed: Error {}

    private var tokens: Aria2XMLTokens

    /// - Throws: ``Malformed`` for anything but one `methodCall`.
    static func call(_ bytes: [UInt8]) throws(Malformed) -> (method: String, parameters: [Aria2Value]) {
        var reader = Aria2XMLReader(tokens: Aria2XMLTokens(bytes))
        return try reader.call()
    }

    private mutating func call() throws(Malformed) -> (method: String, parameters: [Aria2Value]) {
        try open("methodCall")
        try open("methodName")
        let method = try text(until: "methodName")
        var parameters: [Aria2Value] = []
        while true {
            switch try content() {
            case .close("methodCall"):
                guard try content() == .end else { throw Malformed() }
                return (method.trimmingCharacters(in: .whitespacesAndNewlines), parameters)
            case .open("params") where parameters.isEmpty: parameters = try params()
            default: throw Malformed()
            }
        }
    }

    private mutating func params() throws(Malformed) -> [Aria2Value] {
        var parameters: [Aria2Value] = []
        while true {
            switch try content() {
            case .close("params"): return parameters
            case .open("param"):
                try open("value")
                parameters.append(try value(depth: 1))
                try close("param")
            default: throw Malformed()
            }
        }
    }

    /// Reads a value after its opening tag, including the closing tag. A text without a type element is a string.
    private mutating func value(depth: Int) throws(Malformed) -> Aria2Value {
        guard depth <= Self.mostDepth else { throw Malformed() }
        var plain = ""
        while true {
            switch try tokens.next() {
            case .text(let text): plain += text
            case .close("value"): return .text(plain)
            case .open(let type):
                guard plain.allSatisfy(\.isWhitespace) else { throw Malformed() }
                let value = try typed(type, depth: depth)
                try close("value")
                return value
            default: throw Malformed()
            }
        }
    }

    private mutating func typed(_ type: String, depth: Int) throws(Malformed) -> Aria2Value {
        switch type {
        case "array": return .list(try array(depth: depth))
        case "struct": return .structure(try members(depth: depth))
        case "nil", "ex:nil":
            try close(type)
            return .null
        default: break
        }
        let text = try text(until: type)
        let word = text.trimmingCharacters(in: .whitespacesAndNewlines)
        switch type {
        // Keeps base64 as text. The code that uses the value decodes it, as in a JSON call.
        case "string", "base64", "dateTime.iso8601": return .text(text)
        case "int", "i4", "i8":
            guard let number = Int64(word) else { throw Malformed() }
            return .integer(number)
        case "boolean":
            guard word == "0" || word == "1" else { throw Malformed() }
            return .flag(word == "1")
        case "double":
            guard let number = Double(word), number.isFinite else { throw Malformed() }
            return .decimal(number)
        default: throw Malformed()
        }
    }

    private mutating func array(depth: Int) throws(Malformed) -> [Aria2Value] {
        var items: [Aria2Value] = []
        try open("data")
        while true {
            switch try content() {
            case .open("value"): items.append(try value(depth: depth + 1))
            case .close("data"):
                try close("array")
                return items
            default: throw Malformed()
            }
        }
    }

    private mutating func members(depth: Int) throws(Malformed) -> [String: Aria2Value] {
        var members: [String: Aria2Value] = [:]
        while true {
            switch try content() {
            case .close("struct"): return members
            case .open("member"):
                try open("name")
                let name = try text(until: "name")
                try open("value")
                members[name] = try value(depth: depth + 1)
                try close("member")
            default: throw Malformed()
            }
        }
    }

    // MARK: Tokens

    /// Returns the next tag, skipping white space.
    private mutating func content() throws(Malformed) -> Aria2XMLTokens.Token {
        while true {
            let token = try tokens.next()
            guard case .text(let text) = token else { return token }
            guard text.allSatisfy(\.isWhitespace) else { throw Malformed() }
        }
    }

    private mutating func open(_ name: String) throws(Malformed) {
        guard try content() == .open(name) else { throw Malformed() }
    }

    private mutating func close(_ name: String) throws(Malformed) {
        guard try content() == .close(name) else { throw Malformed() }
    }

    private mutating func text(until name: String) throws(Malformed) -> String {
        var whole = ""
        while true {
            switch try tokens.next() {
            case .text(let text): whole += text
            case .close(name): return whole
            default: throw Malformed()
            }
        }
    }
}

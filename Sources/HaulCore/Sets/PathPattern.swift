internal import Foundation

/// A pattern for names of a set, by the rules of gitignore.
///
/// `*` and `?` match no slash, `[…]` matches one character, `**` between slashes matches any folders. A pattern without
/// a slash, or with one at its end only, matches at any depth. A slash at the end matches folders only. A pattern that
/// matches a folder matches everything below it. Letter case counts.
package struct PathPattern: Sendable, Hashable {
    /// The reason why a text is no pattern.
    package struct Unusable: Error, Hashable {
        /// A sentence for people.
        package let sentence: String
    }

    /// A name in the form that patterns are compared with.
    package struct Path: Sendable {
        fileprivate let parts: [[Unicode.Scalar]]

        /// - Parameter name: a relative path, with `/` between its parts.
        package init(_ name: String) {
            parts = PathPattern.composed(name).split(separator: "/").map(Array.init)
        }
    }

    /// The pattern as it was written.
    package let text: String
    private let parts: [Part]

    /// Length limit of a pattern in bytes.
    package static let maximumBytes = 4096

    /// - Throws: ``Unusable`` for a text that is too long, cannot match any name, or begins with `!`.
    package init(_ text: String) throws(Unusable) {
        self.text = text
        guard text.utf8.count <= Self.maximumBytes else {
            throw Unusable(sentence: "A pattern has at most \(Self.maximumBytes) bytes.")
        }
        func unusable(_ reason: String) -> Unusable {
            Unusable(sentence: VisibleText.line("The pattern \u{201C}\(URL.cut(text))\u{201D} \(reason)."))
        }
        guard !text.hasPrefix("!") else {
            throw unusable("begins with !, which has no meaning here; write \\! for a name that begins with it")
        }
        var rest = Self.composed(text)[...]
        let isAnchored = rest.first == "/"
        if isAnchored { rest = rest.dropFirst() }
        let isFolder = rest.last == "/"
        if isFolder { rest = rest.dropLast() }
        guard !rest.isEmpty else { throw unusable("is empty") }
        let texts = rest.split(separator: "/", omittingEmptySubsequences: false)
        // A pattern without a slash matches at any depth.
        var parts: [Part] = isAnchored || texts.count > 1 ? [] : [.folders]
        for (index, part) in texts.enumerated() {
            guard !part.isEmpty else { throw unusable("has two slashes in a row") }
            guard !part.elementsEqual("..".unicodeScalars), !part.elementsEqual(".".unicodeScalars) else {
                throw unusable("has a part . or .., which no name has")
            }
            if texts.count > 1, part.elementsEqual("**".unicodeScalars) {
                if parts.last != .folders { parts.append(.folders) }
                // At the end, `**` matches everything below the folder, and not the folder itself.
                if index == texts.count - 1 { parts.append(.name([.any])) }
            } else {
                guard let tokens = Self.tokens(part) else {
                    throw unusable("has brackets that do not end or name no class, or ends with a backslash")
                }
                parts.append(.name(tokens))
            }
        }
        // A pattern also matches everything below a matching folder. A pattern for folders does not match a file of
        // that name.
        parts.append(.folders)
        if isFolder { parts.append(.name([.any])) }
        self.parts = parts
    }

    /// Whether the pattern matches this relative path.
    package func matches(_ name: String) -> Bool { matches(Path(name)) }

    package func matches(_ path: Path) -> Bool {
        Self.matches(
            parts,
            path.parts,
            isStar: { $0 == .folders },
            matchesOne: { part, name in
                guard case .name(let tokens) = part else { return false }
                return Self.matches(tokens, name, isStar: { $0 == .any }, matchesOne: { $0.matches($1) })
            }
        )
    }

    /// Matches a list against a pattern in which a star stands for any number of elements. Goes back to the last star
    /// only, so that the number of comparisons is at most the product of both lengths.
    private static func matches<Token, Element>(
        _ pattern: [Token],
        _ list: [Element],
        isStar: (Token) -> Bool,
        matchesOne: (Token, Element) -> Bool
    ) -> Bool {
        var (token, element) = (0, 0)
        var last: (star: Int, element: Int)?
        while element < list.count {
            if token < pattern.count, isStar(pattern[token]) {
                last = (token, element)
                token += 1
            } else if token < pattern.count, matchesOne(pattern[token], list[element]) {
                token += 1
                element += 1
            } else if let back = last {
                last = (back.star, back.element + 1)
                (token, element) = (back.star + 1, back.element + 1)
            } else {
                return false
            }
        }
        return pattern[token...].allSatisfy(isStar)
    }

    /// Returns the scalars of a text in one normalization, because the publisher and the user's keyboard may use
    /// different ones.
    fileprivate static func composed(_ text: String) -> [Unicode.Scalar] {
        let isASCII = text.utf8.allSatisfy { $0 < 0x80 }
        return Array((isASCII ? text : text.precomposedStringWithCanonicalMapping).unicodeScalars)
    }
}

// MARK: - Parts

extension PathPattern {
    private enum Part: Sendable, Hashable {
        /// Any number of folders.
        case folders
        case name([Token])
    }

    private enum Token: Sendable, Hashable {
        /// Any number of characters.
        case any
        case one
        case scalar(Unicode.Scalar)
        case set([ClosedRange<UInt32>], isNegated: Bool)

        func matches(_ scalar: Unicode.Scalar) -> Bool {
            switch self {
            case .any, .one: true
            case .scalar(let own): own == scalar
            case .set(let ranges, let isNegated): ranges.contains { $0.contains(scalar.value) } != isNegated
            }
        }
    }

    /// - Returns: `nil` when a bracket is not closed, or nothing follows a backslash.
    private static func tokens(_ part: ArraySlice<Unicode.Scalar>) -> [Token]? {
        var tokens: [Token] = []
        var rest = part
        while let scalar = rest.popFirst() {
            switch scalar {
            case "*": if tokens.last != .any { tokens.append(.any) }
            case "?": tokens.append(.one)
            case "[":
                guard let set = set(&rest) else { return nil }
                tokens.append(set)
            case "\\":
                guard let escaped = rest.popFirst() else { return nil }
                tokens.append(.scalar(escaped))
            default: tokens.append(.scalar(scalar))
            }
        }
        return tokens
    }

    /// Parses a set and removes it from the front of `rest`, which begins behind the opening bracket.
    private static func set(_ rest: inout ArraySlice<Unicode.Scalar>) -> Token? {
        let isNegated = rest.first == "!" || rest.first == "^"
        if isNegated { rest = rest.dropFirst() }
        var ranges: [ClosedRange<UInt32>] = []
        var isFirst = true
        while let scalar = rest.popFirst() {
            // A closing bracket at the front is an element.
            if scalar == "]", !isFirst { return .set(ranges, isNegated: isNegated) }
            isFirst = false
            if scalar == "[", rest.first == ":" {
                guard let named = named(&rest) else { return nil }
                ranges += named
                continue
            }
            guard let lower = scalar == "\\" ? rest.popFirst() : scalar else { return nil }
            guard rest.first == "-", let after = rest.dropFirst().first, after != "]" else {
                ranges.append(lower.value...lower.value)
                continue
            }
            rest = rest.dropFirst()
            guard let end = rest.popFirst(), let upper = end == "\\" ? rest.popFirst() : end else { return nil }
            // A range whose end lies before its start has no element.
            if lower.value <= upper.value { ranges.append(lower.value...upper.value) }
        }
        return nil
    }

    /// Parses a class such as `:alpha:]` and removes it from the front of `rest`.
    private static func named(_ rest: inout ArraySlice<Unicode.Scalar>) -> [ClosedRange<UInt32>]? {
        guard let end = rest.firstIndex(of: "]"), end - rest.startIndex >= 2, rest[end - 1] == ":" else { return nil }
        let name = String(String.UnicodeScalarView(rest[(rest.startIndex + 1)..<(end - 1)]))
        rest = rest[(end + 1)...]
        return classes[name]
    }

    /// The classes of POSIX, for ASCII.
    private static let classes: [String: [ClosedRange<UInt32>]] = [
        "alnum": [0x30...0x39, 0x41...0x5A, 0x61...0x7A], "alpha": [0x41...0x5A, 0x61...0x7A],
        "blank": [0x09...0x09, 0x20...0x20], "cntrl": [0x00...0x1F, 0x7F...0x7F], "digit": [0x30...0x39],
        "graph": [0x21...0x7E], "lower": [0x61...0x7A], "print": [0x20...0x7E],
        "punct": [0x21...0x2F, 0x3A...0x40, 0x5B...0x60, 0x7B...0x7E], "space": [0x09...0x0D, 0x20...0x20],
        "upper": [0x41...0x5A], "xdigit": [0x30...0x39, 0x41...0x46, 0x61...0x66],
    ]
}

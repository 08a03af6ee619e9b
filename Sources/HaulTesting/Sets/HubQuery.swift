internal import Foundation

/// The query of a request target.
struct HubQuery {
    /// The parameters in their order, percent-encoded.
    private let pairs: [Substring]

    init(_ target: String) {
        let query = target.split(separator: "?", maxSplits: 1).dropFirst().first ?? ""
        pairs = query.split(separator: "&")
    }

    /// The decoded value of a parameter; `nil` if there is none.
    subscript(name: String) -> String? {
        pairs.first { $0.hasPrefix(name + "=") }.flatMap {
            String($0.dropFirst(name.count + 1)).removingPercentEncoding
        }
    }

    /// Returns the query of the page that begins at an entry.
    func next(_ position: Int) -> String {
        (pairs.filter { !$0.hasPrefix("cursor=") } + ["cursor=\(Self.mark)\(position)%3D"]).joined(separator: "&")
    }

    /// Returns the entry at which the page of a cursor begins; `nil` for a text that is no cursor.
    static func position(_ cursor: String) -> Int? {
        guard cursor.hasPrefix(mark), cursor.hasSuffix("=") else { return nil }
        return Int(cursor.dropFirst(mark.count).dropLast()).flatMap { $0 < 0 ? nil : $0 }
    }

    /// The beginning of a cursor. A cursor ends with an encoded equals sign, so that the cursor is invalid if a client
    /// wrongly encodes the link once more. Such a client gets the first page again.
    private static let mark = "entry-"
}

import Foundation

@testable import HaulCore
@testable import HaulKit

/// A parser that reads bytes from outside, and what has to hold of it for any bytes.
struct FuzzTarget: Sendable {
    let name: String
    /// Inputs that it takes, from which others are made.
    let seeds: [String]
    /// Parses, and says what does not hold; nil where everything does. A trap speaks for itself.
    let check: @Sendable (_ bytes: [UInt8]) -> String?

    init(_ name: String, _ seeds: [String], _ check: @escaping @Sendable (_ bytes: [UInt8]) -> String?) {
        self.name = name
        self.seeds = seeds
        self.check = check
    }

    /// One of a text: the bytes as far as they are UTF-8.
    init(text name: String, _ seeds: [String], _ check: @escaping @Sendable (_ text: String) -> String?) {
        self.init(name, seeds) { check(String(decoding: $0, as: UTF8.self)) }
    }

    static let all: [FuzzTarget] =
        fields + names + documents + settings + messages + answers + ranges + secrets + texts + rows + traces
        + unfinished
    static let now = Date(timeIntervalSince1970: 1_767_225_600)
}

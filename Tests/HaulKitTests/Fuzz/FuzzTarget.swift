import Foundation

@testable import HaulCore
@testable import HaulKit

/// A parser of bytes from outside, with the properties that must hold for any bytes.
struct FuzzTarget: Sendable {
    let name: String
    /// Valid inputs, from which others are made.
    let seeds: [String]
    /// Parses `bytes` and describes a violated property; `nil` if all hold. A trap ends the process.
    let check: @Sendable (_ bytes: [UInt8]) -> String?

    init(_ name: String, _ seeds: [String], _ check: @escaping @Sendable (_ bytes: [UInt8]) -> String?) {
        self.name = name
        self.seeds = seeds
        self.check = check
    }

    /// Makes a target whose input is text: the bytes decoded as UTF-8.
    init(text name: String, _ seeds: [String], _ check: @escaping @Sendable (_ text: String) -> String?) {
        self.init(name, seeds) { check(String(decoding: $0, as: UTF8.self)) }
    }

    static let all: [FuzzTarget] =
        fields + names + documents + settings + messages + answers + ranges + secrets + texts + rows + traces
        + unfinished + sets
    static let now = Date(timeIntervalSince1970: 1_767_225_600)
}

@testable import HaulCore

/// Random strings of a hostile alphabet, the same in every run with the same seed.
struct HostileStrings: Sequence, IteratorProtocol {
    private let alphabet: [String]
    private let longest: Int
    private var left: Int
    private var generator: SplitMix64

    init(of alphabet: [String], count: Int, upTo longest: Int, seed: UInt64) {
        self.alphabet = alphabet
        self.longest = longest
        self.left = count
        self.generator = SplitMix64(seed: seed)
    }

    mutating func next() -> String? {
        guard left > 0 else { return nil }
        left -= 1
        let length = Int.random(in: 0...longest, using: &generator)
        return (0..<length).compactMap { _ in alphabet.randomElement(using: &generator) }.joined()
    }
}

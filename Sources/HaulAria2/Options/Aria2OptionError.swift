/// Error for an invalid value of an option.
package struct Aria2OptionError: Error, Sendable, Equatable {
    package let option: String
    /// The problem with the value, in the words that aria2 prints below its message.
    package let detail: String

    /// aria2's sentence. The RPC returns it, and clients match on it.
    package var message: String { "We encountered a problem while processing the option '--\(option)'." }
}

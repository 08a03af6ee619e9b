/// Encryption that Haul does not remove: a method other than AES-128, or a key of a DRM system.
package struct StreamProtection: Sendable, Hashable, CustomStringConvertible {
    package let method: String
    /// `identity` unless a DRM system handles the key.
    package let keyFormat: String

    /// The method, and the format of the key unless it is `identity`.
    package var description: String {
        let system = Self.systems[keyFormat.lowercased()] ?? keyFormat
        return String(method.prefix(80)) + (keyFormat == "identity" ? "" : ", \(system.prefix(80))")
    }

    private static let systems = [
        "com.apple.streamingkeydelivery": "FairPlay",
        "com.microsoft.playready": "PlayReady",
        "urn:uuid:edef8ba9-79d6-4ace-a3c8-27dcd51d21ed": "Widevine",
        "urn:uuid:9a04f079-9840-4286-ab92-e65be0885f95": "PlayReady",
    ]
}

package import Foundation

/// Hides secrets in values that applications print, dump and encode: user info and queries of URLs, values of header
/// fields.
///
/// Printing and reflection use the mirrors of the types, which mask secrets. Encoding masks secrets unless the encoder
/// is told to keep them.
extension CodingUserInfoKey {
    /// Encodes URLs and header fields unmasked, with passwords and tokens, if `encoder.userInfo` has `true` for this
    /// key. Without this key, ``DownloadRequest``, ``DownloadSnapshot``, ``CompletedDownload`` and ``HeaderField`` are
    /// encoded with URLs as ``Foundation/URL/masked`` and with `***` in place of the values of header fields.
    ///
    /// ```swift
    /// let encoder = JSONEncoder()
    /// encoder.userInfo[.keepsSecrets] = true
    /// let json = try encoder.encode(request)
    /// ```
    public static let keepsSecrets = CodingUserInfoKey.named("haul.keepsSecrets")

    private static func named(_ name: String) -> CodingUserInfoKey {
        // This initialiser accepts every text. Foundation only declares it as failable.
        CodingUserInfoKey(rawValue: name).unsafelyUnwrapped
    }
}

extension Encoder {
    package var keepsSecrets: Bool { userInfo[.keepsSecrets] as? Bool == true }
}

/// Encodes a URL as its text, masked unless the encoder keeps secrets.
package struct CodedURL: Codable {
    package let url: URL

    package init(_ url: URL) { self.url = url }

    package init(from decoder: any Decoder) throws {
        // Earlier versions wrote Foundation's own form of a URL into property lists.
        guard let text = try? decoder.singleValueContainer().decode(String.self) else {
            url = try URL(from: decoder)
            return
        }
        guard let url = URL(string: text) else {
            throw DecodingError.dataCorrupted(
                .init(codingPath: decoder.codingPath, debugDescription: "This is no URL.")
            )
        }
        self.url = url
    }

    package func encode(to encoder: any Encoder) throws {
        var value = encoder.singleValueContainer()
        try value.encode(encoder.keepsSecrets ? url.absoluteString : url.masked)
    }
}

/// Encodes the spelling of a URL if the encoder keeps secrets. Otherwise encodes `null`, because the spelling may
/// contain secrets.
package struct CodedSpelling: Encodable {
    package let text: String

    package init(text: String) {
        self.text = text
    }

    package func encode(to encoder: any Encoder) throws {
        var value = encoder.singleValueContainer()
        if encoder.keepsSecrets { try value.encode(text) } else { try value.encodeNil() }
    }
}

extension Mirror {
    /// Makes the mirror of a value that holds URLs. Masks the URLs and leaves out absent values and empty lists.
    package init<Value>(masked value: Value, _ children: KeyValuePairs<String, Any?>) {
        let shown: [Child] = children.compactMap { label, child in
            switch child {
            case nil: nil
            case .some(let url as URL): (label, url.masked)
            case .some(let list as [Any]) where list.isEmpty: nil
            case .some(let child): (label, child)
            }
        }
        self.init(value, children: shown, displayStyle: .struct)
    }

    /// Makes a mirror that shows nothing of the value.
    package init<Value>(hidden value: Value) { self.init(value, children: [:], displayStyle: .struct) }
}

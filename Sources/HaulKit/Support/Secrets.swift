internal import Foundation

/// Secrets in values that applications print, dump and encode: user info and queries of URLs, values of header fields.
///
/// Printing and reflection show them masked, by the mirrors of the types that hold them. Encoding masks them as well, unless
/// the encoder is told to keep them.
extension CodingUserInfoKey {
    /// Encodes URLs and header fields as they are, passwords and tokens included, where `encoder.userInfo` has `true` for
    /// this key. Without it ``DownloadRequest``, ``DownloadSnapshot``, ``Metalink/Source`` and ``HeaderField`` are encoded
    /// masked: as ``Foundation/URL/masked``, and with `***` in place of a field's value.
    ///
    /// ```swift
    /// let encoder = JSONEncoder()
    /// encoder.userInfo[.keepsSecrets] = true
    /// let json = try encoder.encode(request)
    /// ```
    public static let keepsSecrets = CodingUserInfoKey.named("haul.keepsSecrets")

    private static func named(_ name: String) -> CodingUserInfoKey {
        // The initialiser can fail in its type only: `RawRepresentable` asks for that.
        CodingUserInfoKey(rawValue: name).unsafelyUnwrapped
    }
}

extension Encoder {
    var keepsSecrets: Bool { userInfo[.keepsSecrets] as? Bool == true }
}

/// A URL as its text: masked, unless the encoder keeps secrets.
struct CodedURL: Codable {
    let url: URL

    init(_ url: URL) { self.url = url }

    init(from decoder: any Decoder) throws {
        // The library's own form, which encoders of property lists use, is what earlier versions wrote there.
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

    func encode(to encoder: any Encoder) throws {
        var value = encoder.singleValueContainer()
        try value.encode(encoder.keepsSecrets ? url.absoluteString : url.masked)
    }
}

/// How a URL was spelled, which may hold its secrets: `null`, unless the encoder keeps them.
struct CodedSpelling: Encodable {
    let text: String

    func encode(to encoder: any Encoder) throws {
        var value = encoder.singleValueContainer()
        if encoder.keepsSecrets { try value.encode(text) } else { try value.encodeNil() }
    }
}

extension Mirror {
    /// The mirror of a value that holds URLs: they are masked, what is absent or empty is left out.
    init<Value>(masked value: Value, _ children: KeyValuePairs<String, Any?>) {
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

    /// The mirror of a value of which nothing is shown.
    init<Value>(hidden value: Value) { self.init(value, children: [:], displayStyle: .struct) }
}

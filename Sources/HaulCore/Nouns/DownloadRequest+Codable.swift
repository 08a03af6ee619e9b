internal import Foundation

// The forms in which a request encodes its destination and its method.

extension DownloadRequest.Destination: Codable, CodedByKeys {
    package enum Keys: String, CodingKey { case file, folder }

    /// - Throws: `DecodingError`, also when there is neither a file nor a folder, or both.
    package init(values: KeyedDecodingContainer<Keys>) throws {
        let file = try values.decodeIfPresent(String.self, forKey: .file)
        switch (file, try values.decodeIfPresent(String.self, forKey: .folder)) {
        case (let path?, nil): self = .file(path: path)
        case (nil, let path?): self = .folder(path: path)
        default:
            throw DecodingError.dataCorrupted(
                .init(codingPath: values.codingPath, debugDescription: "A destination is a file or a folder.")
            )
        }
    }

    package func write(to values: inout KeyedEncodingContainer<Keys>, keepsSecrets: Bool) throws {
        switch self {
        case .file(let path): try values.encode(path, forKey: .file)
        case .folder(let path): try values.encode(path, forKey: .folder)
        }
    }
}

extension DownloadRequest.Method: Codable, CodedByKeys {
    package enum Keys: String, CodingKey { case post, type }

    package init(values: KeyedDecodingContainer<Keys>) throws {
        guard let body = try values.decodeIfPresent(Data.self, forKey: .post) else {
            self = .get
            return
        }
        self = .post(body: body, type: try values.decode(String.self, forKey: .type))
    }

    package func write(to values: inout KeyedEncodingContainer<Keys>, keepsSecrets: Bool) throws {
        guard case .post(let body, let type) = self else { return }
        try values.encode(keepsSecrets ? body : Data(), forKey: .post)
        try values.encode(type, forKey: .type)
    }
}

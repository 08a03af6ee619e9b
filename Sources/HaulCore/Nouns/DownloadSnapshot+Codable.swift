internal import Foundation

extension DownloadSnapshot: Codable, CodedByKeys {
    package enum Keys: String, CodingKey {
        case id, url, state, holdReason, path, receivedBytes, totalBytes, bytesPerSecond, error, retryDelay
        case connections, receivedRanges, key, group, owner, metadata, priority, addedAt, startedAt, endedAt, proof
        case gaps, finalURL, stream, suggestedName
    }

    /// An absent value gets its default of the memberwise initialiser, so that values of earlier versions can be read.
    ///
    /// - Throws: `DecodingError` when `id`, `url`, `state` or `addedAt` is missing, or a value is of another type.
    package init(values: KeyedDecodingContainer<Keys>) throws {
        self.init(
            id: try values.decode(DownloadID.self, forKey: .id),
            url: try values.decode(CodedURL.self, forKey: .url).url,
            state: try values.decode(State.self, forKey: .state),
            holdReason: try values.decodeIfPresent(HoldReason.self, forKey: .holdReason),
            path: try values.decodeIfPresent(String.self, forKey: .path),
            receivedBytes: try values.decodeIfPresent(Int64.self, forKey: .receivedBytes) ?? 0,
            totalBytes: try values.decodeIfPresent(Int64.self, forKey: .totalBytes),
            bytesPerSecond: try values.decodeIfPresent(Double.self, forKey: .bytesPerSecond) ?? 0,
            error: try values.decodeIfPresent(DownloadError.self, forKey: .error),
            retryDelay: try values.decodeIfPresent(Duration.self, forKey: .retryDelay),
            connections: try values.decodeIfPresent([Connection].self, forKey: .connections) ?? [],
            receivedRanges: try values.decodeIfPresent([Range<Int64>].self, forKey: .receivedRanges) ?? [],
            key: try values.decodeIfPresent(String.self, forKey: .key),
            group: try values.decodeIfPresent(String.self, forKey: .group),
            owner: try values.decodeIfPresent(String.self, forKey: .owner),
            metadata: try values.decodeIfPresent(DownloadRequest.Metadata.self, forKey: .metadata),
            priority: try values.decodeIfPresent(Int.self, forKey: .priority) ?? 0,
            addedAt: try values.decode(Date.self, forKey: .addedAt),
            startedAt: try values.decodeIfPresent(Date.self, forKey: .startedAt),
            endedAt: try values.decodeIfPresent(Date.self, forKey: .endedAt),
            proof: try values.decodeIfPresent(CompletedDownload.Proof.self, forKey: .proof),
            gaps: try values.decodeIfPresent([String].self, forKey: .gaps) ?? [],
            finalURL: try values.decodeIfPresent(CodedURL.self, forKey: .finalURL)?.url,
            stream: try values.decodeIfPresent(Stream.self, forKey: .stream),
            suggestedName: try values.decodeIfPresent(String.self, forKey: .suggestedName)
        )
    }

    /// Encodes every property that has a value, under its own name.
    package func write(to values: inout KeyedEncodingContainer<Keys>, keepsSecrets: Bool) throws {
        try values.encode(id, forKey: .id)
        try values.encode(CodedURL(url), forKey: .url)
        try values.encode(state, forKey: .state)
        try values.encodeIfPresent(holdReason, forKey: .holdReason)
        try values.encodeIfPresent(path, forKey: .path)
        try values.encode(receivedBytes, forKey: .receivedBytes)
        try values.encodeIfPresent(totalBytes, forKey: .totalBytes)
        try values.encode(bytesPerSecond, forKey: .bytesPerSecond)
        try values.encodeIfPresent(error, forKey: .error)
        try values.encodeIfPresent(retryDelay, forKey: .retryDelay)
        if !connections.isEmpty { try values.encode(connections, forKey: .connections) }
        if !gaps.isEmpty { try values.encode(gaps, forKey: .gaps) }
        if !receivedRanges.isEmpty { try values.encode(receivedRanges, forKey: .receivedRanges) }
        try values.encodeIfPresent(key, forKey: .key)
        try values.encodeIfPresent(group, forKey: .group)
        try values.encodeIfPresent(owner, forKey: .owner)
        try values.encodeIfPresent(metadata, forKey: .metadata)
        try values.encode(priority, forKey: .priority)
        try values.encode(addedAt, forKey: .addedAt)
        try values.encodeIfPresent(startedAt, forKey: .startedAt)
        try values.encodeIfPresent(endedAt, forKey: .endedAt)
        try values.encodeIfPresent(proof, forKey: .proof)
        try values.encodeIfPresent(finalURL.map { CodedURL($0) }, forKey: .finalURL)
        try values.encodeIfPresent(stream, forKey: .stream)
        try values.encodeIfPresent(suggestedName, forKey: .suggestedName)
    }
}

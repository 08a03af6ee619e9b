internal import Foundation

// `print`, `dump`, `String(describing:)` and string interpolation show the children of these mirrors. No mirror has
// passwords or tokens.

extension HeaderField: CustomDebugStringConvertible, CustomReflectable {
    /// The same text as ``description``.
    public var debugDescription: String { description }
    /// The name; the value is `***`.
    public var customMirror: Mirror { Mirror(self, children: ["name": name, "value": "***"], displayStyle: .struct) }
}

extension DownloadRequest: CustomReflectable {
    /// The request with masked URLs and header fields, without the options that have their defaults.
    public var customMirror: Mirror {
        let blank = DownloadRequest.blank
        func option<Value: Equatable>(_ path: KeyPath<DownloadRequest, Value>) -> Value? {
            self[keyPath: path] == blank[keyPath: path] ? nil : self[keyPath: path]
        }
        return Mirror(
            masked: self,
            [
                "url": url, "mirrors": mirrors, "method": option(\.method), "destination": destination,
                "suggestedName": suggestedName,
                "headers": headers, "checksum": checksum,
                "pieces": pieces.map { "\($0.digests.count) of \($0.pieceLength) bytes" }, "size": size,
                "bytesPerSecond": bytesPerSecond, "maxConnections": maxConnections,
                "initialConnections": initialConnections, "onConflict": onConflict,
                "failsOnChange": option(\.failsOnChange), "resumesUnverified": option(\.resumesUnverified),
                "adopts": adopts, "setsModificationTime": option(\.setsModificationTime),
                "allowsInsecureRedirects": option(\.allowsInsecureRedirects), "key": key, "group": group,
                "owner": owner, "metadata": metadata, "priority": option(\.priority),
                "startsPaused": option(\.startsPaused), "onDuplicate": option(\.onDuplicate),
            ]
        )
    }
}

extension DownloadSnapshot: CustomReflectable {
    /// The snapshot with masked URLs, without absent values.
    public var customMirror: Mirror {
        Mirror(
            masked: self,
            [
                "id": id, "url": url, "state": state, "holdReason": holdReason, "path": path,
                "receivedBytes": receivedBytes, "totalBytes": totalBytes,
                "bytesPerSecond": bytesPerSecond == 0 ? nil : bytesPerSecond, "error": error,
                "retryDelay": retryDelay, "connections": connections, "receivedRanges": receivedRanges, "key": key,
                "group": group, "owner": owner, "metadata": metadata, "priority": priority == 0 ? nil : priority,
                "addedAt": addedAt, "startedAt": startedAt, "endedAt": endedAt, "proof": proof,
                "finalURL": finalURL,
            ]
        )
    }
}

extension CompletedDownload: CustomReflectable {
    /// The result with a masked URL, without absent values.
    public var customMirror: Mirror {
        Mirror(
            masked: self,
            [
                "id": id, "path": path, "bytes": bytes, "proof": proof, "alreadyExisted": alreadyExisted,
                "finalURL": finalURL,
            ]
        )
    }
}

extension DownloadRequest.Method: CustomReflectable {
    /// The length and type of a body. The body itself is left out, because it may hold secrets.
    public var customMirror: Mirror {
        switch self {
        case .get: Mirror(self, children: [:], displayStyle: .enum)
        case .post(let body, let type):
            Mirror(self, children: ["post": "\(body.count) bytes, \(type)"], displayStyle: .enum)
        }
    }
}

extension DownloadSource: CustomReflectable {
    /// The source with a masked URL and masked header fields.
    public var customMirror: Mirror {
        Mirror(masked: self, ["url": url, "headers": headers, "expiresAt": expiresAt])
    }
}

extension SourceQuery: CustomReflectable {
    /// The query with a masked URL.
    public var customMirror: Mirror {
        Mirror(
            masked: self,
            [
                "id": id, "key": key, "group": group, "owner": owner, "metadata": metadata, "url": url,
                "reason": reason,
            ]
        )
    }
}

extension ResourceDescription: CustomReflectable {
    /// The description with a masked URL.
    public var customMirror: Mirror {
        Mirror(
            masked: self,
            [
                "url": url, "fileName": fileName, "totalBytes": totalBytes, "contentType": contentType,
                "servesRanges": servesRanges, "entityTag": entityTag, "lastModified": lastModified,
            ]
        )
    }
}

extension Metalink.Source: CustomReflectable {
    /// The source with a masked URL.
    public var customMirror: Mirror {
        Mirror(masked: self, ["url": url, "priority": priority, "location": location])
    }
}

extension Cookies: CustomReflectable {
    /// The number of cookies.
    public var customMirror: Mirror { Mirror(masked: self, ["count": count]) }
}

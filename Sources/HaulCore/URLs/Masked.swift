internal import Foundation

/// A value that may hold passwords, tokens, or data that is useless in a log. `print`, `dump`, `String(describing:)`
/// and string interpolation show the children of its mirror.
package protocol Masked: CustomReflectable {
    /// The mirror to show; without passwords and tokens.
    var maskedMirror: Mirror { get }
}

extension Masked {
    /// The mirror without passwords and tokens.
    public var customMirror: Mirror { maskedMirror }
}

extension HeaderField: Masked {
    /// The name; the value is `***`.
    package var maskedMirror: Mirror { Mirror(self, children: ["name": name, "value": "***"], displayStyle: .struct) }
}

extension DownloadRequest: Masked {
    /// The request with masked URLs and header fields, without the options that have their defaults.
    package var maskedMirror: Mirror {
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
                "stream": stream, "allowsInsecureRedirects": option(\.allowsInsecureRedirects), "key": key,
                "group": group,
                "owner": owner, "metadata": metadata, "page": page, "priority": option(\.priority),
                "startsPaused": option(\.startsPaused), "onDuplicate": option(\.onDuplicate),
            ]
        )
    }
}

extension DownloadSnapshot: Masked {
    /// The snapshot with masked URLs, without absent values.
    package var maskedMirror: Mirror {
        Mirror(
            masked: self,
            [
                "id": id, "url": url, "state": state, "holdReason": holdReason, "path": path,
                "suggestedName": suggestedName,
                "receivedBytes": receivedBytes, "totalBytes": totalBytes,
                "bytesPerSecond": bytesPerSecond == 0 ? nil : bytesPerSecond, "error": error,
                "retryDelay": retryDelay, "connections": connections, "receivedRanges": receivedRanges, "key": key,
                "group": group, "owner": owner, "metadata": metadata, "priority": priority == 0 ? nil : priority,
                "addedAt": addedAt, "startedAt": startedAt, "endedAt": endedAt, "proof": proof,
                "gaps": gaps, "finalURL": finalURL, "stream": stream,
            ]
        )
    }
}

extension CompletedDownload: Masked {
    /// The result with a masked URL, without absent values.
    package var maskedMirror: Mirror {
        Mirror(
            masked: self,
            [
                "id": id, "path": path, "bytes": bytes, "proof": proof, "alreadyExisted": alreadyExisted,
                "finalURL": finalURL, "gaps": gaps,
            ]
        )
    }
}

extension DownloadRequest.Method: Masked {
    /// The length and type of a body. The body itself is left out, because it may hold secrets.
    package var maskedMirror: Mirror {
        switch self {
        case .get: Mirror(self, children: [:], displayStyle: .enum)
        case .post(let body, let type):
            Mirror(self, children: ["post": "\(body.count) bytes, \(type)"], displayStyle: .enum)
        }
    }
}

extension DownloadSource: Masked {
    /// The source with a masked URL and masked header fields.
    package var maskedMirror: Mirror {
        Mirror(masked: self, ["url": url, "headers": headers, "expiresAt": expiresAt])
    }
}

extension SourceQuery: Masked {
    /// The query with a masked URL.
    package var maskedMirror: Mirror {
        Mirror(
            masked: self,
            [
                "id": id, "key": key, "metadata": metadata, "url": url, "reason": reason,
            ]
        )
    }
}

extension ResourceDescription: Masked {
    /// The description with a masked URL.
    package var maskedMirror: Mirror {
        Mirror(
            masked: self,
            [
                "url": url, "fileName": fileName, "totalBytes": totalBytes, "contentType": contentType,
                "servesRanges": servesRanges, "entityTag": entityTag, "lastModified": lastModified,
                "stream": stream,
            ]
        )
    }
}

extension Metalink.Source: Masked {
    /// The source with a masked URL.
    package var maskedMirror: Mirror {
        Mirror(masked: self, ["url": url, "priority": priority, "location": location])
    }
}

extension Cookies: Masked {
    /// The number of cookies, without the cookies.
    package var maskedMirror: Mirror { Mirror(masked: self, ["count": count]) }
}

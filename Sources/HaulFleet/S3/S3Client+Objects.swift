/// Requests for whole objects.
extension S3Client {
    /// Header field with the hexadecimal SHA-256 of an object. S3 itself keeps no SHA-256 of a whole object that was
    /// sent in parts.
    static let digestField = "x-amz-meta-haul-sha256"
    /// Header field with the item number in the queue.
    static let itemField = "x-amz-meta-haul-item"

    struct ObjectStatus: Sendable, Hashable {
        var bytes: Int64?
        /// The value of ``S3Client/digestField`` in lower case.
        var digest: String?
        var tag: String?
    }

    /// Returns the status of the object; `nil` if it does not exist.
    func status(of key: String) async throws(S3Failure) -> ObjectStatus? {
        do throws(S3Failure) {
            let response = try await send(S3Request(method: "HEAD", key: key))
            return ObjectStatus(
                bytes: response.headers["content-length"].flatMap { Int64($0) },
                digest: response.headers[Self.digestField]?.lowercased(),
                tag: response.tag
            )
        } catch {
            guard error.status == 404 else { throw error }
            return nil
        }
    }

    /// Creates an object with one request.
    ///
    /// - Parameter replaces: if false, an existing object makes the request fail with status 412, provided that the
    ///   store supports `If-None-Match`.
    /// - Returns: the entity tag.
    func put(
        _ key: String,
        _ payload: S3Request.Payload,
        metadata: [(String, String)],
        replaces: Bool
    ) async throws(S3Failure) -> String? {
        var headers = [("Content-Type", "application/octet-stream")] + metadata
        if !replaces { headers.append(("If-None-Match", "*")) }
        // Every store returns the tag of a created object. A store that answers 200 without a tag has created none or
        // does not speak S3.
        let request = S3Request(method: "PUT", key: key, headers: headers, payload: payload) {
            $0.tag == nil ? "it answered the upload of \(RelativePath.quoted(key)) without an entity tag" : nil
        }
        return try await send(request).tag
    }

    func delete(_ key: String) async throws(S3Failure) {
        do throws(S3Failure) { _ = try await send(S3Request(method: "DELETE", key: key)) } catch {
            // Accepts 404, because the object is already gone if this request repeats one whose response was lost.
            if error.status != 404 { throw error }
        }
    }
}

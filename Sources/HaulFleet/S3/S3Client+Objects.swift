/// Whole objects.
extension S3Client {
    /// Header field with the SHA-256 of an object's content in hexadecimal digits. S3 itself keeps none of a whole object that was
    /// sent in parts.
    static let digestField = "x-amz-meta-haul-sha256"
    /// Header field with the number of the queue's item.
    static let itemField = "x-amz-meta-haul-item"

    struct ObjectStatus: Sendable, Hashable {
        var bytes: Int64?
        /// What ``digestField`` says, in lower case.
        var digest: String?
        var tag: String?
    }

    func headBucket() async throws(S3Failure) {
        _ = try await send(S3Request(method: "HEAD"))
    }

    /// - Returns: nil where there is no such object.
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

    /// Makes an object in one request.
    ///
    /// - Parameter replaces: false: fails with status 412 where the key is taken, if the store knows that.
    /// - Returns: the entity tag.
    func put(
        _ key: String,
        _ payload: S3Request.Payload,
        metadata: [(String, String)],
        replaces: Bool
    ) async throws(S3Failure) -> String? {
        var headers = [("Content-Type", "application/octet-stream")] + metadata
        if !replaces { headers.append(("If-None-Match", "*")) }
        // Every store names the object that it has made. One that says 200 and names none has made none, or does not speak S3.
        let request = S3Request(method: "PUT", key: key, headers: headers, payload: payload) {
            $0.tag == nil ? "it answered the upload of \(RelativePath.quoted(key)) without an entity tag" : nil
        }
        return try await send(request).tag
    }

    func delete(_ key: String) async throws(S3Failure) {
        do throws(S3Failure) { _ = try await send(S3Request(method: "DELETE", key: key)) } catch {
            // Of a repetition after a lost answer.
            if error.status != 404 { throw error }
        }
    }
}

/// Requests for multipart uploads.
extension S3Client {
    static let mostParts = 10_000
    private static let partsOfPage = 1000

    /// A part that the store has received.
    struct ListedPart: Sendable, Hashable {
        var number: Int
        var bytes: Int64
        var tag: String
        /// Base64; `nil` if the store keeps no checksum.
        var sha256: String?
    }

    struct ListedUpload: Sendable, Hashable {
        var key: String
        var id: String
    }

    /// Starts a multipart upload.
    ///
    /// - Parameter checksums: whether the store is to keep a SHA-256 of each part.
    /// - Returns: the upload's identifier.
    func createUpload(
        _ key: String,
        metadata: [(String, String)],
        checksums: Bool
    ) async throws(S3Failure) -> String {
        var headers = [("Content-Type", "application/octet-stream")] + metadata
        if checksums { headers.append(("x-amz-checksum-algorithm", "SHA256")) }
        let lack = "it started an upload without saying its identifier"
        let request = S3Request(method: "POST", key: key, query: [("uploads", "")], headers: headers) {
            Self.uploadID($0) == nil ? lack : nil
        }
        guard let id = Self.uploadID(try await send(request)) else { throw broken(lack) }
        return id
    }

    private static func uploadID(_ response: S3Response) -> String? {
        S3XML(response.body)?.text("UploadId").flatMap { $0.isEmpty ? nil : $0 }
    }

    func uploadPart(
        _ key: String,
        upload: String,
        number: Int,
        _ region: FileRegion,
        _ digest: PartDigest,
        checksums: Bool
    ) async throws(S3Failure) -> PreparedFile.Part {
        let request = S3Request(
            method: "PUT",
            key: key,
            query: [("partNumber", "\(number)"), ("uploadId", upload)],
            headers: checksums ? [("x-amz-checksum-sha256", digest.base64)] : [],
            payload: .region(region, digest: digest)
        ) { $0.tag == nil ? "it took a part without an entity tag" : nil }
        let response = try await send(request)
        // A store that keeps the checksum returns it in this field. Without the field, the completion of the upload
        // must not name a checksum.
        let kept = response.headers["x-amz-checksum-sha256"]
        return PreparedFile.Part(number: number, tag: response.tag ?? "", sha256: kept == digest.base64 ? kept : nil)
    }

    /// Returns all parts of an upload by number. Fails with code `NoSuchUpload` if the upload does not exist.
    func parts(_ key: String, upload: String) async throws(S3Failure) -> [Int: ListedPart] {
        var parts: [Int: ListedPart] = [:]
        var marker = 0
        while true {
            let query = [("uploadId", upload), ("max-parts", "\(Self.partsOfPage)")]
            let request = S3Request(
                method: "GET",
                key: key,
                query: query + (marker > 0 ? [("part-number-marker", "\(marker)")] : []),
                canFailLate: true
            )
            guard let page = S3XML(try await send(request).body), page.name.hasPrefix("ListParts") else {
                throw broken("its list of parts cannot be read")
            }
            let listed = page.children.filter { $0.name == "Part" }.compactMap(Self.part)
            for part in listed { parts[part.number] = part }
            guard page.text("IsTruncated") == "true" else { return parts }
            // A page whose marker does not grow would cause an endless loop.
            let next = page.text("NextPartNumberMarker").flatMap { Int($0) } ?? listed.map(\.number).max() ?? 0
            guard next > marker, next <= Self.mostParts else { throw broken("its list of parts does not end") }
            marker = next
        }
    }

    private static func part(_ document: S3XML) -> ListedPart? {
        guard let number = document.text("PartNumber").flatMap({ Int($0) }), (1...mostParts).contains(number),
            let bytes = document.text("Size").flatMap({ Int64($0) }), let tag = document.text("ETag")
        else { return nil }
        return ListedPart(
            number: number,
            bytes: bytes,
            tag: S3Response.unquoted(tag),
            sha256: document.text("ChecksumSHA256").flatMap { $0.isEmpty ? nil : $0 }
        )
    }

    /// Completes an upload, which creates the object.
    ///
    /// - Returns: the object's entity tag.
    func complete(
        _ key: String,
        _ upload: PreparedFile.Upload,
        replaces: Bool
    ) async throws(S3Failure) -> String? {
        var document = "<CompleteMultipartUpload xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">"
        for part in upload.parts.sorted(by: { $0.number < $1.number }) {
            document += "<Part><ETag>\(S3XML.escaped("\"\(part.tag)\""))</ETag>"
            if let sha256 = part.sha256 { document += "<ChecksumSHA256>\(S3XML.escaped(sha256))</ChecksumSHA256>" }
            document += "<PartNumber>\(part.number)</PartNumber></Part>"
        }
        let request = S3Request(
            method: "POST",
            key: key,
            query: [("uploadId", upload.id)],
            headers: [("Content-Type", "application/xml")] + (replaces ? [] : [("If-None-Match", "*")]),
            payload: .document(document + "</CompleteMultipartUpload>"),
            canFailLate: true
        )
        return S3XML(try await send(request).body)?.text("ETag").map(S3Response.unquoted)
    }

    /// Aborts an upload and frees its parts. A part under way may still arrive afterwards: see
    /// ``S3Destination/abort(_:)``.
    func abortUpload(_ key: String, upload: String) async throws(S3Failure) {
        do throws(S3Failure) {
            _ = try await send(S3Request(method: "DELETE", key: key, query: [("uploadId", upload)]))
        } catch {
            if error.code != "NoSuchUpload", error.status != 404 { throw error }
        }
    }

    /// Returns the incomplete uploads of exactly this key, at most one page.
    func uploads(of key: String) async throws(S3Failure) -> [ListedUpload] {
        let request = S3Request(method: "GET", query: [("uploads", ""), ("prefix", key)], canFailLate: true)
        guard let page = S3XML(try await send(request).body) else { throw broken("its list of uploads cannot be read") }
        return page.children.filter { $0.name == "Upload" }.compactMap { upload in
            guard upload.text("Key") == key, let id = upload.text("UploadId"), !id.isEmpty else { return nil }
            return ListedUpload(key: key, id: id)
        }
    }
}

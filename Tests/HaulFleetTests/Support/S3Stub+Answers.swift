import Crypto
import Foundation
import HaulTesting

extension S3Stub.State {
    mutating func answer(_ request: TestRequest) -> TestReply {
        let reply = reply(to: request)
        // An answer to HEAD has the header fields of a body but no body.
        guard request.method == "HEAD", reply.steps.count == 2, case .head = reply.steps[0], case .raw = reply.steps[1]
        else {
            return reply
        }
        return TestReply([reply.steps[0]])
    }

    private mutating func reply(to request: TestRequest) -> TestReply {
        let fault = faults.firstIndex { $0.matches(request) }.map { faults.remove(at: $0).fault }
        if case .answer(let reply) = fault { return reply }
        if let refusal = S3StubSignature.refusal(of: request, options, &signatureFaults) { return refusal }
        let reply = perform(request)
        switch fault {
        case .mislead(let other): return other
        case .loseReply: return TestReply([.reset])
        case .answer, nil: return reply
        }
    }

    private mutating func perform(_ request: TestRequest) -> TestReply {
        let query = S3StubSignature.query(request)
        let path = request.path.removingPercentEncoding ?? ""
        let bucket = "/\(options.bucket)"
        guard path == bucket || path.hasPrefix(bucket + "/") else { return S3Stub.error(404, "NoSuchBucket") }
        let key = String(path.dropFirst(bucket.count + 1))
        if key.isEmpty { return query["uploads"] != nil ? listUploads(query["prefix"] ?? "") : .empty(200, "OK") }
        switch (request.method, query["uploadId"]) {
        case ("POST", nil) where query["uploads"] != nil: return create(key, request)
        case ("PUT", let id?): return put(part: query["partNumber"].flatMap { Int($0) } ?? 0, of: id, request)
        case ("GET", let id?): return list(id, after: query["part-number-marker"].flatMap { Int($0) } ?? 0)
        case ("POST", let id?): return complete(id, key, request)
        case ("DELETE", let id?):
            return uploads.removeValue(forKey: id) == nil
                ? S3Stub.error(404, "NoSuchUpload") : .empty(204, "No Content")
        case ("PUT", nil): return put(key, request)
        case ("DELETE", nil):
            objects[key] = nil
            return .empty(204, "No Content")
        case ("HEAD", nil):
            guard let object = objects[key] else { return .empty(404, "Not Found") }
            let fields = [("ETag", "\"\(object.tag)\""), ("Content-Length", "\(object.bytes.count)")]
            return TestReply([
                .head(status: 200, reason: "OK", headers: fields + object.metadata.map { ($0.key, $0.value) })
            ])
        default: return S3Stub.error(405, "MethodNotAllowed")
        }
    }

    private func metadata(_ request: TestRequest) -> [String: String] {
        guard options.keepsMetadata else { return [:] }
        let fields = request.headers.map { ($0.0.lowercased(), $0.1) }.filter { $0.0.hasPrefix("x-amz-meta-") }
        return Dictionary(fields) { $1 }
    }

    private func isRefused(_ key: String, _ request: TestRequest) -> Bool {
        options.honoursIfNoneMatch && request["If-None-Match"] == "*" && objects[key] != nil
    }

    private mutating func put(_ key: String, _ request: TestRequest) -> TestReply {
        if isRefused(key, request) { return S3Stub.error(412, "PreconditionFailed") }
        let tag = Insecure.MD5.hash(data: request.body).map { String(format: "%02x", $0) }.joined()
        objects[key] = .init(bytes: request.body, metadata: metadata(request), tag: tag)
        return .empty(200, "OK", headers: [("ETag", "\"\(tag)\"")])
    }

    private mutating func create(_ key: String, _ request: TestRequest) -> TestReply {
        let asksForChecksums = request["x-amz-checksum-algorithm"] != nil
        if options.refusesChecksums, asksForChecksums { return S3Stub.error(501, "NotImplemented") }
        started += 1
        let id = "upload+/=\(started)"
        uploads[id] = .init(
            key: key,
            metadata: metadata(request),
            keepsChecksums: options.keepsChecksums && asksForChecksums
        )
        return S3Stub.document(
            200,
            "<InitiateMultipartUploadResult xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"><UploadId>\(id)</UploadId>"
                + "</InitiateMultipartUploadResult>"
        )
    }

    private mutating func put(part number: Int, of id: String, _ request: TestRequest) -> TestReply {
        guard let upload = uploads[id] else { return S3Stub.error(404, "NoSuchUpload") }
        if options.refusesChecksums, request["x-amz-checksum-sha256"] != nil {
            return S3Stub.error(501, "NotImplemented")
        }
        partBytesReceived += request.body.count
        let tag = Insecure.MD5.hash(data: request.body).map { String(format: "%02x", $0) }.joined()
        let sha256 = Data(SHA256.hash(data: request.body)).base64EncodedString()
        guard !upload.keepsChecksums || request["x-amz-checksum-sha256"] == sha256 else {
            return S3Stub.error(400, "BadDigest")
        }
        uploads[id]?.parts[number] = .init(bytes: request.body, tag: tag, sha256: upload.keepsChecksums ? sha256 : nil)
        let kept = upload.keepsChecksums ? [("x-amz-checksum-sha256", sha256)] : []
        return .empty(200, "OK", headers: [("ETag", "\"\(tag)\"")] + kept)
    }

    private func list(_ id: String, after marker: Int) -> TestReply {
        guard let upload = uploads[id] else { return S3Stub.error(404, "NoSuchUpload") }
        let numbers = upload.parts.keys.filter { $0 > marker }.sorted()
        let page = numbers.prefix(options.partsOfPage)
        let parts = page.map { number -> String in
            guard let part = upload.parts[number] else { return "" }
            return
                "<Part><PartNumber>\(number)</PartNumber><ETag>&quot;\(part.tag)&quot;</ETag><Size>\(part.bytes.count)</Size>"
                + (part.sha256.map { "<ChecksumSHA256>\($0)</ChecksumSHA256>" } ?? "") + "</Part>"
        }
        let isCut = numbers.count > page.count
        return S3Stub.document(
            200,
            "<?xml version=\"1.0\"?><ListPartsResult><IsTruncated>\(isCut)</IsTruncated>"
                + "<NextPartNumberMarker>\(page.last ?? marker)</NextPartNumberMarker>\(parts.joined())</ListPartsResult>"
        )
    }

    private func listUploads(_ prefix: String) -> TestReply {
        let found = uploads.filter { $0.value.key.hasPrefix(prefix) }.map {
            "<Upload><Key>\($0.value.key.replacing("&", with: "&amp;"))</Key><UploadId>\($0.key)</UploadId></Upload>"
        }
        return S3Stub.document(200, "<ListMultipartUploadsResult>\(found.joined())</ListMultipartUploadsResult>")
    }

    private mutating func complete(_ id: String, _ key: String, _ request: TestRequest) -> TestReply {
        guard let upload = uploads[id] else { return S3Stub.error(404, "NoSuchUpload") }
        if isRefused(key, request) { return S3Stub.error(412, "PreconditionFailed") }
        let text = String(decoding: request.body, as: UTF8.self)
        var (bytes, last) = ([UInt8](), 0)
        for match in text.matches(of: /<Part>(.*?)<\/Part>/) {
            let tag = match.1.firstMatch(of: /<ETag>&quot;(.*?)&quot;<\/ETag>/)?.1
            let number = match.1.firstMatch(of: /<PartNumber>(\d+)<\/PartNumber>/).flatMap { Int($0.1) } ?? 0
            let sha256 = match.1.firstMatch(of: /<ChecksumSHA256>(.*?)<\/ChecksumSHA256>/)?.1
            guard let part = upload.parts[number], number > last, tag.map(String.init) == part.tag,
                sha256.map(String.init) == part.sha256
            else { return S3Stub.error(400, "InvalidPart") }
            bytes += part.bytes
            last = number
        }
        uploads[id] = nil
        objects[key] = .init(bytes: bytes, metadata: upload.metadata, tag: "composite-\(last)")
        return S3Stub.document(
            200,
            "   \n <?xml version=\"1.0\"?><CompleteMultipartUploadResult><ETag>&quot;composite-\(last)&quot;</ETag>"
                + "</CompleteMultipartUploadResult>"
        )
    }
}

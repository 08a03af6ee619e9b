internal import Logging

/// Sends the parts of large objects.
extension S3Destination {
    func prepare(
        _ file: StagedFile,
        recordUpload: @Sendable (String) async throws(FleetError) -> Bool
    ) async throws(FleetError) -> PreparedFile {
        let key = try key(file.path)
        let plan = try PartPlan(bytes: file.bytes, least: settings.partSize)
        guard !plan.isSingle else { return PreparedFile(file: file) }
        do throws(S3Failure) {
            // An earlier attempt may have completed the upload and lost the response. If another object has the key,
            // sending is useless.
            if case .absent = try await standing(file, key) {} else { return PreparedFile(file: file) }
            let (id, listed) = try await upload(file, key, recordUpload)
            let parts = try await send(file, key, plan, upload: id, listed)
            return PreparedFile(file: file, upload: .init(id: id, parts: parts))
        } catch { throw error.error }
    }

    /// Returns the upload of an earlier lease with the parts that the store has, or creates an upload. Aborts an
    /// earlier upload of another version of the file.
    private func upload(
        _ file: StagedFile,
        _ key: String,
        _ record: @Sendable (String) async throws(FleetError) -> Bool
    ) async throws(S3Failure) -> (id: String, [Int: S3Client.ListedPart]) {
        if let text = file.uploadID {
            if let token = UploadToken(text), token.isOf(file.sha256) {
                do throws(S3Failure) { return (token.id, try await client.parts(key, upload: token.id)) } catch {
                    guard error.isGone else { throw error }
                }
            } else {
                // Aborts this upload, because it is for another version of the file and its parts are of no use.
                try await client.abortUpload(key, upload: UploadToken(text)?.id ?? text)
            }
        }
        let id = try await create(file, key)
        let isHeld: Bool
        do throws(FleetError) { isHeld = try await record(UploadToken(sha256: file.sha256, id: id).description) } catch
        {
            await drop(key, id)
            throw S3Failure(error)
        }
        guard isHeld else {
            await drop(key, id)
            throw S3Failure(FleetError(.cancelled, "The item is no longer this worker's; nothing was sent."))
        }
        return (id, [:])
    }

    private func create(_ file: StagedFile, _ key: String) async throws(S3Failure) -> String {
        let checksums = await sendsChecksums
        do throws(S3Failure) {
            return try await client.createUpload(key, metadata: metadata(file), checksums: checksums)
        } catch {
            guard checksums, error.refusesFeature else { throw error }
            logger.notice(
                "\(client.endpoint.name) does not take SHA-256 checksums of parts; their entity tags are compared."
            )
            let id = try await client.createUpload(key, metadata: metadata(file), checksums: false)
            await features.keepsNoChecksums()
            return id
        }
    }

    private var sendsChecksums: Bool {
        get async {
            let keepsChecksums = await features.keepsChecksums
            return settings.sendsChecksums && keepsChecksums
        }
    }

    /// Aborts an upload that the queue has not recorded.
    private func drop(_ key: String, _ id: String) async {
        do throws(S3Failure) { try await client.abortUpload(key, upload: id) } catch {
            // The upload has no parts. A worker aborts it after publishing the object, or a lifecycle rule of the
            // bucket does.
            logger.info("An upload without parts could not be aborted: \(error.error)")
        }
    }

    private func send(
        _ file: StagedFile,
        _ key: String,
        _ plan: PartPlan,
        upload: String,
        _ listed: [Int: S3Client.ListedPart]
    ) async throws(S3Failure) -> [PreparedFile.Part] {
        let checksums = await sendsChecksums
        let result: Result<[PreparedFile.Part], S3Failure> = await withTaskGroup(of: PartResult.self) { group in
            var (numbers, parts) = (plan.numbers.makeIterator(), [PreparedFile.Part]())
            func start() {
                guard let number = numbers.next() else { return }
                let region = FileRegion(path: file.stagedPath, range: plan.range(number))
                group.addTask {
                    await self.part(number, region, listed[number], key, upload: upload, checksums: checksums)
                }
            }
            for _ in 0..<max(1, settings.partsAtOnce) { start() }
            for await result in group {
                switch result {
                case .success(let part): parts.append(part)
                case .failure(let failure):
                    group.cancelAll()
                    return .failure(failure)
                }
                start()
            }
            return .success(parts.sorted { $0.number < $1.number })
        }
        return try result.get()
    }

    private typealias PartResult = Result<PreparedFile.Part, S3Failure>

    /// Sends a part unless the store already has it with the size and the checksum of the file's bytes.
    private func part(
        _ number: Int,
        _ region: FileRegion,
        _ listed: S3Client.ListedPart?,
        _ key: String,
        upload: String,
        checksums: Bool
    ) async -> PartResult {
        do throws(S3Failure) {
            let digest: PartDigest
            do throws(FleetError) {
                digest = try await region.digests(withMD5: listed.map { $0.sha256 == nil } ?? false)
            } catch { throw S3Failure(error) }
            if let listed, listed.bytes == region.count {
                if let sha256 = listed.sha256, sha256 == digest.base64 {
                    return .success(.init(number: number, tag: listed.tag, sha256: sha256))
                }
                if listed.sha256 == nil, listed.tag.lowercased() == digest.md5 {
                    return .success(.init(number: number, tag: listed.tag))
                }
            }
            do throws(S3Failure) {
                return .success(
                    try await client.uploadPart(
                        key,
                        upload: upload,
                        number: number,
                        region,
                        digest,
                        checksums: checksums
                    )
                )
            } catch {
                // Sends the part without a checksum: an earlier worker found that the store accepts none, and began the
                // upload without checksums.
                guard checksums, error.refusesFeature else { throw error }
                let part = try await client.uploadPart(
                    key,
                    upload: upload,
                    number: number,
                    region,
                    digest,
                    checksums: false
                )
                await features.keepsNoChecksums()
                return .success(part)
            }
        } catch { return .failure(error) }
    }
}

extension S3Failure {
    /// Whether the upload was completed or aborted.
    var isGone: Bool { code == "NoSuchUpload" || (status == 404 && code == "NotFound") }

    /// Whether the store refuses the request, probably because it does not support a header field.
    var refusesFeature: Bool {
        status == 501 || (status == 400 && ["NotImplemented", "InvalidArgument", "InvalidRequest"].contains(code))
    }
}

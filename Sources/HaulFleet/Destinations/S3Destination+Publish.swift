internal import Logging

/// Publishes objects under their final keys.
extension S3Destination {
    /// Maximum number of rounds. Each round sends a request and looks at the key; ``S3Client`` also repeats each
    /// request.
    private static let rounds = 8

    func publish(_ files: [PreparedFile]) async -> [LeaseKey: PublicationOutcome] {
        await withTaskGroup(of: (LeaseKey, PublicationOutcome).self) { group in
            var (rest, outcomes) = (files[...], [LeaseKey: PublicationOutcome]())
            outcomes.reserveCapacity(files.count)
            func start() {
                guard let file = rest.popFirst() else { return }
                group.addTask { (file.file.key, await publish(file)) }
            }
            for _ in 0..<max(1, settings.connections) { start() }
            for await (key, outcome) in group {
                outcomes[key] = outcome
                start()
            }
            return outcomes
        }
    }

    private func publish(_ prepared: PreparedFile) async -> PublicationOutcome {
        let file = prepared.file
        do throws(FleetError) {
            let key = try key(file.path)
            let plan = try PartPlan(bytes: file.bytes, least: settings.partSize)
            do throws(S3Failure) {
                if let upload = prepared.upload { return try await complete(upload, file, key) }
                if plan.isSingle { return try await put(file, key) }
                // `prepare` found an object under this key and started no upload.
                guard let outcome = outcome(of: try await standing(file, key)) else {
                    throw client.broken("the object \(RelativePath.quoted(key)) was there and is gone")
                }
                return await end(outcome, key)
            } catch { throw error.error }
        } catch { return .failed(error) }
    }

    /// Returns `nil` if no object has the key.
    private func outcome(of standing: Standing) -> PublicationOutcome? {
        switch standing {
        case .absent: nil
        case .same(let tag): .published(tag: tag)
        case .other(let text): .conflict(text)
        }
    }

    // MARK: One request

    private func put(_ file: StagedFile, _ key: String) async throws(S3Failure) -> PublicationOutcome {
        let region = FileRegion(path: file.stagedPath, range: 0..<file.bytes)
        // Uses the digest from the verification of the file, so that the file is not read again.
        let digest = PartDigest(sha256: file.sha256)
        let payload: S3Request.Payload
        do throws(FleetError) {
            payload =
                file.bytes <= Int64(FileRegion.block)
                ? .bytes(try await region.bytes(), digest: digest) : .region(region, digest: digest)
        } catch { throw S3Failure(error) }
        for round in 1...Self.rounds {
            let replaces = await !features.refusesTakenKeys
            if replaces, let outcome = outcome(of: try await standing(file, key)) { return outcome }
            do throws(S3Failure) {
                return .published(
                    tag: try await client.put(key, payload, metadata: metadata(file), replaces: replaces)
                )
            } catch {
                guard error.isTaken || error.refusesFeature else { throw error }
                // Finds the object of the first attempt if its response was lost.
                if let outcome = outcome(of: try await standing(file, key)) { return outcome }
                guard error.isTaken else { throw error }
                await pause(round)
            }
        }
        throw client.broken("it says that \(RelativePath.quoted(key)) is taken, and that it does not exist")
    }

    // MARK: Uploads in parts

    private func complete(
        _ upload: PreparedFile.Upload,
        _ file: StagedFile,
        _ key: String
    ) async throws(S3Failure) -> PublicationOutcome {
        for round in 1...Self.rounds {
            let replaces = await !features.refusesTakenKeys
            if replaces, let outcome = outcome(of: try await standing(file, key)) {
                return await end(outcome, key)
            }
            do throws(S3Failure) {
                _ = try await client.complete(key, upload, replaces: replaces)
                if let outcome = outcome(of: try await standing(file, key)) { return await end(outcome, key) }
            } catch {
                guard error.isTaken || error.isGone || error.isOfParts else { throw error }
                // Looks at the key, because the request may have failed only as a repetition: after a lost response,
                // the key is taken or the upload is gone.
                if let outcome = outcome(of: try await standing(file, key)) { return await end(outcome, key) }
                if error.isGone { throw error }
                if error.isOfParts || round == Self.rounds {
                    // Aborts the upload, so that the next attempt starts a new one.
                    try await client.abortUpload(key, upload: upload.id)
                    throw error.isOfParts ? error : client.broken("it could not decide between two uploads of one key")
                }
            }
            await pause(round)
        }
        throw client.broken("it says that \(RelativePath.quoted(key)) is complete, and that it does not exist")
    }

    /// Aborts all remaining uploads of the key. None of them can succeed, because the key is taken for good. They
    /// belong to workers that were killed before they recorded the upload, or that lost their leases.
    private func end(_ outcome: PublicationOutcome, _ key: String) async -> PublicationOutcome {
        do throws(S3Failure) {
            for upload in try await client.uploads(of: key) { try await client.abortUpload(key, upload: upload.id) }
        } catch {
            // Ignores the failure, because the object exists. A lifecycle rule of the bucket can remove the remaining
            // uploads.
            logger.info("Left uploads of \(RelativePath.quoted(key)) could not be looked for: \(error.error)")
        }
        return outcome
    }
}

extension S3Failure {
    /// Whether the key is taken or another request for it is running.
    var isTaken: Bool { status == 412 || status == 409 || code == "PreconditionFailed" }

    /// Whether the parts at the store are not those that the worker sent.
    var isOfParts: Bool { code == "InvalidPart" || code == "InvalidPartOrder" }
}

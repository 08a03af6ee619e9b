internal import Foundation
internal import Logging

/// A pending request to the application for a link, and its time limit.
struct SourceAsk {
    let id: DownloadMachine.AskID
    let work: Task<Void, Never>
    let limit: Task<Void, Never>

    func withdraw() {
        work.cancel()
        limit.cancel()
    }
}

/// Answer of the application to a request for a link.
typealias SourceAnswer = Result<DownloadSource, DownloadError>

/// Links from the application: requests them and puts them into the record.
extension DownloadTask {
    private var services: EngineServices { environment.services }

    /// Asks the application for a link.
    ///
    /// - Parameter onAnswer: called with each answer, from any task. More answers may follow the first.
    func askForSource(
        _ id: DownloadMachine.AskID,
        _ reason: SourceQuery.Reason,
        _ onAnswer: @escaping @Sendable (SourceAnswer) async -> Bool
    ) {
        sourceAsk?.withdraw()
        // The machine waits for an answer, even if the provider was removed from the configuration since.
        let provider = environment.configuration.sources.provider ?? { _ in throw Self.hasNoProvider }
        let query = SourceQuery(
            id: self.id,
            key: record.request.key,
            metadata: record.request.metadata,
            url: reason == .noneYet ? nil : machine.settings.url,
            reason: reason
        )
        let (sleep, limit) = (services.time.sleep, environment.configuration.sources.timeout)
        // The first answer of the two tasks counts. A provider that ignores its cancellation therefore delays nothing.
        sourceAsk = SourceAsk(
            id: id,
            work: Task.detached {
                let answer: SourceAnswer
                do {
                    answer = .success(try await provider(query))
                } catch let error as DownloadError where error.code == .tooManyOpenFiles {
                    answer = .failure(error)
                } catch {
                    answer = .failure(
                        DownloadError(
                            .sourceFailed,
                            "The source provider returned no URL.",
                            cause: URL.maskedText("\(error)", knowing: query.url)
                        )
                    )
                }
                _ = await onAnswer(answer)
            },
            limit: Task.detached {
                // `sleep` throws only after a cancellation, and then nobody waits for the answer.
                guard (try? await sleep(limit)) != nil else { return }
                let error = DownloadError(.sourceFailed, "The source provider returned no URL within \(limit).")
                _ = await onAnswer(.failure(error))
            }
        )
    }

    private static let hasNoProvider = DownloadError(.sourceFailed, "There is no source provider any more.")

    func cancelSource(_ id: DownloadMachine.AskID) {
        guard sourceAsk?.id == id else { return }
        sourceAsk?.withdraw()
        sourceAsk = nil
    }

    /// Returns the event for an answer. Puts the link of a usable answer into the record.
    func event(_ id: DownloadMachine.AskID, _ answer: SourceAnswer) -> DownloadMachine.Event {
        switch answer {
        case .success(let source) where services.readers.canRead(source.url): return .sourceFound(id, takeLink(source))
        case .success(let source):
            let error = DownloadError(
                .sourceFailed,
                "The source provider returned no \(services.readers.schemes("or")) URL with a host: \(source.url.messageText)."
            )
            return .sourceFailed(id, error)
        case .failure(let error):
            services.logger.debug("\(self.id): \(error)")
            return .sourceFailed(id, error)
        }
    }

    // MARK: Taking

    /// Puts a link into the record, and returns it with the known facts about its host.
    func takeLink(_ source: DownloadSource) -> DownloadMachine.Link {
        let date = services.time.date()
        record.take(source, now: date)
        return .init(
            url: source.url,
            expiresAt: record.linkExpiresAt.map { instant($0, date) },
            host: environment.pool.known(Origin(source.url))
        )
    }

    /// Records the new link. Makes it durable before bytes come from it, unless nothing of the download is on the disk.
    func recordLink() -> Work {
        guard ownership.isOwned, machine.state != .cancelled else { return .nothing }
        if smallFile.hasNoDiskState {
            services.store.note(record)
            return .nothing
        }
        return .step { task, _ in
            do throws(DownloadError) {
                try await task.services.store.commit(task.record, nil, durably: true)
            } catch { task.services.logger.debug("store: \(error)") }
            return nil
        }
    }

    /// Expiry of the current link as an `Instant`, which counts from the start of this process; `nil` if unknown or
    /// without a provider.
    var linkExpiry: Instant? {
        guard environment.configuration.sources.mayServe(record.request) else { return nil }
        return record.linkExpiresAt.map { instant($0, services.time.date()) }
    }

    private func instant(_ moment: Date, _ now: Date) -> Instant {
        // A date may be any number, and `Duration` traps beyond its own range.
        let seconds = moment.timeIntervalSince(now)
        return services.time.now() + .seconds(seconds.isFinite ? min(max(seconds, -1e9), 1e9) : 1e9)
    }
}

internal import Foundation
internal import Logging

/// A question to the application that is under way, and the end of the time for it.
struct SourceAsk {
    let id: DownloadMachine.AskID
    let work: Task<Void, Never>
    let limit: Task<Void, Never>

    func cancel() {
        work.cancel()
        limit.cancel()
    }
}

/// What the application answers when it is asked for a URL.
typealias SourceAnswer = Result<DownloadSource, DownloadError>

/// URLs from the application: asking for them, and putting them into the record.
extension DownloadTask {
    private var services: EngineServices { environment.services }

    /// - Parameter onAnswer: called with each answer, from any task; further answers may follow the first.
    func askForSource(
        _ id: DownloadMachine.AskID,
        _ reason: SourceQuery.Reason,
        _ onAnswer: @escaping @Sendable (SourceAnswer) async -> Bool
    ) {
        sourceAsk?.cancel()
        // The settings may have changed since the machine was made: it waits for an answer.
        let provider = environment.configuration.sources.provider ?? { _ in throw Self.hasNoProvider }
        let query = SourceQuery(
            id: self.id,
            key: record.request.key,
            group: record.request.group,
            owner: record.request.owner,
            metadata: record.request.metadata,
            url: reason == .noneYet ? nil : machine.settings.url,
            reason: reason
        )
        let (sleep, limit) = (services.time.sleep, environment.configuration.sources.timeout)
        // Two tasks, and whichever has something to say first is heard: one that does not end when it is cancelled delays nothing.
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
                // Ends early only by cancellation, and then it is not waited for.
                guard (try? await sleep(limit)) != nil else { return }
                let error = DownloadError(.sourceFailed, "The source provider returned no URL within \(limit).")
                _ = await onAnswer(.failure(error))
            }
        )
    }

    private static let hasNoProvider = DownloadError(.sourceFailed, "There is no source provider any more.")

    func cancelSource(_ id: DownloadMachine.AskID) {
        guard sourceAsk?.id == id else { return }
        sourceAsk?.cancel()
        sourceAsk = nil
    }

    /// What the machine is told of an answer.
    func event(_ id: DownloadMachine.AskID, _ answer: SourceAnswer) -> DownloadMachine.Event {
        switch answer {
        case .success(let source) where services.readers.canRead(source.url): return .sourceFound(id, adopt(source))
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

    /// Puts a link into the record, and tells the rest of the machine's knowledge of its host.
    func adopt(_ source: DownloadSource) -> DownloadMachine.Link {
        let date = services.time.date()
        record.take(source, now: date)
        return .init(
            url: source.url,
            expiresAt: record.linkExpiresAt.map { instant($0, date) },
            host: environment.pool.known(Origin(source.url))
        )
    }

    /// Makes a new link durable before bytes come from it.
    func commitLink(isolation: isolated (any Actor)? = #isolation) async -> DownloadMachine.Event? {
        do throws(DownloadError) {
            try await services.store.commit(record, nil, durably: true)
        } catch { services.logger.debug("store: \(error)") }
        return nil
    }

    /// When the present link expires: moments are counted from the start of this process.
    var linkExpiry: Instant? {
        guard environment.configuration.sources.provider != nil else { return nil }
        return record.linkExpiresAt.map { instant($0, services.time.date()) }
    }

    private func instant(_ moment: Date, _ now: Date) -> Instant {
        // A date may be any number, and `Duration` traps beyond its own range.
        let seconds = moment.timeIntervalSince(now)
        return services.time.now() + .seconds(seconds.isFinite ? min(max(seconds, -1e9), 1e9) : 1e9)
    }
}

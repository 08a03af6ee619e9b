internal import HaulKit

/// Repeats a call until the database answers it. The delays double from `firstDelay` to 10 s.
///
/// - Parameter onWait: called once, with the first failure.
/// - Throws: the first error other than ``FleetError/Code/databaseUnreachable``, and ``FleetError/Code/cancelled`` if
///   the task is cancelled while it waits.
func whenReachable<Value>(
    firstDelay: Duration,
    onWait: (FleetError) -> Void = { _ in },
    _ call: () async throws(FleetError) -> Value
) async throws(FleetError) -> Value {
    let backoff = Backoff(base: firstDelay, cap: .seconds(10), jitter: .part(2))
    var failures = 0
    while true {
        do throws(FleetError) { return try await call() } catch {
            guard error.code == .databaseUnreachable else { throw error }
            failures += 1
            if failures == 1 { onWait(error) }
            let delay = backoff.delay(failures: failures, fraction: .random(in: 0...1))
            do { try await Task.sleep(for: delay) } catch {
                throw FleetError(.cancelled, "The wait was cancelled.").blamingNoFile()
            }
        }
    }
}

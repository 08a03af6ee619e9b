internal import HaulKit

/// Cancels items.
extension QueueAdministration {
    package enum CancelledItems: Sendable, Hashable {
        case all
        /// The items of a host.
        case host(String)
        /// The item of this number.
        case item(Int64)
    }

    package struct Cancellation: Sendable, Hashable {
        /// Number of items that this call has cancelled.
        package var cancelled: Int64 = 0
        /// Number of selected items that were being published at the end, and were therefore left to their workers.
        package var publishing: Int64 = 0
    }

    /// Cancels the selected items that wait or run: they get the result `cancelled`. Items that have a result stay as they
    /// are. Workers end the transfers with their next beat. ``retry(_:)`` with the kind `cancelled`, or with the item's
    /// number, takes a cancellation back.
    ///
    /// Each step is a transaction of its own, so a call that throws may have cancelled some of the items.
    ///
    /// - Throws: ``FleetError/Code/invalidInput`` if the queue does not know the host or the item.
    package func cancel(_ items: CancelledItems) async throws(FleetError) -> Cancellation {
        let (host, item): (String?, Int64?)
        switch items {
        case .all: (host, item) = (nil, nil)
        case .host(let name): (host, item) = (try await self.host(name).name, nil)
        case .item(let number):
            (host, item) = (nil, number)
            let found = try await connection.run("SELECT 1 FROM \(table("item")) WHERE item_id = $1", [.int(number)])
            guard found.first != nil else {
                throw FleetError(.invalidInput, "The queue has no item \(number).")
            }
        }
        var result = Cancellation()
        while true {
            let text = "SELECT cancelled, publishing, is_more FROM \(table("cancel($1, $2, $3)"))"
            let parameters: [SQLParameter] = [.text(host), .int(item), .int(Self.cancelledTogether)]
            guard let row = try await connection.run(text, parameters, .loading).first else {
                throw PostgresQueue.noAnswer
            }
            let count = try row.int(0, as: Int64.self)
            result.cancelled = result.cancelled.addingClamped(count)
            result.publishing = try row.int(1)
            guard try row.bool(2) else { return result }
            // The rest is in the hands of claims, which take a moment.
            if count == 0 { await Self.pause() }
        }
    }

    /// Number of items that one transaction cancels.
    private static let cancelledTogether = 20_000

    private static func pause() async {
        // Cancellation of the caller ends the pause; the next statement then reports it.
        try? await Task.sleep(for: .milliseconds(20))
    }
}

/// One report of a ``SegmentWorker``, made on an event loop or on the write thread.
///
/// The path of a report to the machine:
/// 1. The worker calls its function `report`, which ``ConnectionPool/start(_:_:_:of:stream:)`` made. The function puts
///    the report into the ``EventMailbox``, with its connection, download and host.
/// 2. The first report in an empty mailbox starts one task on the actor (``ActorSpawner/signal(_:_:)``). Reports that
///    arrive before this task runs are taken with the first.
/// 3. The task runs `ConnectionBroker.takeIn()`. It takes all reports in the order of arrival, frees the slot after
///    ``gone``, and passes the others as events to ``DownloadTask/receive(_:)``.
///
/// Written bytes are not reported. ``DownloadTask/receive(_:)`` adds the ranges of the file to an event, and
/// ``ProgressTicker`` reads these ranges between two events.
enum WorkerReport: Sendable {
    /// The head of the answer has arrived. `retryAfter` is computed on arrival, because the field may be a date.
    case head(ResponseHead, retryAfter: Duration?)
    /// The body has ended and its last bytes are written, or the request failed before a body. A worker that was closed
    /// does not report its end.
    case ended(DownloadMachine.ConnectionEnd)
    /// The exchange is over, however it ended. Its connection no longer counts for the host. Every worker reports this
    /// once, and before ``ended(_:)``, because a request that begins after the end may need the slot.
    case gone
}

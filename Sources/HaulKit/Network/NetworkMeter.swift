/// Reports whether the network is metered (traffic is paid for).
///
/// HaulKit has none of its own. The product `HaulDesktop` has one for NetworkManager; an application with better
/// knowledge, or a test, provides its own in ``Downloader/Configuration/Network/meter``.
public protocol NetworkMeter: Sendable {
    /// The present value first, as soon as it is known, then one after each change; `nil` when it cannot be found out.
    /// Downloads wait for the first value where it matters, so it must come soon. Watching begins with this call, and
    /// ends when the sequence is no longer read. The end of the sequence means that the value is unknown from then on.
    func readings() -> AsyncStream<Bool?>
}

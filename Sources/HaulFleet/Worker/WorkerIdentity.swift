/// The worker in its queue: the label and the number of its registration. Records the number in the work folder, so
/// that the next process with this folder may take over the leases.
struct WorkerIdentity {
    /// Name for the registration. Ends with the id of the work folder, because only a process with this folder may take
    /// over the leases.
    let label: String
    /// The worker's current number in the queue; `nil` before the registration.
    private(set) var number: WorkerID?
    private let folder: WorkFolder
    private let queue: String

    init(_ label: String, in folder: WorkFolder, queue: String) {
        (self.folder, self.queue) = (folder, queue)
        self.label = "\(label)/\(folder.id)"
    }

    /// The recorded number; `nil` if the folder is new or was last used with another queue.
    var predecessor: WorkerID? { folder.predecessor(queue: queue) }

    /// - Throws: ``FleetError`` if the folder cannot record the number. The worker uses the number nevertheless.
    mutating func register(_ number: WorkerID) throws(FleetError) {
        self.number = number
        try folder.keep(worker: number, queue: queue)
    }
}

@testable import HaulFleet

/// An event of a history.
enum HistoryEvent {
    /// A request arrives at the database.
    case request(RemoteRequest)
    /// An event in a process. It is ignored if the process has restarted since.
    case process(Int, incarnation: Int, ProcessEvent)
    case fault(Fault)
    case restart(Int, isSameFolder: Bool)
    case thaw(Int)
    /// Ends all faults. From here on every item must come to an end.
    case heal
}

enum ProcessEvent {
    case timer(generation: Int)
    case event(WorkerEvent)
    case replied(RemoteRequest, RemoteReply)
    case transferEnds(LeaseKey, token: Int)
    case preparationEnds(LeaseKey, token: Int, upload: String?)
    case publish([PreparedFile], by: WorkerID?)
}

struct RemoteRequest {
    enum Call {
        case worker(WorkerCall)
        case recordUpload(LeaseKey, String, token: Int)
        case block(host: Int, Duration)
        case orphanUploads
        case forget([OrphanUpload])
    }

    var process: Int
    var incarnation: Int
    var worker: WorkerID?
    var claimNumber: Int
    var sentAt: Duration
    var sentTrueAt: Int64
    var call: Call
    /// Time from the effect to the arrival of the answer. `nil` if the caller has given up by then.
    var replyDelay: Int64?
}

enum RemoteReply {
    case event(WorkerEvent)
    case recorded(Bool)
    case orphans([OrphanUpload])
    case done
    case failed(FleetError)
}

enum Fault {
    case kill(Int)
    case freeze(Int, Int64)
    case stop(Int)
    case databaseOutage(Int64)
    /// Copies the queue. The standby of a failover lacks the commits since this copy.
    case snapshot
    case failover(Int64)
    case destinationOutage(Int64)
    case destinationBack
    case databaseBack
    case network(loss: Double)
    case pause(Bool)
    case drain(Bool)
    case sourceChange(Int)
    case block(Int, Duration)
    /// Somebody cancels an item, or all if it is `nil`.
    case cancel(Int?)
}

struct HeldItem: Sendable, Equatable {
    enum Stage: Sendable, Equatable {
        /// Not begun, because the lease was in doubt at the claim.
        case waiting
        case downloading
        /// Complete in the staging folder. The preparation has not begun or must be repeated.
        case staged(StagedFile)
        case preparing(StagedFile)
        /// Waits for the gate or its answer.
        case prepared(PreparedFile)
        case publishing(StagedFile)
        case reporting
    }

    let lease: LeasedItem
    var stage: Stage
}

extension HeldItem.Stage {
    /// Whether the stage moves bytes.
    var isTransfer: Bool {
        switch self {
        case .downloading, .preparing: true
        default: false
        }
    }

    var isPrepared: Bool { if case .prepared = self { true } else { false } }
    var isPublishing: Bool { if case .publishing = self { true } else { false } }
}

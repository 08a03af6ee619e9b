extension PieceHashes { func fits(total: Int64) -> Bool { pieceLength > 0 && Int64(digests.count) == (total + pieceLength - 1) / pieceLength } }
enum MirrorLinks { static func mirrors(_ head: ResponseHead) -> [Mirror] { [] } }

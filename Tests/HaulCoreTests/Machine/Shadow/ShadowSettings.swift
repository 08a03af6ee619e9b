@testable import HaulCore

/// Random settings of a shadow download.
enum ShadowSettings {
    static func draw(_ server: ShadowServer, _ random: inout SplitMix64) -> DownloadMachine.Settings {
        var settings = DownloadMachine.Settings(
            request: DownloadRequest(ShadowServer.url, to: .folder(path: "/d"))
        )
        settings.mirrors = server.mirrors.indices.map {
            Metalink.Source(ShadowServer.url(ofMirror: $0 + 1), priority: $0 + 1)
        }
        settings.retry.attempts = Int.random(in: 0...4, using: &random)
        settings.retry.attemptsBeforeFirstAnswer = Int.random(in: 0...2, using: &random)
        settings.resumesUnverified = Int.random(in: 0..<4, using: &random) == 0
        settings.failsOnChange = Int.random(in: 0..<8, using: &random) == 0
        settings.waitsForSpace = Bool.random(using: &random)
        settings.limits.connections = Int.random(in: 1...6, using: &random)
        settings.limits.start = Int.random(in: 1...6, using: &random)
        settings.limits.smallestPiece = [1, 100, 4000].randomElement(using: &random) ?? 1
        if Int.random(in: 0..<4, using: &random) == 0 {
            settings.checksum = ShadowServer.digest(of: ShadowServer.finalVersion)
        }
        if Int.random(in: 0..<3, using: &random) == 0 {
            settings.pieces = pieces(of: server.finalTotal, &random)
            if Bool.random(using: &random) { settings.size = server.finalTotal }
        }
        settings.canAskForSource = Int.random(in: 0..<2, using: &random) == 0
        if settings.canAskForSource, Int.random(in: 0..<3, using: &random) == 0 {
            settings.url = link("haul-source:iso")
        }
        return settings
    }

    /// Makes placeholder digests for the final version. Only `ShadowDownload.isRight` knows which pieces are right.
    private static func pieces(of total: Int64, _ random: inout SplitMix64) -> PieceHashes? {
        let lengths: [Int64] = [total, total / 3, total / 10, 5000]
        let pieceLength = max(1, lengths.randomElement(using: &random) ?? 5000)
        let digest = [UInt8](repeating: 0, count: 32)
        let count = Int((total + pieceLength - 1) / pieceLength)
        let digests = [[UInt8]](repeating: digest, count: count)
        return PieceHashes(.sha256, pieceLength: pieceLength, digests: digests)
    }
}

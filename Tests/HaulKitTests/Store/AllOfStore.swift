@testable import HaulCore
@testable import HaulKit

extension DownloadStore {
    /// Everything that can be read, in the order of adding.
    func all() async throws(DownloadError) -> [Saved] {
        var all: [Saved] = []
        for id in try await ids(.all) {
            if let saved = try await find(id: id.description) { all.append(saved) }
        }
        return all
    }
}

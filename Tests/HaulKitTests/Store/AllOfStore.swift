@testable import HaulCore
@testable import HaulKit

extension DownloadStore {
    /// Returns all readable downloads in the order of their addition.
    func all() async throws(DownloadError) -> [Saved] {
        var all: [Saved] = []
        for id in try await ids(.all) {
            if let saved = try await find(id: id.description) { all.append(saved) }
        }
        return all
    }
}

import Foundation
import HaulKit

extension JSONEncoder {
    /// One that encodes URLs and header fields as they are.
    static func keepingSecrets() -> JSONEncoder {
        let encoder = JSONEncoder()
        encoder.userInfo[.keepsSecrets] = true
        return encoder
    }
}

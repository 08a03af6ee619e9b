import Foundation
import HaulCore

extension JSONEncoder {
    /// Returns an encoder that does not mask URLs and header fields.
    static func keepingSecrets() -> JSONEncoder {
        let encoder = JSONEncoder()
        encoder.userInfo[.keepsSecrets] = true
        return encoder
    }
}

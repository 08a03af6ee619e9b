import Foundation

@testable import HaulCore

/// Documents for tests, complete except for the part under test.
enum MetalinkText {
    static let url = "<url>https://one.example/a.iso</url>"
    static let sha1 = String(repeating: "1a", count: 20)
    static let sha256 = String(repeating: "2b", count: 32)
    static let sha512 = String(repeating: "5c", count: 64)
    static let md5 = String(repeating: "0d", count: 16)

    /// Returns a Metalink 4 document with one file.
    static func four(_ inFile: String = url, name: String = "a.iso") -> String {
        four(files: "<file name=\"\(name)\">\(inFile)</file>")
    }

    static func four(files: String) -> String {
        """
        <?xml version="1.0" encoding="UTF-8"?>
        <metalink xmlns="urn:ietf:params:xml:ns:metalink">\(files)</metalink>
        """
    }

    /// Returns a Metalink 3 document with one file.
    static func three(verification: String = "", resources: String = url, inFile: String = "") -> String {
        """
        <?xml version="1.0" encoding="UTF-8"?>
        <metalink version="3.0" xmlns="http://www.metalinker.org/"><files><file name="a.iso">\(inFile)
        <verification>\(verification)</verification><resources>\(resources)</resources></file></files></metalink>
        """
    }

    static func pieces(_ length: String, _ digests: [String], type: String = "sha-1") -> String {
        "<pieces length=\"\(length)\" type=\"\(type)\">" + digests.map { "<hash>\($0)</hash>" }.joined() + "</pieces>"
    }
}

extension Metalink {
    init(text: String, limits: Limits = Limits()) throws(DownloadError) {
        try self.init(Data(text.utf8), limits: limits)
    }
}

/// Returns the message with which `text` is refused; `nil` if it is accepted.
func refusal(_ text: String, limits: Metalink.Limits = Metalink.Limits()) -> String? {
    refusal(Data(text.utf8), limits: limits)
}

func refusal(_ data: Data, limits: Metalink.Limits = Metalink.Limits()) -> String? {
    do throws(DownloadError) {
        _ = try Metalink(data, limits: limits)
        return nil
    } catch {
        return error.code == .invalidMetalink ? error.message : "\(error.code)"
    }
}

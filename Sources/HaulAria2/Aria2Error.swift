package import HaulKit

/// An error of a download, a file or an option, with aria2's code. A call returns it as an ``Aria2CallError``.
package struct Aria2Error: Error, Sendable, Equatable, CustomStringConvertible {
    package let code: Aria2ErrorCode
    package let message: String

    package init(_ code: Aria2ErrorCode, _ message: String) { (self.code, self.message) = (code, message) }

    package init(_ error: DownloadError) { self.init(Aria2ErrorCode(error), error.message) }

    package init(_ error: Aria2OptionError) { self.init(.badOption, error.message) }

    package var description: String { message }
}

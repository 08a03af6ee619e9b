import ArgumentParser
import Foundation
import HaulKit

/// Files to read cookies from and write them to. Without these options no cookie is kept after the run.
struct CookieOptions: ParsableArguments {
    @Option(
        help: "Send the cookies in this file to the hosts that it names: cookies.txt, or a browser's SQLite database.",
        completion: .file()
    )
    var loadCookies: String?

    @Option(
        help: "At the end, write the cookies, including cookies that servers set, to this cookies.txt file.",
        completion: .file()
    )
    var saveCookies: String?

    private static let mostBytes = 16 << 20

    func apply(to configuration: inout Downloader.Configuration) throws {
        configuration.network.collectsCookies = saveCookies != nil
        if let saveCookies {
            try Self.checkFolder(of: saveCookies)
            try Self.checkIsRegular(saveCookies, .usage)
            guard Self.holdsOnlyCookies(saveCookies) else {
                throw Complaint(
                    "\(saveCookies) is no cookies.txt file, and is not replaced. Name another file.",
                    .usage
                )
            }
        }
        guard let loadCookies else { return }
        let data = try OptionFile.contents(loadCookies, limit: Self.mostBytes)
        if Cookies.isDatabase(data) {
            configuration.network.cookies = try Self.database(loadCookies)
            return
        }
        guard data.count <= Self.mostBytes else { throw Complaint("\(loadCookies) is too large for cookies.", .usage) }
        configuration.network.cookies = Cookies(netscape: String(decoding: data, as: UTF8.self))
    }

    /// Checks that the folder of a file exists. Otherwise the cookies of the downloads could not be kept at the end.
    private static func checkFolder(of path: String) throws {
        let folder = FilePaths.folder(of: path)
        var status = stat()
        guard stat(folder, &status) == 0, status.st_mode & S_IFMT == S_IFDIR else {
            throw Complaint("The folder \(folder) of --save-cookies does not exist.", .usage)
        }
    }

    private static func checkIsRegular(_ path: String, _ exit: ExitStatus) throws {
        var status = stat()
        if stat(path, &status) == 0, status.st_mode & S_IFMT != S_IFREG {
            throw Complaint("\(path) is not a regular file: cookies cannot be written to it.", exit)
        }
    }

    /// Returns `true` if each line of the file is a comment or a cookie, or if the file is missing, empty or not
    /// regular. `save(_:)` refuses a file that is not regular.
    private static func holdsOnlyCookies(_ path: String) -> Bool {
        var status = stat()
        guard stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_size > 0 else { return true }
        // Keeps a file that is too large or unreadable, because it may hold something other than cookies.
        guard status.st_size <= mostBytes, let data = try? OptionFile.contents(path, limit: mostBytes) else {
            return false
        }
        return Cookies.isFile(netscape: String(decoding: data, as: UTF8.self))
    }

    private static func database(_ path: String) throws -> Cookies {
        do throws(DownloadError) {
            let cookies = try Cookies(contentsOf: path)
            if cookies.encryptedCount > 0 {
                let count = cookies.encryptedCount
                Output.error(
                    "Warning: \(count) \(count == 1 ? "cookie" : "cookies") in \(path) cannot be read: the browser has encrypted \(count == 1 ? "it" : "them")."
                )
            }
            return cookies
        } catch {
            throw Complaint(
                [error.message, error.cause.map { "(\($0))" }].compactMap(\.self).joined(separator: " "),
                .usage
            )
        }
    }

    /// Writes the cookies, and prints a failure.
    ///
    /// - Parameter status: how the downloads ended.
    /// - Returns: `status`, or ``ExitStatus/disk`` if the downloads are complete but the cookies were not written.
    func save(_ cookies: Cookies, after status: ExitStatus) -> ExitStatus {
        do {
            try save(cookies)
            return status
        } catch {
            Output.error((error as? Complaint)?.sentence ?? "\(error)")
            return status == .complete ? .disk : status
        }
    }

    /// Replaces the file by a rename, so that the file is always complete. Only its owner may read it.
    private func save(_ cookies: Cookies) throws {
        guard let saveCookies else { return }
        try Self.checkIsRegular(saveCookies, .disk)
        guard Self.holdsOnlyCookies(saveCookies) else {
            throw Complaint("\(saveCookies) is no cookies.txt file any more: cookies are not written to it.", .disk)
        }
        let path = try Self.target(of: try FilePaths.absolute(saveCookies))
        let draft = "\(path).\(getpid()).part"
        let descriptor = open(draft, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
        var isWritten = descriptor >= 0
        if isWritten {
            isWritten = Self.write(Array(cookies.netscape().utf8), to: descriptor) && fsync(descriptor) == 0
            isWritten = close(descriptor) == 0 && isWritten && rename(draft, path) == 0
            if !isWritten { unlink(draft) }
        }
        guard isWritten else { throw Complaint("The cookies cannot be written to \(saveCookies).", .disk) }
    }

    /// Follows the symbolic links at `path`, so that the rename does not replace them. The target may be missing.
    private static func target(of path: String) throws -> String {
        var target = path
        for _ in 0..<mostLinks {
            // The call throws if `target` is no link or does not exist. Then nothing is left to follow.
            guard let next = try? FileManager.default.destinationOfSymbolicLink(atPath: target) else { return target }
            target = next.hasPrefix("/") ? next : FilePaths.join(FilePaths.folder(of: target), next)
        }
        throw Complaint("\(path) is a symbolic link that leads nowhere: cookies cannot be written to it.", .disk)
    }

    /// The number of links that Linux follows in one path.
    private static let mostLinks = 40

    private static func write(_ bytes: [UInt8], to descriptor: Int32) -> Bool {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Foundation.write(descriptor, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return false }
            rest = rest.dropFirst(count)
        }
        return true
    }
}

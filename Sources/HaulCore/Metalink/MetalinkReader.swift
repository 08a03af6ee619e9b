/// Interprets the elements of a Metalink document of either version, one after another.
///
/// Both versions hold the same data in different elements. Metalink 4 has hashes and URLs directly in `<file>`.
/// Metalink 3 has them in `<verification>` and `<resources>`, and its files in `<files>`.
struct MetalinkReader {
    private enum Place {
        case metalink, files, file, verification, resources
        case size, hash, pieces, piece, url
        /// An unknown element, or a known one in the wrong parent. Everything inside it is ignored.
        case unknown
    }

    private enum Version: String {
        case three = "http://www.metalinker.org/"
        case four = "urn:ietf:params:xml:ns:metalink"
    }

    private let limits: Metalink.Limits
    private var version = Version.four
    private var open: [(place: Place, attributes: [String: String])] = []
    private var file: MetalinkFile?
    private var files: [Metalink.File] = []
    private var names: Set<String> = []
    private var begun = 0
    /// Reason for the first file that was left out.
    private var firstRefusal: DownloadError?
    private var remarks: [String] = []
    private var leftOut: [RefusedName] = []
    private var pieces = 0

    init(limits: Metalink.Limits) { self.limits = limits }

    mutating func begin(
        _ name: String,
        namespace: String,
        attributes: [String: String]
    ) throws(DownloadError) {
        let place: Place
        if let parent = open.last?.place {
            place = namespace == version.rawValue ? self.place(of: name, in: parent) : .unknown
        } else {
            guard name == "metalink", let version = Version(rawValue: namespace) else {
                throw .invalidMetalink("it is XML, but no Metalink")
            }
            self.version = version
            place = .metalink
        }
        open.append((place, attributes))
        switch place {
        case .file: try beginFile(attributes)
        case .pieces: file?.beginPieces(type: attributes["type"], length: attributes["length"])
        default: break
        }
    }

    /// - Parameter text: the element's text; empty if the element has child elements.
    mutating func end(text: String) throws(DownloadError) {
        guard let (place, attributes) = open.popLast() else { return }
        switch place {
        case .size: file?.setSize(text)
        case .hash: file?.addHash(type: attributes["type"], text)
        case .piece: try endPiece(text, attributes)
        case .pieces: file?.endPieces()
        case .url:
            let source = source(text, attributes)
            file?.add(source)
        case .file: endFile()
        case .metalink, .files, .verification, .resources, .unknown: break
        }
    }

    func finish() throws(DownloadError) -> Metalink.Contents {
        guard !files.isEmpty else { throw firstRefusal ?? .invalidMetalink("it names no file") }
        return Metalink.Contents(files: files, remarks: remarks, leftOut: leftOut)
    }

    private func place(of name: String, in parent: Place) -> Place {
        switch (version, parent, name) {
        case (.four, .metalink, "file"), (.three, .files, "file"): .file
        case (.three, .metalink, "files"): .files
        case (.three, .file, "verification"): .verification
        case (.three, .file, "resources"): .resources
        case (_, .file, "size"): .size
        case (.four, .file, "hash"), (.three, .verification, "hash"): .hash
        case (.four, .file, "pieces"), (.three, .verification, "pieces"): .pieces
        case (_, .pieces, "hash"): .piece
        case (.four, .file, "url"), (.three, .resources, "url"): .url
        default: .unknown
        }
    }
}

// MARK: - Files

extension MetalinkReader {
    private mutating func beginFile(_ attributes: [String: String]) throws(DownloadError) {
        file = nil
        begun += 1
        guard begun <= limits.files else { throw .invalidMetalink("it names more than \(limits.files) files") }
        guard let raw = attributes["name"] else { return leaveOut("", because: "a file in it has no name") }
        guard let name = FileName.safePath(raw) else {
            let shown = MetalinkDocument.printable(raw)
            return leaveOut(shown, because: "\u{201C}\(shown)\u{201D} is no name for a file")
        }
        guard names.insert(name).inserted else {
            throw .invalidMetalink("two files in it have the name \(MetalinkDocument.printable(name))")
        }
        file = MetalinkFile(name: name)
    }

    private mutating func endFile() {
        guard let file else { return }
        self.file = nil
        switch file.finished() {
        case .success(let finished):
            files.append(finished.file)
            for clause in finished.passedOver { remark("\(clause). It is passed over, since other digests are there.") }
        case .failure(let reason): leaveOut(file.name, because: reason.clause)
        }
    }

    private mutating func leaveOut(_ name: String, because clause: String) {
        if firstRefusal == nil { firstRefusal = .invalidMetalink(clause) }
        let full = "\(clause). It is left out."
        leftOut.append(RefusedName(name, Self.sentence(full)))
        remark(full)
    }

    private mutating func remark(_ clause: String) {
        // Limits the remarks, because a document may have thousands of files.
        guard remarks.count < Self.mostRemarks else { return }
        remarks.append(Self.sentence(clause))
    }

    private static func sentence(_ clause: String) -> String { "In the Metalink, " + clause }

    private static let mostRemarks = 20

    private mutating func endPiece(_ text: String, _ attributes: [String: String]) throws(DownloadError) {
        pieces += 1
        guard pieces <= limits.pieces else { throw .invalidMetalink("it names more than \(limits.pieces) pieces") }
        file?.addPiece(text, number: version == .three ? attributes["piece"] : nil)
    }

    /// - Returns: `nil` if Haul cannot send requests to the URL, or if the `type` of Metalink 3 names another protocol.
    private func source(_ text: String, _ attributes: [String: String]) -> Metalink.Source? {
        guard let url = Metalink.Source.url(text) else { return nil }
        let location = attributes["location"].flatMap(Metalink.Source.location)
        switch version {
        case .four:
            let priority = attributes["priority"].flatMap(Metalink.Source.priority)
            return .init(url, priority: priority ?? Metalink.Source.lowestPriority, location: location)
        case .three:
            // `type` takes precedence over the scheme: a torrent file has an `http` URL, but is not the described file.
            if let type = attributes["type"], !HTTPURL.schemes.contains(type.lowercased()) { return nil }
            // Metalink 3 has a preference from 100 (best) to 0.
            let preference = attributes["preference"].flatMap { Int($0) }.flatMap { (0...100).contains($0) ? $0 : nil }
            return .init(
                url,
                priority: preference.map { 101 - $0 } ?? Metalink.Source.lowestPriority,
                location: location
            )
        }
    }
}

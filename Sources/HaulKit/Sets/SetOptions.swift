/// Settings of one sync, comparison or preview.
public struct SetOptions: Sendable {
    /// Patterns of the names that are wanted, in gitignore's form (`*.safetensors`, `weights/**`). Empty, the default:
    /// all names.
    public var select: [String] = []
    /// Patterns of the names that are not wanted, in the same form. A list of digests among the files of a release or
    /// of a folder proves nothing if a pattern matches its name.
    public var except: [String] = []
    /// Whether every file is read, even if its size, time and identity are as a sync left them. Default: `false`.
    public var verifies = false
    /// Whether to remove files that an earlier sync brought and that the set no longer has. A file that no sync
    /// brought, or that was changed since, stays. Default: `false`.
    public var deletes = false
    /// Header fields for requests to the origin of the list or of the hub, for documents and for files. Default: none.
    public var headers: [HeaderField] = []
    /// Whether redirects from https to http are followed, for documents and files. Default: `false`.
    public var allowsInsecureRedirects = false
    /// The group of the downloads. `nil`, the default: a name made from the folder.
    public var group: String?
    /// Changes a request before it is added: limits, header fields, connections. Default: none.
    public var prepare: @Sendable (inout DownloadRequest) -> Void = { _ in }

    /// Makes the settings with their defaults.
    public init() {}
}

/// Reason why bytes were not added to a partial file.
enum WriteFailure: Error, Equatable {
    case disk(DiskError)
    /// Two connections brought different bytes for one place: they send two versions of the file.
    case versionsDiffer
}

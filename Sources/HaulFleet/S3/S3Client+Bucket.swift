/// Requests for the bucket itself.
extension S3Client {
    /// Looks whether the bucket exists.
    func headBucket() async throws(S3Failure) {
        do throws(S3Failure) { _ = try await send(S3Request(method: "HEAD")) } catch {
            // An answer to HEAD has no document with the code `NoSuchBucket`.
            guard error.status == 404 else { throw error }
            throw S3Failure(S3Failure.noBucket(RelativePath.quoted(settings.bucket), store: endpoint.name))
        }
    }

    /// Makes the bucket, unless these credentials own it already.
    func makeBucket() async throws(S3Failure) {
        var request = S3Request(method: "PUT")
        // The document is for other regions only
        // (https://docs.aws.amazon.com/AmazonS3/latest/API/API_CreateBucket.html).
        if settings.region != "us-east-1" {
            let document = """
                <CreateBucketConfiguration xmlns="http://s3.amazonaws.com/doc/2006-03-01/">\
                <LocationConstraint>\(S3XML.escaped(settings.region))</LocationConstraint></CreateBucketConfiguration>
                """
            request.headers = [("Content-Type", "application/xml")]
            request.payload = .document(document)
        }
        do throws(S3Failure) { _ = try await send(request) } catch {
            guard error.code == "BucketAlreadyOwnedByYou" else { throw error }
        }
    }
}

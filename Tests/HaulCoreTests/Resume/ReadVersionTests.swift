import Testing

@testable import HaulCore

/// Versions of a file that is read while it is downloaded.
struct ReadVersionTests {
    private func resource(_ tag: String?, total: Int64? = 100) -> Resource {
        var resource = Resource(total: total)
        resource.validator.entityTag = tag.map { EntityTag($0) }
        return resource
    }

    @Test func onlyTheSameStrongValidatorAndLengthAreTheSameVersion() throws {
        let version = try #require(ReadVersion(resource("\"a\"")))
        #expect(version.isNamed)
        #expect(version.isSame(as: version))
        for other in [resource("\"b\""), resource("\"a\"", total: 99), resource("W/\"a\""), resource(nil)] {
            let other = try #require(ReadVersion(other))
            #expect(!version.isSame(as: other) && !other.isSame(as: version))
        }
    }

    @Test(arguments: ["W/\"a\"", nil]) func aVersionThatIsNotNamedEqualsNoOther(_ tag: String?) throws {
        let version = try #require(ReadVersion(resource(tag)))
        #expect(!version.isNamed)
        #expect(!version.isSame(as: version))
    }

    @Test func theNameIsTheSameInEveryProcessAndAnotherForEachTag() throws {
        #expect(try #require(ReadVersion(resource("\"a\""))).name == ReadVersion(resource("\"a\""))?.name)
        #expect(try #require(ReadVersion(resource("\"a\""))).name != ReadVersion(resource("\"b\""))?.name)
    }

    @Test func aLogOfAStreamAnUnknownLengthAndForeignBytesHaveNoVersion() {
        var log = resource("\"a\"")
        log.stream = .log
        var foreign = resource("\"a\"")
        foreign.isUnproved = true
        for resource in [log, foreign, resource("\"a\"", total: nil), nil] { #expect(ReadVersion(resource) == nil) }
        #expect(ReadVersion(log, isFinished: true) != nil)
    }
}

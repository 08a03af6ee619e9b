import Foundation
import Testing

@testable import HaulFleet

@Suite(.timeLimit(.minutes(60)))
struct SchemaFileTests {
    private let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent()
        .appendingPathComponent("Sources/CHaulFleetSchema/schema")

    @Test func theTableIsTheFolder() throws {
        var names: Set<String> = []
        let files = try #require(
            FileManager.default.enumerator(at: folder, includingPropertiesForKeys: [.isRegularFileKey])
        )
        while let file = files.nextObject() as? URL {
            guard try file.resourceValues(forKeys: [.isRegularFileKey]).isRegularFile == true else { continue }
            let name = String(file.path.dropFirst(folder.path.count + 1))
            names.insert(name)
            let text = try #require(SchemaFiles.texts[name], "\(name): run Scripts/embedded-files")
            #expect(Data(text.utf8) == (try Data(contentsOf: file)), "\(name)")
        }
        #expect(Set(SchemaFiles.texts.keys) == names)
    }

    @Test func migrationsAreNumberedWithoutGaps() {
        let numbers = SchemaFiles.texts.keys.filter { $0.hasPrefix("migrations/") }.sorted()
            .map { Int($0.dropFirst("migrations/".count).prefix(3)) ?? 0 }
        #expect(numbers == Array(1...Int(SchemaInstaller.version)))
    }

    @Test func variablesBecomeQuotedIdentifiers() async throws {
        let values = ["queue": "a-b", "role": #"x":"queue"#]
        let text = try SchemaFiles.fill(#"GRANT USAGE ON SCHEMA :"queue" TO :"role";"#, values)
        #expect(text == #"GRANT USAGE ON SCHEMA "a-b" TO "x"":""queue";"#)
        await expectError(.statementFailed) { _ = try SchemaFiles.fill(#"TO :"role""#, values) }
        await expectError(.statementFailed) { _ = try SchemaFiles.fill(#":"queue" :"role" :"other""#, values) }
        for right in SchemaInstaller.Right.allCases {
            #expect(try SchemaFiles.grants(right, in: .standard, to: "x").contains(#"TO "x";"#))
        }
    }

    @Test func everyFunctionHasTheSettingsAndNoPublicCaller() async throws {
        try await TestDatabase.with { database async throws in
            let settings = [
                "search_path=haul, pg_catalog, pg_temp", "enable_seqscan=off", "enable_hashjoin=off",
                "enable_mergejoin=off", "enable_bitmapscan=off", "jit=off", "plan_cache_mode=force_generic_plan",
                "work_mem=64MB",
            ]
            let odd = try await database.sql(
                """
                SELECT proname FROM pg_proc WHERE pronamespace = 'haul'::regnamespace AND (
                    proconfig IS DISTINCT FROM $1::text[] OR proacl IS NULL
                    OR EXISTS (SELECT 1 FROM aclexplode(proacl) WHERE grantee = 0)
                    OR prosrc NOT LIKE chr(10) || '#variable_conflict use_column' || chr(10) || '%')
                """,
                [.texts(settings)]
            )
            #expect(try odd.map { try $0.text(0) } == [])
            let ofCaller = try await database.sql(
                "SELECT proname FROM pg_proc WHERE pronamespace = 'haul'::regnamespace AND NOT prosecdef"
            )
            #expect(try ofCaller.map { try $0.text(0) } == ["load"])
        }
    }
}

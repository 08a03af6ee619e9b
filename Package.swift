// swift-tools-version: 6.2
import PackageDescription

let settings: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("InternalImportsByDefault"),
]

/// Set by `Scripts/sanitize-threads`.
let sanitizer: [SwiftSetting] =
    Context.environment["HAUL_THREAD_SANITIZER"] == nil ? [] : [.define("HAUL_THREAD_SANITIZER")]

/// Set by `Scripts/simulate`, `Scripts/simulate-fleet` and `Scripts/fuzz`: the simulations and the fuzzers as programs of their
/// own, in place of the tests, since they look into the library as the tests do.
let buildsTools = Context.environment["HAUL_TOOLS"] != nil
/// libFuzzer brings the main function of the fuzzers.
let fuzzer: [SwiftSetting] = Context.environment["HAUL_TOOLS"] == "libfuzzer" ? [.define("HAUL_LIBFUZZER")] : []

/// Set by `make docs`: the plugin that renders the documentation. A package that depends on Haul does not resolve it.
let documentation: [Package.Dependency] =
    Context.environment["HAUL_DOCS"] == nil
    ? [] : [.package(url: "https://github.com/swiftlang/swift-docc-plugin", from: "1.5.0")]

func tool(_ name: String, _ sources: [String], _ dependencies: [Target.Dependency]) -> Target {
    .executableTarget(
        name: name,
        dependencies: ["HaulCore", "HaulKit", "HaulDesktop"] + dependencies,
        path: "Tests/HaulKitTests",
        sources: sources,
        swiftSettings: settings + fuzzer + [.define("HAUL_TOOL")]
    )
}

let tools: [Target] = [
    tool(
        "HaulSimulation",
        [
            "Doubles/BulkBytes.swift", "Doubles/HeaderFields+Literal.swift", "Doubles/SimulatedDisk.swift",
            "Doubles/SimulatedDisk+File.swift", "Lives",
        ],
        [
            "CHaulSimulation",
            .product(name: "Crypto", package: "swift-crypto"),
            .product(name: "CryptoExtras", package: "swift-crypto"),
            .product(name: "GRDB", package: "GRDB.swift"),
            .product(name: "NIOCore", package: "swift-nio"),
            .product(name: "NIOHTTP1", package: "swift-nio"),
        ]
    ),
    .executableTarget(
        name: "HaulFleetSimulation",
        dependencies: ["HaulFleet", "HaulKit"],
        path: "Tests/HaulFleetTests",
        sources: ["Histories"],
        swiftSettings: settings + [.define("HAUL_TOOL")]
    ),
    tool(
        "HaulFuzz",
        ["Doubles/JSONEncoder+Secrets.swift", "Fuzz", "Rigs/ControlFileBytes.swift"],
        [
            .product(name: "NIOCore", package: "swift-nio"),
            .product(name: "NIOEmbedded", package: "swift-nio"),
            .product(name: "NIOHTTP1", package: "swift-nio"),
        ]
    ),
    // Of Acceptance/fleet/s3 and Benchmarks/fleet/s3.
    .executableTarget(
        name: "HaulFleetDestinations",
        dependencies: [
            "HaulFleet", .product(name: "Crypto", package: "swift-crypto"),
            .product(name: "Logging", package: "swift-log"),
        ],
        path: "Benchmarks/FleetDestinations",
        swiftSettings: settings
    ),
    // Of Acceptance/sets.
    .executableTarget(
        name: "HaulHub",
        dependencies: ["HaulTesting"],
        path: "Benchmarks/Hub",
        swiftSettings: settings
    ),
]

/// `make test-fast` sets it: builds and runs the tests of the values alone, without the libraries that the effects need.
let testsCoreAlone = Context.environment["HAUL_CORE_TESTS"] != nil

let coreTests = Target.testTarget(
    name: "HaulCoreTests",
    dependencies: ["HaulCore", .product(name: "Crypto", package: "swift-crypto")],
    swiftSettings: settings + sanitizer
)

let tests: [Target] = [
    coreTests,
    .testTarget(
        name: "HaulKitTests",
        dependencies: [
            "HaulKit", "HaulDesktop", "HaulTesting", "CHaulSimulation",
            .product(name: "Crypto", package: "swift-crypto"),
            .product(name: "CryptoExtras", package: "swift-crypto"),
            .product(name: "GRDB", package: "GRDB.swift"),
            .product(name: "Metrics", package: "swift-metrics"),
            .product(name: "MetricsTestKit", package: "swift-metrics"),
            .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
            .product(name: "ServiceLifecycleTestKit", package: "swift-service-lifecycle"),
            .product(name: "NIOCore", package: "swift-nio"),
            .product(name: "NIOEmbedded", package: "swift-nio"),
            .product(name: "NIOPosix", package: "swift-nio"),
            .product(name: "NIOHTTP1", package: "swift-nio"),
        ],
        swiftSettings: settings + sanitizer
    ),
    .testTarget(
        name: "HaulDesktopTests",
        dependencies: [
            "HaulDesktop", "HaulKit", "HaulTesting",
            .product(name: "NIOCore", package: "swift-nio"),
            .product(name: "NIOPosix", package: "swift-nio"),
        ],
        swiftSettings: settings + sanitizer
    ),
    .testTarget(
        name: "HaulServerTests",
        dependencies: [
            "HaulServer", "HaulKit", "HaulCore", "HaulTesting",
            .product(name: "CoreMetrics", package: "swift-metrics"),
            .product(name: "Hummingbird", package: "hummingbird"),
            .product(name: "HummingbirdTesting", package: "hummingbird"),
            .product(name: "HTTPTypes", package: "swift-http-types"),
            .product(name: "Logging", package: "swift-log"),
            .product(name: "NIOCore", package: "swift-nio"),
            .product(name: "NIOEmbedded", package: "swift-nio"),
            .product(name: "NIOFoundationCompat", package: "swift-nio"),
            .product(name: "NIOHTTP1", package: "swift-nio"),
            .product(name: "NIOPosix", package: "swift-nio"),
            .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
        ],
        swiftSettings: settings + sanitizer
    ),
    .testTarget(
        name: "HaulAria2Tests",
        dependencies: [
            "HaulAria2", "HaulServer", "HaulKit", "HaulTesting",
            .product(name: "Logging", package: "swift-log"),
            .product(name: "NIOCore", package: "swift-nio"),
            .product(name: "NIOHTTP1", package: "swift-nio"),
            .product(name: "NIOPosix", package: "swift-nio"),
        ],
        swiftSettings: settings + sanitizer
    ),
    .testTarget(
        name: "HaulFleetTests",
        dependencies: [
            "CLibPQ", "HaulFleet", "HaulKit", "HaulTesting", "haul-fleet",
            .product(name: "Crypto", package: "swift-crypto"),
            .product(name: "NIOCore", package: "swift-nio"),
            .product(name: "NIOHTTP1", package: "swift-nio"),
            .product(name: "NIOPosix", package: "swift-nio"),
        ],
        swiftSettings: settings + sanitizer
    ),
    .testTarget(
        name: "HaulEndToEndTests",
        dependencies: [
            "CHaulSystem", "CommandWords", "HaulKit", "HaulDesktop", "HaulServer", "HaulAria2", "HaulTesting", "haul",
            "CourseDownloader", "ListMirror", "OwnTransport",
            .product(name: "ArgumentParser", package: "swift-argument-parser"),
            .product(name: "NIOCore", package: "swift-nio"),
        ],
        swiftSettings: settings
    ),
]

let package = Package(
    name: "haul",
    products: [
        // The root package gets the executable `haul` without declaring it, and a package that depends on Haul then
        // resolves no argument parser.
        .library(name: "HaulCore", targets: ["HaulCore"]),
        .library(name: "HaulKit", targets: ["HaulKit"]),
        .library(name: "HaulDesktop", targets: ["HaulDesktop"]),
        .library(name: "HaulTesting", targets: ["HaulTesting"]),
    ],
    dependencies: [
        .package(url: "https://github.com/swift-server/async-http-client", from: "1.37.0"),
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
        .package(url: "https://github.com/apple/swift-nio-ssl", from: "2.37.6"),
        .package(url: "https://github.com/apple/swift-nio-extras.git", from: "1.35.2"),
        .package(url: "https://github.com/apple/swift-http-structured-headers", from: "1.7.0"),
        .package(url: "https://github.com/apple/swift-crypto", from: "4.5.2"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
        .package(url: "https://github.com/apple/swift-metrics", from: "2.13.0"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
        .package(url: "https://github.com/apple/swift-collections", from: "1.6.0"),
        .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
        // Of the daemon alone: no product of this package reaches them.
        .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.1", traits: ["FullFoundation"]),
        .package(url: "https://github.com/apple/swift-http-types", from: "1.8.0", traits: []),
        .package(url: "https://github.com/apple/swift-configuration", from: "1.4.0"),
    ] + documentation,
    targets: [
        .target(name: "CHaulSystem"),
        // What the commands do before and around their `main`; no product has it.
        .target(name: "CHaulCommand"),
        .target(
            name: "CommandWords",
            dependencies: [
                "CHaulCommand", "HaulKit", .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            swiftSettings: settings
        ),
        .target(name: "CHaulSimulation", path: "Tests/CHaulSimulation"),
        // Values without effects: no socket, no file, no store, no clock, no actor.
        .target(
            name: "HaulCore",
            dependencies: [
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "DequeModule", package: "swift-collections"),
                .product(name: "OrderedCollections", package: "swift-collections"),
                .product(name: "RawStructuredFieldValues", package: "swift-http-structured-headers"),
            ],
            swiftSettings: settings + sanitizer
        ),
        .target(
            name: "HaulKit",
            dependencies: [
                "CHaulSystem", "HaulCore",
                .product(name: "AsyncHTTPClient", package: "async-http-client"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
                .product(name: "NIOSOCKS", package: "swift-nio-extras"),
                .product(name: "RawStructuredFieldValues", package: "swift-http-structured-headers"),
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "CryptoExtras", package: "swift-crypto"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "CoreMetrics", package: "swift-metrics"),
                .product(name: "Metrics", package: "swift-metrics"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
                .product(name: "DequeModule", package: "swift-collections"),
                .product(name: "OrderedCollections", package: "swift-collections"),
                .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "GRDBSQLite", package: "GRDB.swift"),
            ],
            swiftSettings: settings + sanitizer
        ),
        .target(
            name: "HaulDesktop",
            dependencies: [
                "CHaulSystem", "HaulKit",
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
            ],
            swiftSettings: settings + sanitizer
        ),
        // The page and the description of the API, as tables of bytes inside the binary.
        .target(name: "CHaulPage", exclude: ["page", "openapi.json"]),
        .target(
            name: "HaulServer",
            dependencies: [
                "CHaulPage", "CHaulSystem", "HaulKit",
                .product(name: "CoreMetrics", package: "swift-metrics"),
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "HummingbirdCore", package: "hummingbird"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOFoundationCompat", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "DequeModule", package: "swift-collections"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
            ],
            swiftSettings: settings + sanitizer
        ),
        // aria2's options, files and protocol over a downloader, for `haul serve --aria2-rpc` and `haul aria2c`.
        .target(
            name: "HaulAria2",
            dependencies: [
                "CHaulSystem", "HaulKit", "HaulServer",
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "DequeModule", package: "swift-collections"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOWebSocket", package: "swift-nio"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
            ],
            swiftSettings: settings + sanitizer
        ),
        .executableTarget(
            name: "haul",
            dependencies: [
                "CommandWords", "HaulKit", "HaulDesktop", "HaulServer", "HaulAria2", "CHaulSystem",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "AsyncHTTPClient", package: "async-http-client"),
                .product(name: "Configuration", package: "swift-configuration"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
                .product(name: "DequeModule", package: "swift-collections"),
                .product(name: "OrderedCollections", package: "swift-collections"),
                .product(name: "NIOCore", package: "swift-nio"),
            ],
            swiftSettings: settings
        ),
        // Debian's libpq-dev, which only the fleet needs: no product of this package reaches it.
        // Without `pkgConfig`, which would name the system's folder of libraries first: the release links static ones.
        .systemLibrary(name: "CLibPQ"),
        // The SQL of a queue, as a table of bytes inside the binary.
        .target(name: "CHaulFleetSchema", exclude: ["schema"]),
        .target(
            name: "HaulFleet",
            dependencies: [
                "CHaulFleetSchema", "CHaulSystem", "CLibPQ", "HaulKit",
                .product(name: "AsyncHTTPClient", package: "async-http-client"),
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "DequeModule", package: "swift-collections"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
            ],
            swiftSettings: settings + sanitizer
        ),
        .executableTarget(
            name: "haul-fleet",
            dependencies: [
                "CommandWords", "HaulFleet", "HaulKit", "CHaulSystem",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: settings
        ),
        .executableTarget(
            name: "HaulScale",
            dependencies: ["HaulKit"],
            path: "Benchmarks/Scale",
            swiftSettings: settings
        ),
        .executableTarget(
            name: "CourseDownloader",
            dependencies: ["HaulKit"],
            path: "Examples/CourseDownloader",
            swiftSettings: settings
        ),
        .executableTarget(
            name: "ListMirror",
            dependencies: ["HaulKit"],
            path: "Examples/ListMirror",
            swiftSettings: settings
        ),
        // Sees of HaulCore what a program of another package sees.
        .executableTarget(
            name: "OwnTransport",
            dependencies: ["HaulCore"],
            path: "Examples/OwnTransport",
            packageAccess: false,
            swiftSettings: settings
        ),
        .target(
            name: "HaulTesting",
            dependencies: [
                "CHaulSystem", "HaulKit",
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
            ],
            swiftSettings: settings + sanitizer
        ),
    ] + (buildsTools ? tools : testsCoreAlone ? [coreTests] : tests)
)

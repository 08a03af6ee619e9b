/// The parts of a film that the user chose: one variant, its sound and subtitles.
package struct StreamSelection: Sendable, Hashable {
    package let variant: StreamVariant
    /// The chosen sound. A rendition without a URL is in the variant. Empty if the playlist names no sound apart from
    /// the variant, or none is wanted.
    package let audio: [StreamRendition]
    /// The chosen subtitles, each with a URL.
    package let subtitles: [StreamRendition]

    /// The sound that must be fetched beside the variant.
    package var separateAudio: [StreamRendition] { audio.filter { $0.url != nil } }
}

extension StreamSelection: CustomStringConvertible {
    /// One line for people: `1280x720, 4.10 Mbit/s, avc1.64001f; sound: English (en); subtitles: Deutsch (de)`.
    package var description: String {
        let sound = audio.isEmpty ? "" : "; sound: " + audio.map(\.description).joined(separator: ", ")
        let text = subtitles.isEmpty ? "" : "; subtitles: " + subtitles.map(\.description).joined(separator: ", ")
        return variant.description + sound + text
    }
}

extension MultivariantPlaylist {
    /// Chooses a variant, its sound and its subtitles.
    ///
    /// Only variants whose groups have the wanted sound and subtitles are considered.
    package func select(
        variant wish: VariantWish = .best,
        audio: TrackWish = .automatic,
        subtitles: TrackWish = .none
    ) throws(StreamError) -> StreamSelection {
        let fitting = fitting(wish)
        guard !fitting.isEmpty else {
            throw .noSuchVariant(asked: "\(wish)", available: variants.map { "\($0.number): \($0)" })
        }
        var firstError: StreamError?
        for variant in fitting {
            do throws(StreamError) {
                return StreamSelection(
                    variant: variant,
                    audio: try self.audio(audio, of: variant),
                    subtitles: try self.subtitles(subtitles, of: variant)
                )
            } catch { firstError = firstError ?? error }
        }
        throw firstError ?? .noSuchVariant(asked: "\(wish)", available: [])
    }

    // MARK: Variants

    /// Returns the variants that fit the wish, best first.
    private func fitting(_ wish: VariantWish) -> [StreamVariant] {
        if case .number(let number) = wish { return variants.filter { $0.number == number } }
        let known = variants.filter { !$0.hasUnknownDemands }
        let films = known.filter { !$0.isAudioOnly }
        // A film without pictures is chosen only by its number or if there is nothing else.
        let candidates = ranked(films.isEmpty ? known : films)
        switch wish {
        case .best, .number: return candidates
        case .smallest:
            return candidates.enumerated()
                .sorted { ($0.element.bandwidth, -$0.offset) < ($1.element.bandwidth, -$1.offset) }.map(\.element)
        case .height(let height): return candidates.filter { ($0.resolution?.lines ?? .max) <= height }
        case .bandwidth(let bits): return candidates.filter { $0.bandwidth <= bits }
        case .codec(let word):
            let families = StreamCodec.families(named: word) ?? []
            return candidates.filter { $0.codecs.contains { families.contains(StreamCodec.family($0)) } }
        }
    }

    /// Sorts by score, pixels and bandwidth, the best first. The order of the playlist decides between equals.
    private func ranked(_ variants: [StreamVariant]) -> [StreamVariant] {
        let haveScores = variants.allSatisfy { $0.score != nil }
        let key = { (variant: StreamVariant) in
            let pixels = variant.resolution.map { $0.width * $0.height } ?? 0
            return (haveScores ? variant.score ?? 0 : 0, pixels, variant.bandwidth)
        }
        return variants.enumerated()
            .sorted { left, right in
                let (one, other) = (key(left.element), key(right.element))
                return one == other ? left.offset < right.offset : one > other
            }
            .map(\.element)
    }

    // MARK: Renditions

    private func audio(_ wish: TrackWish, of variant: StreamVariant) throws(StreamError) -> [StreamRendition] {
        if wish == .none { return [] }
        let group = renditions(.audio, group: variant.audioGroup)
        if let name = variant.audioGroup, group.isEmpty { throw .missingSound(group: name) }
        switch wish {
        case .none: return []
        case .all: return group.filter(\.isDefault) + group.filter { !$0.isDefault }
        case .automatic:
            let preferred = group.first(where: \.isDefault) ?? group.first(where: \.isAutoselect) ?? group.first
            return preferred.map { [$0] } ?? []
        case .named(let name):
            guard let found = Self.best(name, of: group) else {
                throw .noSuchTrack(kind: "sound", asked: name, available: descriptions(.audio))
            }
            return [found]
        }
    }

    private func subtitles(_ wish: TrackWish, of variant: StreamVariant) throws(StreamError) -> [StreamRendition] {
        let group = renditions(.subtitles, group: variant.subtitlesGroup).filter { $0.url != nil }
        switch wish {
        case .none: return []
        case .all: return group
        case .automatic: return Array(group.filter(\.isDefault).prefix(1))
        case .named(let name):
            guard let found = Self.best(name, of: group) else {
                throw .noSuchTrack(kind: "subtitles", asked: name, available: descriptions(.subtitles))
            }
            return [found]
        }
    }

    /// Returns each different description once, in the order of the playlist.
    private func descriptions(_ type: StreamRendition.MediaType) -> [String] {
        var seen: Set<String> = []
        return renditions.filter { $0.type == type }.map(\.description).filter { seen.insert($0).inserted }
    }

    /// Finds a rendition by its exact language, else by its name, else by a narrower language (`en` finds `en-US`),
    /// else by a wider one (`en-US` finds `en`). Of several matches, takes the default one. Without a default one,
    /// takes forced subtitles last, because they cover foreign words only.
    private static func best(_ wanted: String, of group: [StreamRendition]) -> StreamRendition? {
        let wanted = wanted.lowercased()
        let tests: [(StreamRendition) -> Bool] = [
            { $0.language?.lowercased() == wanted },
            { $0.name.lowercased() == wanted },
            { $0.language?.lowercased().hasPrefix(wanted + "-") ?? false },
            { rendition in rendition.language.map { wanted.hasPrefix($0.lowercased() + "-") } ?? false },
        ]
        let ordered = group.filter { !$0.isForced } + group.filter(\.isForced)
        for test in tests {
            let found = ordered.filter(test)
            if let first = found.first(where: \.isDefault) ?? found.first { return first }
        }
        return nil
    }
}

extension MediaPlaylist {
    /// Refuses a particular variant, and sound or subtitles by name, because a playlist of segments offers no choice.
    /// Accepts `best` and `smallest`, which both mean the only version.
    package func check(
        variant: VariantWish = .best,
        audio: TrackWish = .automatic,
        subtitles: TrackWish = .none
    ) throws(StreamError) {
        guard variant == .best || variant == .smallest else {
            throw .noSuchVariant(asked: "\(variant)", available: [])
        }
        for (wish, kind) in [(audio, "sound"), (subtitles, "subtitles")] {
            if case .named(let name) = wish { throw .noSuchTrack(kind: kind, asked: name, available: []) }
        }
    }
}

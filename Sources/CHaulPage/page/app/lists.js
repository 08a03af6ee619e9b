// The lists of the page: which states they show, and in which order.
export const ACTIVE = ["connecting", "transferring", "waiting", "verifying"];

export const lists = {
    all: { count: "all", sort: "added" },
    active: { states: ACTIVE, count: "active", sort: "added" },
    queued: { states: ["queued"], count: "queued", sort: "queue" },
    paused: { states: ["paused"], count: "paused", sort: "added" },
    finished: { states: ["completed"], count: "completed", sort: "ended" },
    failed: { states: ["failed"], count: "failed", sort: "ended" },
};

const NEVER = Number.MAX_SAFE_INTEGER;

/// Sort orders that people choose from, with the direction that each begins with. Those with `only` belong to one list.
/// The page sorts by `compare` again, because the daemon's order is that of the moment in which it answered.
export const sorts = {
    added: { sort: "added", order: "desc" },
    oldest: { sort: "added", order: "asc" },
    queue: { sort: "queue", order: "asc", only: "queued" },
    speed: { sort: "speed", order: "desc", only: "active", compare: (a, b) => b.bytesPerSecond - a.bytesPerSecond },
    left: { sort: "left", order: "asc", only: "active", compare: (a, b) => (a.secondsLeft ?? NEVER) - (b.secondsLeft ?? NEVER) },
    ended: { sort: "ended", order: "desc" },
    name: { sort: "name", order: "asc" },
    size: { sort: "size", order: "desc" },
};

export const isActive = (state) => ACTIVE.includes(state);

/// The states in which each action has an effect.
export const applies = {
    pause: [...ACTIVE, "queued"],
    resume: ["paused"],
    retry: ["failed", "waiting"],
};

export const canPause = (row) => applies.pause.includes(row.state);
export const canResume = (row) => applies.resume.includes(row.state);
export const canRetry = (row) => applies.retry.includes(row.state);

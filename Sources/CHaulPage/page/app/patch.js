// How changed fields are applied to a row.
const OPTIONAL = [
    "holdReason", "folder", "path", "totalBytes", "secondsLeft", "retryAt", "error", "group", "startedAt", "endedAt", "proof",
    "gaps", "stream"
];

/// Absent means unchanged, `null` means cleared. A row that is sent whole (it has `addedAt`) clears what it lacks.
export function patchRow(row, fields) {
    if ("addedAt" in fields) for (const key of OPTIONAL) if (!(key in fields)) delete row[key];
    for (const [key, value] of Object.entries(fields)) {
        if (value === null) delete row[key];
        else row[key] = value;
    }
}

// Tells the user of failed requests.
import { APIError } from "./api.js";
import { errorText } from "./describe.js";
import { toast } from "./toast.js";
import { t } from "./text.js";

export function failureText(error) {
    if (!(error instanceof APIError)) return String(error?.message ?? error);
    if (error.status === 0) return t("unreachable");
    if (error.status === 401) return t("signedOut");
    return errorText({ code: error.code, message: error.message || t("requestFailed", error.status) });
}

export function tellFailure(error) {
    if (error?.name === "AbortError" || error?.status === 401) return;
    toast(failureText(error), { tone: "error", seconds: 10 });
}

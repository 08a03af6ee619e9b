// Menus: one at a time, with arrow keys, first letters, and focus that returns to where it was.
import { openLayer } from "./back.js";
import { el, icon } from "./dom.js";

const phone = matchMedia("(max-width: 599px)");

let open = null;

export function closeMenu(restore = true) {
    if (!open) return;
    const { element, opener, controller, leave } = open;
    open = null;
    controller.abort();
    element.remove();
    leave?.();
    opener?.setAttribute?.("aria-expanded", "false");
    if (restore) opener?.focus?.({ preventScroll: true });
}

/// Opens a menu at an element or at a point. `items`: `{label, icon, keys, run, checked, danger, disabled}`, or `null`
/// for a line between groups. Focus returns to `focus`.
export function openMenu({ anchor, point, items, focus, label }) {
    closeMenu(false);
    const controller = new AbortController();
    const element = el("div", { class: "menu", role: "menu", "aria-label": label });
    const checks = items.some((item) => item && "checked" in item);
    for (const item of items) {
        if (!item) {
            element.append(el("div", { class: "menu-line", role: "separator" }));
            continue;
        }
        const entry = el(
            "button",
            {
                type: "button",
                class: `menu-item ${item.danger ? "danger" : ""}`,
                role: "checked" in item ? "menuitemradio" : "menuitem",
                "aria-checked": "checked" in item ? String(item.checked) : null,
                tabindex: -1,
                disabled: Boolean(item.disabled),
                onclick: () => {
                    closeMenu();
                    item.run();
                },
            },
            checks ? icon(item.checked ? "i-check" : "i-none") : item.icon ? icon(item.icon) : icon("i-none"),
            el("span", { class: "menu-label", text: item.label }),
            item.keys ? el("kbd", { text: item.keys, "aria-hidden": "true" }) : null,
        );
        element.append(entry);
    }
    // Inside a landmark, as all content of the page.
    document.querySelector(".main").append(element);
    const opener = focus ?? anchor;
    anchor?.setAttribute("aria-expanded", "true");
    open = { element, opener, controller, leave: phone.matches ? openLayer(closeMenu) : null };
    place(element, anchor, point);
    const entries = [...element.querySelectorAll("button:not(:disabled)")];
    entries[0]?.focus({ preventScroll: true });
    element.addEventListener("keydown", (event) => {
        const at = entries.indexOf(document.activeElement);
        const go = (to) => entries[(to + entries.length) % entries.length].focus();
        if (event.key === "ArrowDown") go(at + 1);
        else if (event.key === "ArrowUp") go(at - 1);
        else if (event.key === "Home") go(0);
        else if (event.key === "End") go(-1);
        else if (event.key === "Escape" || event.key === "Tab") closeMenu();
        else if (event.key.length === 1 && event.key !== " ") {
            const letter = event.key.toLowerCase();
            const rest = [...entries.slice(at + 1), ...entries.slice(0, at + 1)];
            rest.find((entry) => entry.querySelector(".menu-label").textContent.toLowerCase().startsWith(letter))?.focus();
        } else return;
        event.preventDefault();
        event.stopPropagation();
    });
    const options = { signal: controller.signal, capture: true };
    addEventListener("pointerdown", (event) => !element.contains(event.target) && closeMenu(false), options);
    addEventListener("blur", () => closeMenu(false), { signal: controller.signal });
    addEventListener("resize", () => closeMenu(false), options);
    addEventListener("wheel", (event) => !element.contains(event.target) && closeMenu(false), { ...options, passive: true });
}

function place(element, anchor, point) {
    const box = anchor?.getBoundingClientRect();
    const { offsetWidth: width, offsetHeight: height } = element;
    let x = point ? point.x : box.right - width;
    let y = point ? point.y : box.bottom + 4;
    if (!point && x < 8) x = box.left;
    if (y + height > innerHeight - 8) y = point ? point.y - height : box.top - height - 4;
    element.style.setProperty("--x", `${Math.max(8, Math.min(x, innerWidth - width - 8))}px`);
    element.style.setProperty("--y", `${Math.max(8, Math.min(y, innerHeight - height - 8))}px`);
}

// Elements without markup: text is set with textContent only, styles with classes and custom properties.
const SVG = "http://www.w3.org/2000/svg";

export const byId = (id) => document.getElementById(id);

/// Creates an element. `properties`: `class`, `text`, `on…` listeners, `data…` and plain attributes. A value of
/// `false`, `null` or `undefined` leaves the attribute out.
export function el(tag, properties = {}, ...children) {
    const element = document.createElement(tag);
    for (const [key, value] of Object.entries(properties)) {
        if (value === undefined || value === null || value === false) continue;
        if (key === "class") element.className = value;
        else if (key === "text") element.textContent = value;
        else if (key === "value" || key === "checked" || key === "disabled" || key === "hidden") element[key] = value;
        else if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
        else element.setAttribute(key, value === true ? "" : value);
    }
    element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
    return element;
}

export function icon(name, className = "icon") {
    const svg = document.createElementNS(SVG, "svg");
    svg.setAttribute("class", className);
    svg.setAttribute("aria-hidden", "true");
    const use = document.createElementNS(SVG, "use");
    use.setAttribute("href", `#${name}`);
    svg.append(use);
    return svg;
}

export function setIcon(svg, name) {
    const use = svg.firstElementChild;
    const href = `#${name}`;
    if (use.getAttribute("href") !== href) use.setAttribute("href", href);
}

/// Writes only when the text differs: writes cost layout, reads of a text node do not.
export function setText(element, text) {
    if (element.textContent !== text) element.textContent = text;
}

export function setAttribute(element, name, value) {
    if (value === null || value === undefined) element.removeAttribute(name);
    else if (element.getAttribute(name) !== String(value)) element.setAttribute(name, value);
}

export function button(label, properties = {}, iconName = null) {
    const { square, ...rest } = properties;
    return el(
        "button",
        { type: "button", ...rest, ...(square ? { "aria-label": label, title: rest.title ?? label } : {}) },
        iconName ? icon(iconName) : null,
        square ? null : el("span", { text: label }),
    );
}

/// Whether keys belong to a field, so that letters are text and not shortcuts.
export function isTyping(target) {
    return target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName))
        && !(target instanceof HTMLInputElement && /^(checkbox|radio|button)$/.test(target.type));
}

export const isApple = /Mac|iPhone|iPad/.test(navigator.platform ?? "");

// The map of a file: received ranges filled, running connections with the place they write to.
export class SegmentMap {
    #canvas;
    #value = null;

    constructor(canvas) {
        this.#canvas = canvas;
        new ResizeObserver(() => this.draw()).observe(canvas);
        document.addEventListener("haul-theme", () => requestAnimationFrame(() => this.draw()));
    }

    /// `ranges`: half open, `segments`: what connections still owe. Nothing is drawn without a size.
    set({ ranges, segments, totalBytes }) {
        this.#value = { ranges, segments, totalBytes };
        this.draw();
    }

    draw() {
        const canvas = this.#canvas;
        const value = this.#value;
        const scale = devicePixelRatio || 1;
        const width = canvas.clientWidth;
        const height = canvas.clientHeight;
        if (!value?.totalBytes || width === 0) return;
        canvas.width = Math.round(width * scale);
        canvas.height = Math.round(height * scale);
        const context = canvas.getContext("2d");
        context.setTransform(scale, 0, 0, scale, 0, 0);
        context.clearRect(0, 0, width, height);
        const style = getComputedStyle(canvas);
        const received = style.color;
        const running = style.getPropertyValue("--running") || received;
        const rows = 4;
        const gap = 3;
        const rowHeight = (height - gap * (rows - 1)) / rows;
        const perRow = value.totalBytes / rows;
        // The file wraps over four lines, so that a byte of 8 segments is wide enough to see.
        const paint = (start, end, color, alpha, least = 0) => {
            context.fillStyle = color;
            context.globalAlpha = alpha;
            for (let row = Math.floor(start / perRow); row < rows && row * perRow < Math.max(end, start + 1); row += 1) {
                const from = Math.max(start, row * perRow) - row * perRow;
                const to = Math.min(end, (row + 1) * perRow) - row * perRow;
                const x = (from / perRow) * width;
                context.fillRect(x, row * (rowHeight + gap), Math.max(((to - from) / perRow) * width, least), rowHeight);
            }
        };
        paint(0, value.totalBytes, style.getPropertyValue("--track") || "#8884", 1);
        for (const { start, end } of value.segments) paint(start, Math.max(start, end), received, 0.28);
        for (const [start, end] of value.ranges) paint(start, end, received, 1, 1);
        for (const { start } of value.segments) paint(start, start, running, 1, 2);
        context.globalAlpha = 1;
    }
}

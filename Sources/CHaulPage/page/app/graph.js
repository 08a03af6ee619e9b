// Small line graphs of speed, drawn on a canvas: one sample a second, the newest at the right.
const SIZE = 90;

export class SpeedGraph {
    #samples = [];
    #canvas;

    constructor(canvas) {
        this.#canvas = canvas;
        new ResizeObserver(() => this.draw()).observe(canvas);
        document.addEventListener("haul-theme", () => requestAnimationFrame(() => this.draw()));
    }

    get peak() {
        return Math.max(0, ...this.#samples);
    }

    get isFlat() {
        return this.peak === 0;
    }

    clear() {
        this.#samples = [];
        this.draw();
    }

    /// Continues the line of another graph.
    adopt(graph) {
        this.#samples = graph.#samples;
    }

    add(value) {
        this.#samples.push(value);
        if (this.#samples.length > SIZE) this.#samples.shift();
        this.draw();
    }

    draw() {
        const canvas = this.#canvas;
        const scale = devicePixelRatio || 1;
        const width = canvas.clientWidth;
        const height = canvas.clientHeight;
        if (width === 0) return;
        if (canvas.width !== Math.round(width * scale) || canvas.height !== Math.round(height * scale)) {
            canvas.width = Math.round(width * scale);
            canvas.height = Math.round(height * scale);
        }
        const context = canvas.getContext("2d");
        context.setTransform(scale, 0, 0, scale, 0, 0);
        context.clearRect(0, 0, width, height);
        const peak = this.peak;
        if (peak === 0 || this.#samples.length < 2) return;
        const color = getComputedStyle(canvas).color;
        const step = width / (SIZE - 1);
        const y = (value) => height - 1 - (value / peak) * (height - 3);
        const from = width - (this.#samples.length - 1) * step;
        context.beginPath();
        this.#samples.forEach((value, at) => context.lineTo(from + at * step, y(value)));
        context.lineWidth = 1.5;
        context.lineJoin = "round";
        context.strokeStyle = color;
        context.stroke();
        context.lineTo(width, height);
        context.lineTo(from, height);
        context.closePath();
        context.globalAlpha = 0.14;
        context.fillStyle = color;
        context.fill();
        context.globalAlpha = 1;
    }
}

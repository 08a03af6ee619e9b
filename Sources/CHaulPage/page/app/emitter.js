// Typed-by-name callbacks for models. Listeners run in the order they were added.
export class Emitter {
    #listeners = new Map();

    on(name, listener) {
        const list = this.#listeners.get(name) ?? [];
        list.push(listener);
        this.#listeners.set(name, list);
        return () => list.splice(list.indexOf(listener), 1);
    }

    emit(name, value) {
        for (const listener of [...(this.#listeners.get(name) ?? [])]) listener(value);
    }
}

/* Search from files: a page at file:// may have no worker, so a hidden frame does its work. The theme
 * looks for this name, and would fetch such a script from another host if it were not here. */
if (location.protocol === "file:") {
  class IFrameWorker extends EventTarget {
    #frame = document.createElement("iframe")
    #ready

    constructor(address) {
      super()
      this.#frame.hidden = true
      document.body.append(this.#frame)
      const inner = this.#frame.contentWindow
      inner.importScripts = async (...addresses) => {
        for (const one of addresses) await this.#load(one)
      }
      inner.postMessage = data => this.dispatchEvent(new MessageEvent("message", { data }))
      this.#ready = this.#load(address)
    }

    async postMessage(data) {
      await this.#ready
      const inner = this.#frame.contentWindow
      inner.dispatchEvent(new inner.MessageEvent("message", { data }))
    }

    terminate() {
      this.#frame.remove()
    }

    #load(address) {
      const inner = this.#frame.contentDocument
      return new Promise((done, failed) => {
        const script = inner.createElement("script")
        script.src = new URL(address, location.href).href
        script.onload = () => done()
        script.onerror = failed
        inner.head.append(script)
      })
    }
  }

  window.IFrameWorker = IFrameWorker
  window.Worker = IFrameWorker
}

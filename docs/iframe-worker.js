// Search runs in a Worker, which browsers refuse to a page that was opened from disk. There a hidden frame takes its place.
// Zensical looks for this file's name in mkdocs.yml, and otherwise loads one like it from another server.
if (location.protocol === "file:") {
  window.Worker = class {
    constructor(url) {
      this.frame = document.createElement("iframe")
      this.frame.hidden = true
      document.body.append(this.frame)
      const inside = this.frame.contentWindow
      inside.postMessage = data => setTimeout(message => this.onmessage?.(message), 0, { data: structuredClone(data) })
      this.ready = new Promise((resolve, reject) => {
        const script = inside.document.createElement("script")
        script.src = url
        script.onload = resolve
        script.onerror = reject
        inside.document.body.append(script)
      })
      this.ready.catch(error => this.onerror?.(error))
    }
    postMessage(data) {
      const message = { data: structuredClone(data) }
      this.ready.then(() => this.frame.contentWindow?.onmessage(message), () => {})
    }
    terminate() {
      this.frame.remove()
    }
  }
}

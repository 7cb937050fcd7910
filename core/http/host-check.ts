/**
 * Checks the `Host` header against a list of allowed values. An entry with a port must match exactly;
 * an entry without a port matches the bare name and the name with the port the app listens on.
 */
export class HostCheck {
  readonly #entries: readonly string[]
  #accepted: ReadonlySet<string>

  constructor(entries: readonly string[]) {
    this.#entries = entries.map((entry) => entry.toLowerCase())
    this.#accepted = new Set(this.#entries)
  }

  /** Sets the port the app listens on. */
  setPort(port: number): void {
    const withPort = this.#entries.filter((entry) => !hasPort(entry)).map((entry) => `${entry}:${port}`)
    this.#accepted = new Set([...this.#entries, ...withPort])
  }

  accepts(host: string | undefined): boolean {
    return host !== undefined && (this.#accepted.has(host) || this.#accepted.has(host.toLowerCase()))
  }
}

/** `[::1]` has no port, `[::1]:80` and `localhost:80` have one. */
function hasPort(entry: string): boolean {
  return /:\d+$/.test(entry) && !entry.endsWith(']')
}

/**
 * Whether a page has the origin of the app itself: the header `Origin` of a request names the host that the request was sent to. The scheme does
 * not count, because a proxy may have ended TLS.
 *
 * @param host the header `Host`, or behind trusted proxies `ctx.host`.
 */
export function isOwnOrigin(origin: string, host: string | undefined): boolean {
  const [, name] = /^https?:\/\/(.+)$/i.exec(origin) ?? []
  return name !== undefined && name.toLowerCase() === host?.toLowerCase()
}

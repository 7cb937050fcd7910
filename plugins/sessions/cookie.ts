export interface CookieOptions {
  readonly cookieName: string
  readonly secure: boolean
  readonly sameSite: 'lax' | 'strict' | 'none'
  readonly domain?: string | undefined
}

/** The cookie of an app. */
export class SessionCookie {
  /** With the prefix that makes browsers refuse it from subdomains and over HTTP. */
  readonly name: string
  readonly #attributes: string
  readonly #start: string

  constructor({ cookieName, secure, sameSite, domain }: CookieOptions) {
    const prefix = !secure ? '' : domain === undefined ? '__Host-' : '__Secure-'
    this.name = `${prefix}${cookieName}`
    this.#start = `${this.name}=`
    const site = `${sameSite.charAt(0).toUpperCase()}${sameSite.slice(1)}`
    this.#attributes = [
      'Path=/',
      ...(domain === undefined ? [] : [`Domain=${domain}`]),
      'HttpOnly',
      `SameSite=${site}`,
      ...(secure ? ['Secure'] : []),
    ].join('; ')
  }

  /** The value in a `Cookie` header: the first one, if there are several. */
  read(header: string | undefined): string | undefined {
    if (header === undefined || !header.includes(this.#start)) return undefined
    for (const part of header.split(';')) {
      const pair = part.trim()
      if (pair.startsWith(this.#start)) return pair.slice(this.#start.length)
    }
    return undefined
  }

  /** The `Set-Cookie` header for a value, which browsers keep for `maxAgeMs`. */
  write(value: string, maxAgeMs: number): string {
    return `${this.#start}${value}; Max-Age=${Math.max(1, Math.ceil(maxAgeMs / 1000))}; ${this.#attributes}`
  }

  /** The `Set-Cookie` header that makes browsers forget it. */
  clear(): string {
    return `${this.#start}; Max-Age=0; ${this.#attributes}`
  }
}

import { type Clock, messageOf, ZinError } from 'zin'
import { processorErrors } from '../errors.js'
import { CodeCache, sha256Of } from './code-cache.js'
import { type Egress, type FetchLimits, fetchCode, guardedEgress } from './fetch-code.js'
import { type FreshnessLimits, freshFor } from './freshness.js'
import { type CodeSource, codeSource, type SourceRules } from './source.js'

export interface RemoteCodeOptions {
  /** Folder of the cache; created on demand. */
  readonly folder: string
  readonly rules: SourceRules
  readonly fetch: FetchLimits
  readonly freshness: FreshnessLimits
  readonly cacheBytes: number
  readonly clock: Clock
  /** Default: the egress guard. */
  readonly egress?: Egress
}

/** Code that was fetched. */
export interface FetchedCode {
  /** Returns the file with exactly this code, which is restored if it is missing or was modified. */
  locate(): Promise<string>
}

/**
 * Code from URLs. Pinned code is cached indefinitely, because the digest identifies it. Unpinned code is used while it is fresh, and
 * then revalidated with its host.
 */
export class RemoteCode {
  readonly #options: RemoteCodeOptions
  readonly #cache: CodeCache
  readonly #stop = new AbortController()
  readonly #loading = new Map<string, Promise<FetchedCode>>()

  constructor(options: RemoteCodeOptions) {
    this.#options = options
    this.#cache = new CodeCache(options.folder, options.cacheBytes)
  }

  /** Throws if the URL is invalid or not allowed. Does no I/O. */
  check(text: string): void {
    codeSource(text, this.#options.rules)
  }

  /** Returns the code of a processor's URL. Concurrent loads of one URL are merged. */
  load(text: string): Promise<FetchedCode> {
    const running = this.#loading.get(text)
    if (running !== undefined) return running
    const loading = this.#load(text).finally(() => this.#loading.delete(text))
    this.#loading.set(text, loading)
    return loading
  }

  /** Aborts pending fetches. */
  async close(): Promise<void> {
    this.#stop.abort(new Error('the app stops'))
    await Promise.allSettled(this.#loading.values())
  }

  async #load(text: string): Promise<FetchedCode> {
    const source = codeSource(text, this.#options.rules)
    try {
      const code = source.sha256 === undefined ? await this.#unpinned(source) : await this.#pinned(source, source.sha256)
      const sha256 = source.sha256 ?? sha256Of(code)
      await this.#cache.keep(code, sha256)
      return { locate: () => this.#cache.keep(code, sha256) }
    } catch (error) {
      if (error instanceof ZinError) throw error
      // For example, the disk is full or read-only.
      throw processorErrors.PROCESSOR_LOAD_FAILED(source.shown, messageOf(error))
    }
  }

  async #pinned(source: CodeSource, sha256: string): Promise<Buffer> {
    const kept = await this.#cache.read(sha256)
    if (kept !== undefined) return kept
    const { body } = await this.#fetch(source, null)
    const found = sha256Of(body)
    if (found !== sha256) throw processorErrors.PROCESSOR_PIN_MISMATCH(source.shown, found)
    return body
  }

  async #unpinned(source: CodeSource): Promise<Buffer> {
    const { clock, freshness } = this.#options
    const entry = await this.#cache.entry(source.url)
    const kept = entry === undefined ? undefined : await this.#cache.read(entry.sha256)
    if (entry !== undefined && kept !== undefined && clock.now() < entry.expiresAt) return kept
    const etag = kept === undefined ? null : (entry?.etag ?? null)
    const { status, headers, body } = await this.#fetch(source, etag)
    const code = status === 304 && kept !== undefined ? kept : body
    const sha256 = sha256Of(code)
    await this.#cache.keep(code, sha256)
    const expiresAt = clock.now() + freshFor(headers, freshness)
    await this.#cache.setEntry({ url: source.url, sha256, etag: headers.etag ?? (status === 304 ? etag : null), expiresAt })
    return code
  }

  #fetch(source: CodeSource, etag: string | null) {
    const { egress = guardedEgress, fetch, rules } = this.#options
    return fetchCode({ source, allowHosts: rules.allowHosts, etag, limits: fetch, egress, signal: this.#stop.signal })
  }
}

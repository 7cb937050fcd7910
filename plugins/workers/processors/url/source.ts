import { workerErrors } from '../../errors.js'
import { checkProcessorUrl, processorUrl } from '../../record/processor-url.js'
import { processorErrors } from '../errors.js'

/** Where code comes from, and what it must be. */
export interface CodeSource {
  /** Without the pin. */
  readonly url: string
  /** For messages: without the query, which may hold a secret. */
  readonly shown: string
  /** SHA-256 in lower-case hex that the code must have; undefined: any. */
  readonly sha256: string | undefined
}

export interface SourceRules {
  /** Hosts that code may come from, `host` or `host:port`. */
  readonly allowHosts: readonly string[]
  readonly pinRequired: boolean
}

/** Reads a processor's URL, or throws INVALID_PROCESSOR_URL, INVALID_PROCESSOR_URL_HOST or PROCESSOR_PIN_REQUIRED. Does no I/O. */
export function codeSource(text: string, { allowHosts, pinRequired }: SourceRules): CodeSource {
  const found = processorUrl(text)
  if (found === undefined) throw processorErrors.INVALID_PROCESSOR_URL(shownUrl(text), checkProcessorUrl('processor', text)?.message ?? '')
  const { url, sha256 } = found
  if (!isAllowed(url, allowHosts)) throw processorErrors.INVALID_PROCESSOR_URL_HOST(url.host)
  const shown = shownUrl(text)
  if (sha256 === undefined && pinRequired) throw processorErrors.PROCESSOR_PIN_REQUIRED(shown)
  return { url: url.href, shown, sha256 }
}

/** A processor's URL for messages and logs: without user, query and pin. */
export function shownUrl(text: string): string {
  return text.replace(/[?#].*$/s, '').replace(/^([a-z]+:\/\/)[^/]*@/i, '$1')
}

const entryPattern = /^(?:[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?|\[[0-9a-f:.]+\])(?::\d{1,5})?$/i

/** The entries of REMOTE_PROCESSOR_ALLOWLIST, or throws: an entry that is no host would silently allow nothing. */
export function allowedHosts(entries: readonly string[]): readonly string[] {
  const wrong = entries.find((entry) => !entryPattern.test(entry))
  if (wrong === undefined) return entries.map((entry) => entry.toLowerCase())
  throw workerErrors.WORKERS_MISCONFIGURED(
    `REMOTE_PROCESSOR_ALLOWLIST has "${wrong}"; it takes hosts such as code.example.com or code.example.com:8443, without scheme, path or wildcard`,
  )
}

function isAllowed(url: URL, hosts: readonly string[]): boolean {
  // `host` of a URL has no default port.
  return hosts.some((entry) => entry.replace(/:443$/, '') === url.host)
}

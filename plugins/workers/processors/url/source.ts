import { workerErrors } from '../../errors.js'
import { checkProcessorUrl, processorUrl } from '../../record/processor-url.js'
import { processorErrors } from '../errors.js'

/** The URL of code, and its required digest. */
export interface CodeSource {
  /** Without the pin. */
  readonly url: string
  /** For messages: without the query, which may contain a secret. */
  readonly shown: string
  /** Required SHA-256 of the code, in lower-case hex; undefined if it is not pinned. */
  readonly sha256: string | undefined
}

export interface SourceRules {
  /** Allowed hosts, as `host` or `host:port`. */
  readonly allowHosts: readonly string[]
  readonly pinRequired: boolean
}

/** Parses a processor's URL. Throws INVALID_PROCESSOR_URL, INVALID_PROCESSOR_URL_HOST or PROCESSOR_PIN_REQUIRED. Does no I/O. */
export function codeSource(text: string, { allowHosts, pinRequired }: SourceRules): CodeSource {
  const found = processorUrl(text)
  if (found === undefined) throw processorErrors.INVALID_PROCESSOR_URL(shownUrl(text), checkProcessorUrl('processor', text)?.message ?? '')
  const { url, sha256 } = found
  if (!isAllowed(url, allowHosts)) throw processorErrors.INVALID_PROCESSOR_URL_HOST(url.host)
  const shown = shownUrl(text)
  if (sha256 === undefined && pinRequired) throw processorErrors.PROCESSOR_PIN_REQUIRED(shown)
  return { url: url.href, shown, sha256 }
}

/** Returns a processor's URL for messages and logs: without user info, query and pin. */
export function shownUrl(text: string): string {
  return text.replace(/[?#].*$/s, '').replace(/^([a-z]+:\/\/)[^/]*@/i, '$1')
}

const entryPattern = /^(?:[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?|\[[0-9a-f:.]+\])(?::\d{1,5})?$/i

/** Validates the entries of REMOTE_PROCESSOR_ALLOWLIST: an entry that is not a host would silently allow nothing. */
export function allowedHosts(entries: readonly string[]): readonly string[] {
  const wrong = entries.find((entry) => !entryPattern.test(entry))
  if (wrong === undefined) return entries.map((entry) => entry.toLowerCase())
  throw workerErrors.WORKERS_MISCONFIGURED(
    `REMOTE_PROCESSOR_ALLOWLIST contains "${wrong}", which is not a host; use hosts such as code.example.com or code.example.com:8443, without scheme, path or wildcard`,
  )
}

function isAllowed(url: URL, hosts: readonly string[]): boolean {
  // `URL.host` omits the default port.
  return hosts.some((entry) => entry.replace(/:443$/, '') === url.host)
}
